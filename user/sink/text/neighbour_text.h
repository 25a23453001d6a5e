/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the processes that hold memory of a GPU and are not traced. */
#ifndef GPUMEMTRACE_SINK_TEXT_NEIGHBOUR_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_NEIGHBOUR_TEXT_H

#include "core/view/view.h"

struct out;

/* "pid 4242 (python)": a name may have blanks in it. */
void neighbour_text_name(struct out *out, const struct view_neighbour *neighbour);
/* "pid 4242 (python): 12.3 GiB; pid 77 (ollama): 8 GiB; 3 others: 500 MiB together": at most `most` by name. Nothing:
 * there are none. */
void neighbour_text_list(struct out *out, const struct view_gpu *gpu, size_t most);

#endif
