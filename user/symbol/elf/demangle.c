// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/elf/demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/count.h"
#include "base/xalloc.h"

#define CXX_OPTIONS (DMGL_ANSI | DMGL_RET_DROP)

struct text {
	jmp_buf full;
	char *out;
	size_t used, size;
};

/*
 * A name of a few hundred bytes can stand for a name of gigabytes (each substitution may double the name), and
 * libiberty cannot be stopped. So longjmp() leaves libiberty when the text is full. The memory of libiberty is on the
 * stack (alloca) then, except the decoded letters of a Rust identifier in punycode: these few bytes are lost.
 */
static void take_part(const char *part, size_t len, void *arg)
{
	struct text *text = arg;
	size_t room = text->size - 1 - text->used;
	size_t fits = len < room ? len : room;

	if (fits) /* a part without bytes may be NULL, which memcpy() must not get */
		memcpy(text->out + text->used, part, fits);
	text->used += fits;
	if (fits < len)
		longjmp(text->full, 1);
}

/* Ends a text that was cut, at a whole UTF-8 character. */
static void end_with_dots(char *out, size_t used, size_t size)
{
	if (size < 4) {
		out[0] = '\0';
		return;
	}
	if (used > size - 4)
		used = size - 4;
	while (used && ((unsigned char)out[used] & 0xc0) == 0x80)
		used--;
	memcpy(out + used, "...", 4);
}

static void copy_cut(const char *from, char *out, size_t size)
{
	size_t len = strcspn(from, "@"); /* "@VERSION" of .symtab is no part of the name */

	if (!len)
		len = strlen(from);
	snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), from);
	if (len >= size)
		end_with_dots(out, size - 1, size);
}

static bool starts_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

bool demangle(const char *symbol, bool params, char *out, size_t size)
{
	struct text text = { .out = out, .size = size };
	char *plain;
	bool known;
	/* changed between setjmp() and longjmp() only through the pointer in take_part() */
	struct text *volatile kept = &text;

	if (!size)
		return false;
	if (!starts_mangled(symbol) || strnlen(symbol, DEMANGLE_INPUT_MAX + 1) > DEMANGLE_INPUT_MAX) {
		copy_cut(symbol, out, size);
		return false;
	}
	plain = xstrdup(symbol);
	plain[strcspn(plain, "@")] = '\0';
	if (setjmp(text.full)) {
		end_with_dots(kept->out, kept->used, kept->size);
		free(plain);
		return true;
	}
	known = rust_demangle_callback(plain, 0, take_part, &text);
	if (!known) {
		text.used = 0;
		known = cplus_demangle_v3_callback(plain, CXX_OPTIONS | (params ? DMGL_PARAMS : 0), take_part, &text);
	}
	if (known)
		out[text.used] = '\0';
	else
		copy_cut(symbol, out, size);
	free(plain);
	return known;
}

/* The length of an operator's symbol, whose '<', '>' and '(' are no brackets. Longer ones come first. */
static size_t operator_len(const char *at)
{
	static const char *const names[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==", "!=", "&&", "||", "++",
		"--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "<",	">",  "+",  "-",  "*",	"/",  "%",
		"^",   "&",   "|",   "~",   "!",  "=",	",",
	};

	for (size_t i = 0; i < COUNT(names); i++) {
		if (!strncmp(at, names[i], strlen(names[i])))
			return strlen(names[i]);
	}
	return 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The length of a word "operator<<" at name[at], 0 if there is none. */
static size_t operator_at(const char *name, size_t at)
{
	static const char word[] = "operator";
	size_t len = sizeof(word) - 1;

	if ((at && is_word(name[at - 1])) || strncmp(name + at, word, len) || is_word(name[at + len]))
		return 0;
	return len + operator_len(name + at + len);
}

/* Whether the '<' at this place opens template arguments. In Rust's "<T as Trait>::f" it begins a name. */
static bool opens_arguments(const char *name, size_t at, size_t operator_end)
{
	if (operator_end && (at == operator_end || (at == operator_end + 1 && name[at - 1] == ' ')))
		return true; /* "operator+<int>", "operator< <int>" */
	return at && (is_word(name[at - 1]) || name[at - 1] == '>' || name[at - 1] == ')' || name[at - 1] == '}' ||
		      (at > 1 && name[at - 1] == ':' && name[at - 2] == ':')); /* Rust v0: f::<T> */
}

/* Empties the template arguments that lie `level` deep or deeper (1: all), in place. */
static void empty_arguments(char *name, unsigned int level)
{
	unsigned int depth = 0, others = 0; /* open '<' of arguments, and of Rust's "<T as Trait>" */
	size_t to = 0, operator_end = 0;

	for (size_t at = 0; name[at]; at++) {
		size_t whole = operator_at(name, at);

		if (whole) {
			if (depth < level) {
				memmove(name + to, name + at, whole);
				to += whole;
			}
			operator_end = at + whole;
			at += whole - 1;
			continue;
		}
		if (name[at] == '<' && (depth || opens_arguments(name, at, operator_end))) {
			depth++;
			if (depth > level)
				continue;
		} else if (name[at] == '<') {
			others++;
		} else if (name[at] == '>' && !(at && name[at - 1] == '-')) {
			if (depth) {
				depth--;
				if (depth >= level)
					continue;
			} else if (others) {
				others--;
			}
		} else if (depth >= level) {
			continue;
		}
		name[to++] = name[at];
	}
	name[to] = '\0';
}

/* Drops scopes from the left until the rest fits behind "...", if a scope ends in time. */
static void drop_scopes(char *name, size_t width)
{
	size_t len = strlen(name), from = len - (width - 3);
	unsigned int depth = 0;
	size_t cut = 0;

	for (size_t at = 0; at + 2 < len && !cut; at++) {
		if (strchr("<({[", name[at]))
			depth++;
		else if (depth && strchr(">)}]", name[at]))
			depth--;
		else if (!depth && name[at] == ':' && name[at + 1] == ':' && at >= from)
			cut = at;
	}
	if (cut) {
		memmove(name + 3, name + cut, len - cut + 1);
		memcpy(name, "...", 3);
	}
}

static void shorten_name(char *name, size_t width)
{
	if (width < 8)
		return;
	for (unsigned int level = 4; level && strlen(name) > width; level--)
		empty_arguments(name, level);
	if (strlen(name) > width)
		drop_scopes(name, width);
	if (strlen(name) > width) {
		name[width] = '\0';
		end_with_dots(name, width, width + 1);
	}
}

void demangle_short(const char *symbol, size_t width, char *out, size_t size)
{
	size_t room = 4 * DEMANGLE_INPUT_MAX;
	char *name;

	if (!size)
		return;
	name = xmalloc(room);
	demangle(symbol, false, name, room);
	if (!width || width >= size)
		width = size - 1;
	shorten_name(name, width);
	copy_cut(name, out, size);
	free(name);
}
