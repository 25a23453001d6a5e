/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of user/doc/sqlite-schema.sql, inside the binary. */
#ifndef GPUMEMTRACE_SINK_SQLITE_SCHEMA_H
#define GPUMEMTRACE_SINK_SQLITE_SCHEMA_H

extern const char sqlite_schema[];

#endif
