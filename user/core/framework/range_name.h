/* SPDX-License-Identifier: BSD-2-Clause */
/* The names under which ranges of a training are counted. The ranges of all iterations and layers have one name. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_RANGE_NAME_H
#define GPUMEMTRACE_CORE_FRAMEWORK_RANGE_NAME_H

#include <stdint.h>

#include <gpumemtrace/wire.h>

/* The name for a range whose record has `text`, which need not end with 0. */
void range_name(char name[GMT_RANGE_NAME_BYTES], const uint8_t text[GMT_RANGE_NAME_BYTES]);

#endif
