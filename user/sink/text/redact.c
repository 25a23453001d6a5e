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

/* ---- where paths begin and end ---- */

#define PART_BYTES 255       /* no folder has a longer name */

struct text {
	const char *at;
	size_t size;
	bool is_lines;           /* an end of line, and two blanks, as between columns, end a path */
};

enum path_kind { NO_PATH, PATH, DRIVE_PATH };

static char letter_at(const struct text *t, size_t at)
{
	return at < t->size ? t->at[at] : '\0';
}

static bool is_letter(const struct text *t, size_t at)
{
	return isalnum((unsigned char)letter_at(t, at));
}

/* A slash within a word, as in "GiB/s", begins no path. */
static bool is_within_word(const struct text *t, size_t at)
{
	return at && (isalnum((unsigned char)t->at[at - 1]) || strchr("_.-]", t->at[at - 1]));
}

static bool ends_word(char c)
{
	return !c || isspace((unsigned char)c) || strchr("\"'`", c);
}

/* "~/", "~user/" */
static bool begins_home(const struct text *t, size_t at)
{
	if (letter_at(t, at) != '~')
		return false;
	for (at++; is_letter(t, at) || (letter_at(t, at) && strchr("._-", letter_at(t, at)));)
		at++;
	return letter_at(t, at) == '/';
}

/* "C:\", "\\server\" */
static bool begins_drive(const struct text *t, size_t at)
{
	char first = letter_at(t, at), second = letter_at(t, at + 1), third = letter_at(t, at + 2);

	return (isalpha((unsigned char)first) && second == ':' && (third == '\\' || third == '/')) ||
	       (first == '\\' && second == '\\' && isalnum((unsigned char)third));
}

static enum path_kind path_begins(const struct text *t, size_t at)
{
	if (is_within_word(t, at))
		return NO_PATH;
	if (begins_drive(t, at))
		return DRIVE_PATH;
	return begins_home(t, at) || (letter_at(t, at) == '/' && !ends_word(letter_at(t, at + 1))) ? PATH : NO_PATH;
}

/* A folder may have any character in its name: only another path is known to be none. */
static bool stops_path(const struct text *t, size_t at)
{
	char before = t->at[at - 1];

	if (t->is_lines && (t->at[at] == '\n' || (t->at[at] == ' ' && letter_at(t, at + 1) == ' ')))
		return true;
	return (isspace((unsigned char)before) || strchr("\"'`=:(,;<|[{", before)) && path_begins(t, at);
}

/* "GiB/s" */
static bool is_rate(const struct text *t, size_t at)
{
	return at && t->at[at - 1] == 'B' && letter_at(t, at + 1) == 's' && !is_letter(t, at + 2);
}

static bool is_separator(const struct text *t, size_t at, enum path_kind kind)
{
	char c = t->at[at], next = letter_at(t, at + 1);

	if (ends_word(next) || strchr(":,;)", next))
		return false;
	return (c == '/' && !is_rate(t, at)) || (c == '\\' && kind == DRIVE_PATH);
}

/* Where the last part of a path begins. A part is as long as may be: blanks and commas belong to a folder if a slash
 * follows. is_whole: the text is nothing but the path. */
static size_t last_part(const struct text *t, size_t at, enum path_kind kind, bool is_whole)
{
	size_t first = at + (kind == DRIVE_PATH ? 3 : 1);    /* "C:\", "\\s" */
	size_t last = kind == DRIVE_PATH && t->at[at] != '\\' ? first : at + (t->at[at] == '/'), newest = at;

	for (size_t i = first; i < t->size; i++) {
		if (!is_whole && (i - newest > PART_BYTES || stops_path(t, i)))
			break;
		if (!is_separator(t, i, kind))
			continue;
		newest = i;
		last = i + 1;
	}
	return last;
}

/* ---- hosts ---- */

/* "https://user@host:1/a/b?q" as "https://(host)/b?q". Returns where the text goes on; `at`: there is no URL. */
static size_t redact_url(struct out *out, const struct text *t, size_t at)
{
	size_t end = at + 3;

	if (!at || !isalnum((unsigned char)t->at[at - 1]) || t->size - at < 3 || memcmp(t->at + at, "://", 3))
		return at;
	while (!ends_word(letter_at(t, end)) && !strchr("/<>(),;", letter_at(t, end)))
		end++;
	out_text(out, end > at + 3 ? "://(host)" : "://");
	if (letter_at(t, end) != '/')
		return end;
	out_char(out, '/');
	return ends_word(letter_at(t, end + 1)) ? end + 1 : last_part(t, end, PATH, false);
}

/* Where a host's name ends: "a.example", or with a folder behind it, "a:/" and "a:~". `at`: there is none. */
static size_t host_end(const struct text *t, size_t at)
{
	size_t end = at, label = at, letters = 0;

	while (is_letter(t, end) || letter_at(t, end) == '-' ||
	       (letter_at(t, end) == '.' && is_letter(t, end + 1))) {
		letters = letter_at(t, end) == '.' ? 0 : letters + (isalpha((unsigned char)letter_at(t, end)) != 0);
		label = letter_at(t, end) == '.' ? end + 1 : label;
		end++;
	}
	if (label > at && letters == end - label && letters > 1)
		return end;
	if (end > at && letter_at(t, end) == ':' && (letter_at(t, end + 1) == '/' || letter_at(t, end + 1) == '~'))
		return end;
	return at;
}

/* "alice@a.example" as "(user)@(host)"; a moment, as in "run.gmt@peak" and "run.gmt@12.5s", has no host. */
static size_t redact_address(struct out *out, const struct text *t, size_t at)
{
	size_t sign = at, end;

	if (is_within_word(t, at))
		return at;
	while (is_letter(t, sign) || (letter_at(t, sign) && strchr("._%+-", letter_at(t, sign))))
		sign++;
	if (sign == at || letter_at(t, sign) != '@')
		return at;
	end = host_end(t, sign + 1);
	if (end == sign + 1)
		return at;
	out_text(out, "(user)@(host)");
	return end;
}

/* ---- texts ---- */

static void redact_from(struct out *out, const struct text *t, size_t at)
{
	while (at < t->size) {
		enum path_kind kind = path_begins(t, at);
		size_t next = kind ? last_part(t, at, kind, false) : redact_url(out, t, at);

		if (next == at)
			next = redact_address(out, t, at);
		if (next == at)
			out_char(out, t->at[at++]);
		else
			at = next;
	}
}

void redact_lines(struct out *out, const char *text, size_t size)
{
	redact_from(out, &(struct text){ text, size, true }, 0);
}

void redact_word(struct out *out, const char *text, size_t size)
{
	const struct text t = { text, size, false };
	enum path_kind kind = size > 1 && text[0] == '/' ? PATH : path_begins(&t, 0);
	size_t at = kind ? last_part(&t, 0, kind, true) : 0;

	if (kind)
		out_bytes(out, text + at, size - at);
	else
		redact_from(out, &t, 0);
}
