/* SPDX-License-Identifier: BSD-2-Clause */
/* A window that comes from a dump (include/gpumemtrace/history_records.h). Any bytes may come. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_READ_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_READ_H

struct gmt_hdr;
struct history;
struct process;

/* Takes in a record of one, of a process: well-formed by itself. */
void history_read(struct history *h, const struct process *p, const struct gmt_hdr *record);

#endif
