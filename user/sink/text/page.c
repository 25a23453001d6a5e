// SPDX-License-Identifier: BSD-2-Clause
#include "sink/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "sink/text/text.h"

static const struct {
	const char *one, *many;
} things[PAGE_THING_COUNT] = {
	[PAGE_PROCESSES] = { "process", "processes" },
	[PAGE_GPUS] = { "GPU", "GPUs" },
	[PAGE_FINDINGS] = { "finding", "findings" },
	[PAGE_LINES] = { "line of code", "lines of code" },
	[PAGE_DETAILS] = { "detail", "details" },
};

void page_init(struct page *page, struct out *out, unsigned most, unsigned indent, const char *command)
{
	*page = (struct page){ .out = out, .most = most, .indent = indent, .command = command };
}

/* Takes the text of the last part, which has ended. */
static void end_part(struct page *page)
{
	struct page_part *last = page->count ? &page->parts[page->count - 1] : NULL;

	if (!last || last->text)
		return;
	last->text = out_take(&page->writing);
	last->lines = human_lines(last->text);
	page->lines += last->lines;
	if (last->lines && page->most)
		return;
	out_text(page->out, last->text);
	free(last->text);
	page->count--;
}

/* The last part of the greatest rank. The very first part stays. */
static void drop_part(struct page *page)
{
	size_t at = page->count - 1;

	for (size_t i = page->count; i-- > 1;)
		if (page->parts[i].rank > page->parts[at].rank)
			at = i;
	page->left[page->parts[at].thing] += page->parts[at].count;
	page->lines -= page->parts[at].lines;
	free(page->parts[at].text);
	memmove(&page->parts[at], &page->parts[at + 1], (page->count - at - 1) * sizeof(page->parts[0]));
	page->count--;
}

static struct out *begin_part(struct page *page, unsigned rank, enum page_thing thing, size_t count)
{
	end_part(page);
	if (page->count == PAGE_PARTS_MAX)
		drop_part(page);
	page->parts[page->count++] = (struct page_part){ .rank = rank, .thing = thing, .count = count };
	out_init_mem(&page->writing);
	return &page->writing;
}

struct out *page_part(struct page *page, unsigned rank, enum page_thing thing, size_t count)
{
	if (page->wants_blank && page->has_begun)
		out_char(begin_part(page, PAGE_RANK_BLANK, PAGE_BLANK, 0), '\n');
	page->wants_blank = false;
	page->has_begun = true;
	return begin_part(page, rank, thing, count);
}

void page_blank(struct page *page)
{
	page->wants_blank = true;
}

void page_leave_out(struct page *page, enum page_thing thing, size_t count)
{
	page->left[thing] += count;
}

bool page_has_more(const struct page *page)
{
	for (int i = PAGE_BLANK + 1; i < PAGE_THING_COUNT; i++)
		if (page->left[i])
			return true;
	return false;
}

/* "12 processes, 3 findings: " and the command: in the same line, or in a line of its own, which people can copy. */
static char *make_more(const struct page *page)
{
	const char *before = "";
	struct out text, line;
	size_t size;

	out_init_mem(&text);
	if (!page_has_more(page))
		return out_take(&text);
	out_init_mem(&line);
	for (int i = PAGE_BLANK + 1; i < PAGE_THING_COUNT; i++) {
		if (!page->left[i])
			continue;
		out_printf(&line, "%s%s %s", before, human_count(page->left[i]).s,
			   human_plural(page->left[i], things[i].one, things[i].many));
		before = ", ";
	}
	size = page->indent + line.size + strlen(": ") + (page->command ? strlen(page->command) : 0);
	if (!page->command)
		out_text(&line, " left out");
	else if (size <= TEXT_COLUMNS)
		out_printf(&line, ": %s", page->command);
	text_wrap(&text, "MORE", page->indent, TEXT_COLUMNS, &line);
	if (page->command && size > TEXT_COLUMNS)
		out_printf(&text, "%*s%s\n", (int)page->indent, "", page->command);
	return out_take(&text);
}

void page_fit(struct page *page)
{
	end_part(page);
	for (;; drop_part(page)) {
		char *text = make_more(page);
		size_t more = human_lines(text);

		free(text);
		if (!page->most || page->count < 2 || page->lines + more <= page->most)
			return;
	}
}

void page_drop(struct page *page)
{
	end_part(page);
	for (size_t i = 0; i < page->count; i++)
		free(page->parts[i].text);
	page->count = 0;
}

void page_end(struct page *page)
{
	char *more;

	page_fit(page);
	for (size_t i = 0; i < page->count; i++)
		out_text(page->out, page->parts[i].text);
	more = make_more(page);
	out_text(page->out, page->most ? more : "");
	free(more);
	page_drop(page);
}
