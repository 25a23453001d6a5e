// SPDX-License-Identifier: BSD-2-Clause
/* Workers that misbehave in every way that a hostile file can bring about, and what is left of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "parse/channel.h"
#include "parse_child.h"
#include "patience.h"

#define SHORT_NS 100000000ULL
#define LONG_NS (PATIENCE * 1000000000ULL)
#define BYTES 100000
#define SECOND_NS 1000000000ULL

/* ---- time: in place of the C library's clock ---- */

static uint64_t ahead_ns, step_ns; /* what the clock shows too much, and how much that grows by a look */
static bool is_stopped;            /* it shows a second and ahead_ns, whatever the time is */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int err = (int)syscall(SYS_clock_gettime, clock, now);
	uint64_t ns = (uint64_t)now->tv_sec * SECOND_NS + (uint64_t)now->tv_nsec + ahead_ns;

	ahead_ns += step_ns;
	if (is_stopped)
		ns = SECOND_NS + ahead_ns;
	*now = (struct timespec){ (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
	return err;
}

/* ---- what workers do here: the kinds stand for behaviours ---- */

#define ECHO PARSE_SWITCHERS
#define CRASH PARSE_POINTS
#define HANG PARSE_FACTS
#define HOG PARSE_TABLE
#define COUNT PARSE_EVAL
#define MANY PARSE_OPEN
#define ESCAPE PARSE_NAME
#define READ PARSE_READ
#define NONE PARSE_CLOSE
#define SLEEP PARSE_PYTHON
#define USELESS PARSE_LIBRARY

static int serve_echo(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	answer->data = xmalloc(task->size);
	answer->size = task->size;
	memcpy(answer->data, task->data, task->size);
	return 7;
}

static int serve_crash(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	(void)task;
	(void)answer;
	signal(SIGSEGV, SIG_DFL);
	return raise(SIGSEGV);
}

static int serve_hang(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	(void)answer;
	while (task->size)
		__asm__ volatile("" ::: "memory");
	return 0;
}

static int serve_hog(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	(void)task;
	(void)answer;
	for (size_t i = 0; i < 2 * PARSE_MEMORY >> 24; i++)
		*(volatile char *)xmalloc(1 << 24) = 1;
	return 0;
}

/* How often this worker was asked. */
static int serve_count(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)task;
	(void)answer;
	*state = (char *)*state + 1;
	return (int)(intptr_t)*state;
}

static int serve_many(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	(void)task;
	answer->data = xcalloc(1, BYTES);
	answer->size = BYTES;
	memset(answer->data, 'x', BYTES);
	return 0;
}

/* The number of the first thing that a worker can do and should not. */
static int serve_escape(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct stat st;
	int pair[2];

	(void)state;
	(void)task;
	(void)answer;
	if (open("/proc/self/status", O_RDONLY) >= 0)
		return 1;
	if (!stat("/etc/passwd", &st))
		return 2;
	if (fork() >= 0)
		return 3;
	if (!kill(getppid() > 1 ? getppid() : getpid(), 0))
		return 4;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || !socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 5;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 6;
	if (write(1, "x", 1) == 1 || write(2, "x", 1) == 1)
		return 7;
	if (!execl("/bin/true", "true", NULL))
		return 8;
	return getenv("PATH") ? 9 : 0;
}

static int serve_read(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	answer->data = xcalloc(1, 8);
	answer->size = 8;
	return pread(task->fds[0], answer->data, 8, 0) == 8 ? task->fds[1] : -EIO;
}

static int serve_useless(void **state, struct parse_task *task, struct parse_answer *answer)
{
	(void)state;
	(void)task;
	(void)answer;
	return -ENOEXEC;
}

static const struct parse_table table = {
	.serve = { [ECHO] = serve_echo, [CRASH] = serve_crash, [HANG] = serve_hang, [HOG] = serve_hog, [SLEEP] = parse_child_sleep,
		   [COUNT] = serve_count, [MANY] = serve_many, [ESCAPE] = serve_escape, [READ] = serve_read,
		   [USELESS] = serve_useless },
};

/* ---- asking ---- */

