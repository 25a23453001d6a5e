// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "live/process/procfs.h"
#include "live/stream.h"

struct member {
	bool live;                /* introduced, and not exited */
	bool missing;             /* could not be found the last time */
	bool has_facts;           /* read while the process ran: it may be gone when it is introduced */
	struct gmt_proc facts;
};

struct roster {
	struct stream *stream;
	struct hash members;      /* tgid -> struct member */
	uint32_t last_live;       /* the newest member found live: most records are of one process */
	uint64_t kernel_records;
	bool saw_cuda;
};

struct roster *roster_new(struct stream *stream)
{
	struct roster *roster = xcalloc(1, sizeof(*roster));

	roster->stream = stream;
	hash_init(&roster->members, sizeof(struct member));
	return roster;
}

void roster_free(struct roster *roster)
{
	if (!roster)
		return;
	hash_fini(&roster->members);
	free(roster);
}

/* `start_ns`: the start of the process, 0 unknown. The pid may belong to another process by now: then only the kernel's
 * name for the process (NULL: none) is known. */
static void read_facts(struct member *member, pid_t tgid, uint64_t start_ns, const __u8 *comm)
{
	member->has_facts = !procfs_proc(tgid, &member->facts) &&
			    (!start_ns || member->facts.start_ns == start_ns);
	if (member->has_facts)
		return;
	member->facts = (struct gmt_proc){ .start_ns = start_ns, .ns_pid = tgid };
	if (comm)
		memcpy(member->facts.comm, comm, sizeof(member->facts.comm));
	member->has_facts = start_ns;
}

void roster_expect(struct roster *roster, pid_t tgid)
{
	read_facts(hash_put(&roster->members, tgid, NULL), tgid, 0, NULL);
}

/* Expects the process that a record of the kernel names. */
static void expect_told(struct roster *roster, const struct gmt_hdr *record)
{
	struct member *member = hash_put(&roster->members, record->tgid, NULL);
	const struct gmt_proc_exec *exec = (const void *)record;
	const struct gmt_proc_fork *fork = (const void *)record;

	member->live = false;
	if (record->kind == GMT_KIND_PROC_FORK)
		read_facts(member, record->tgid, fork->start_ns, NULL);
	else
		read_facts(member, record->tgid, exec->start_ns, exec->comm);
}

static void introduce_process(struct roster *roster, pid_t tgid, bool used_gpu, uint64_t ts_ns)
{
	struct gmt_attach attach = { .flags = used_gpu ? 0 : GMT_ATTACH_FROM_START };
	struct member *member = hash_put(&roster->members, tgid, NULL);

	roster->saw_cuda |= used_gpu;
	if (!member->has_facts)
		read_facts(member, tgid, 0, NULL);
	member->live = true;
	member->missing = false;
	member->has_facts = false;
	/* A process that is gone gets its records, too, without a name. */
	STREAM_PUT_AT(roster->stream, &member->facts, PROC, tgid, ts_ns);
	STREAM_PUT_AT(roster->stream, &attach, ATTACH, tgid, ts_ns);
}

void roster_add(struct roster *roster, pid_t tgid, bool used_gpu)
{
	introduce_process(roster, tgid, used_gpu, stream_now_ns());
}

static bool is_kernel_layer(uint16_t kind)
{
	return kind >= GMT_KIND_RM_ALLOC && kind <= GMT_KIND_UVM_FREE;
}

void roster_see(struct roster *roster, const struct gmt_hdr *record)
{
	struct member *member;

	roster->kernel_records += is_kernel_layer(record->kind);
	if (record->tgid == roster->last_live && record->kind != GMT_KIND_PROC_EXIT)
		return;
	if (record->kind != GMT_KIND_CALL && record->kind != GMT_KIND_FW_MEM && !is_kernel_layer(record->kind))
		return;
	roster->saw_cuda = true;
	member = hash_get(&roster->members, record->tgid);
	/* Processes that used a GPU before the session were added at its start: a new process begins now. */
	if (!member || !member->live)
		introduce_process(roster, record->tgid, false, record->ts_ns);
	roster->last_live = record->tgid;
}

void roster_seen(struct roster *roster, const struct gmt_hdr *record)
{
	struct member *member = hash_get(&roster->members, record->tgid);

	switch (record->kind) {
	case GMT_KIND_PROC_SEEN:
		/* A process that was added before its first call is known. */
		if (member && member->live &&
		    member->facts.start_ns == ((const struct gmt_proc_exec *)record)->start_ns)
			return;
		/* fallthrough */
	case GMT_KIND_PROC_FORK:
	case GMT_KIND_PROC_EXEC:
		/* After an exec another program runs, which is introduced when it uses a GPU. */
		expect_told(roster, record);
		break;
	case GMT_KIND_PROC_EXIT:
		hash_erase(&roster->members, record->tgid);
		break;
	default:
		return;
	}
	roster->last_live = 0;
}

static bool is_gone(pid_t tgid)
{
	struct procfs_stat stat;
	int err = procfs_stat(tgid, &stat);

	return err == -ESRCH || err == -ENOENT || (!err && stat.ended);
}

void roster_reap(struct roster *roster)
{
	size_t pos = 0;
	uint64_t tgid;
	void *value;

	while (hash_next(&roster->members, &pos, &tgid, &value)) {
		struct gmt_proc_exit exit = { .exit_code = GMT_EXIT_CODE_UNKNOWN };
		struct member *member = value;
		bool missed = member->missing;

		member->missing = member->live && is_gone(tgid);
		/* A process that has just ended may have its record in the ring, which is read before the next look. */
		if (!member->missing || !missed)
			continue;
		STREAM_PUT(roster->stream, &exit, PROC_EXIT, tgid);
		member->live = false;
	}
	roster->last_live = 0;
}

bool roster_is_live(const struct roster *roster, pid_t tgid)
{
	const struct member *member = hash_get(&roster->members, tgid);

	return member && member->live;
}

size_t roster_live_count(const struct roster *roster)
{
	size_t pos = 0, n = 0;
	void *value;

	while (hash_next(&roster->members, &pos, NULL, &value))
		n += ((struct member *)value)->live;
	return n;
}

bool roster_saw_cuda(const struct roster *roster)
{
	return roster->saw_cuda;
}

uint64_t roster_kernel_records(const struct roster *roster)
{
	return roster->kernel_records;
}

void roster_each_live(const struct roster *roster, roster_fn fn, void *arg)
{
	size_t pos = 0;
	uint64_t tgid;
	void *value;

	while (hash_next(&roster->members, &pos, &tgid, &value))
		if (((struct member *)value)->live)
			fn(arg, tgid);
}
