/* SPDX-License-Identifier: BSD-2-Clause */
/* Views with a few processes, made by hand: what the tests of comparisons share. */
#ifndef GPUMEMTRACE_TESTS_COMPARE_SCENE_H
#define GPUMEMTRACE_TESTS_COMPARE_SCENE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/terms/frames.h"
#include "core/view/view.h"

#define MIB (1ll << 20)
#define PROCS 3
#define LINES 4

/* A side: each process has one GPU, and its lines. */
struct scene {
	struct view view;
	struct view_gpu gpus[PROCS];
	struct view_proc procs[PROCS];
	struct view_row rows[PROCS];
	struct view_line_row lines[PROCS][LINES];
	struct view_owner owned[PROCS];
	struct view_owner_text owners[3];
	struct view_symbol symbols[PROCS * LINES];
	struct frames_symbol known[PROCS * LINES];
	struct frames frames;
};

static inline void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->owners[0] = (struct view_owner_text){ .text = (char *)"(without a stack)" };
	s->owners[1] = (struct view_owner_text){ .text = (char *)"(not named)" };
	s->owners[2] = (struct view_owner_text){ .text = (char *)"train.py" };
	s->view = (struct view){
		.gpus = s->gpus, .procs = s->procs, .owners = s->owners, .owner_count = 3, .symbols = s->symbols,
	};
	s->frames = (struct frames){ .symbols = s->known };
}

static inline void add_proc(struct scene *s, uint32_t pid, uint32_t gpu, const char *command)
{
	size_t i = s->view.proc_count++;

	s->view.gpu_count = s->view.proc_count;
	s->gpus[i].index = gpu;
	s->procs[i] = (struct view_proc){ .tgid = pid, .comm = "python3", .row_count = 1, .rows = &s->rows[i], .from_start = true };
	snprintf(s->procs[i].cmdline, sizeof(s->procs[i].cmdline), "python3 %s", command);
	s->rows[i] = (struct view_row){ .gpu = (int)i, .ordinal = 0 };
	s->rows[i].stacks.lines[VIEW_BY_LIVE].rows = s->lines[i];
	s->owned[i].owner = 2;
	s->rows[i].stacks.owners = &s->owned[i];
	s->rows[i].stacks.owner_count = 1;
}

/* The recording has a stack with this line. */
static inline uint32_t know_line(struct scene *s, const char *file, const char *function, uint32_t line)
{
	uint32_t number = s->frames.symbol_count++;

	s->known[number] = (struct frames_symbol){ .function = function, .module = "", .file = file, .line = line };
	s->symbols[number] = (struct view_symbol){ .function = function, .module = "", .file = file, .line = line };
	s->view.symbol_count = s->frames.symbol_count;
	return number;
}

/* The newest process holds this. */
static inline void hold(struct scene *s, const char *file, const char *function, uint32_t line, int64_t bytes, uint64_t count)
{
	size_t proc = s->view.proc_count - 1;
	struct view_stacks *stacks = &s->rows[proc].stacks;
	struct view_held held = { .live = (uint64_t)bytes, .live_count = count };

	s->lines[proc][stacks->lines[VIEW_BY_LIVE].count++] = (struct view_line_row){
		.state = VIEW_LINE_OWN, .symbol = know_line(s, file, function, line), .held = held,
	};
	s->owned[proc].held.live += held.live;
	s->owned[proc].held.live_count += count;
	s->rows[proc].attributed.live += held.live;
	s->rows[proc].by_class[0].bytes.live += held.live;
	s->rows[proc].by_class[0].live_count += count;
}

#endif
