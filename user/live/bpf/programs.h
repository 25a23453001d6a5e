/* SPDX-License-Identifier: BSD-2-Clause */
/* Configures the BPF programs, loads them by a plan that this kernel accepts, and checks them. */
#ifndef GPUMEMTRACE_LIVE_BPF_PROGRAMS_H
#define GPUMEMTRACE_LIVE_BPF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/config.h>

struct bpf_object;
struct plan;
struct plan_limits;

struct programs_options {
	struct gmt_config config;    /* as BPF gets it, except the members that the plan and the loader set */
	uint64_t ring_bytes;         /* a power of two, and whole pages */
	int attach_type;             /* of uprobe programs */
	bool verbose;                /* messages of libbpf and of the verifier go to stderr */
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
