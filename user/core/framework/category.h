/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a block of PyTorch's is for: a guess, from what the program was doing when it was made, what it did
 * when it was freed (or does now), and how long that was. Nothing says it for certain from outside.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H
#define GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, json name, text): what a training does. All that is in no other phase is forward. */
#define GMT_TRAINING_PHASES(X)                                                             \
	X(FORWARD, "forward", "forward")                                          \
	X(BACKWARD, "backward", "backward")                                       \
	X(OPTIMIZER, "optimizer", "optimizer")                                    \
	X(ZERO_GRAD, "zero_grad", "zero grad")
enum gmt_training {
#define X(name, json, text) GMT_TRAINING_##name,
	GMT_TRAINING_PHASES(X)
#undef X
	GMT_TRAINING_COUNT
};

/* X(NAME, json name, text): as torch.profiler's memory profiler has them, but for the last two. */
#define GMT_CATEGORIES(X)                                                         \
	X(PARAMETER, "parameter", "parameters")                                   \
	X(OPTIMIZER_STATE, "optimizer_state", "optimizer state")                  \
	X(GRADIENT, "gradient", "gradients")                                      \
	X(ACTIVATION, "activation", "activations")                                \
	X(INPUT, "input", "inputs, outputs")                                      \
	X(AUTOGRAD_DETAIL, "autograd_detail", "backward in progress")               \
	X(TEMPORARY, "temporary", "temporary")                                    \
	X(WORKSPACE, "workspace", "workspaces")                                   \
	X(KEPT, "kept", "kept over iterations")                                   \
	X(UNKNOWN, "unknown", "unclassified")
enum gmt_category {
#define X(name, json, text) GMT_CATEGORY_##name,
	GMT_CATEGORIES(X)
#undef X
	GMT_CATEGORY_COUNT
};

/* What a device was doing at a moment. */
struct training_moment {
	uint8_t phase;           /* enum gmt_training */
	bool is_training;        /* there was a backward by then */
	uint32_t span;           /* number of this phase: two in a row of one kind are two */
	uint32_t iteration;      /* from 1 on */
};

/* A block made at `birth` and freed at `now`; or alive then. `is_first`: the first iteration was seen from
 * its beginning, so what it made and keeps is the model. */
enum gmt_category category_guess(struct training_moment birth, struct training_moment now, bool is_alive,
				 bool is_first);

const char *gmt_training_name(enum gmt_training phase);      /* json names */
const char *gmt_training_text(enum gmt_training phase);
const char *gmt_category_name(enum gmt_category category);
const char *gmt_category_text(enum gmt_category category);

#endif
