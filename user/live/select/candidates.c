// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/candidates.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "live/process/find.h"
#include "live/process/find_names.h"
#include "live/process/procfs.h"

#define USER_COLUMNS 12
#define FACTS_COLUMNS 45         /* of a line, before the command */
#define COMMAND_BYTES 4096       /* the list of processes has fewer: long commands may differ only at the end */
#define COMMAND_LEAST 24         /* columns */
#define HEAD_COLUMNS 10          /* of the beginning that is the same, when it is shortened */
#define DOTS "..."

/* ---- commands ---- */

static size_t same_bytes(const char *a, const char *b)
{
	size_t same = 0;

	while (a[same] && a[same] == b[same])
		same++;
	return same;
}

size_t candidates_same(const char *const *texts, size_t count)
{
	size_t same = count ? strlen(texts[0]) : 0;

	for (size_t i = 1; i < count; i++) {
		size_t here = same_bytes(texts[0], texts[i]);

		same = here < same ? here : same;
	}
	while (same && texts[0][same - 1] != ' ' && texts[0][same - 1] != '/')
		same--;
	return same;
}

void candidates_print_command(struct out *out, const char *command, size_t same, unsigned columns)
{
	size_t size = strlen(command), head = HEAD_COLUMNS + strlen(DOTS);

	if (size > columns && same > head && columns > head + HEAD_COLUMNS) {
		human_print(out, (unsigned)head, command, same);
		human_print(out, columns - (unsigned)head, command + same, size - same);
		return;
	}
	human_print(out, columns, command, size);
}

/* What the command shares with the others; where its rest is still too long, with the command most like it. */
static size_t same_of(const char *const *commands, size_t count, size_t at, unsigned columns)
{
	size_t same = candidates_same(commands, count);

	if (strlen(commands[at]) - same + HEAD_COLUMNS + strlen(DOTS) <= columns)
		return same;
	for (size_t i = 0; i < count; i++) {
		const char *const pair[] = { commands[at], commands[i] };
		size_t here = i == at ? 0 : candidates_same(pair, 2);

		same = here > same ? here : same;
	}
	return same;
}

/* The whole command, unless it says nothing of the program; what was read earlier if the process has ended. */
static char *read_command(const struct find_process *process)
{
	char *bytes = xmalloc(COMMAND_BYTES), *command = xmalloc(COMMAND_BYTES);
	ssize_t size = procfs_read_below("", process->pid, "cmdline", bytes, COMMAND_BYTES);

	command[0] = '\0';
	if (size > 0 && !strstr(process->cmdline, PROCFS_SPAWNED) &&
	    find_is_same("", process->pid, process->start_ticks))
		procfs_parse_cmdline(bytes, (size_t)size, command, COMMAND_BYTES);
	free(bytes);
	if (command[0])
		return command;
	free(command);
	return xstrdup(process->cmdline[0] ? process->cmdline : process->comm);
}

/* ---- lines ---- */

static void print_facts(struct out *out, const struct find_process *process)
{
	char user[64];

	find_user_name("", process->uid, user, sizeof(user));
	out_printf(out, "%8d  ", (int)process->pid);
	out_pad(out, USER_COLUMNS - (int)human_print(out, USER_COLUMNS, user, strlen(user)));
	out_printf(out, "  %10s  %-7s  ", human_duration(find_age_ns(process)).s, process->has_libcuda ? "yes" : "no");
}

void candidates_print(struct out *out, const struct find_process *list, size_t count, unsigned columns,
		      bool has_numbers)
{
	char **commands = xcalloc(count + 1, sizeof(*commands));
	unsigned before = FACTS_COLUMNS + (has_numbers ? 5 : 0);
	unsigned room = columns > before + COMMAND_LEAST ? columns - before : COMMAND_LEAST;

	for (size_t i = 0; i < count; i++)
		commands[i] = read_command(&list[i]);
	out_printf(out, "%s     PID  USER             RUNNING  LIBCUDA  COMMAND\n", has_numbers ? "     " : "");
	for (size_t i = 0; i < count; i++) {
		size_t same;

		if (has_numbers)
			out_printf(out, "%3zu  ", i + 1);
		print_facts(out, &list[i]);
		same = same_of((const char *const *)commands, count, i, room);
		candidates_print_command(out, commands[i], same, room);
		out_char(out, '\n');
	}
	for (size_t i = 0; i < count; i++)
		free(commands[i]);
	free(commands);
}

void candidates_print_option(struct out *out, const struct find_process *list, size_t count)
{
	out_text(out, "-p ");
	for (size_t i = 0; i < count; i++)
		out_printf(out, "%s%d", i ? "," : "", (int)list[i].pid);
}
