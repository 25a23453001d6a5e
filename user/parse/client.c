// SPDX-License-Identifier: BSD-2-Clause
#include "parse/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "parse/channel.h"
#include "parse/oom_kills.h"
#include "parse/parser.h"

#define CLIENT_WORKERS 4                 /* at a time; each may have files open and memory in use */
#define PERIOD_NS 60000000000ULL         /* within which whoever is charged has: */
#define CHARGED_NS 20000000000ULL        /* ... this much time of workers for slow answers */
#define SLOW_NS 100000000ULL             /* a slow answer; names take 0.1 ms, and most tables some ms */
#define REST_NS 1000000000ULL            /* without a question, after a lack of memory; twice as long each time */
#define PARSE_WHY_BYTES 128
#define CHARGED_DEATHS 8                 /* ... and this many workers that had to be replaced */
#define CHARGED_USELESS 256              /* ... and this many files that have only a library's name */

struct link {
	bool is_up;
	uint32_t owner, number;
	int socket;
	uint64_t answers;        /* how many it has given */
	uint64_t used;           /* the client's count at the last use */
	uint64_t oom_kills;      /* of all processes, when it was started */
};

/* What a user's processes, or an owner's files, have cost in this period: `ns` in slow answers, for any number of quick
 * ones is honest work. */
struct use {
	uint64_t since_ns, ns;
	uint32_t deaths, useless;
	uint64_t rest_ns, rests_until_ns; /* memory was lacking, or a process */
};

#define CHARGED_USER (1ULL << 32)        /* apart from owners */

struct parse_client {
	struct parser *parser;
	struct link links[CLIENT_WORKERS];
	struct hash uses;        /* CHARGED_USER | user, or owner -> struct use */
	uint64_t charged;        /* CHARGED_USER | user; 0: the owner of each file */
	uint64_t asked;
	char bound[PARSE_WHY_BYTES]; /* the newest that was reached, as a reason */
	bool is_oom;             /* the newest worker that was killed: the kernel lacked memory then */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct parse_client *parse_client_new(struct parser *parser)
{
	struct parse_client *client = xcalloc(1, sizeof(*client));

	client->parser = parser;
	hash_init(&client->uses, sizeof(struct use));
	return client;
}

/* A worker that waits for a request ends with its socket. One that works on must be killed. */
static void end_link(struct parse_client *client, struct link *link)
{
	if (!link->is_up)
		return;
	close(link->socket);
	parser_kill_worker(client->parser, link->number);
	*link = (struct link){ 0 };
}

void parse_client_rest(struct parse_client *client)
{
	for (size_t i = 0; i < CLIENT_WORKERS; i++)
		end_link(client, &client->links[i]);
}

void parse_client_free(struct parse_client *client)
{
	if (!client)
		return;
	parse_client_rest(client);
	hash_fini(&client->uses);
	free(client);
}

void parse_client_charge(struct parse_client *client, uint32_t user)
{
	client->charged = CHARGED_USER | user;
}

static struct use *use_of(struct parse_client *client, uint32_t owner)
{
	struct use *use = hash_put(&client->uses, client->charged ?: owner, NULL);
	uint64_t now = now_ns();

	if (!use->since_ns || now - use->since_ns > PERIOD_NS)
		*use = (struct use){ .since_ns = now };
	return use;
}

static struct link *find_link(struct parse_client *client, uint32_t owner)
{
	for (size_t i = 0; i < CLIENT_WORKERS; i++)
		if (client->links[i].is_up && client->links[i].owner == owner)
			return &client->links[i];
	return NULL;
}

/* The owner's worker, or a new one in the place of the one that was asked the longest time ago. */
static int get_link(struct parse_client *client, uint32_t owner, struct link **found)
{
	struct link *link = find_link(client, owner);
	int err = 0;

	if (!link) {
		link = &client->links[0];
		for (size_t i = 1; i < CLIENT_WORKERS; i++)
			if (client->links[i].used < link->used) /* 0: there is none */
				link = &client->links[i];
		end_link(client, link);
		err = parser_start_worker(client->parser, &link->number, &link->socket);
		link->is_up = !err;
		link->oom_kills = oom_kills();
		link->owner = owner;
	}
	link->used = ++client->asked;
	*found = link;
	return err;
}

/* Waits until bytes can be received. */
static int wait_for_bytes(const struct parse_client *client, const struct link *link, uint64_t until_ns)
{
	struct pollfd fds[2] = {
		{ .fd = link->socket, .events = POLLIN },
		{ .fd = parser_cancelled(client->parser), .events = POLLIN },
	};
	uint64_t now = now_ns();
	struct timespec left;

	if (now >= until_ns)
		return -ETIME;
	left = (struct timespec){ (time_t)((until_ns - now) / 1000000000), (long)((until_ns - now) % 1000000000) };
	if (ppoll(fds, 2, &left, NULL) < 0 && errno != EINTR)
		return -errno;
	return fds[1].revents ? -ECANCELED : 0;
}

static int receive_bytes(const struct parse_client *client, const struct link *link, void *to, size_t size,
			 uint64_t until_ns)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = recv(link->socket, (char *)to + done, size - done, MSG_DONTWAIT);
		int err = 0;

