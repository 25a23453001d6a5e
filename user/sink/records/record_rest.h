/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows the fixed part of a record, as members of a JSON object. Any bytes may come. */
#ifndef GPUMEMTRACE_SINK_RECORDS_RECORD_REST_H
#define GPUMEMTRACE_SINK_RECORDS_RECORD_REST_H

#include <stdint.h>

#include <jansson.h>

struct gmt_hdr;

void record_rest_call(const struct gmt_hdr *record, json_t *fields);
void record_rest_stack(const struct gmt_hdr *record, json_t *fields);
void record_rest_symbol(const struct gmt_hdr *record, json_t *fields);
void record_rest_stack_frames(const struct gmt_hdr *record, json_t *fields);

/* "0x7f00": numbers that nobody reads as a count. */
json_t *record_hex(uint64_t number);

#endif
