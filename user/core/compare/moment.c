// SPDX-License-Identifier: BSD-2-Clause
#include "core/compare/moment.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "base/count.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_state.h"
#include "core/pipeline/pipeline.h"

/* ---- how people write a moment ---- */

static const char *const words[] = {
#define X(name, word, value) word,
	MOMENTS(X)
#undef X
};

static bool read_moment_number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || !number || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

/* A unit at the start of the text, and where the text goes on; 0: there is none. */
static double read_time_unit(const char **text)
{
	static const struct { const char *name; double ns; } units[] = {
		{ "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "s", 1e9 }, { "min", 60e9 }, { "m", 60e9 },
		{ "h", 3600e9 },
	};

	while (**text == ' ')
		++*text;
	for (size_t i = 0; i < COUNT(units); i++) {
		size_t size = strlen(units[i].name);

		if (strncmp(*text, units[i].name, size) || isalpha((unsigned char)(*text)[size]))
			continue;
		*text += size;
		return units[i].ns;
	}
	return 0;
}

/* "12.5s", "850 ms", "2m 05s": as reports print times since the start, with or without the '+'. */
static bool read_time(const char *text, uint64_t *ns)
{
	double sum = 0;

	text += *text == '+';
	do {
		char *end;
		double value = strtod(text, &end), unit;

		if (!isdigit((unsigned char)*text) || !isfinite(value) || text[1] == 'x' || text[1] == 'X')
			return false;
		text = end;
		unit = read_time_unit(&text);
		sum += value * unit;
		if (unit <= 0)
			return false;
		while (*text == ' ')
			text++;
	} while (*text);
	*ns = (uint64_t)sum;
	return sum < 1e18;
}

bool moment_read(const char *text, struct moment *out)
{
	const char *value = strchr(text, '=');
	size_t size = value ? (size_t)(value - text) : strlen(text);

	*out = (struct moment){ 0 };
	for (size_t i = 0; i < MOMENT_TIME; i++) {
		if (strlen(words[i]) != size || strncmp(words[i], text, size))
			continue;
		out->kind = (enum moment_kind)i;
		if (i == MOMENT_PEAK || i == MOMENT_END)
			return !value;
		if (!value || !value[1])
			return false;
		if (!read_moment_number(value + 1, &out->number) && i == MOMENT_MARK)
			out->name = value + 1;
		return out->number || out->name;
	}
	out->kind = MOMENT_TIME;
	return read_time(text, &out->ns);
}

/* ---- the search ---- */

void moment_search_init(struct moment_search *s, const struct moment *moment)
{
	*s = (struct moment_search){ .moment = *moment };
	hash_init(&s->held, sizeof(struct moment_held));
}

void moment_search_fini(struct moment_search *s)
{
	hash_fini(&s->held);
}

static bool has_stack_ids(const struct stacks *stacks)
{
	for (uint32_t i = 0; stacks && i < stacks->count; i++)
		if (stacks->list[i].id)
			return true;
	return false;
}

static struct moment_held held_by(const struct pipeline *pl, const struct process *p)
{
	const struct framework *f = frameworks_of(pl->frameworks, p);
	struct moment_held held = { 0 };

	for (unsigned int i = 0; i < p->account.count && !p->exited; i++) {
		const struct stacks *blocks = f ? framework_stacks(f, i) : NULL;

		held.driver += p->account.rows[i].stacks.live;
		held.tensors += has_stack_ids(blocks) ? blocks->live : 0;
	}
	return held;
}

static void find_now(struct moment_search *s, const struct pipeline *pl)
{
	s->found = s->records;
	s->found_ns = pl->ledger->now_ns;
}

static void see_sum(const struct moment_search *s, const struct pipeline *pl, struct moment_peak *peak, uint64_t before,
		    uint64_t now)
{
	peak->sum = peak->sum - before + now;
	if (peak->sum <= peak->most)
		return;
	peak->most = peak->sum;
	peak->found = s->records;
	peak->found_ns = pl->ledger->now_ns;
}

static void see_peak(struct moment_search *s, const struct pipeline *pl, const struct process *p)
{
	struct moment_held *before = hash_put(&s->held, p->tgid, NULL), now = held_by(pl, p);

	see_sum(s, pl, &s->tensors, before->tensors, now.tensors);
	see_sum(s, pl, &s->driver, before->driver, now.driver);
	*before = now;
}

void moment_search_end(struct moment_search *s, const struct pipeline *pl)
{
	const struct moment_peak *peak = s->tensors.found ? &s->tensors : &s->driver;

	s->lost = pl->ledger->records_malformed;
	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		s->lost += pl->ledger->loss[i];
	if (s->moment.kind != MOMENT_PEAK)
		return;
	s->found = peak->found;
	s->found_ns = peak->found_ns;
}

static bool ends_iteration(struct moment_search *s, const struct framework *f)
{
	for (unsigned int i = 0; f && i < f->phases.line_count; i++) {
		const struct phase_line *line = &f->phases.lines[i];
		const struct phase_iteration *iteration = phase_line_iteration(line, s->moment.number);

		if (iteration && iteration->is_over)
			return true;
		if (line->now.iteration > s->newest + 1)
			s->newest = line->now.iteration - 1;
	}
	return false;
}

static bool begins_range(const struct moment_search *s, const struct gmt_hdr *record)
{
	const struct gmt_fw_range *range = (const void *)record;

	if (record->kind != GMT_KIND_FW_RANGE || record->size < sizeof(*range) || range->what != GMT_RANGE_BEGIN)
		return false;
	return !strncmp((const char *)range->name, s->moment.name, sizeof(range->name) - 1);
}

static bool has_reached(struct moment_search *s, uint32_t newest)
{
	s->newest = newest;
	return newest >= s->moment.number;
}

/* Whether the moment has come with the record. */
static bool has_come(struct moment_search *s, const struct pipeline *pl, const struct process *p,
		     const struct gmt_hdr *record)
{
	switch (s->moment.kind) {
	case MOMENT_ITERATION:
		return p && ends_iteration(s, frameworks_of(pl->frameworks, p));
	case MOMENT_MARK:
		return s->moment.name ? begins_range(s, record) : has_reached(s, pl->ledger->marks);
	case MOMENT_OOM:
		return pl->ooms && has_reached(s, pl->ooms->last_number);
	default:
		return false;
	}
}

void moment_search_see(struct moment_search *s, const struct pipeline *pl, const struct gmt_hdr *record)
{
	const struct process *p = record->tgid ? process_newest(&pl->ledger->processes, record->tgid) : NULL;

	s->records++;
	if (s->moment.kind == MOMENT_PEAK) {
		if (p)
			see_peak(s, pl, p);
	} else if (s->moment.kind == MOMENT_END) {
		find_now(s, pl);
	} else if (s->moment.kind == MOMENT_TIME) {
		if (pl->ledger->now_ns - pl->ledger->start_ns <= s->moment.ns)
			find_now(s, pl);
	} else if (!s->found && has_come(s, pl, p, record)) {
		find_now(s, pl);
	}
}

bool moment_is_name(const struct gmt_hdr *record)
{
	return record->kind == GMT_KIND_SYMBOL || record->kind == GMT_KIND_SYMBOLS_END ||
	       record->kind == GMT_KIND_STACK_FRAMES;
}
