/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes whose PyTorch takes device memory and reports no blocks: with the backend cudaMallocAsync,
 * with its caching switched off, with a pluggable allocator. Of them only what calls asked for is shown, and
 * a reader is told so. PyTorch that is loaded and does nothing is not silent.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_TORCH_SILENT_H
#define GPUMEMTRACE_CORE_FRAMEWORK_TORCH_SILENT_H

#include "core/account/frames.h"

struct framework;
struct process;

/* GMT_TORCH_NOT_SILENT: it reports blocks, or nothing says that it takes memory. */
enum gmt_torch_silence torch_silence(const struct framework *f, const struct process *p, const struct frames *frames);

#endif
