// SPDX-License-Identifier: BSD-2-Clause
/*
 * Chooses the call that fails by its stack: calls that come from the same places of the program are numbered together.
 * A run that only notes stacks finds all of them. Later runs let a call with one of these stacks fail.
 *
 *   FAULT_KIND     which calls are counted: a name of `kinds`
 *   FAULT_PROGRAM  the end of the path of the program that is meant, with the processes that the program forks; what
 *                  these processes start is left alone
 *   FAULT_TABLE    the file that all these processes share: struct table
 *   FAULT_STACK    calls with this stack fail (a number in hexadecimal); unset: none, stacks are only noted
 *   FAULT_NTH      which of the calls with the stack fails
 *   FAULT_ON       set: all later calls of the kind in the same process fail, too
 *   FAULT_EACH     the file with the whole output: the program forks at each call, and the call fails in the child, whose
 *                  end and output are judged. For programs of one thread that write only to standard output. An empty
 *                  file: the clock stands still, and nothing else happens
 *   FAULT_MOST     with FAULT_EACH, how many calls of each stack fail; unset: all
 */
#include "fail_which.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#define STACKS 8192
#define FRAMES 24
#define DEPTH 40                /* frames that tell stacks apart */
#define CHILD_FD 900            /* above the program's descriptors */
#define CHILD_SECONDS 120
#define OFFSETS 64              /* descriptors whose offsets a child may move */
#define ERROR_BYTES 2000

/* Name, and what the calls fail with. */
static const struct {
	const char *name;
	int error;
} kinds[] = {
	[MALLOC] = { "malloc", ENOMEM }, [OPEN] = { "open", EMFILE }, [READ] = { "read", EIO },
	[WRITE] = { "write", ENOSPC }, [MMAP] = { "mmap", ENOMEM }, [BPF] = { "bpf", ENOMEM },
	[PERF] = { "perf", EMFILE }, [THREAD] = { "thread", EAGAIN }, /* threads, processes */
	[WAIT] = { "wait", EMFILE }, /* what waits for events */ [FILES] = { "files", EIO }, /* the rest about files */
};

/* faultlib.py reads this. Frames are offsets in the program. */
struct stack {
	uint64_t hash;           /* 0: none */
	uint32_t calls, failed;
	char function[16];
	uint64_t frames[FRAMES];
};

struct table {
	uint64_t failed_pid;     /* in which a call has failed */
	uint64_t tried, bad;     /* of FAULT_EACH */
	uint64_t room[5];
	struct stack stacks[STACKS];
};

static struct {
	enum kind kind;
	bool is_on, is_still, is_child;
	uint64_t stack, most;
	unsigned long nth;
	pid_t owner;
	struct table *table;
	uintptr_t begin, end;    /* of the program */
	const char *whole;
	size_t whole_size;
} fault = { .kind = NONE };

struct walk {
	uint64_t hash;
	unsigned int depth, count;
	uint64_t frames[FRAMES];
};

long real_syscall(long number, long a, long b, long c)
{
	static long (*real)(long, ...);

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a, b, c);
}

bool counts_kind(enum kind kind)
{
	return kind == fault.kind;
}

bool stops_clock(void)
{
	return fault.is_still;
}

/* ---- stacks ---- */

static void add_to_hash(struct walk *walk, uint64_t value)
{
	walk->hash = (walk->hash ^ value) * 0x100000001b3ULL; /* FNV-1a, of whole words */
	walk->hash ^= walk->hash >> 29;
}

