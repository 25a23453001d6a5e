/* SPDX-License-Identifier: BSD-2-Clause */
/* A screen and the terminal that the screen is on. */
#ifndef GPUMEMTRACE_SCREEN_STAGE_H
#define GPUMEMTRACE_SCREEN_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "screen/screen.h"

struct stage;
struct out;
struct view;

/* NULL: the terminal has no screen, and `why` says so. Call before other threads exist.
 * has_keys: as in terminal_open(). color: use colours. */
struct stage *stage_open(int fd, bool has_keys, bool color, char *why, size_t size);
void stage_close(struct stage *stage);   /* NULL is fine */

/* Where the screen's bytes go; writes there do not wait. */
int stage_fd(const struct stage *stage);
/* The descriptor of the keys while the screen has the terminal; -1: there are no keys. */
int stage_keys_fd(const struct stage *stage);
/* The terminal has gone: there are no keys any more. */
void stage_lose_keys(struct stage *stage);

/* The caller sends on what is written to `out`. */
/* Takes the terminal, if this process may use the terminal now. Returns whether the screen has the terminal. */
bool stage_enter(struct stage *stage);
/* The bytes that the screen ends with; they live as long as the stage. */
const char *stage_leaving(const struct stage *stage, size_t *size);
/* Gives the terminal back. */
void stage_leave(struct stage *stage, struct out *out);
bool stage_is_on(const struct stage *stage);
/* Whether this process may use the terminal now. */
bool stage_is_ours(const struct stage *stage);
/* The terminal has another size, or something else has written on it: the next picture is drawn anew. */
void stage_renew(struct stage *stage);

void stage_draw(struct stage *stage, const struct screen_scene *scene, struct out *out);
void stage_see(struct stage *stage, const struct view *view);
bool stage_is_paused(const struct stage *stage);
enum screen_action stage_key(struct stage *stage);
/* Shows a text, which the screen takes over. */
void stage_read(struct stage *stage, const char *title, char *text);

/* terminal_rescue(). */
bool stage_rescue(struct stage *stage);

#endif
