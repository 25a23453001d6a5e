// SPDX-License-Identifier: BSD-2-Clause
#include "live/select/chooser.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/out.h"
#include "live/process/find.h"
#include "live/select/candidates.h"

#define ROWS_MAX 40              /* more do not fit on a screen */
#define COLUMNS 200              /* if the terminal does not tell its own */
#define TRIES 3

bool chooser_has_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static void show_list(const char *name, const struct find_process *list, size_t count)
{
	unsigned width, height;
	struct out out;

	if (out_terminal_size(STDERR_FILENO, &width, &height))
		width = COLUMNS;
	out_init_fd(&out, STDERR_FILENO);
	out_printf(&out, "%zu processes have the name '", count);
	human_print(&out, COLUMNS, name, strlen(name));
	out_text(&out, "':\n\n");
	candidates_print(&out, list, count < ROWS_MAX ? count : ROWS_MAX, width, true);
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
