/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of `gpumemtrace ps`. */
#ifndef GPUMEMTRACE_SINK_FORMATS_PROCESSES_H
#define GPUMEMTRACE_SINK_FORMATS_PROCESSES_H

struct cuda_processes;
struct out;
struct sink_opts;

void processes_print(struct out *out, const struct cuda_processes *processes, const struct sink_opts *opts);
void processes_print_json(struct out *out, const struct cuda_processes *processes, const struct sink_opts *opts);

#endif