		if (got > 0)
			done += (size_t)got;
		else if (!got)
			return -EFAULT;
		else if (errno == EAGAIN)
			err = wait_for_bytes(client, link, until_ns);
		else if (errno != EINTR)
			return -EFAULT;
		if (err)
			return err;
	}
	return 0;
}

/* Either clock ends a worker: that of its processor time, which rings in the worker, or that of the wait. */
static void note_bound(struct parse_client *client, uint64_t ns, const char *of_what)
{
	snprintf(client->bound, sizeof(client->bound), "takes too long to read: gpumemtrace ended its reader after"
		 " %.3g s%s", (double)ns / 1e9, of_what);
}

int parse_time_is_up(struct parse_client *client, uint64_t ns)
{
	note_bound(client, ns, " for all questions");
	return -ETIMEDOUT;
}

/* 0: the worker has answered, and lives. */
static int exchange_messages(struct parse_client *client, const struct link *link,
			     const struct parse_question *question, struct parse_answer *answer, int *status)
{
	struct channel_request request = { question->kind, (uint32_t)question->size, question->budget_ns };
	struct iovec parts[2] = { { &request, sizeof(request) },
				  { (void *)(uintptr_t)question->data, question->size } };
	uint64_t until_ns = now_ns() + question->budget_ns * PARSE_WAIT;
	int fds[PARSE_FDS], err;
	struct channel_reply reply;

	for (size_t i = 0; i < PARSE_FDS; i++)
		fds[i] = question->fds[i] > 0 ? question->fds[i] : -1;
	/* It ended before it saw this question, ... */
	if (channel_send(link->socket, parts, question->size ? 2 : 1, fds))
		return receive_bytes(client, link, &reply, sizeof(reply), 0) || reply.status != -ENOBUFS ?
		       -ESTALE : -ENOBUFS; /* ... or never began */
	err = receive_bytes(client, link, &reply, sizeof(reply), until_ns);
	if (err)
		return err;
	if (reply.size > question->most || reply.status < -4095)
		return -EBADMSG;
	if (reply.size) {
		answer->data = malloc(reply.size);
		answer->size = reply.size;
		if (!answer->data)
			return -ENOBUFS;
		err = receive_bytes(client, link, answer->data, reply.size, until_ns);
	}
	*status = reply.status;
	if (!err && (reply.status == -ENOMEM || reply.status == -ENOBUFS || reply.status == -ETIMEDOUT ||
		     reply.status == -EREMOTEIO))
		err = reply.status; /* its last word */
	if (reply.status == -ETIMEDOUT)
		note_bound(client, question->budget_ns, " of processor time");
	return err;
}

static void drop_answer(struct parse_answer *answer)
{
	free(answer->data);
	*answer = (struct parse_answer){ 0 };
}

/* Why a worker ended without a last word. */
static int why_ended(struct parse_client *client, const struct link *link, unsigned int kills)
{
	if (kills != parser_kills(client->parser))
		return -EOWNERDEAD;
	if (parser_ended_by(client->parser, link->number) != SIGKILL)
		return -EFAULT;
	client->is_oom = oom_kills() > link->oom_kills;
	return -ENOTRECOVERABLE;
}

static int ask_once(struct parse_client *client, const struct parse_question *question, struct parse_answer *answer,
		    int *status, bool *was_fresh)
{
	unsigned int kills = parser_kills(client->parser);
	struct link *link;
	int err;

	if (question->about_state && !find_link(client, question->owner))
		return -ESTALE;
	err = get_link(client, question->owner, &link);
	if (err)
		return err;
	*was_fresh = !link->answers++;
	err = exchange_messages(client, link, question, answer, status);
	if (!err)
		return 0;
	if (err == -EFAULT && !parser_has_ended(client->parser))
		err = why_ended(client, link, kills);
	end_link(client, link);
	drop_answer(answer);
	if (err == -ETIME) {
		note_bound(client, question->budget_ns * PARSE_WAIT, "");
		err = -ETIMEDOUT;
	}
	if ((err == -EFAULT || err == -ESTALE) && parser_has_ended(client->parser))
		return -ECHILD;
	return err;
}

