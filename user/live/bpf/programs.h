/* SPDX-License-Identifier: BSD-2-Clause */
/* Configures the BPF programs, loads them by a plan that this kernel accepts, and checks them. */
#ifndef GPUMEMTRACE_LIVE_BPF_PROGRAMS_H
#define GPUMEMTRACE_LIVE_BPF_PROGRAMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/config.h>

struct bpf_object;
struct plan;
struct plan_limits;

#define PROGRAMS_DEBUG 2         /* this level and higher ones: only for developers of libbpf */
/* As libbpf's own (libbpf_print_fn_t): the text may have several lines. Called on any thread. */
typedef int (*programs_print_fn)(unsigned int level, const char *format, va_list args);

struct programs_options {
	struct gmt_config config;    /* as BPF gets it, except the members that the plan and the loader set */
	uint64_t ring_bytes;         /* a power of two, and whole pages */
	int attach_type;             /* of uprobe programs */
	programs_print_fn print;     /* gets the messages of libbpf and of the verifier; NULL: nobody does */
	const char *btf;             /* a file to use instead of the kernel's own types; NULL: none */
	const char *refused;         /* for tests: names of programs, with commas; each mention is one refusal */
};

/* Returns 0, and fills *out (the caller closes the object), *plan as it was loaded, and *limits. Or returns -errno,
 * and puts one sentence with the remedy into cause. Takes up to a second, and as long again for each program that
 * the kernel refuses. */
int programs_load(struct bpf_object **out, const struct programs_options *options, struct plan *plan,
		  struct plan_limits *limits, char *cause, size_t cause_size);

/* Writes a sentence and returns `err`. */
int programs_fail(int err, char *cause, size_t size, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
