/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where text goes: to a function that takes bytes, or to memory. Bytes are gathered, and out_flush() hands the bytes
 * over in one piece. The first error sticks: later bytes are dropped, and out_flush() and out_close() return the error.
 * So whoever writes checks for errors only once, at the end.
 */
#ifndef GPUMEMTRACE_BASE_OUT_H
#define GPUMEMTRACE_BASE_OUT_H

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

/* Takes all of the bytes and returns 0, or -errno. */
typedef int (*out_write_fn)(void *arg, const void *data, size_t size);

struct out {
	out_write_fn write;    /* NULL: memory, all bytes stay in data */
	void *arg;
	int error;             /* the first, -errno */
	char *data;
	size_t size, room;
};

void out_init(struct out *out, out_write_fn write, void *arg);
void out_init_fd(struct out *out, int fd); /* the descriptor stays the caller's */
void out_init_mem(struct out *out);
int out_flush(struct out *out);
int out_close(struct out *out);            /* flushes and frees; returns the sticky error */
char *out_take(struct out *out);           /* closes a memory writer; the caller frees the text */

void out_drop(struct out *out, size_t size); /* of a memory writer: the first bytes, which have been written */
void out_bytes(struct out *out, const void *data, size_t size);
void out_text(struct out *out, const char *text);
void out_char(struct out *out, char c);
void out_pad(struct out *out, int columns); /* spaces; none if negative */
void out_printf(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void out_vprintf(struct out *out, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Writes all bytes to a descriptor, whatever signals, short writes and full pipes come between. 0 or -errno. */
int out_write_fd(int fd, const void *data, size_t size);

/* Writes what the reader of a descriptor takes, until the reader has taken nothing for `idle_ms`, and for `most_ms`.
 * Returns the number of bytes written, or -errno. */
ssize_t out_write_some(int fd, const void *data, size_t size, int idle_ms, int most_ms);

/* Columns and lines of the terminal behind the descriptor; -ENOTTY: there is no terminal. */
int out_terminal_size(int fd, unsigned *width, unsigned *height);

#endif