/* A worker that has files open may be at its limit, or somebody may have ended it. That is not the fault of the file in
 * question, which a new worker tries once more. */
static bool may_try_again(const struct parse_question *question, int err, bool was_fresh)
{
	return (err == -EFAULT || err == -EOWNERDEAD || err == -ENOTRECOVERABLE || err == -ENOMEM || err == -ENOBUFS ||
		err == -ESTALE) && !was_fresh && !question->about_state;
}

/* A machine without memory is not asked for more with each stack. */
static void rest_for_memory(struct use *use)
{
	use->rest_ns = use->rest_ns ? 2 * use->rest_ns : REST_NS;
	use->rests_until_ns = now_ns() + use->rest_ns;
}

int parse_ask(struct parse_client *client, const struct parse_question *question, struct parse_answer *answer)
{
	struct use *use = use_of(client, question->owner);
	uint64_t start = now_ns(), took;
	bool was_fresh = false;
	int status = 0, err;

	*answer = (struct parse_answer){ 0 };
	if (question->size > PARSE_REQUEST_MAX)
		return -EINVAL;
	do {
		if (use->ns >= CHARGED_NS || use->deaths >= CHARGED_DEATHS || use->useless >= CHARGED_USELESS)
			return -EDQUOT;
		if (start < use->rests_until_ns)
			return -ENOBUFS;
		err = ask_once(client, question, answer, &status, &was_fresh);
		use->deaths += parse_gave_up(err) && err != -ECHILD && err != -ENOBUFS;
	} while (may_try_again(question, err, was_fresh));
	if (err == -ENOBUFS)
		rest_for_memory(use);
	took = now_ns() - start;
	use->ns += took > SLOW_NS ? took : 0;
	/* Of other kinds that is honest: code that a compiler has made at run time lies in files without headers. */
	use->useless += !err && status == -ENOEXEC && question->kind == PARSE_LIBRARY;
	return err ?: status;
}

int parse_refuse(struct parse_client *client, uint32_t owner)
{
	struct link *link = find_link(client, owner);

	if (link)
		end_link(client, link);
	use_of(client, owner)->deaths++;
	return -EBADMSG;
}

bool parse_gave_up(int err)
{
	return err == -ETIMEDOUT || err == -ENOMEM || err == -ENOBUFS || err == -EREMOTEIO || err == -EFAULT ||
	       err == -EOWNERDEAD || err == -ENOTRECOVERABLE || err == -EBADMSG || err == -EDQUOT || err == -ECHILD;
}

bool parse_may_pass(int err)
{
	return err == -EDQUOT || err == -ENOBUFS;
}

bool parse_was_ended(int err)
{
	return err == -ETIMEDOUT || err == -EOWNERDEAD;
}

const char *parse_why(const struct parse_client *client, int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return client->bound;
	case -EOWNERDEAD:
		return "was being read when gpumemtrace ended all readers to save memory";
	case -ENOTRECOVERABLE:
		return client->is_oom ? "could not be read: the kernel killed its reader, as memory had run out" :
					"could not be read: its reader was killed, and not by gpumemtrace";
	case -ENOMEM:
		return "needs more memory to be read than 1 GiB, or than the machine has left";
	case -ENOBUFS:
		return "could not be read: gpumemtrace or the machine had no memory left";
	case -EREMOTEIO:
		return "could not be read: its storage reported an error";
	case -EDQUOT:
		return "has to wait, because other files of its user's processes took too long or could not be read";
	case -EBADMSG:
		return "overpowered the process that read it";
	case -ECHILD:
		return "could not be read: gpumemtrace's process for foreign files has ended";
	default:
		return "crashed the process that read it";
	}
}

int parse_status(struct parse_client *client, struct parse_status *status)
{
	struct parse_question question = {
		.kind = PARSE_STATUS, .budget_ns = 5000000000, .most = sizeof(*status),
	};
	struct parse_answer answer;
	int err = parse_ask(client, &question, &answer);

	if (!err && answer.size != sizeof(*status))
		err = parse_refuse(client, 0);
	if (!err)
		memcpy(status, answer.data, sizeof(*status));
	free(answer.data);
	return err;
}