static int ask_owner(struct parse_client *client, enum parse_kind kind, uint32_t owner, uint64_t budget_ns)
{
	struct parse_question question = {
		.kind = kind, .owner = owner, .budget_ns = budget_ns, .most = BYTES,
		.data = "question", .size = 8,
	};
	struct parse_answer answer;
	int err = parse_ask(client, &question, &answer);

	if (kind == ECHO && err == 7)
		assert_true(answer.size == 8 && !memcmp(answer.data, "question", 8));
	if (kind == MANY && !err)
		assert_true(answer.size == BYTES && ((char *)answer.data)[BYTES - 1] == 'x');
	free(answer.data);
	return err;
}

static int ask(struct parse_client *client, enum parse_kind kind)
{
	return ask_owner(client, kind, 0, LONG_NS);
}

/* A field of a process's status as a number. */
static uint64_t status_field(int pid, const char *name, int base)
{
	uint64_t value = UINT64_MAX;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

/* ---- tests ---- */

static void answers(void **state)
{
	struct parse_child child = parse_child_start(&table);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ask(child.client, ECHO), 7);
	assert_int_equal(ask(child.client, MANY), 0);
	assert_int_equal(ask(child.client, NONE), -ENOSYS);
	assert_int_equal(ask(child.client, ECHO), 7);
	parse_child_end(&child);
}

static void descriptors(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_question question = { .kind = READ, .budget_ns = LONG_NS, .most = 8 };
	struct parse_answer answer;
	int fd = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, "contents", 8), 8);
	question.fds[0] = fd;
	for (int i = 0; i < 2000; i++) { /* the worker closes them: it may have 512 */
		assert_int_equal(parse_ask(child.client, &question, &answer), -1);
		assert_memory_equal(answer.data, "contents", 8);
		free(answer.data);
	}
	close(fd);
	parse_child_end(&child);
}

static void nothing_is_permitted(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_status status;

	(void)state;
	assert_int_equal(ask(child.client, ESCAPE), 0);
	assert_int_equal(parse_status(child.client, &status), 0);
	assert_true(status.no_new_privileges && status.has_filter && !status.capabilities);
	assert_int_equal(status.uid, geteuid() ? geteuid() : 65534);
	/* As others see the worker. */
	assert_int_equal(status_field(status.pid, "CapEff", 16), 0);
	assert_int_equal(status_field(status.pid, "CapPrm", 16), 0);
	assert_int_equal(status_field(status.pid, "NoNewPrivs", 10), 1);
	assert_int_equal(status_field(status.pid, "Seccomp", 10), 2);
	assert_int_equal(status_field(status.pid, "Uid", 10), status.uid);
	parse_child_end(&child);
}

/* Ends the workers until one has been at work. */
struct killing {
	struct parser *parser;
	atomic_bool is_over;
};

static void *kill_workers(void *arg)
{
	struct killing *killing = arg;

	while (!killing->is_over) {
		parser_kill_workers(killing->parser);
		usleep(1000);
	}
	return NULL;
}

/* What ends a worker is told, and the next worker goes on. */
static void workers_end(void **state)
{
	struct parse_child child = parse_child_start(&table);

	(void)state;
	assert_int_equal(ask(child.client, CRASH), -EFAULT);
	assert_int_equal(ask(child.client, ECHO), 7);
	assert_int_equal(ask_owner(child.client, HANG, 0, SHORT_NS), -ETIMEDOUT);
	assert_int_equal(ask_owner(child.client, SLEEP, 0, SHORT_NS), -ETIMEDOUT);
	assert_int_equal(ask(child.client, ECHO), 7);
	parse_client_rest(child.client);
#if !defined(__SANITIZE_ADDRESS__) /* it has an address space of its own */
	assert_int_equal(ask(child.client, HOG), -ENOMEM);
#endif
	assert_int_equal(ask(child.client, ECHO), 7);
	assert_true(parse_gave_up(-EFAULT) && parse_gave_up(-ENOMEM) && !parse_gave_up(-ENOENT) && !parse_gave_up(-ERANGE));
	assert_true(parse_gave_up(-EREMOTEIO) && !parse_gave_up(-EIO));   /* an open() gives the second */
	parse_child_end(&child);
}

#define BY_PROCESSOR_TIME "takes too long to read: gpumemtrace ended its reader after 0.1 s of processor time"
#define BY_TIME "takes too long to read: gpumemtrace ended its reader after 0.4 s"

