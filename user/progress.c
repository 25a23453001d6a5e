// SPDX-License-Identifier: BSD-2-Clause
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/for_tests.h"
#include "base/human.h"
#include "base/out.h"

#define EACH 1024            /* calls between two looks at the clock */
#define FIRST_MS 1000
#define NEXT_NS 100000000ULL
#define MS 1000000ULL
#define NAME_COLUMNS 40

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *p, const char *name, uint64_t total)
{
	*p = (struct progress){ .name = name, .total = isatty(STDERR_FILENO) ? total : 0 };
	if (p->total)
		p->next_ns = clock_ns() + number_for_tests("GPUMEMTRACE_PROGRESS_MS", FIRST_MS) * MS;
}

/* The line goes with the next line, or with the end: the cursor stays at its beginning. */
static void show_part(struct progress *p, uint64_t done)
{
	char name[4 * NAME_COLUMNS + 1], line[sizeof(name) + 64];

	human_text(name, NAME_COLUMNS, p->name, strlen(p->name));
	snprintf(line, sizeof(line), "\r\033[Kreading %s: %" PRIu64 "%%\r", name,
		 done < p->total ? done * 100 / p->total : 100);
	out_write_fd(STDERR_FILENO, line, strlen(line));
	p->is_shown = true;
}

void progress_see(struct progress *p, uint64_t done)
{
	uint64_t now;

	if (!p->total || ++p->looks % EACH)
		return;
	now = clock_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + NEXT_NS;
	show_part(p, done);
}

void progress_end(struct progress *p)
{
	if (p->is_shown)
		out_write_fd(STDERR_FILENO, "\r\033[K", 4);
	p->is_shown = false;
	p->total = 0;
}
