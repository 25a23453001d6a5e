/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sends the forks, execs and exits of targets. */
#ifndef GMT_PROC_BPF_H
#define GMT_PROC_BPF_H

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(proc_fork, struct task_struct *parent, struct task_struct *child)
{
	struct gmt_proc_fork rec = {};
	__u32 parent_tgid = parent->tgid, tgid = child->tgid;
	int is_thread = child->pid != child->tgid;

	if (!is_thread && !gmt.config.follow_children)
		return 0;
	if (!bpf_map_lookup_elem(&targets, &parent_tgid))
		return 0;
	if (is_thread) {
		thread_prepare(child);
		return 0;
	}
	if (!target_add(tgid))
		return 0;
	fill_header(&rec.hdr, GMT_KIND_PROC_FORK, sizeof(rec));
	rec.hdr.tgid = tgid;
	rec.hdr.tid = child->pid;
	rec.parent_tgid = parent_tgid;
	rec.start_ns = cut_start(child->start_boottime);
	send(&rec, sizeof(rec));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(proc_exec, struct task_struct *task, pid_t old_pid)
{
	struct thread_state *state = thread_get();
	struct gmt_proc_exec rec = {};
	__u32 tgid = task->tgid;

	/* If another thread than the first one calls exec, that thread takes the first thread's number. */
	if (old_pid != task->pid && thread_is_marked(old_pid)) {
		thread_unmark(old_pid);
		thread_mark(task->pid); /* also if the state is hidden now: it will be found again */
	}
	if (state) {
		drop_frames(state);
		lose_context(state);
	} else {
		count_hidden_thread();
	}
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	rec.start_ns = cut_start(task->group_leader->start_boottime);
	bpf_get_current_comm(rec.comm, sizeof(rec.comm));
	SEND(rec, PROC_EXEC);
	return 0;
}

/* Counts the calls that the thread left. If others ended the thread, calls that it was inside have ended, too. */
static __always_inline void leave_thread(struct task_struct *task)
{
	struct thread_state *state = thread_get();
	int is_ended = (task->signal->flags & SIGNAL_GROUP_EXIT) || (task->exit_code & 0x7f);

	if (!state)
		count_hidden_thread();
	if (!state || !state->depth)
		return;
	drop_left(state, is_ended ? user_sp() : ~0ULL);
	end_frames(state);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(proc_exit, struct task_struct *task)
{
	struct gmt_proc_exit rec = {};
	__u32 tgid = task->tgid;

	if (thread_is_marked(task->pid)) {
		leave_thread(task);
		thread_unmark(task->pid);
	}
	/* 0 in the last thread, because do_exit() lowers signal->live before this tracepoint. */
	if (task->signal->live.counter)
		return 0;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	target_gone(tgid);
	/* group_exit_code has the signal that killed the group, or the status of exit_group(). A single thread's
	 * exit() sets only the task's own exit_code. */
	rec.exit_code = task->signal->group_exit_code ?: task->exit_code;
	SEND(rec, PROC_EXIT);
	return 0;
}

#endif
