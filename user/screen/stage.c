// SPDX-License-Identifier: BSD-2-Clause
#include "screen/stage.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include "base/out.h"
#include "base/xalloc.h"
#include "screen/curses.h"
#include "screen/terminal.h"

struct stage {
	struct terminal *terminal;
	struct curses *curses;
	struct screen *screen;
	bool is_on, has_lost_keys;
};

/* Capabilities of gpumemtrace's file are not for files that the user names, such as descriptions of terminals. */
static struct curses *open_curses(const struct terminal *terminal, bool color, char *why, size_t size)
{
	struct curses_options options = {
		.term = getenv("TERM"), .is_lent = getauxval(AT_SECURE), .color = color,
		.keys_fd = terminal_keys_fd(terminal),
	};

	return curses_open(&options, why, size);
}

struct stage *stage_open(int fd, bool has_keys, bool color, char *why, size_t size)
{
	struct terminal *terminal = terminal_open(fd, has_keys);
	struct curses *curses = terminal ? open_curses(terminal, color, why, size) : NULL;
	struct stage *stage;

	if (!curses) {
		terminal_close(terminal);
		return NULL;
	}
	stage = xcalloc(1, sizeof(*stage));
	stage->terminal = terminal;
	stage->curses = curses;
	stage->screen = screen_new(curses, terminal_keys_fd(terminal) >= 0);
	return stage;
}

void stage_close(struct stage *stage)
{
	if (!stage)
		return;
	terminal_close(stage->terminal);
	screen_free(stage->screen);
	curses_close(stage->curses);
	free(stage);
}

int stage_fd(const struct stage *stage)
{
	return terminal_fd(stage->terminal);
}

int stage_keys_fd(const struct stage *stage)
{
	return stage->is_on && !stage->has_lost_keys ? terminal_keys_fd(stage->terminal) : -1;
}

void stage_lose_keys(struct stage *stage)
{
	stage->has_lost_keys = true;
}

bool stage_is_on(const struct stage *stage)
{
	return stage->is_on;
}

bool stage_is_ours(const struct stage *stage)
{
	return terminal_is_ours(stage->terminal);
}

void stage_renew(struct stage *stage)
{
	unsigned int width, height;

	if (!out_terminal_size(terminal_fd(stage->terminal), &width, &height))
		curses_resize(stage->curses, width, height);
}

bool stage_enter(struct stage *stage)
{
	const char *leaving;
	size_t size;

	if (stage->is_on || !terminal_is_ours(stage->terminal))
		return stage->is_on;
	leaving = stage_leaving(stage, &size);
	terminal_take(stage->terminal, leaving, size);
	stage_renew(stage);
	stage->is_on = true;
	return true;
}

const char *stage_leaving(const struct stage *stage, size_t *size)
{
	return curses_leaving(stage->curses, size);
}

void stage_leave(struct stage *stage, struct out *out)
{
	if (!stage->is_on)
		return;
	curses_leave(stage->curses, out);
	terminal_give_back(stage->terminal);
	stage->is_on = false;
}

void stage_see(struct stage *stage, const struct view *view)
{
	screen_see(stage->screen, view);
}

void stage_draw(struct stage *stage, const struct screen_scene *scene, struct out *out)
{
	screen_draw(stage->screen, scene, out);
}

bool stage_rescue(struct stage *stage)
{
	return terminal_rescue(stage->terminal);
}

bool stage_is_paused(const struct stage *stage)
{
	return screen_is_paused(stage->screen);
}

enum screen_action stage_key(struct stage *stage)
{
	return stage->is_on ? screen_take_key(stage->screen) : SCREEN_NONE;
}

void stage_read(struct stage *stage, const char *title, char *text)
{
	screen_read(stage->screen, title, text);
}
