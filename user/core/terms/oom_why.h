/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a request failed, in a few numbers and texts that outlive the picture of that moment. Sizes are bytes. The cause
 * is the first one of the request's verdict (core/view/oom_verdict.h).
 */
#ifndef GPUMEMTRACE_CORE_TERMS_OOM_WHY_H
#define GPUMEMTRACE_CORE_TERMS_OOM_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#define OOM_PLACE_BYTES 96

/* A line of the program. Without a file, the function or its library is known; nothing: the line is not known. */
struct oom_place {
	char file[OOM_PLACE_BYTES];     /* the end of a long path */
	char function[OOM_PLACE_BYTES];
	uint32_t line;           /* 0: not known */
};

struct oom_why {
	bool is_known;           /* else there is no picture, and nothing below is set */
	bool is_guess;
	uint8_t cause;           /* enum oom_cause_kind */
	uint16_t api;            /* the call that asked: enum gmt_api */
	uint32_t number;         /* of the request: a later request has a greater one */
	uint64_t first_ns, last_ns; /* when it failed first, and last: CLOCK_MONOTONIC */
	uint64_t asked;          /* 0: the request has no size */
	uint64_t bytes, whole;   /* of the cause */
	struct oom_place asked_at;
	struct oom_place at;     /* the line with most of the cause's memory */
	uint64_t at_bytes;
	uint32_t other;          /* the process that holds the memory, where it is another one; 0 */
	char other_comm[GMT_COMM_BYTES + 1];
	uint64_t other_bytes;    /* of that process */
};

#endif
