// SPDX-License-Identifier: BSD-2-Clause
/* The parent attaches a return probe to a function of this program, for the child alone. The child puts itself under a
 * filter or a shadow stack and calls that function. */
#include "live/probe/trial.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/human.h"
#include "live/process/procfs.h"
#include "live/probe/uprobe.h"

#define CHILD_WAIT_MS 5000
#define SELF "/proc/self/exe"

/* The child's other exit statuses. */
enum { CHILD_CANNOT = TRIAL_CHILD_LIVED + 1, CHILD_CANCELLED };

/* The probed function. Every kernel emulates its first instruction, which needs no stack. */
void trial_probed(void);
__asm__(".text\n"
	".globl trial_probed\n"
	".type trial_probed, %function\n"
	".p2align 4\n"
	"trial_probed:\n"
	"	nop\n"
	"	ret\n"
	".size trial_probed, . - trial_probed\n");

/* ---- the child ---- */

/* The filter kills the process for every system call except exit_group. */
static int enter_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

/* Inlined, as the new shadow stack is empty: there is no way to return to a caller. */
static inline __attribute__((always_inline)) int enter_shadow_stack(void)
{
#ifdef __x86_64__
	long result;

	/* ARCH_SHSTK_ENABLE and ARCH_SHSTK_SHSTK, arch/x86/include/uapi/asm/prctl.h of Linux 6.6 */
	__asm__ volatile("syscall" : "=a"(result) : "0"(SYS_arch_prctl), "D"(0x5001L), "S"(1L)
			 : "rcx", "r11", "memory");
	return (int)result;
#else
	return -EOPNOTSUPP;
#endif
}

enum place { UNDER_FILTER, ON_SHADOW_STACK };

static _Noreturn void enter_child(enum place place, int go)
{
	char byte;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);	/* a death that is expected leaves no core */
	if (dup2(go, STDIN_FILENO) >= 0)
		syscall(SYS_close_range, STDIN_FILENO + 1, ~0u, 0);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		syscall(SYS_exit_group, CHILD_CANCELLED);
	err = place == UNDER_FILTER ? enter_filter() : enter_shadow_stack();
	if (!err)
		trial_probed();
	for (;;)
		syscall(SYS_exit_group, err ? CHILD_CANNOT : TRIAL_CHILD_LIVED);
}

/* Returns the child's status as wait(2) has it. */
static int reap_child(pid_t pid)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = 0;

	if (end.fd < 0 || poll(&end, 1, CHILD_WAIT_MS) <= 0)
		kill(pid, SIGKILL);
	if (end.fd >= 0)
		close(end.fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return SIGKILL; /* its end is unknown: counts as if we had killed it */
	return status;
}

/* ---- the probe ---- */

struct probe {
	int map, program;	/* -1: none */
	uint64_t offset;	/* of trial_probed() in the file */
	bool multi;
};

static int find_offset(const struct maps_line *map, void *arg)
{
	uint64_t address = (uintptr_t)trial_probed, *offset = arg;

	if (address < map->start || address >= map->end)
		return 0;
	*offset = address - map->start + map->offset;
	return 1;
}

/* Loads a program that counts its runs: if it did not run, the child has tried nothing. */
static int load_counter(int map, bool multi)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = multi ? UPROBE_MULTI_ATTACH_TYPE : 0);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code, sizeof(code) / sizeof(code[0]), &opts);
}

/* 0 or -errno; close_probe() in any case. */
static int open_probe(struct probe *probe, bool multi)
{
	*probe = (struct probe){ .map = -1, .program = -1, .multi = multi };
	if (procfs_maps(getpid(), find_offset, &probe->offset) != 1)
		return -ENOENT;
	probe->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	if (probe->map < 0)
		return -errno;
	probe->program = load_counter(probe->map, multi);
	return probe->program < 0 ? -errno : 0;
}

static void close_probe(struct probe *probe)
{
	if (probe->program >= 0)
		close(probe->program);
	if (probe->map >= 0)
		close(probe->map);
}

