/* SPDX-License-Identifier: BSD-2-Clause */
/* Which framework a record speaks of. */
#ifndef GPUMEMTRACE_CORE_TERMS_FRAMEWORK_IDS_H
#define GPUMEMTRACE_CORE_TERMS_FRAMEWORK_IDS_H

#include <stdbool.h>

#include <gpumemtrace/wire.h>

/* Whether it is one that this reader does not know, from a recording of a later version: passed over like a record of
 * an unknown kind. False for records that are of no framework. The record has the size of its kind. */
bool framework_is_unknown(const struct gmt_hdr *record);

#endif
