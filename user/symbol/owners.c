// SPDX-License-Identifier: BSD-2-Clause
/* See owners.h; the format is described at the top of owners.conf. */
#include "symbol/owners.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/scan.h"
#include "base/xalloc.h"

#define FILE_MAX (1u << 20)
#define WORD_MAX 256

/* The text of a frame that a glob is compared with. */
enum key { KEY_MODULE, KEY_FUNCTION, KEY_FILE, KEY_PACKAGE, KEY_COUNT };

struct glob {
	enum key key;
	char *pattern;
};

struct rule {
	struct owners_match says;
	size_t glob_count;      /* globs of one key stand together */
	struct glob *globs;
};

struct owners {
	struct rule *rules;
	size_t rule_count;
	char **names;
	size_t name_count;
};

/* The place of the parser, and the buffer for its error message. */
struct parser {
	const char *name;
	unsigned int line;
	struct scan rest;       /* of the line */
	char *why;
	size_t why_size;
};

static uint16_t owner_named(struct owners *owners, const char *name)
{
	for (size_t i = 0; i < owners->name_count; i++) {
		if (!strcmp(owners->names[i], name))
			return (uint16_t)i;
	}
	owners->names = xgrow(owners->names, owners->name_count, sizeof(char *));
	owners->names[owners->name_count] = xstrdup(name);
	return (uint16_t)owners->name_count++;
}

struct owners *owners_new(void)
{
	struct owners *owners = xcalloc(1, sizeof(*owners));

	owner_named(owners, "unknown");
	owner_named(owners, "application");
	return owners;
}

static void free_globs(struct rule *rule)
{
	for (size_t i = 0; i < rule->glob_count; i++)
		free(rule->globs[i].pattern);
	free(rule->globs);
}

void owners_free(struct owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; i < owners->rule_count; i++)
		free_globs(&owners->rules[i]);
	for (size_t i = 0; i < owners->name_count; i++)
		free(owners->names[i]);
	free(owners->rules);
	free(owners->names);
	free(owners);
}

