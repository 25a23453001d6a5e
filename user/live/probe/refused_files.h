/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that have the name of a library and cannot be read as one. They are remembered, so that they are not read again
 * while they are the same, and told: calls through such a file are not traced. Any user can map any number of them, so
 * a few of each user are named, and the others counted.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_REFUSED_FILES_H
#define GPUMEMTRACE_LIVE_PROBE_REFUSED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REFUSED_FILES 4096 /* the newest; an older file is read, and counts, again when a process maps the file again */
#define REFUSED_USERS 64  /* that are told each by itself; the last one stands for all others */
#define REFUSED_NAMED 4   /* files of a user that are named on standard error */
#define REFUSED_NOTES 16  /* sentences that wait */

struct gmt_limit;
struct library;

/* A file, as it is opened and as people know it, and whose process has it mapped; pid 0: no process is known. */
struct probing_file {
	const char *path, *shown;
	pid_t pid;
	uint32_t uid;
};

struct refused_user {
	uint32_t uid;
	uint64_t count;          /* of files */
	uint64_t put;            /* the number in the newest limit; 0: none yet */
	char first[704];         /* of the files: its path, its process and what is wrong with it */
};

struct refused_files {
	size_t count;            /* ever */
	size_t given_up, ended;  /* of them, as parse_gave_up() and parse_was_ended() say */
	uint64_t told;           /* of them: named or counted for a user */
	struct {
		uint64_t dev, ino, mtime_ns;
	} list[REFUSED_FILES];   /* number n at n % REFUSED_FILES */
	struct refused_user users[REFUSED_USERS];
	size_t user_count;
	char *notes[REFUSED_NOTES];
	size_t note_count;
};

void refused_free(struct refused_files *files);

void refused_add(struct refused_files *files, const struct library *library);
/* Whether the file that the path leads to is one of them, and the same as then. */
bool refused_has(const struct refused_files *files, const char *path);

/* Counts the file for the user whose process has it mapped, and makes a sentence about it. */
void refused_tell(struct refused_files *files, const struct probing_file *file, const char *why);
/* Adds a sentence of the caller's. */
void refused_say(struct refused_files *files, const char *note);
/* The next sentence, to be freed; NULL: there is none. */
char *refused_note(struct refused_files *files);
/* The next user who was not told yet; is_last: or of whom there are more files than the newest limit says. */
bool refused_next_limit(struct refused_files *files, bool is_last, struct gmt_limit *limit);

#endif
