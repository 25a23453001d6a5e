/* SPDX-License-Identifier: BSD-2-Clause */
/* --snapshot: what happened to device memory lately, as a file that PyTorch's viewers open. */
#ifndef GPUMEMTRACE_SNAPSHOT_FILE_H
#define GPUMEMTRACE_SNAPSHOT_FILE_H

struct options;
struct pipeline;

/* One file for each process that had device memory: as it was called if there is one, else with the pids before
 * the suffix. Says which, and what is wrong. 0 or -errno. Does nothing if none was asked for. */
int snapshot_file_write(const struct options *options, const struct pipeline *pipeline);

#endif
