// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/programs.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/bpf/guard.h"
#include "live/bpf/plan.h"
#include "live/bpf/rodata.h"

#define TRIES_MAX (PLAN_OPTIONAL_COUNT + 6) /* each takes one part from the plan */
#define PROGRAMS_MAX 32
/* Room for the verifier's log of a program that it refuses. The reason stands at the end, which kernels before 6.4
 * cut off if the log does not fit. */
#define LOG_BYTES (4u << 20)

/* bpf_blob.S: the compiled BPF object, build/gmt.bpf.o. */
extern const unsigned char bpf_blob[], bpf_blob_end[];

struct attempt {
	struct bpf_object *object;
	const struct programs_options *options;
	char *logs;                  /* LOG_BYTES of each program */
	char refused[64];            /* the program that was refused; "": loading failed for another reason */
	char why[160];               /* the verifier's last line */
};

int programs_fail(int err, char *cause, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cause, size, format, args);
	va_end(args);
	return err;
}

/* Whether the program is for entry probes or return probes. */
static bool is_uprobe(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strncmp(section, "uprobe", 6) || !strncmp(section, "uretprobe", 9);
}

/* ---- one attempt ---- */

static char *log_of(const struct attempt *attempt, size_t i)
{
	return attempt->logs + i * LOG_BYTES;
}

static int prepare_programs(struct attempt *attempt, const struct plan *plan)
{
	struct gmt_config config = attempt->options->config;
	struct bpf_program *program;
	size_t i = 0;

	config.stack_mode = plan->stack_mode;
	config.block_stacks = plan->block_stacks;
	config.ioctl_stacks = plan->ioctl_stacks;
	bpf_object__for_each_program(program, attempt->object) {
		if (i == PROGRAMS_MAX)
			return -E2BIG;
		*log_of(attempt, i) = '\0';
		bpf_program__set_log_buf(program, log_of(attempt, i++), LOG_BYTES);
		bpf_program__set_autoload(program, !plan_leaves_out(plan, bpf_program__name(program)));
		if (is_uprobe(program))
			bpf_program__set_expected_attach_type(program, attempt->options->attach_type);
	}
	return rodata_set(attempt->object, &config, attempt->options->ring_bytes);
}

/* Copies the reason, which is the line before the verifier's totals. */
static void find_reason(const char *log, char *why, size_t size)
{
	const char *end = log + strlen(log), *line = log;

	for (const char *at = log; (at = strstr(at, "\nprocessed ")); at++)
		end = at;
	for (const char *at = log; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		line = at + 1;
	snprintf(why, size, "%.*s", (int)(end - line), line);
}

_Static_assert(LIBBPF_DEBUG == PROGRAMS_DEBUG, "libbpf's levels");

static void print_text(programs_print_fn print, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print_text(programs_print_fn print, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(LIBBPF_WARN, format, args);
	va_end(args);
}

/* Loading ends with the first program that is refused, so the log of that program alone is not empty. */
static void find_refused(struct attempt *attempt)
{
	struct bpf_program *program;
	size_t i = 0;

	bpf_object__for_each_program(program, attempt->object) {
		const char *log = log_of(attempt, i++);

		if (!*log)
			continue;
		snprintf(attempt->refused, sizeof(attempt->refused), "%s", bpf_program__name(program));
		find_reason(log, attempt->why, sizeof(attempt->why));
		if (attempt->options->print)
			print_text(attempt->options->print, "%s", log);
	}
}

static int load_once(struct attempt *attempt, const struct plan *plan)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = "gpumemtrace",
		    .btf_custom_path = attempt->options->btf);
	int err;

	attempt->refused[0] = '\0';
	attempt->object = bpf_object__open_mem(bpf_blob, (size_t)(bpf_blob_end - bpf_blob), &open);
	if (!attempt->object)
		return -errno;
	err = prepare_programs(attempt, plan);
	if (!err)
		err = bpf_object__load(attempt->object);
	if (!err)
		return 0;
	find_refused(attempt);
	bpf_object__close(attempt->object);
	attempt->object = NULL;
	return err;
}

/* ---- attempts until the kernel accepts the rest ---- */

static void add_limit(struct plan_limits *limits, const struct gmt_limit *limit, const char *program, const char *why)
{
	struct gmt_limit *added = &limits->list[limits->count];

	if (!limit->what[0] || limits->count == PLAN_LIMITS_MAX)
		return;
	*added = *limit;
	if (program)
		snprintf((char *)added->why, sizeof(added->why), "the kernel's verifier refuses %.40s: %.100s",
			 program, *why ? why : "the kernel gave no reason");
	/* Several programs may serve one purpose. */
	for (size_t i = 0; i < limits->count; i++)
		if (!strcmp((char *)limits->list[i].what, (char *)limit->what))
			return;
	limits->count++;
}

