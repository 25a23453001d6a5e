// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/refused_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gpumemtrace/wire.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "live/probe/library.h"

#define NOTE_BYTES 2048
#define NOTE_COLUMNS 100   /* of a path in a note, and of what is wrong with the file */
#define FIRST_COLUMNS 56   /* of a path in a limit */
#define REMEDY "Replace the file with a sound library if its process uses CUDA"

void refused_free(struct refused_files *files)
{
	for (size_t i = 0; i < files->note_count; i++)
		free(files->notes[i]);
	files->note_count = 0;
}

void refused_add(struct refused_files *files, const struct library *library)
{
	size_t at = files->count++ % REFUSED_FILES;

	files->list[at].dev = library->dev;
	files->list[at].ino = library->ino;
	files->list[at].mtime_ns = library->mtime_ns;
}

bool refused_has(const struct refused_files *files, const char *path)
{
	struct stat st;

	if (!files->count || stat(path, &st))
		return false;
	for (size_t i = 0; i < files->count && i < REFUSED_FILES; i++)
		if (files->list[i].ino == st.st_ino && files->list[i].dev == st.st_dev &&
		    files->list[i].mtime_ns ==
			    (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec)
			return true;
	return false;
}

/* ---- what is told ---- */

static struct refused_user *refused_user_of(struct refused_files *files, uint32_t uid)
{
	for (size_t i = 0; i < files->user_count; i++)
		if (files->users[i].uid == uid)
			return &files->users[i];
	if (files->user_count == REFUSED_USERS)
		return &files->users[REFUSED_USERS - 1];
	files->users[files->user_count].uid = uid;
	return &files->users[files->user_count++];
}

static bool is_for_others(const struct refused_files *files, const struct refused_user *user)
{
	return user == &files->users[REFUSED_USERS - 1];
}

void refused_say(struct refused_files *files, const char *note)
{
	if (files->note_count < REFUSED_NOTES) /* what the note speaks of is counted in any case */
		files->notes[files->note_count++] = xstrdup(note);
}

static void say_file(struct refused_files *files, const struct refused_user *user, const struct probing_file *file,
		     const char *why)
{
	char shown[4 * NOTE_COLUMNS + 1], note[NOTE_BYTES];

	human_text(shown, NOTE_COLUMNS, file->shown, strlen(file->shown));
	snprintf(note, sizeof(note), "process %d of user %u has mapped %s, which has the name of a library and cannot"
		 " be read as one (%s): calls through the file are not traced. " REMEDY "%s", (int)file->pid,
		 file->uid, shown, why,
		 user->count < REFUSED_NAMED ? "" :
		 is_for_others(files, user)  ? ". More such files are counted, not named" :
					       ". More such files of the user are counted, not named");
	refused_say(files, note);
}

void refused_tell(struct refused_files *files, const struct probing_file *file, const char *why)
{
	struct refused_user *user = refused_user_of(files, file->uid);
	char shown[4 * FIRST_COLUMNS + 1], reason[4 * NOTE_COLUMNS + 1];

	human_text(reason, NOTE_COLUMNS, why, strlen(why));
	files->told++;
	if (!user->count++) {
		human_text(shown, FIRST_COLUMNS, file->shown, strlen(file->shown));
		snprintf(user->first, sizeof(user->first), "%s of process %d (%s)", shown, (int)file->pid, reason);
	}
	if (user->count <= REFUSED_NAMED)
		say_file(files, user, file, reason);
}

char *refused_note(struct refused_files *files)
{
	char *note = files->notes[0];

	if (!files->note_count)
		return NULL;
	files->note_count--;
	memmove(files->notes, files->notes + 1, files->note_count * sizeof(*files->notes));
	return note;
}

static void describe_user(const struct refused_files *files, const struct refused_user *user, struct gmt_limit *limit)
{
	char who[24] = "other users";

	if (!is_for_others(files, user))
		snprintf(who, sizeof(who), "user %u", user->uid);
	*limit = (struct gmt_limit){ 0 };
	snprintf((char *)limit->what, sizeof(limit->what), "calls through files of %s are not traced", who);
	snprintf((char *)limit->why, sizeof(limit->why), "%s %s %s", human_count(user->count).s,
		 human_plural(user->count, "file cannot be read as a library:",
			      "files cannot be read as libraries, first"), user->first);
	snprintf((char *)limit->remedy, sizeof(limit->remedy), REMEDY);
}

bool refused_next_limit(struct refused_files *files, bool is_last, struct gmt_limit *limit)
{
	for (size_t i = 0; i < files->user_count; i++) {
		struct refused_user *user = &files->users[i];

		if (user->put == user->count || (user->put && !is_last))
			continue;
		user->put = user->count;
		describe_user(files, user, limit);
		return true;
	}
	return false;
}
