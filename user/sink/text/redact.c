// SPDX-License-Identifier: BSD-2-Clause
#include "sink/text/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/xalloc.h"

void redact_view(const struct view *view, struct view *copy)
{
	*copy = *view;
	memset(copy->session.host, 0, sizeof(copy->session.host));
	copy->procs = xreallocarray(NULL, view->proc_count + 1, sizeof(*copy->procs));
	for (size_t i = 0; i < view->proc_count; i++) {
		copy->procs[i] = view->procs[i];
		copy->procs[i].cmdline[0] = '\0';
		copy->procs[i].cgroup[0] = '\0';
	}
}

void redact_free(struct view *copy)
{
	free(copy->procs);
}

static bool ends_path(char c)
{
	return isspace((unsigned char)c) || strchr("\"'\\,;:()<>|", c);
}

/* A slash within a word, as in "GiB/s", begins no path. */
static bool begins_path(const char *text, size_t size, size_t at)
{
	bool is_within = at && (isalnum((unsigned char)text[at - 1]) || strchr("_.-]", text[at - 1]));

	return text[at] == '/' && !is_within && at + 1 < size && !ends_path(text[at + 1]);
}

void redact_paths(struct out *out, const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t end = at, last = at;

		if (!begins_path(text, size, at)) {
			out_char(out, text[at++]);
			continue;
		}
		for (; end < size && !ends_path(text[end]); end++)
			last = text[end] == '/' && end + 1 < size && !ends_path(text[end + 1]) ? end + 1 : last;
		out_bytes(out, text + last, end - last);
		at = end;
	}
}
