/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the fields of records (wire.h) are and what they are, for printing records: a table for each kind. A new record
 * kind is a row in the list of record_fields.c, and its fields.
 */
#ifndef GPUMEMTRACE_SINK_RECORDS_RECORD_FIELDS_H
#define GPUMEMTRACE_SINK_RECORDS_RECORD_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct gmt_hdr;

enum record_field_type {
	RECORD_UNSIGNED,
	RECORD_SIGNED,
	RECORD_HEX,              /* addresses, handles, flags */
	RECORD_TERM,             /* a number that has a name */
	RECORD_TEXT,             /* bytes up to a NUL */
	RECORD_UUID,
};

struct record_field {
	const char *name;        /* as in wire.h */
	uint16_t offset;
	uint8_t size;            /* bytes of one number: 1, 2, 4, 8 */
	uint16_t count;          /* of an array; of TEXT and UUID bytes */
	enum record_field_type type;
	/* TERM: the name of the number, an array's: of an element by its place. May give NULL. */
	const char *(*term)(unsigned int number);
};

struct record_kind {
	uint16_t kind;           /* enum gmt_kind */
	const struct record_field *fields;
	size_t count;
	/* What follows the fixed part, as members of `fields`; NULL: nothing. */
	void (*rest)(const struct gmt_hdr *record, json_t *fields);
};

/* NULL: this version does not know the kind. */
const struct record_kind *record_kind(unsigned int kind);

#endif