__attribute__((format(printf, 2, 3))) static int say_wrong(struct parser *p, const char *format, ...)
{
	int used = snprintf(p->why, p->why_size, "%s:%u: ", p->name, p->line);
	va_list args;

	va_start(args, format);
	if (used >= 0 && (size_t)used < p->why_size)
		vsnprintf(p->why + used, p->why_size - (size_t)used, format, args);
	va_end(args);
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word: up to a blank, or between quotation marks. 1, 0 at the end of the line, or -EINVAL. */
static int next_word(struct parser *p, char *word, bool *quoted)
{
	struct scan *s = &p->rest;
	size_t len = 0;

	while (s->at < s->end && is_blank(*s->at))
		s->at++;
	if (s->at == s->end || *s->at == '#')
		return 0;
	*quoted = scan_char(s, '"');
	for (; s->at < s->end && !(*quoted ? *s->at == '"' : is_blank(*s->at)); s->at++) {
		if (len == WORD_MAX - 1)
			return say_wrong(p, "a word of more than %d characters", WORD_MAX - 1);
		if (!*s->at)
			return say_wrong(p, "a NUL character");
		word[len++] = *s->at;
	}
	word[len] = '\0';
	if (*quoted && !scan_char(s, '"'))
		return say_wrong(p, "no closing quotation mark");
	if (!len)
		return say_wrong(p, "an empty word");
	return 1;
}

/* The index of a word, or the number of words if the word is not in the list. */
static unsigned int rule_word(const char *const *words, unsigned int count, const char *word)
{
	unsigned int i = 0;

	while (i < count && strcmp(word, words[i]))
		i++;
	return i;
}

static enum key find_keyword(const char *word)
{
	static const char *const keywords[] = { "module", "function", "file", "package" };

	return rule_word(keywords, KEY_COUNT, word);
}

/* "module GLOB ... function GLOB ..." to the end of the line. */
static int parse_globs(struct parser *p, struct rule *rule)
{
	bool quoted, has_key = false, used[KEY_COUNT] = { false };
	char word[WORD_MAX];
	size_t before = 0;
	enum key key = KEY_MODULE;
	int got;

	while ((got = next_word(p, word, &quoted)) > 0) {
		enum key next = quoted ? KEY_COUNT : find_keyword(word);

		if (next != KEY_COUNT) {
			if (has_key && rule->glob_count == before)
				return say_wrong(p, "a pattern is missing before \"%s\"", word);
			if (used[next])
				return say_wrong(p, "\"%s\" twice in a rule", word);
			key = next;
			used[key] = has_key = true;
			before = rule->glob_count;
			continue;
		}
		if (!has_key)
			return say_wrong(p, "\"module\", \"function\", \"file\" or \"package\" is expected, not \"%s\"",
					 word);
		rule->globs = xgrow(rule->globs, rule->glob_count, sizeof(*rule->globs));
		rule->globs[rule->glob_count++] = (struct glob){ key, xstrdup(word) };
	}
	if (!got && (!has_key || rule->glob_count == before))
		return say_wrong(p, "the rule has no pattern");
	return got;
}

static int parse_rule(struct owners *owners, struct parser *p)
{
	static const char *const verbs[] = { "skip", "carrier", "part", "owner" }; /* from OWNERS_SKIP on */
	struct rule rule = { 0 };
	char word[WORD_MAX];
	bool quoted;
	int got = next_word(p, word, &quoted);

	if (got <= 0)
		return got;
	rule.says.verb = (uint16_t)(OWNERS_SKIP + rule_word(verbs, COUNT(verbs), word));
	if (rule.says.verb > OWNERS_OWNER)
		return say_wrong(p, "\"owner\", \"part\", \"carrier\" or \"skip\" is expected, not \"%s\"", word);
	if (rule.says.verb != OWNERS_SKIP) {
		got = next_word(p, word, &quoted);
		if (got < 0)
			return got;
		if (!got || (!quoted && find_keyword(word) != KEY_COUNT))
			return say_wrong(p, "the owner's name is missing");
		if (owners->name_count == OWNERS_MAX)
			return say_wrong(p, "too many owners");
		rule.says.owner = owner_named(owners, word);
	}
	got = parse_globs(p, &rule);
	if (got < 0) {
		free_globs(&rule);
		return got;
	}
	owners->rules = xgrow(owners->rules, owners->rule_count, sizeof(*owners->rules));
	owners->rules[owners->rule_count++] = rule;
	return 0;
}

int owners_add(struct owners *owners, const char *name, const char *text, size_t len, char *why, size_t why_size)
{
	struct parser p = { .name = name, .why = why, .why_size = why_size };
	struct scan all = { text, text + len };
	int err = 0;

	for (p.line = 1; !err && scan_line(&all, &p.rest); p.line++)
		err = parse_rule(owners, &p);
	return err;
}

int owners_add_file(struct owners *owners, const char *path, char *why, size_t why_size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t used = 0;
	int err = file ? 0 : -errno;

	if (file) {
		text = xmalloc(FILE_MAX);
		used = fread(text, 1, FILE_MAX, file);
		err = ferror(file) ? -errno : used == FILE_MAX ? -EFBIG : 0;
		fclose(file);
	}
	if (err)
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
	else
		err = owners_add(owners, path, text, used, why, why_size);
	free(text);
	return err;
}

int owners_add_builtin(struct owners *owners, char *why, size_t why_size)
{
	return owners_add(owners, "built-in owners.conf", owners_builtin,
			  (size_t)(owners_builtin_end - owners_builtin), why, why_size);
}

int owners_add_standard(struct owners *owners, char *why, size_t why_size)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	char paths[2][512] = { "", "/etc/gpumemtrace/owners.conf" };

	if (config && config[0])
		snprintf(paths[0], sizeof(paths[0]), "%s/gpumemtrace/owners.conf", config);
	else if (home && home[0])
		snprintf(paths[0], sizeof(paths[0]), "%s/.config/gpumemtrace/owners.conf", home);
	for (size_t i = 0; i < 2; i++) {
		int err = paths[i][0] ? owners_add_file(owners, paths[i], why, why_size) : -ENOENT;

		/* $HOME may be another user's: after sudo, in a service. */
		if (err && err != -ENOENT && err != -ENOTDIR && (i || err != -EACCES))
			return err;
	}
	why[0] = '\0';
	return owners_add_builtin(owners, why, why_size);
}

