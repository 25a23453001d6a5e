/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that a user selects by what people know of them (live/process/find_selector.h). A name stands for
 * the processes that have the name now; a group, such as a container, also for those that join it later.
 */
#ifndef GPUMEMTRACE_LIVE_SELECT_SELECTION_H
#define GPUMEMTRACE_LIVE_SELECT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/process/find.h"

struct out;

/* Texts of one kind. */
struct selection_texts {
	enum find_kind kind;
	const char *const *list;
	size_t count;
};

struct selection {
	struct find_process *processes; /* that names stand for, as chosen */
	size_t process_count;
	struct find_selector *groups;
	size_t group_count;
};

/* Finds the processes. If several have a name, the user is asked on a terminal. 0; -ESRCH: there are none; -EACCES:
 * /proc cannot be read; -EINVAL: a text is wrong, or does not say enough. After an error `cause` has a sentence, or
 * several lines. Close the selection in all cases. */
int selection_open(struct selection *selection, const struct selection_texts *texts, size_t count, struct out *cause);
void selection_close(struct selection *selection);

#endif
