/* SPDX-License-Identifier: BSD-2-Clause */
/* Begins and ends the lives of processes (process.h), by lifecycle records and the collector's facts. */
#include <string.h>

#include "core/ledger/balance.h"
#include "core/ledger/handlers.h"
#include "core/ledger/held.h"
#include "core/ledger/ledger_state.h"
#include "core/ledger/overlap.h"

/* ---- the end ---- */

/* The sums stay as they were at the end, because a report shows what a program held then. */
static void end_life(struct process *p, uint64_t ts_ns, struct delta_exit how)
{
	overlap_drop(p, ts_ns);
	deltas_give(p->out, &(struct delta){ .kind = DELTA_EXIT, .p = p, .ts_ns = ts_ns, .exit = how });
	for (unsigned int i = 0; i < p->account.count; i++) {
		struct row *row = &p->account.rows[i];

		balance_physical(p, row, &row->at_end);
		row->ordinal_at_end = context_ordinal_of_gpu(&p->contexts, row->gpu);
	}
	held_keep(p);
	process_forget(p);
	p->exited = true;
	p->exit_ts_ns = ts_ns;
	p->exit_code = how.code;
	deltas_give(p->out, &(struct delta){ .kind = DELTA_GONE, .p = p, .ts_ns = ts_ns });
	process_keep_ended(p);
}

/* ---- from its beginning on ---- */

/*
 * Whether a record is about the newest life of its pid. The start time alone does not say so: the time is cut to
 * GMT_START_UNIT_NS, and a short process may share the time with the next process of its pid. But the kernel's records
 * of a process come before its end. The collector's facts may come later. Facts with the start time of a dead process
 * are about the dead process; other facts are about the next process of the pid.
 */
static bool is_newest(const struct process *p, const struct gmt_hdr *hdr, uint64_t start_ns)
{
	if (p->exited)
		return hdr->kind >= GMT_KIND_USER_FIRST && start_ns && p->start_ns == start_ns;
	return !start_ns || !p->start_ns || p->start_ns == start_ns;
}

/* The process with this start time: the newest life of the pid, or a new one. */
static struct process *open_life(struct processes *all, const struct gmt_hdr *hdr, uint64_t start_ns)
{
	struct process *p = process_find(all, hdr->tgid);

	if (p && is_newest(p, hdr, start_ns))
		return p;
	if (p && !p->exited) /* its exit was missed */
		end_life(p, hdr->ts_ns, (struct delta_exit){ 0 });
	p = process_new(all, hdr);
	p->start_ns = start_ns;
	return p;
}

int life_fork(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_proc_fork *rec = (const void *)hdr;
	struct process *parent = process_find(&l->processes, rec->parent_tgid);
	struct process *child = open_life(&l->processes, hdr, rec->start_ns);

	child->start_ns = rec->start_ns;
	child->from_start = true;
	/* Until the child runs another program, the child looks like its parent. */
	if (!parent || parent == child || child->comm[0])
		return 0;
	child->uid = parent->uid;
	memcpy(child->comm, parent->comm, sizeof(child->comm));
	memcpy(child->cmdline, parent->cmdline, sizeof(child->cmdline));
	memcpy(child->cgroup, parent->cgroup, sizeof(child->cgroup));
	return 0;
}

/* Copies text that may lack its NUL. */
static void copy_record_text(char *to, size_t to_size, const __u8 *from, size_t from_size)
{
	size_t size = from_size < to_size - 1 ? from_size : to_size - 1;

	memcpy(to, from, size);
	to[size] = '\0';
}

int life_seen(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_proc_exec *rec = (const void *)hdr;
	struct process *p = open_life(&l->processes, hdr, rec->start_ns);

	p->start_ns = rec->start_ns ? rec->start_ns : p->start_ns;
	if (!p->comm[0])
		copy_record_text(p->comm, sizeof(p->comm), rec->comm, sizeof(rec->comm));
	return 0;
}

/* The process runs another program: all memory of the old program is gone. */
static void replace_program(struct process *p, uint64_t ts_ns)
{
	deltas_give(p->out, &(struct delta){ .kind = DELTA_EXEC, .p = p, .ts_ns = ts_ns });
	process_forget(p);
	account_drop(&p->account);
	deltas_give(p->out, &(struct delta){
		.kind = DELTA_GONE, .p = p, .ts_ns = ts_ns, .gone.is_exec = true,
	});
	for (unsigned int i = 0; i < p->account.count; i++)
		p->account.rows[i].nvml = (struct row_nvml){ 0 };
}

/* An exec keeps the start time. Another start time, or an exec after the exit, is the next process of the pid, whose
 * fork was missed. */
int life_exec(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_proc_exec *rec = (const void *)hdr;
	struct process *p = open_life(&l->processes, hdr, rec->start_ns);

	replace_program(p, hdr->ts_ns);
	p->from_start = true;
	if (rec->start_ns)
		p->start_ns = rec->start_ns;
	copy_record_text(p->comm, sizeof(p->comm), rec->comm, sizeof(rec->comm));
	p->cmdline[0] = '\0';
	return 0;
}

int life_exit(struct process *p, const struct gmt_hdr *hdr)
{
	end_life(p, hdr->ts_ns, (struct delta_exit){
		.is_seen = true, .code = ((const struct gmt_proc_exit *)hdr)->exit_code,
	});
	return 0;
}

int life_facts(struct ledger *l, const struct gmt_hdr *hdr)
{
	const struct gmt_proc *rec = (const void *)hdr;
	struct process *p = open_life(&l->processes, hdr, rec->start_ns);

	if (!rec->start_ns && !rec->comm[0])
		return 0; /* the process was gone before the collector could ask */
	p->start_ns = rec->start_ns ? rec->start_ns : p->start_ns;
	p->uid = rec->uid;
	p->ns_pid = rec->ns_pid;
	copy_record_text(p->comm, sizeof(p->comm), rec->comm, sizeof(rec->comm));
	copy_record_text(p->cmdline, sizeof(p->cmdline), rec->cmdline, sizeof(rec->cmdline));
	copy_record_text(p->cgroup, sizeof(p->cgroup), rec->cgroup, sizeof(rec->cgroup));
	return 0;
}

int life_attach(struct process *p, const struct gmt_hdr *hdr)
{
	process_begin_marks(p, hdr->ts_ns);
	if (!(((const struct gmt_attach *)hdr)->flags & GMT_ATTACH_FROM_START))
		return 0;
	p->from_start = true;
	for (unsigned int i = 0; i < p->account.count; i++) {
		struct row_nvml *nvml = &p->account.rows[i].nvml;

		nvml->baseline = nvml->before = nvml->lowered = 0;
	}
	return 0;
}
