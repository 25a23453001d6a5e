/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of PyTorch whose memory has a known purpose. */
#ifndef GPUMEMTRACE_CORE_TERMS_SYMBOL_HINT_H
#define GPUMEMTRACE_CORE_TERMS_SYMBOL_HINT_H

#include <stdint.h>

#include <gpumemtrace/terms.h>

#define SYMBOL_HINT_NONE GMT_CATEGORY_COUNT

/* The purpose of memory that is allocated below the function: enum gmt_category, SYMBOL_HINT_NONE. */
uint8_t symbol_hint(const char *function, const char *file);

#endif