/* A busy machine may not give a worker its 0.1 s within 0.4 s: the wait does not end here. */
static void hang_until_processor_time_is_up(struct parse_client *client)
{
	is_stopped = true;
	assert_int_equal(ask_owner(client, HANG, 0, SHORT_NS), -ETIMEDOUT);
	is_stopped = false;
	assert_string_equal(parse_why(client, -ETIMEDOUT), BY_PROCESSOR_TIME);
}

/* The reason says who ended the worker, and at which bound. */
static void reasons_are_true(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct killing killing = { .parser = child.parser };
	pthread_t thread;

	(void)state;
	hang_until_processor_time_is_up(child.client);
	assert_int_equal(ask_owner(child.client, SLEEP, 0, SHORT_NS), -ETIMEDOUT);
	assert_string_equal(parse_why(child.client, -ETIMEDOUT), BY_TIME);
	assert_int_equal(pthread_create(&thread, NULL, kill_workers, &killing), 0);
	assert_int_equal(ask_owner(child.client, SLEEP, 0, LONG_NS), -EOWNERDEAD);
	killing.is_over = true;
	pthread_join(thread, NULL);
	assert_true(parse_was_ended(-EOWNERDEAD) && parse_was_ended(-ETIMEDOUT));
	assert_false(parse_was_ended(-EFAULT) || parse_was_ended(-ENOMEM));
	parse_child_end(&child);
}

#define NO_MEMORY "could not be read: gpumemtrace or the machine had no memory left"
#define TRIES 20                     /* more than an owner may end workers */

/* A parser whose processes have a bound that is not the file's. False: it could not be started. */
static bool start_bounded(struct parse_child *child, int resource, rlim_t bound)
{
	struct rlimit usual, lower;
	int err;

	assert_int_equal(getrlimit(resource, &usual), 0);
	lower = (struct rlimit){ bound, usual.rlim_max };
	assert_int_equal(setrlimit(resource, &lower), 0);
	err = parser_start(&child->parser, &table);
	assert_int_equal(setrlimit(resource, &usual), 0);
	if (!err)
		child->client = parse_client_new(child->parser);
	return !err;
}

/* Neither the file nor its owner is blamed. */
static void assert_innocent(struct parse_child *child, enum parse_kind kind)
{
	for (int i = 0; i < TRIES; i++)
		assert_int_equal(ask_owner(child->client, kind, 5, LONG_NS), -ENOBUFS);
	assert_string_equal(parse_why(child->client, -ENOBUFS), NO_MEMORY);
	assert_true(parse_gave_up(-ENOBUFS) && !parse_was_ended(-ENOBUFS));
	assert_int_equal(ask_owner(child->client, NONE, 6, LONG_NS), kind == HOG ? -ENOSYS : -ENOBUFS);
	parse_child_end(child);
}

static void a_lack_of_memory_is_not_the_files(void **state)
{
	struct parse_child child;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they take memory that such a bound refuses */
#endif
	assert_true(start_bounded(&child, RLIMIT_DATA, PARSE_MEMORY / 4));
	assert_innocent(&child, HOG);
}

/* Who lacks memory is not asked for more with each stack, but soon again, and the others are asked all the same. */
static void a_lack_of_memory_passes(void **state)
{
	struct parse_child child;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	assert_true(start_bounded(&child, RLIMIT_DATA, PARSE_MEMORY / 4));
	is_stopped = true;
	assert_int_equal(ask_owner(child.client, HOG, 5, LONG_NS), -ENOBUFS);
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), -ENOBUFS);
	assert_int_equal(ask_owner(child.client, ECHO, 6, LONG_NS), 7);
	ahead_ns += SECOND_NS;
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), 7);
	assert_int_equal(ask_owner(child.client, HOG, 5, LONG_NS), -ENOBUFS);
	ahead_ns += SECOND_NS; /* the second rest is twice as long */
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), -ENOBUFS);
	ahead_ns += SECOND_NS;
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), 7);
	is_stopped = false;
	assert_true(parse_may_pass(-ENOBUFS) && parse_may_pass(-EDQUOT));
	assert_false(parse_may_pass(-ENOMEM) || parse_may_pass(-EFAULT) || parse_may_pass(-ECHILD));
	parse_child_end(&child);
}

static void without_a_process_no_file_is_blamed(void **state)
{
	struct parse_child child;

	(void)state;
	if (geteuid() || !start_bounded(&child, RLIMIT_NPROC, 0)) /* nobody may have no process */
		skip();
	assert_innocent(&child, ECHO);
}

