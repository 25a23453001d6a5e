// SPDX-License-Identifier: BSD-2-Clause
#include "sink/html/source_lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_file.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/view/view.h"

#define FILE_MAX (1u << 20)      /* bytes that are read of a file: 25,000 lines of code */
#define LINE_MAX_BYTES 200
#define LINES_AROUND 2           /* before the line, and so many after it */

/* A recording may name any file, such as one with keys. */
static bool is_source_name(const char *path)
{
	static const char *const suffixes[] = {
		".py", ".pyx", ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".inl", ".jl", ".rs",
	};
	const char *dot = strrchr(path_base(path), '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	return false;
}

/* Somebody may have put a link with such a name in place of the file. */
static bool leads_to_source(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (size < 0)
		return false;
	path[size] = '\0';
	return is_source_name(path);
}

struct source_text {
	char *text;
	size_t size;
	uint64_t changed_ns;     /* CLOCK_REALTIME */
};

static bool read_source(const char *path, struct source_text *source)
{
	int fd = is_source_name(path) ? foreign_open_path(0, path) : -ENOENT;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	*source = (struct source_text){ .text = xmalloc(FILE_MAX) };
	if (leads_to_source(fd) && !fstat(fd, &st)) {
		source->changed_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
		do {
			n = read(fd, source->text + source->size, FILE_MAX - source->size);
			source->size += n > 0 ? (size_t)n : 0;
		} while (n > 0 || (n < 0 && errno == EINTR));
	}
	close(fd);
	if (n < 0)
		free(source->text);
	return n >= 0;
}

/* The last line that was read may have been cut by the bound. */
static json_t *lines_around(const struct source_text *source, uint32_t line, uint32_t *first)
{
	const char *at = source->text, *end = at + source->size;
	json_t *lines = js_array();

	*first = line > LINES_AROUND ? line - LINES_AROUND : 1;
	for (uint32_t number = 1; at < end && number <= line + LINES_AROUND; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)) ?: end;
		size_t size = (size_t)(stop - at);

		if (number >= *first)
			js_append(lines, js_text(at, size < LINE_MAX_BYTES ? size : LINE_MAX_BYTES));
		at = stop + 1;
	}
	return lines;
}

json_t *source_lines_of(const struct view *view, const struct view_symbol *symbol)
{
	struct source_text source;
	json_t *lines;
	uint32_t first;
	bool changed;

	if (!symbol->line || symbol->file[0] != '/' || !read_source(symbol->file, &source))
		return json_null();
	lines = lines_around(&source, symbol->line, &first);
	changed = view->wall_start_ns && source.changed_ns > view->wall_start_ns;
	free(source.text);
	if (json_array_size(lines) <= symbol->line - first) {
		json_decref(lines);
		return json_null();
	}
	return JS_OBJECT({ "first", js_u64(first) }, { "line", js_u64(symbol->line) }, { "lines", lines },
			 { "changed", json_boolean(changed) });
}
