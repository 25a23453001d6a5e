/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

/* A writer with more bytes than this is flushed: a report is one write, a long JSON a few. */
#define OUT_GATHER_BYTES (64 << 10)

int out_write_fd(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n >= 0) {
			p += n;
			size -= n;
			continue;
		}
		if (errno == EINTR)
			continue;
		/* A shell may have left the terminal or pipe non-blocking. */
		if (errno != EAGAIN)
			return -errno;
		if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1) < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* A pipe that is ready takes PIPE_BUF bytes at once (pipe(7)). */
ssize_t out_write_some(int fd, const void *data, size_t size, int idle_ms, int most_ms)
{
	int64_t until_ms = now_ms() + most_ms;
	size_t done = 0;

	while (done < size && now_ms() <= until_ms) {
		struct pollfd ready = { .fd = fd, .events = POLLOUT };
		ssize_t n;

		if (poll(&ready, 1, idle_ms) <= 0)
			break;
		n = write(fd, (const char *)data + done, size - done < PIPE_BUF ? size - done : PIPE_BUF);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static int write_to_fd(void *arg, const void *data, size_t size)
{
	return out_write_fd((int)(intptr_t)arg, data, size);
}

void out_init(struct out *out, out_write_fn write, void *arg)
{
	*out = (struct out){ .write = write, .arg = arg };
}

void out_init_fd(struct out *out, int fd)
{
	out_init(out, write_to_fd, (void *)(intptr_t)fd);
}

void out_init_mem(struct out *out)
{
	out_init(out, NULL, NULL);
}

int out_flush(struct out *out)
{
	if (!out->write)
		return out->error;
	if (out->size && !out->error)
		out->error = out->write(out->arg, out->data, out->size);
	out->size = 0;
	return out->error;
}

int out_close(struct out *out)
{
	int err = out_flush(out);

	free(out->data);
	*out = (struct out){ .error = err };
	return err;
}

char *out_take(struct out *out)
{
	char *text;

	out_char(out, '\0');
	text = out->data;
	*out = (struct out){ 0 };
	return text;
}

void out_drop(struct out *out, size_t size)
{
	out->size -= size;
	memmove(out->data, out->data + size, out->size);
}

static void reserve_room(struct out *out, size_t size)
{
	if (out->room - out->size >= size)
		return;
	out->room = (out->size + size) * 2;
	out->data = xrealloc(out->data, out->room);
}

void out_bytes(struct out *out, const void *data, size_t size)
{
	if (!size)
		return;
	reserve_room(out, size);
	memcpy(out->data + out->size, data, size);
	out->size += size;
	if (out->write && out->size >= OUT_GATHER_BYTES)
		out_flush(out);
}

void out_text(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text));
}

void out_char(struct out *out, char c)
{
	out_bytes(out, &c, 1);
}

void out_pad(struct out *out, int columns)
{
	while (columns-- > 0)
		out_char(out, ' ');
}

void out_vprintf(struct out *out, const char *format, va_list args)
{
	va_list again;
	int size;

	reserve_room(out, 128);
	va_copy(again, args);
	size = vsnprintf(out->data + out->size, out->room - out->size, format, args);
	if (size >= 0 && (size_t)size >= out->room - out->size) {
		reserve_room(out, (size_t)size + 1);
		vsnprintf(out->data + out->size, (size_t)size + 1, format, again);
	}
	va_end(again);
	if (size > 0)
		out->size += size;
	if (out->write && out->size >= OUT_GATHER_BYTES)
		out_flush(out);
}

void out_printf(struct out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out_vprintf(out, format, args);
	va_end(args);
}

int out_terminal_size(int fd, unsigned *width, unsigned *height)
{
	struct winsize size;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return -ENOTTY;
	/* A serial console has no size. */
	*width = size.ws_col ? size.ws_col : 80;
	*height = size.ws_row ? size.ws_row : 24;
	return 0;
}
