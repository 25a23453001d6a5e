/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whose memory a stack took: rules from files map frames to owners. owners.conf describes the format;
 * its text is in the binary.
 *
 * The first rule that matches a frame counts. A stack is read from its innermost frame outwards: the first frame
 * with an "owner" rule decides. A "carrier" (PyTorch, RMM) often takes memory for others, so the frame around it
 * decides: an owner gets the memory, another carrier takes over, and code that no rule knows leaves the memory with
 * the carrier. If such code comes before any owner or carrier, the application is the owner. A "part" of a carrier has
 * memory of its own, as an owner has. "skip" frames are ignored; a stack of them alone is unknown.
 */
#ifndef GPUMEMTRACE_SYMBOL_OWNERS_H
#define GPUMEMTRACE_SYMBOL_OWNERS_H

#include <stddef.h>
#include <stdint.h>

#define OWNER_UNKNOWN 0      /* nothing is known about the stack */
#define OWNER_APPLICATION 1  /* code that no rule knows */
#define OWNER_FIRST 2        /* the owners of the rules, in order of appearance */
#define OWNERS_MAX 65535

struct owners;

/* The texts of a frame that rules look at; each may be NULL. */
struct owners_frame {
	const char *module;  /* path of the ELF file; a glob without '/' is compared with the last part */
	const char *function;
	const char *file;    /* of the source; for native code only if lines are known */
};

/* What the rules say about a frame. Small, so that the caller can keep it with the frame. */
enum owners_verb {
	OWNERS_NOTHING,      /* no rule matches */
	OWNERS_SKIP,
	OWNERS_CARRIER,
	OWNERS_PART,
	OWNERS_OWNER,
};
struct owners_match {
	uint16_t owner;
	uint16_t verb;       /* enum owners_verb */
};

struct owners *owners_new(void);      /* without rules */
void owners_free(struct owners *owners);

/*
 * Adds the rules of a text behind the existing ones. The first rule that matches counts, so users' files come
 * before the built-in one. 0; or -EINVAL with "NAME:LINE: what is wrong" in `why`, and the rules of the lines
 * before are added.
 */
int owners_add(struct owners *owners, const char *name, const char *text, size_t len, char *why, size_t why_size);
/* A file; -errno if it cannot be read. */
int owners_add_file(struct owners *owners, const char *path, char *why, size_t why_size);
int owners_add_builtin(struct owners *owners, char *why, size_t why_size);
/* Adds the standard rules, by descending precedence: the user's own file ($XDG_CONFIG_HOME or ~/.config,
 * /gpumemtrace/owners.conf), /etc/gpumemtrace/owners.conf, the built-in rules. A missing file is no error, nor is a
 * home directory that cannot be searched. */
int owners_add_standard(struct owners *owners, char *why, size_t why_size);

/* Asks the rules about one frame: this is slow (hundreds of patterns), so ask once for each frame. */
struct owners_match owners_match(const struct owners *owners, const struct owners_frame *frame);
/* Decides by the matches of a stack's frames, innermost first. *frame becomes the index of the frame that decided,
 * or `count` if no frame did. */
uint16_t owners_decide(const struct owners_match *matches, size_t count, size_t *frame);

/* The package that a frame's code was installed with, which may be written to `name`; "-": none. */
#define OWNERS_PACKAGE_MAX 128 /* a longer name is cut */
const char *owners_package(const struct owners_frame *frame, char name[OWNERS_PACKAGE_MAX]);

size_t owners_count(const struct owners *owners); /* includes the two constant owners */
const char *owners_name(const struct owners *owners, uint16_t owner);

/* The built-in rules (owners.conf). */
extern const char owners_builtin[];
extern const char owners_builtin_end[];

#endif
