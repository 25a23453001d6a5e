/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses outputs that would take the place of a recording that is read, or of each other. */
#ifndef GPUMEMTRACE_OUTPUT_CLASH_H
#define GPUMEMTRACE_OUTPUT_CLASH_H

struct options;

/* 0, or -EEXIST after a sentence. */
int output_clash(const struct options *options);

#endif
