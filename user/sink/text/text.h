/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of text that the formats for people share: labels, sums over a row, rates, styled lines. */
#ifndef GPUMEMTRACE_SINK_TEXT_TEXT_H
#define GPUMEMTRACE_SINK_TEXT_TEXT_H

#include "base/human.h"
#include "core/view/view.h"

struct out;
struct sink_opts;

/* Device memory of one row, summed over its classes, since the attach. */
struct text_sum {
	uint64_t live_count, allocs, frees, alloc_bytes, freed_bytes, failed;
};
void text_sum(const struct view_row *row, struct text_sum *sum);

/* The change since the previous view. Not valid: there is no previous view, or no time has passed. */
struct text_rate {
	bool valid;
	double bytes, calls;     /* allocated bytes, and allocations and frees, per second */
};
struct text_rate text_rate(const struct view *now, const struct view_proc *proc, const struct view_row *row,
			   const struct view *previous);

/* The same process in another view, or NULL. */
const struct view_proc *text_find_proc(const struct view *view, const struct view_proc *proc);

/* "0", "0:1" (MIG instance 1 of GPU 0), "?" (unknown), "ad5a" (not in the inventory: the start of the UUID). */
struct human text_gpu(const struct view *view, int gpu);

/* "cuda:0 = GPU 1", where CUDA numbers the row's GPU otherwise than nvidia-smi; else "". */
struct human text_ordinal(const struct view *view, const struct view_row *row);

/* The wall clock ("10:16:12") at a time of the view, or the offset ("+72 s") if the wall clock is not known. */
struct human text_clock(const struct view *view, uint64_t ts_ns);
/* The same, with the date ("2026-11-24 20:08") where the view begins or ends on another day (UTC). */
struct human text_when(const struct view *view, uint64_t ts_ns);
/* "+1m 12s" since the view's start. */
struct human text_offset(const struct view *view, uint64_t ts_ns);

/* A cgroup as people name it: "docker 3f2a9c1b77d0", "Slurm job 77 step 0", "ssh.service"; "" for the root. At most
 * `size` bytes. */
void text_cgroup(const char *cgroup, char *text, size_t size);

/* A wait status: "exited with 0", "killed by SIGKILL". */
struct human text_exit(int status);

/* Whether a late attach explains the anomaly: only the free of older memory was seen. text_odd(): how often the anomaly
 * happened without this explanation. */
bool text_is_expected(const struct view_proc *proc, enum gmt_anomaly anomaly);
uint64_t text_odd(const struct view *view, enum gmt_anomaly anomaly);

/* The command without the folders of the program and of a script behind the program, at most `columns` wide. Returns
 * the columns. */
unsigned text_command(struct out *out, unsigned columns, const struct view_proc *proc);

/* The layers of a session: "api kernel nvml", or "unknown". */
struct human text_layers(uint32_t layers);

/* Writes the text, which is taken, in lines of at most `columns` (0: one line). The first line begins with the label,
 * its text at column `indent`. The next lines begin two columns further, which tells them from the next item, unless
 * the label takes all columns up to `indent`. Text between two blanks and the next two stays in one line if it can. */
#define TEXT_COLUMNS 80
void text_wrap(struct out *out, const char *label, unsigned indent, unsigned columns, struct out *text);

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_RED, TEXT_YELLOW, TEXT_GREEN };
/* Text in a style; the text may hold any bytes. */
void text_styled(struct out *out, const struct sink_opts *opts, enum text_style style, const char *text);
/* A line in a style, with its end. text_line() takes the text out of `line`. */
void text_line(struct out *out, const struct sink_opts *opts, enum text_style style, struct out *line);
/* text_wrap() in a style; the text, which is taken, may hold any bytes. */
struct text_place {
	const char *label;
	unsigned indent, columns;
};
void text_item(struct out *out, const struct sink_opts *opts, enum text_style style, const struct text_place *place,
	       struct out *text);
/* The same for a formatted text: text_item() at a place, text_line() without one (NULL). */
void text_format(struct out *out, const struct sink_opts *opts, enum text_style style, const struct text_place *place,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
