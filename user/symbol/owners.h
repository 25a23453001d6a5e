/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose memory a stack is: rules from files (owners.conf says how they are written; its text is in the
 * binary) map frames to owners.
 *
 * A frame gets what the first rule that matches it says. A stack is read from its innermost frame outwards:
 * the first frame with an "owner" rule decides. A "carrier" (PyTorch, RMM: memory it takes is often for
 * somebody else) waits for the frame around it: an owner has it, another carrier takes over, code that no
 * rule knows leaves it with the carrier. Such code before any owner or carrier: the application has it.
 * "skip" frames are not looked at; a stack of them alone is unknown.
 */
#ifndef GPUMEMTRACE_SYMBOL_OWNERS_H
#define GPUMEMTRACE_SYMBOL_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#define OWNER_UNKNOWN 0      /* nothing is known of the stack */
#define OWNER_APPLICATION 1  /* code that no rule knows */
#define OWNER_FIRST 2        /* those of the rules, in order of appearance */
#define OWNERS_MAX 65535

struct owners;

/* What of a frame rules look at; each may be NULL. */
struct owners_frame {
	const char *module;  /* path of the ELF file: globs see its last part, those with a '/' all of it */
	const char *function;
	const char *file;    /* source: of Python always, of native code where lines are known */
};

/* What a rule says of a frame. Small, so that the caller can keep it with the frame. */
enum owners_verb {
	OWNERS_NOTHING,      /* no rule matches */
	OWNERS_SKIP,
	OWNERS_CARRIER,
	OWNERS_OWNER,
};
struct owners_match {
	uint16_t owner;
	uint16_t verb;       /* enum owners_verb */
};

struct owners *owners_new(void);      /* without rules */
void owners_free(struct owners *owners);

/*
 * Adds the rules of a text behind those that are there: the first one that matches decides, so files of users
 * come before the built-in one. 0, or -EINVAL with "NAME:LINE: what is wrong" in `why`; the rules before that
 * line have been added then.
 */
int owners_add(struct owners *owners, const char *name, const char *text, size_t len, char *why, size_t why_size);
/* A file; -errno if it cannot be read. */
int owners_add_file(struct owners *owners, const char *path, char *why, size_t why_size);
int owners_add_builtin(struct owners *owners, char *why, size_t why_size);
/* What a program that starts up wants, by descending precedence: the user's own file
 * ($XDG_CONFIG_HOME or ~/.config, /gpumemtrace/owners.conf), /etc/gpumemtrace/owners.conf, the built-in
 * rules. A file that is not there is no error; nor is a home that is out of reach. */
int owners_add_standard(struct owners *owners, char *why, size_t why_size);

/* What the rules say of one frame: slow (hundreds of patterns), so ask once a frame. */
struct owners_match owners_match(const struct owners *owners, const struct owners_frame *frame);
/* Decides by the matches of a stack's frames, innermost first. *frame becomes the index of the frame that decided,
 * `count` if none did. */
uint16_t owners_decide(const struct owners_match *matches, size_t count, size_t *frame);

size_t owners_count(const struct owners *owners); /* with the two constant ones */
const char *owners_name(const struct owners *owners, uint16_t owner);

/* The built-in rules (owners.conf). */
extern const char owners_builtin[];
extern const char owners_builtin_end[];

#endif
