/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of each kind of record (wire.h), for printing records: name, place, size, meaning. They come from the
 * lists beside the structures. A list that needs a new way of printing gets an AS_ in record_fields.c.
 */
#ifndef GPUMEMTRACE_SINK_RECORDS_RECORD_FIELDS_H
#define GPUMEMTRACE_SINK_RECORDS_RECORD_FIELDS_H

#include <stddef.h>
#include <stdint.h>

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
	/* TERM: names a number, or in an array an element by its place. May give NULL. */
	const char *(*term)(unsigned int number);
};

struct record_kind {
	uint16_t kind;           /* enum gmt_kind */
	const struct record_field *fields;
	size_t count;
};

/* NULL: this version does not know the kind. */
const struct record_kind *record_kind(unsigned int kind);

#endif