/* An answer that is longer than asked for. */
static void answers_are_bounded(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_question question = { .kind = MANY, .budget_ns = LONG_NS, .most = BYTES - 1 };
	struct parse_answer answer;

	(void)state;
	assert_int_equal(parse_ask(child.client, &question, &answer), -EBADMSG);
	assert_null(answer.data);
	assert_int_equal(ask(child.client, ECHO), 7);
	parse_child_end(&child);
}

/* A process has closed its sockets when its state is Z, read here as a number of base 36, or when it is gone. */
static bool is_running(int pid)
{
	uint64_t state = status_field(pid, "State", 36);

	return state != 35 && state != UINT64_MAX;
}

/* A worker that somebody else ends is replaced, and nobody is blamed. */
static void killed_from_outside(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_status status;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(parse_status(child.client, &status), 0);
		assert_int_equal(kill(status.pid, i % 2 ? SIGSEGV : SIGKILL), 0);
		while (is_running(status.pid))
			usleep(1000);
		assert_int_equal(ask(child.client, ECHO), 7);
	}
	parse_child_end(&child);
}

/* State belongs to a worker, and a worker to an owner. */
static void owners_have_workers(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_question question = { .kind = COUNT, .budget_ns = LONG_NS, .about_state = true };
	struct parse_answer answer;

	(void)state;
	assert_int_equal(parse_ask(child.client, &question, &answer), -ESTALE);
	assert_int_equal(ask_owner(child.client, COUNT, 1, LONG_NS), 1);
	assert_int_equal(ask_owner(child.client, COUNT, 2, LONG_NS), 1);
	assert_int_equal(ask_owner(child.client, COUNT, 1, LONG_NS), 2);
	question.owner = 2;
	assert_int_equal(parse_ask(child.client, &question, &answer), 2);
	for (uint32_t owner = 10; owner < 60; owner++)
		assert_int_equal(ask_owner(child.client, COUNT, owner, LONG_NS), 1);
	assert_int_equal(ask_owner(child.client, COUNT, 1, LONG_NS), 1); /* replaced meanwhile */
	parse_child_end(&child);
}

/* The files of one owner can cost so much and no more; those of others are read. */
static void owners_have_bounds(void **state)
{
	struct parse_child child = parse_child_start(&table);
	int crashes = 0;

	(void)state;
	while (ask_owner(child.client, CRASH, 5, LONG_NS) == -EFAULT)
		crashes++;
	assert_in_range(crashes, 2, 20);
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), -EDQUOT);
	assert_int_equal(ask_owner(child.client, ECHO, 6, LONG_NS), 7);
	parse_child_end(&child);
}

/* A user whose processes bring files of others, as those of root, pays for them, and the others' files are read. */
static void users_are_charged(void **state)
{
	struct parse_child child = parse_child_start(&table);
	uint32_t owner = 0;

	(void)state;
	parse_client_charge(child.client, 1001);
	while (ask_owner(child.client, CRASH, owner % 2, LONG_NS) == -EFAULT)
		owner++;
	assert_in_range(owner, 2, 20);
	assert_int_equal(ask_owner(child.client, ECHO, 0, LONG_NS), -EDQUOT);
	parse_client_charge(child.client, 1002);
	assert_int_equal(ask_owner(child.client, ECHO, 0, LONG_NS), 7);
	parse_child_end(&child);
}

/* Slow answers are charged, quick ones are not. A minute later files are read again. */
static void slow_answers_are_charged(void **state)
{
	struct parse_child child = parse_child_start(&table);
	int slow = 0;

	(void)state;
	for (int i = 0; i < 500; i++)
		assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), 7);
	step_ns = SECOND_NS; /* an answer takes some looks at the clock */
	while (slow < 40 && ask_owner(child.client, ECHO, 5, LONG_NS) == 7)
		slow++;
	step_ns = 0;
	assert_in_range(slow, 2, 20);
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), -EDQUOT);
	assert_int_equal(ask_owner(child.client, ECHO, 6, LONG_NS), 7);
	ahead_ns += 61 * SECOND_NS;
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), 7);
	parse_child_end(&child);
}