/* Frames of libraries move from run to run, and the program's own frames say enough. */
static _Unwind_Reason_Code see_frame(struct _Unwind_Context *context, void *arg)
{
	uintptr_t at = _Unwind_GetIP(context);
	struct walk *walk = arg;

	if (at < fault.begin || at >= fault.end)
		return walk->depth++ < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
	add_to_hash(walk, at - fault.begin);
	if (walk->count < FRAMES)
		walk->frames[walk->count++] = at - fault.begin - 1;
	return walk->depth++ < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static struct walk walk_stack(const char *function)
{
	struct walk walk = { .hash = 0xcbf29ce484222325ULL };

	for (const char *at = function; *at; at++)
		add_to_hash(&walk, (unsigned char)*at);
	_Unwind_Backtrace(see_frame, &walk);
	walk.hash |= 1;
	return walk;
}

static struct stack *find_stack(const struct walk *walk, const char *function)
{
	for (size_t i = walk->hash % STACKS, n = 0; n < STACKS; i = (i + 1) % STACKS, n++) {
		struct stack *stack = &fault.table->stacks[i];
		uint64_t none = 0;

		if (stack->hash == walk->hash)
			return stack;
		if (__atomic_compare_exchange_n(&stack->hash, &none, walk->hash, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			strncpy(stack->function, function, sizeof(stack->function) - 1);
			memcpy(stack->frames, walk->frames, sizeof(stack->frames));
			return stack;
		}
		if (none == walk->hash)
			return stack;
	}
	return NULL;
}

/* The stand-in's NVML is no part of the program. */
static bool is_foreign(const void *caller)
{
	struct dl_find_object where;

	return !_dl_find_object((void *)(uintptr_t)caller, &where) &&
	       strstr(where.dlfo_link_map->l_name, "/libnvidia-ml.so");
}

/* ---- a child for each call ---- */

static void read_offsets(long offsets[OFFSETS])
{
	for (long fd = 0; fd < OFFSETS; fd++)
		offsets[fd] = real_syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static void restore_offsets(const long offsets[OFFSETS])
{
	for (long fd = 0; fd < OFFSETS; fd++)
		if (offsets[fd] >= 0)
			real_syscall(SYS_lseek, fd, offsets[fd], SEEK_SET);
}

/* The wait status; -1: the child did not end. */
static int end_of_child(pid_t pid)
{
	int pidfd = (int)real_syscall(SYS_pidfd_open, pid, 0, 0), status = -1;
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };

	if (poll(&wait, 1, CHILD_SECONDS * 1000) == 1) {
		waitpid(pid, &status, 0);
	} else {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	real_syscall(SYS_close, pidfd, 0, 0);
	return status;
}

/* Whether the child has written what is still to come of the whole output. */
static bool wrote_rest(long from)
{
	long size = real_syscall(SYS_lseek, CHILD_FD, 0, SEEK_END);
	char piece[4096];

	if (from < 0 || size != (long)fault.whole_size - from)
		return false;
	real_syscall(SYS_lseek, CHILD_FD, 0, SEEK_SET);
	while (size) {
		long got = real_syscall(SYS_read, CHILD_FD, (long)piece, sizeof(piece));

		if (got <= 0 || memcmp(piece, fault.whole + from, (size_t)got))
			return false;
		from += got;
		size -= got;
	}
	return true;
}

static bool is_documented(int status)
{
	return (status >= 0 && status <= 5) || (status >= 125 && status <= 127);
}

static void judge_child(int status, long from, const struct stack *stack, unsigned int call)
{
	long size = real_syscall(SYS_lseek, CHILD_FD + 1, 0, SEEK_SET);
	char error[ERROR_BYTES + 1], line[200];
	const char *wrong = NULL;
	bool is_told;

	size = real_syscall(SYS_read, CHILD_FD + 1, (long)error, ERROR_BYTES);
	error[size > 0 ? size : 0] = '\0';
	is_told = strstr(error, "gpumemtrace: ");
	if (status == -1)
		wrong = "does not end";
	else if (!WIFEXITED(status) || !is_documented(WEXITSTATUS(status)))
		wrong = "ended in a way that is not documented";
	else if (WEXITSTATUS(status) && !is_told)
		wrong = "ended without a sentence";
	else if (!is_told && !wrote_rest(from))
		wrong = "another output, and no word of it";
	fault.table->tried++;
	if (!wrong)
		return;
	fault.table->bad++;
	snprintf(line, sizeof(line), "FAULT %#lx %u: %s (status %#x): ", (unsigned long)stack->hash, call, wrong,
		 (unsigned int)status);
	real_syscall(SYS_write, STDERR_FILENO, (long)line, (long)strlen(line));
	error[strcspn(error, "\n")] = '\0';
	real_syscall(SYS_write, STDERR_FILENO, (long)error, (long)strlen(error));
	real_syscall(SYS_write, STDERR_FILENO, (long)"\n", 1);
}

/* True in the child. */
static bool fork_child(const struct stack *stack, unsigned int call)
{
	static pid_t (*real)(void);
	long offsets[OFFSETS];
	pid_t pid;

	if (!real)
		real = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	read_offsets(offsets);
	for (int i = 0; i < 2; i++) {
		real_syscall(SYS_ftruncate, CHILD_FD + i, 0, 0);
		real_syscall(SYS_lseek, CHILD_FD + i, 0, SEEK_SET);
	}
	pid = real();
	if (!pid) {
		fault.is_child = true;
		real_syscall(SYS_dup3, CHILD_FD, STDOUT_FILENO, 0);
		real_syscall(SYS_dup3, CHILD_FD + 1, STDERR_FILENO, 0);
		return true;
	}
	judge_child(end_of_child(pid), offsets[STDOUT_FILENO], stack, call);
	restore_offsets(offsets);
	return false;
}

/* ---- the choice ---- */

static bool is_chosen(struct stack *stack, unsigned int call)
{
	pid_t self;

	if (fault.whole_size)
		return call <= fault.most && fork_child(stack, call);
	if (!fault.stack)
		return false;
	self = (pid_t)real_syscall(SYS_getpid, 0, 0, 0);
	if (stack->hash == fault.stack && call == fault.nth) {
		fault.table->failed_pid = (uint64_t)self;
		return true;
	}
	return fault.is_on && fault.table->failed_pid == (uint64_t)self;
}

bool fails(enum kind kind, const char *function, const void *caller)
{
	int saved = errno;
	struct stack *stack;
	struct walk walk;

	if (kind != fault.kind || fault.is_child || is_foreign(caller))
		return false;
	walk = walk_stack(function);
	stack = find_stack(&walk, function);
	if (!stack || !is_chosen(stack, __atomic_add_fetch(&stack->calls, 1, __ATOMIC_RELAXED))) {
		errno = saved;
		return false;
	}
	__atomic_add_fetch(&stack->failed, 1, __ATOMIC_RELAXED);
	errno = kinds[kind].error;
	return true;
}

/* ---- the beginning ---- */

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	fault.begin = info->dlpi_addr;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			fault.end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1; /* the program comes first */
}

static void *map_file(const char *path, size_t *size, int protection)
{
	int fd = (int)real_syscall(SYS_open, (long)path, protection & PROT_WRITE ? O_RDWR : O_RDONLY, 0);
	struct stat st = { 0 };
	void *at = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size)
		at = mmap(NULL, (size_t)st.st_size, protection, MAP_SHARED, fd, 0);
	*size = (size_t)st.st_size;
	if (fd >= 0)
		real_syscall(SYS_close, fd, 0, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void prepare_children(const char *path)
{
	const char *most = getenv("FAULT_MOST");

	fault.is_still = true;
	fault.most = most ? strtoul(most, NULL, 10) : UINT64_MAX;
	fault.whole = map_file(path, &fault.whole_size, PROT_READ);
	for (int i = 0; fault.whole && i < 2; i++) {
		int fd = memfd_create("fault", 0);

		real_syscall(SYS_dup3, fd, CHILD_FD + i, O_CLOEXEC);
		real_syscall(SYS_close, fd, 0, 0);
	}
}

/* Before anything is counted: what runs until main() is the loader's. */
__attribute__((constructor)) static void set_up(void)
{
	const char *kind = getenv("FAULT_KIND"), *program = getenv("FAULT_PROGRAM"), *path = getenv("FAULT_TABLE");
	const char *stack = getenv("FAULT_STACK"), *nth = getenv("FAULT_NTH"), *each = getenv("FAULT_EACH");
	char exe[4096];
	long size = real_syscall(SYS_readlink, (long)"/proc/self/exe", (long)exe, sizeof(exe) - 1);
	size_t table_size;

	if (!kind || !program || !path || size < (long)strlen(program))
		return;
	exe[size] = '\0';
	if (strcmp(exe + size - strlen(program), program))
		return;
	dl_iterate_phdr(find_program, NULL);
	fault.table = map_file(path, &table_size, PROT_READ | PROT_WRITE);
	if (!fault.table || table_size < sizeof(*fault.table))
		abort();
	fault.stack = stack ? strtoull(stack, NULL, 16) : 0;
	fault.nth = nth ? strtoul(nth, NULL, 10) : 1;
	fault.is_on = getenv("FAULT_ON");
	walk_stack(""); /* what the first walk needs is there now */
	if (each)
		prepare_children(each);
	for (unsigned int i = 0; i < NONE; i++)
		if (!strcmp(kind, kinds[i].name))
			fault.kind = i;
}
