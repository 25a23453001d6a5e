/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the ends of a device's iterations, for observers that look at the device at each block. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_ITERATION_END_H
#define GPUMEMTRACE_CORE_FRAMEWORK_ITERATION_END_H

#include <stdint.h>

struct framework;

/*
 * known: the iteration of the device at the observer's last look, which this look replaces; 0: none yet.
 * Returns the number of the iteration that has ended since the last look; 0: none has. f may be NULL.
 */
uint32_t iteration_end(const struct framework *f, unsigned int ordinal, uint32_t *known);

#endif