/* Refuses a program once for each mention of its name. */
static void refuse_for_test(const struct programs_options *options, struct plan *plan, struct plan_limits *limits)
{
	char name[64];
	struct gmt_limit limit;
	int used = 0;

	for (const char *at = options->refused ?: ""; sscanf(at, "%63[^,]%n", name, &used) == 1; at += used) {
		if (plan_lower(plan, name, &limit))
			add_limit(limits, &limit, name, "a test asked for this");
		used += at[used] == ',';
	}
}

/* Whether the kernel's types have the helpers that a walk needs. bpf/stack.bpf.h asks the same. */
static bool can_walk(const char *path)
{
	struct btf *btf = path ? btf__parse(path, NULL) : btf__load_vmlinux_btf();
	static const char *const needed[] = { "BPF_FUNC_loop", "BPF_FUNC_find_vma" };
	size_t found = 0;
	int id = btf ? btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint16_t i = 0; type && i < btf_vlen(type); i++)
		for (size_t k = 0; k < sizeof(needed) / sizeof(*needed); k++)
			found += !strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), needed[k]);
	btf__free(btf);
	return found == sizeof(needed) / sizeof(*needed);
}

static struct plan first_plan(const struct programs_options *options, struct plan_limits *limits)
{
	const struct gmt_config *config = &options->config;
	struct plan plan = {
		.stack_mode = config->stack_mode, .block_stacks = config->block_stacks, .ioctl_stacks = true,
	};
	bool is_own = plan.stack_mode != GMT_STACKS_OFF && plan.stack_mode != GMT_STACKS_POINTERS;
	struct gmt_limit limit;

	limits->count = 0;
	if (is_own && !can_walk(options->btf)) {
		plan_without_walk(&plan, &limit);
		add_limit(limits, &limit, NULL, NULL);
	}
	refuse_for_test(options, &plan, limits);
	return plan;
}

static int load_what_can_be(struct attempt *attempt, struct plan *plan, struct plan_limits *limits)
{
	struct gmt_limit limit;
	int err = load_once(attempt, plan);

	for (int i = 0; err && attempt->refused[0] && i < TRIES_MAX; i++) {
		if (!plan_lower(plan, attempt->refused, &limit))
			return err;
		add_limit(limits, &limit, attempt->refused, attempt->why);
		err = load_once(attempt, plan);
	}
	return err;
}

/* With private stacks two tasks would write into one stack and crash the kernel: see bpf/guard.bpf.h. */
static bool has_private_stack(const struct attempt *attempt)
{
	struct bpf_program *program;

	if (guard_try(attempt->options->attach_type) != GUARD_SAFE)
		return true;
	bpf_object__for_each_program(program, attempt->object) {
		if (is_uprobe(program) && guard_program_is_private(bpf_program__fd(program)))
			return true;
	}
	return false;
}

static int explain_refusal(const struct attempt *attempt, int err, char *cause, size_t size)
{
	if (attempt->refused[0])
		return programs_fail(err, cause, size, "the kernel's verifier refuses the BPF program %s (%s): use a"
				     " newer gpumemtrace, or boot a newer kernel", attempt->refused, attempt->why);
	if (err == -EPERM || err == -EACCES)
		return programs_fail(err, cause, size, "the kernel refused the BPF programs (%s): run gpumemtrace as"
				     " root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE", strerror(-err));
	if (err == -ESRCH || err == -ENOENT)
		return programs_fail(err, cause, size, "the kernel has no BTF (/sys/kernel/btf/vmlinux): boot a kernel"
				     " with CONFIG_DEBUG_INFO_BTF=y");
	if (err == -ENOMEM)
		return programs_fail(err, cause, size, "there is not enough memory for the BPF maps: raise the memory"
				     " limit, or choose a smaller --ring-size");
	return programs_fail(err, cause, size, "the BPF programs could not be loaded (%s): Linux 5.15 or newer is"
			     " needed; `gpumemtrace doctor` shows what is missing", strerror(-err));
}

int programs_load(struct bpf_object **out, const struct programs_options *options, struct plan *plan,
		  struct plan_limits *limits, char *cause, size_t cause_size)
{
	struct attempt attempt = { .options = options };
	int err = -ENOMEM;

	*plan = first_plan(options, limits);
	attempt.logs = calloc(PROGRAMS_MAX, LOG_BYTES);
	if (attempt.logs)
		err = load_what_can_be(&attempt, plan, limits);
	free(attempt.logs);
	if (err)
		return explain_refusal(&attempt, err, cause, cause_size);
	if (has_private_stack(&attempt)) {
		bpf_object__close(attempt.object);
		return programs_fail(-EOPNOTSUPP, cause, cause_size,
				 "this kernel gives uprobe programs private stacks, or may do"
				 " so, and tracing could crash the machine: nothing was attached. A newer gpumemtrace"
				 " may support this kernel");
	}
	*out = attempt.object;
	return 0;
}
