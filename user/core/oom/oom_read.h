/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests and their pictures from a dump's records. */
#ifndef GPUMEMTRACE_CORE_OOM_OOM_READ_H
#define GPUMEMTRACE_CORE_OOM_OOM_READ_H

#include "core/oom/oom_state.h"

/* One record, well-formed by itself. 0; -EINVAL: it does not fit to what came before it. A request takes the place of
 * the one before it, which is to be in the queue by then (ooms_finish). */
int ooms_read(struct ooms *o, const struct gmt_hdr *rec);

#endif