/* How often the child ran into the probe; sets the counter back to 0. */
static uint64_t take_runs(const struct probe *probe)
{
	uint64_t runs = 0, none = 0;
	uint32_t key = 0;

	if (bpf_map_lookup_elem(probe->map, &key, &runs))
		return 0;
	bpf_map_update_elem(probe->map, &key, &none, BPF_ANY);
	return runs;
}

/* ---- the trial ---- */

/* Runs a child at a place, with the probe unless that is NULL. 0 and its status; -errno: the child was not started. */
static int run_trial_child(enum place place, const struct probe *probe, int *status)
{
	struct uprobe_set *set = NULL;
	int go[2], err = 0;
	pid_t pid;

	if (pipe(go))
		return -errno;
	pid = fork();
	if (!pid) {
		close(go[1]);
		enter_child(place, go[0]);
	}
	close(go[0]);
	if (pid < 0)
		err = -errno;
	else if (probe)
		err = uprobe_attach(&set, probe->program, &(struct uprobe_places){
			.path = SELF, .offsets = &probe->offset, .cookies = &(uint64_t){ 0 }, .count = 1,
			.at_return = true, .pid = pid,
		}, probe->multi);
	if (!err && write(go[1], "", 1) != 1)
		err = -EPIPE;
	close(go[1]);
	if (pid > 0)
		*status = reap_child(pid);
	uprobe_detach(set);
	return err;
}

static bool exited_with(int status, int wanted)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == wanted;
}

enum trial_result trial_judge(int err, int status, uint64_t runs, char *why, size_t why_size)
{
	/* SIGKILL is ours: the child did not end in time. */
	if (!err && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		return TRIAL_KILLS;
	if (!err && exited_with(status, TRIAL_CHILD_LIVED) && runs == 1)
		return TRIAL_SAFE;
	if (err)
		snprintf(why, why_size, "a child could not be probed: %s", strerror(-err));
	else if (WIFSIGNALED(status))
		snprintf(why, why_size, "a child did not end");
	else if (!exited_with(status, TRIAL_CHILD_LIVED))
		snprintf(why, why_size, "a child could not install a seccomp filter");
	else
		snprintf(why, why_size, "a child ran into the probe %llu %s", (unsigned long long)runs,
			 human_plural(runs, "time", "times"));
	return TRIAL_UNKNOWN;
}

static enum trial_result try_place(enum place place, const struct probe *probe, struct trial *trial)
{
	int status = 0, err = run_trial_child(place, probe, &status);

	return trial_judge(err, status, err ? 0 : take_runs(probe), trial->why, sizeof(trial->why));
}

/* Only a child whose request was refused shows this. */
static bool has_no_shadow_stacks(void)
{
	int status = 0;

	return !run_trial_child(ON_SHADOW_STACK, NULL, &status) && exited_with(status, CHILD_CANNOT);
}

void trial_run(struct trial *trial, bool multi)
{
	struct probe probe;
	int err;

	*trial = (struct trial){ .shadow_stack = has_no_shadow_stacks() ? TRIAL_ABSENT : TRIAL_UNKNOWN };
	err = open_probe(&probe, multi);
	if (err) {
		snprintf(trial->why, sizeof(trial->why), "no probe could be created: %s", strerror(-err));
	} else {
		trial->seccomp = try_place(UNDER_FILTER, &probe, trial);
		if (trial->shadow_stack == TRIAL_UNKNOWN)
			trial->shadow_stack = try_place(ON_SHADOW_STACK, &probe, trial);
	}
	close_probe(&probe);
}

void trial_assume(struct trial *trial, const char *wanted)
{
	*trial = (struct trial){ .seccomp = TRIAL_SAFE, .shadow_stack = TRIAL_SAFE };
	if (!strcmp(wanted, "seccomp"))
		trial->seccomp = TRIAL_KILLS;
	else if (!strcmp(wanted, "shstk"))
		trial->shadow_stack = TRIAL_KILLS;
	else
		*trial = (struct trial){ .why = "a test asked for this" };
}

bool trial_harms(enum trial_result result)
{
	return result == TRIAL_UNKNOWN || result == TRIAL_KILLS;
}
