/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows a pipeline by the outputs that the options ask for: live frames, then the report, then files. */
#ifndef GPUMEMTRACE_DISPLAY_H
#define GPUMEMTRACE_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attribution;
struct display;
struct stage;
struct oom;
struct options;
struct pipeline;
struct relay;

/* With a command the text goes to standard error, because standard output belongs to the command. */
/* relay: what a screen does with the command's output (live/process/relay.h); NULL: nothing. The relay stays the
 * caller's. */
struct display *display_new(const struct options *options, struct attribution *attribution, struct relay *relay);
void display_free(struct display *display);

/* Shows one frame, if live output is on. 0 or -errno of the output; -EPIPE: nobody reads it. A frame that its reader
 * does not take waits in memory, and frames are left out meanwhile: a slow reader must not hold up records. */
int display_live(struct display *display, const struct pipeline *pipeline);
/* Writes more of a frame that waits. 0 or -errno. */
int display_push(struct display *display);

/* The screen that shows live views; NULL: they are lines, or there are none. */
struct stage *display_screen(struct display *display);
/* Whether a screen may come to the terminal of the command's output. */
bool display_may_cover(const struct options *options);
/* Whether the relay is in use. */
bool display_relays(const struct display *display);
/* The terminal may have another size. */
void display_fit(struct display *display);
/* Draws the screen again, with the same view. 0 or -errno. */
int display_redraw(struct display *display);
/* The terminal is as before, and the command's output and the messages that came meanwhile are printed; another frame
 * takes the terminal again. 0 or -errno. */
int display_leave(struct display *display);
/* From here on the terminal's signals come through the descriptor of signalfd(2), too, if there is a screen. */
void display_take_signals(const struct display *display, int signal_fd);
/* For a process that ends at once, on any thread: the terminal is as before. False: it was not taken. The second one
 * also prints the messages that were kept. */
bool display_rescue(void);
void display_leave_at_once(void);

/* What belongs to the report and to the files: sentences, and the dump to read next (NULL: none). They must last until
 * all of these are made. */
void display_set_notes(struct display *display, const char *const *notes, size_t note_count, const char *dump);
/* So many of the notes, the first, belong to the picture of a dump, too. */
void display_set_picture_notes(struct display *display, size_t count);

/* Shows the final report. 0 or -errno. *lost: the count of view_lost(). */
int display_report(struct display *display, const struct pipeline *pipeline, uint64_t *lost);

/* Writes the files (output_files.h). 0, or -errno after a sentence. */
int display_files(const struct display *display, const struct pipeline *pipeline, const struct oom *picture);

#endif
