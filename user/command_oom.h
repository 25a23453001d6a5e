/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUMEMTRACE_COMMAND_OOM_H
#define GPUMEMTRACE_COMMAND_OOM_H

struct options;

/* gpumemtrace oom: what a dump or a recording says about requests that could not be met. An enum gmt_exit. */
int oom_run(const struct options *options);

#endif
