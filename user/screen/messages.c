// SPDX-License-Identifier: BSD-2-Clause
/*
 * The program's newest messages, at the bottom. A message leaves the screen after a while, or by a key. All messages
 * are printed when the terminal is as before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "screen/screen.h"
#include "screen/state.h"

#define MESSAGES_PART 7          /* a seventh of the lines, at most */
#define NEWEST_LEAST 2           /* lines: the newest message is not cut further for the message before */
#define MESSAGE_NS 20000000000ull /* how long a message stays */

static const char *after_piece(const char *text, unsigned int width)
{
	text += human_line(text, width, width);
	return text + strspn(text, " ");
}

/* Lines that a message takes. */
static unsigned int lines_of(const char *message, unsigned int width)
{
	unsigned int lines = 1;

	for (message = after_piece(message, width); *message; message = after_piece(message, width))
		lines++;
	return lines;
}

static bool is_fresh(const struct picture *p, const struct screen_message *message)
{
	return message->at_ns > p->screen->dismissed_ns && message->at_ns + MESSAGE_NS > p->scene->now_ns;
}

/* A message, with the number of fresh ones before it that have no room; to be freed. */
static char *head_of(const struct screen_message *message, size_t hidden)
{
	struct out out;

	out_init_mem(&out);
	if (hidden)
		out_printf(&out, "(%zu earlier) ", hidden);
	out_text(&out, message->text);
	return out_take(&out);
}

/* The messages from `first` on are shown. */
struct shown {
	size_t first;
	char *head;              /* the text of the first one */
	unsigned int lines;
};

/* The lines of the newest message: it is cut where the message before has room then, as a sentence says what happened,
 * and the next one, with a long path, what to do about it. */
static unsigned int lines_of_newest(const struct picture *p, size_t newest, size_t oldest, unsigned int most)
{
	const struct screen_message *list = p->scene->messages;
	unsigned int lines = lines_of(list[newest].text, p->width), before = 0;
	char *head;

	if (newest > oldest) {
		head = head_of(&list[newest - 1], newest - 1 - oldest);
		before = lines_of(head, p->width);
		free(head);
	}
	if (before && before + NEWEST_LEAST <= most && before + lines > most)
		return most - before;
	return lines;
}

/* As many of the fresh messages as fit; at least the newest, which is cut. */
static struct shown choose_messages(const struct picture *p, size_t oldest, unsigned int most)
{
	const struct screen_message *list = p->scene->messages;
	struct shown shown = { .first = p->scene->message_count };
	size_t newest = shown.first - 1;
	unsigned int behind = 0;

	while (shown.first > oldest) {
		char *head = head_of(&list[shown.first - 1], shown.first - 1 - oldest);
		unsigned int lines = behind + lines_of(head, p->width);

		if (shown.head && lines > most) {
			free(head);
			break;
		}
		free(shown.head);
		shown = (struct shown){ shown.first - 1, head, lines < most ? lines : most };
		behind += shown.first == newest ? lines_of_newest(p, newest, oldest, most)
						: lines_of(list[shown.first].text, p->width);
	}
	return shown;
}

static unsigned int draw_message(struct picture *p, unsigned int y, unsigned int end, const char *text)
{
	for (; *text && y < end; y++, text = after_piece(text, p->width)) {
		/* What has no line any more gives the last line its mark. */
		char *piece = y + 1 < end ? strndup(text, human_line(text, p->width, p->width)) : strdup(text);

		curses_put_marked(p->curses, y, 0, p->width, STYLE_YELLOW, piece ? piece : "");
		free(piece);
	}
	return y;
}

void messages_draw(struct picture *p)
{
	const struct screen_message *list = p->scene->messages;
	size_t oldest = p->scene->message_count;
	struct shown shown;

	while (oldest && is_fresh(p, &list[oldest - 1]))
		oldest--;
	shown = choose_messages(p, oldest, lines_part(p, MESSAGES_PART, 1));
	if (shown.head && p->bottom > shown.lines) {
		unsigned int end = p->bottom, y;

		p->bottom -= shown.lines;
		y = draw_message(p, p->bottom, end, shown.head);
		for (size_t i = shown.first + 1; i < p->scene->message_count; i++)
			y = draw_message(p, y, end, list[i].text);
	}
	free(shown.head);
}
