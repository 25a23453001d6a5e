// SPDX-License-Identifier: BSD-2-Clause
/*
 * See worker.h. The filter below is the list of system calls that the
 * parsers, libdw and malloc were seen to use, and of those that other versions of the C library use in their place. Any
 * other call fails with EPERM. No file can be opened, nothing can be executed, and no process can be reached.
 */
#include "parse/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/count.h"
#include "parse/channel.h"
#include "parse/kinds.h"

#define WORKER_NAME "gmt-parse"
#define STACK_BYTES (1 << 20)
#define LEAST_BYTES (64 << 10)           /* of an attempt to get memory */
#define TRIM_BYTES ((size_t)1 << 20)     /* an answer this long took memory that the next may not need */

/* Rules that match a call always, or by one argument. */
#define ANY(name) { .number = __NR_##name }
#define WITH(name, position, bits, bits_value) \
	{ .number = __NR_##name, .arg = (position), .mask = (bits), .value = (uint32_t)(bits_value) }
#define IS(name, position, whole) WITH(name, position, UINT32_MAX, whole)

static int refuse_other_calls(void)
{
	const struct confine_call calls[] = {
		ANY(read), ANY(pread64), ANY(lseek), ANY(close), ANY(fstat),
		IS(recvmsg, 0, CHANNEL_FD), IS(sendmsg, 0, CHANNEL_FD),
		/* fstat() of glibc from 2.33 on: the mark for a call without a path must be set */
		WITH(newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH),
		/* libelf reads through a descriptor of its own */
		IS(fcntl, 1, F_DUPFD_CLOEXEC), IS(fcntl, 1, F_GETFL),
		ANY(brk), ANY(munmap), ANY(mremap), ANY(madvise),
		WITH(mmap, 2, PROT_EXEC, 0), WITH(mprotect, 2, PROT_EXEC, 0),
		ANY(futex), ANY(clock_gettime), ANY(getrandom),
		ANY(sysinfo), /* qsort() asks how much memory there is */
		ANY(restart_syscall), ANY(exit), ANY(exit_group),
		/* abort(), when memory runs out */
		ANY(rt_sigprocmask), ANY(rt_sigaction), ANY(rt_sigreturn), ANY(getpid), ANY(gettid),
		IS(tgkill, 0, getpid()),
		ANY(setitimer),
		/* PARSE_STATUS */
		ANY(getuid), ANY(capget), IS(prctl, 0, PR_GET_NO_NEW_PRIVS), IS(prctl, 0, PR_GET_SECCOMP),
#if defined(__SANITIZE_ADDRESS__)
		IS(sigaltstack, 0, 0), /* asked for before a function that does not return */
#endif
	};
	const struct confine_filter filter = { calls, COUNT(calls), CONFINE_ALLOW, CONFINE_REFUSE };

	return confine_calls(&filter, false);
}

/* No answer was begun: an answer is sent without asking for memory, and the clock is stopped before. */
static void say_last_words(int status)
{
	struct channel_reply reply = { .status = status };
	struct iovec part = { &reply, sizeof(reply) };

	channel_send(CHANNEL_FD, &part, 1, (const int[PARSE_FDS]){ -1, -1 });
	_exit(1);
}

static bool can_map(size_t size, int access)
{
	void *at = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | (access ? 0 : MAP_NORESERVE), -1, 0);

	if (at != MAP_FAILED)
		munmap(at, size);
	return at != MAP_FAILED;
}

/* The worker's bound is one of addresses (keeper.c). Where addresses are left and memory is not, the machine or
 * gpumemtrace's own bounds lack the memory, and the file may be innocent. */
static int why_no_memory(void)
{
	for (size_t size = PARSE_MEMORY / 2; size >= LEAST_BYTES; size /= 2)
		if (can_map(size, PROT_NONE) && !can_map(size, PROT_READ | PROT_WRITE))
			return -ENOBUFS;
	return -ENOMEM;
}

/* base/xalloc.h ends the process by quick_exit(). */
static void memory_ran_out(void)
{
	say_last_words(why_no_memory());
}

static void note_signal(int signal)
{
	say_last_words(signal == SIGPROF ? -ETIMEDOUT : signal == SIGBUS ? -EREMOTEIO : why_no_memory());
}

/* SIGPROF comes when the process has used so much CPU time; 0 stops the clock. */
static void set_clock(uint64_t ns)
{
	struct itimerval clock = { .it_value = { (time_t)(ns / 1000000000), (suseconds_t)(ns % 1000000000 / 1000) } };

	setitimer(ITIMER_PROF, &clock, NULL);
}

static int serve_status(struct parse_answer *answer)
{
	struct parse_status *status = calloc(1, sizeof(*status));

	if (!status)
		return -ENOMEM;
	*status = (struct parse_status){
		.pid = getpid(),
		.uid = getuid(),
		.capabilities = confine_effective(),
		.no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
		.has_filter = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2,
	};
	*answer = (struct parse_answer){ status, sizeof(*status) };
	return 0;
}

static int serve_one(const struct parse_table *table, void **state, const struct channel_request *request,
		     struct parse_task *task, struct parse_answer *answer)
{
	if (request->kind == PARSE_STATUS)
		return serve_status(answer);
	if (request->kind >= PARSE_KINDS || !table->serve[request->kind])
		return -ENOSYS;
	return table->serve[request->kind](state, task, answer);
}

static bool serve_next(const struct parse_table *table, void **state)
{
	const int none[PARSE_FDS] = { -1, -1 };
	unsigned char bytes[PARSE_REQUEST_MAX];
	struct parse_task task = { .data = bytes };
	struct parse_answer answer = { 0 };
	struct channel_request request;
	struct channel_reply reply = { 0 };
	struct iovec parts[2] = { { &reply, sizeof(reply) }, { 0 } };
	int rest[PARSE_FDS];

	if (channel_receive(CHANNEL_FD, &request, sizeof(request), task.fds) || request.size > sizeof(bytes) ||
	    channel_receive(CHANNEL_FD, bytes, request.size, rest))
		return false;
	task.size = request.size;
	set_clock(request.budget_ns);
	reply.status = serve_one(table, state, &request, &task, &answer);
	set_clock(0);
	for (size_t i = 0; i < PARSE_FDS; i++)
		if (task.fds[i] >= 0)
			close(task.fds[i]);
	reply.size = answer.size;
	parts[1] = (struct iovec){ answer.data, answer.size };
	if (channel_send(CHANNEL_FD, parts, answer.size ? 2 : 1, none))
		return false;
	free(answer.data);
	if (answer.size >= TRIM_BYTES)
		malloc_trim(0);
	return true;
}

/* The stack grows now, while there is memory: one that cannot grow looks like a crash. Only its last page is used. */
__attribute__((noinline)) static void reserve_stack(void)
{
	char room[STACK_BYTES];

	room[0] = 0;
	__asm__ volatile("" : : "r"(room) : "memory");
}

_Noreturn void worker_run(const struct parse_table *table)
{
	void *state = NULL;

	prctl(PR_SET_NAME, WORKER_NAME);
	reserve_stack();
	at_quick_exit(memory_ran_out);
	signal(SIGABRT, note_signal); /* of a library that has no memory */
	signal(SIGPROF, note_signal);
	signal(SIGBUS, note_signal); /* of a file whose storage fails (base/storage.h) */
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would write a report, with calls that are refused */
	refuse_other_calls();
	while (serve_next(table, &state))
		;
	_exit(0);
}
