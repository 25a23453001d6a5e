/* SPDX-License-Identifier: BSD-2-Clause */
/* Records (wire.h) as text and as JSON, one line each, for debugging the ledger. */
#ifndef GPUMEMTRACE_SINK_RECORDS_RECORD_TEXT_H
#define GPUMEMTRACE_SINK_RECORDS_RECORD_TEXT_H

#include <stdint.h>

struct gmt_hdr;
struct out;

/* "+1.000000000 call pid 12 tid 13 api=cuMemAlloc_v2 ...". Any bytes may follow the header: a field beyond the record's
 * end is left out. offset_ns: since the session's start; negative before. */
void record_print(struct out *out, const struct gmt_hdr *record, int64_t offset_ns);
/* {"offset_ns":1000000000,"kind":"call","pid":12,"tid":13,"cpu":0,"size":56,"fields":{"api":"cuMemAlloc_v2", ...}} */
void record_print_json(struct out *out, const struct gmt_hdr *record, int64_t offset_ns);

#endif
