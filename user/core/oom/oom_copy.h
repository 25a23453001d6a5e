/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of pictures: who held what is needed at several places, and by several requests of a moment. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_COPY_H
#define GPUMEMTRACE_CORE_OOM_OOM_COPY_H

struct oom;

/* The caller owns the copy. */
struct oom *oom_copy(const struct oom *oom);
/* Gives a request, whose rec.hdr is set, a copy of another request's picture. */
void oom_take_over(struct oom *oom, const struct oom *from);

#endif
