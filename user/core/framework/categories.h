/* SPDX-License-Identifier: BSD-2-Clause */
/* What a framework's blocks are for: their categories, now and when most was allocated. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_CATEGORIES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_CATEGORIES_H

#include "core/account/frames.h"
#include "core/framework/framework_state.h"

/* Phases and categories of a row of the account, as shown; framework_training_free() releases it. */
void framework_training(const struct framework *f, unsigned int row, const struct frames *frames,
			struct view_training *out);
void framework_training_free(struct view_training *training);

void framework_set_birth(struct range *block, uint32_t stack_id, uint64_t ts_ns, struct training_moment birth);
/* Of a block that goes now, or is alive; enum gmt_category + 1, 0: nothing is known. */
unsigned int framework_category(const struct framework *f, const struct range *block, bool is_alive);
/* A block that goes was part of the peak, maybe. */
void framework_count_gone(struct framework *f, const struct range *block);
void framework_kinds_make(const struct framework *f, unsigned int ordinal, struct framework_kinds *out);
void framework_kinds_free(struct framework_kinds *kinds);

#endif
