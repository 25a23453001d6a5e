/* SPDX-License-Identifier: BSD-2-Clause */
/* Who held what at a moment, taken from the ledger. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_PICTURE_H
#define GPUMEMTRACE_CORE_OOM_OOM_PICTURE_H

#include "core/oom/oom_state.h"

/* Fills in rows and stacks, as everything is now: on one GPU, or with GPU_UNKNOWN on all. */
void oom_picture(struct oom *oom, const struct ooms *o, int gpu);
void oom_forget_picture(struct oom *oom);

/* A picture of everything, of all GPUs, for who asks for it. It is the caller's. */
struct oom *ooms_picture(const struct ooms *o);

#endif