/*
 * The Python package of a path: what follows the last folder that installers put packages into (PEP 370 and Debian's
 * Python policy name the two). Only the last one counts, because an environment may lie anywhere. "-": none.
 */
static const char *find_package(const char *path, char *name, size_t size)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	const char *package = NULL;

	for (size_t i = 0; path && i < COUNT(folders); i++)
		for (const char *at = path; (at = strstr(at, folders[i])); at++)
			if (!package || at + strlen(folders[i]) > package)
				package = at + strlen(folders[i]);
	if (!package)
		return "-";
	snprintf(name, size, "%.*s", (int)strcspn(package, "/."), package);
	return name;
}

/* A module says the package better than its source, which lay on another machine. */
const char *owners_package(const struct owners_frame *frame, char name[OWNERS_PACKAGE_MAX])
{
	return find_package(frame->module ? frame->module : frame->file, name, OWNERS_PACKAGE_MAX);
}

static bool glob_matches(const struct glob *glob, const struct owners_frame *frame, const char *package)
{
	const char *const texts[KEY_COUNT] = { frame->module, frame->function, frame->file, package };
	const char *text = texts[glob->key];

	if (text && glob->key == KEY_MODULE && !strchr(glob->pattern, '/'))
		text = basename(text);
	return text && !fnmatch(glob->pattern, text, 0);
}

static bool rule_matches(const struct rule *rule, const struct owners_frame *frame, const char *package)
{
	bool any = false;

	for (size_t i = 0; i < rule->glob_count; i++) {
		if (i && rule->globs[i].key != rule->globs[i - 1].key) {
			if (!any)
				return false;
			any = false;
		}
		any = any || glob_matches(&rule->globs[i], frame, package);
	}
	return any;
}

struct owners_match owners_match(const struct owners *owners, const struct owners_frame *frame)
{
	char name[OWNERS_PACKAGE_MAX];
	const char *package = owners_package(frame, name);

	for (size_t i = 0; i < owners->rule_count; i++) {
		if (rule_matches(&owners->rules[i], frame, package))
			return owners->rules[i].says;
	}
	/* an address outside of all mappings says nothing, not even that the application has code */
	return (struct owners_match){ .verb = frame->module || frame->function || frame->file ? OWNERS_NOTHING
											       : OWNERS_SKIP };
}

uint16_t owners_decide(const struct owners_match *matches, size_t count, size_t *frame)
{
	uint16_t carrier = OWNER_UNKNOWN;

	*frame = count;
	for (size_t i = 0; i < count; i++) {
		switch ((enum owners_verb)matches[i].verb) {
		case OWNERS_PART:
		case OWNERS_OWNER:
			*frame = i;
			return matches[i].owner;
		case OWNERS_CARRIER:
			carrier = matches[i].owner;
			*frame = i;
			break;
		case OWNERS_NOTHING:
			if (carrier)
				return carrier;
			*frame = i;
			return OWNER_APPLICATION;
		case OWNERS_SKIP:
			break;
		}
	}
	return carrier;
}

size_t owners_count(const struct owners *owners)
{
	return owners->name_count;
}

const char *owners_name(const struct owners *owners, uint16_t owner)
{
	return owner < owners->name_count ? owners->names[owner] : owners->names[OWNER_UNKNOWN];
}