/* Files that are none of the kind that is asked for take little time each, but a user can map as many as there are. */
static void useless_answers_are_charged(void **state)
{
	struct parse_child child = parse_child_start(&table);
	int useless = 0;

	(void)state;
	while (useless < 2000 && ask_owner(child.client, USELESS, 5, LONG_NS) == -ENOEXEC)
		useless++;
	assert_in_range(useless, 100, 1000);
	assert_int_equal(ask_owner(child.client, ECHO, 5, LONG_NS), -EDQUOT);
	assert_int_equal(ask_owner(child.client, ECHO, 6, LONG_NS), 7);
	ahead_ns += 61 * SECOND_NS;
	assert_int_equal(ask_owner(child.client, USELESS, 5, LONG_NS), -ENOEXEC);
	parse_child_end(&child);
}

static void *cancel_soon(void *parser)
{
	usleep(100000);
	parser_cancel(parser);
	return NULL;
}

static void waiting_can_be_ended(void **state)
{
	struct parse_child child = parse_child_start(&table);
	pthread_t thread;

	(void)state;
	assert_int_equal(ask(child.client, ECHO), 7);
	pthread_create(&thread, NULL, cancel_soon, child.parser);
	assert_int_equal(ask(child.client, HANG), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(ask_owner(child.client, HANG, 1, LONG_NS), -ECANCELED);
	parse_child_end(&child);
}

/* The pids of the keeper and of a worker that never ends its work. */
struct family {
	int keeper, worker;
};

static _Noreturn void be_killed(int out)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_status status;
	struct family family = { 0 };

	if (!parse_status(child.client, &status))
		family = (struct family){ (int)status_field(status.pid, "PPid", 10), status.pid };
	if (write(out, &family, sizeof(family)) == sizeof(family))
		ask(child.client, HANG);
	_exit(0);
}

static void nobody_is_left(void **state)
{
	struct family family;
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		be_killed(ends[1]);
	assert_int_equal(read(ends[0], &family, sizeof(family)), sizeof(family));
	assert_true(family.keeper > 1 && family.worker > 1);
	usleep(50000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Both get SIGKILL from the kernel, and init may take its time to reap them. */
	while (status_field(family.keeper, "VmSize", 10) != UINT64_MAX ||
	       status_field(family.worker, "VmSize", 10) != UINT64_MAX)
		usleep(1000);
	close(ends[0]);
	close(ends[1]);
}

static void no_keeper(void **state)
{
	struct parse_child child = parse_child_start(&table);
	struct parse_status status;

	(void)state;
	assert_int_equal(parse_status(child.client, &status), 0);
	assert_false(parser_has_ended(child.parser));
	assert_int_equal(kill(parser_keeper(child.parser), SIGKILL), 0);
	while (status_field(status.pid, "VmSize", 10) != UINT64_MAX)
		usleep(1000);
	assert_true(parser_has_ended(child.parser));
	for (int i = 0; i < 20; i++) /* which costs no owner anything */
		assert_int_equal(ask(child.client, ECHO), -ECHILD);
	assert_true(parse_gave_up(-ECHILD) && !parse_was_ended(-ECHILD));
	assert_string_equal(parse_why(child.client, -ECHILD),
			    "could not be read: gpumemtrace's process for foreign files has ended");
	parse_child_end(&child);
}

static void *kill_keeper_soon(void *parser)
{
	usleep(100000);
	kill(parser_keeper(parser), SIGKILL);
	return NULL;
}

/* The file that a worker reads when the keeper ends is not blamed for the worker's end. */
static void keeper_ends_with_worker(void **state)
{
	struct parse_child child = parse_child_start(&table);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, kill_keeper_soon, child.parser), 0);
	assert_int_equal(ask(child.client, SLEEP), -ECHILD);
	pthread_join(thread, NULL);
	parse_child_end(&child);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers),
		TEST(descriptors),
		TEST(nothing_is_permitted),
		TEST(workers_end),
		TEST(reasons_are_true),
		TEST(a_lack_of_memory_is_not_the_files),
		TEST(a_lack_of_memory_passes),
		TEST(without_a_process_no_file_is_blamed),
		TEST(answers_are_bounded),
		TEST(killed_from_outside),
		TEST(owners_have_workers),
		TEST(owners_have_bounds),
		TEST(users_are_charged),
		TEST(slow_answers_are_charged),
		TEST(useless_answers_are_charged),
		TEST(waiting_can_be_ended),
		TEST(nobody_is_left),
		TEST(no_keeper),
		TEST(keeper_ends_with_worker),
	};

	alarm(PATIENCE);
	return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
