// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/chooser.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "base/out.h"
#include "live/process/find.h"
#include "live/process/find_names.h"

#define ROWS_MAX 40              /* more do not fit on a screen */
#define USER_COLUMNS 12
#define COMMAND_COLUMNS 200
#define TRIES 3

bool chooser_has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static uint64_t since_boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void show_process(struct out *out, size_t number, const struct find_process *process, unsigned columns)
{
	const char *command = process->cmdline[0] ? process->cmdline : process->comm;
	uint64_t now_ns = since_boot_ns(), age_ns = now_ns > process->start_ns ? now_ns - process->start_ns : 0;
	char user[64];

	find_user_name("", process->uid, user, sizeof(user));
	out_printf(out, "%3zu  %8d  ", number, (int)process->pid);
	out_pad(out, USER_COLUMNS - (int)human_print(out, USER_COLUMNS, user, strlen(user)));
	out_printf(out, "  %10s  %-7s  ", human_duration(age_ns).s, process->has_libcuda ? "yes" : "no");
	human_print(out, columns, command, strlen(command));
	out_char(out, '\n');
}

static void show_list(const char *name, const struct find_process *list, size_t count)
{
	unsigned width, height, columns = COMMAND_COLUMNS;
	struct out out;

	if (!out_terminal_size(STDERR_FILENO, &width, &height) && width > 80 && width - 52 < columns)
		columns = width - 52;
	out_init_fd(&out, STDERR_FILENO);
	out_printf(&out, "%zu processes have the name '", count);
	human_print(&out, COMMAND_COLUMNS, name, strlen(name));
	out_text(&out, "':\n\n");
	out_text(&out, "         PID  USER             RUNNING  LIBCUDA  COMMAND\n");
	for (size_t i = 0; i < count && i < ROWS_MAX; i++)
		show_process(&out, i + 1, &list[i], columns);
	if (count > ROWS_MAX)
		out_printf(&out, "     and %zu more, which only 'a' chooses\n", count - ROWS_MAX);
	out_text(&out, "\nWhich of them? A number, several with commas, or 'a' for all: ");
	out_close(&out);
}

/* "2", "1,3" or "a". */
static bool read_answer(const char *answer, size_t count, bool *chosen)
{
	memset(chosen, answer[0] == 'a' && !answer[1], count * sizeof(*chosen));
	if (answer[0] == 'a' && !answer[1])
		return true;
	for (const char *p = answer;; p++) {
		char *end;
		unsigned long number = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;

		if (!number || number > count || number > ROWS_MAX)
			return false;
		chosen[number - 1] = true;
		p = end;
		if (!*p)
			return true;
		if (*p != ',')
			return false;
	}
}

static void ask_again(void)
{
	static const char text[] = "This is neither a number of the list nor 'a'. Which of them? ";

	out_write_fd(STDERR_FILENO, text, sizeof(text) - 1);
}

int chooser_ask(const char *name, const struct find_process *list, size_t count, bool *chosen)
{
	char answer[64];

	show_list(name, list, count);
	for (int i = 0; i < TRIES; i++) {
		if (!fgets(answer, sizeof(answer), stdin))
			break;
		answer[strcspn(answer, "\n")] = '\0';
		if (!answer[0])
			break;
		if (read_answer(answer, count, chosen))
			return 0;
		if (i + 1 < TRIES)
			ask_again();
	}
	return -EINVAL;
}
