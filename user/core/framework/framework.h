/* SPDX-License-Identifier: BSD-2-Clause */
/* One framework in one process: its events, and what is shown of it (framework_state.h). */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_H
#define GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORK_H

#include "core/framework/framework_state.h"

/* ---- for frameworks.c ---- */

void framework_free(struct framework *f);   /* NULL is fine */
/* Takes in one event on a device that has this row of the account (0: not known). */
void framework_memory(struct framework *f, const struct gmt_fw_mem *rec, unsigned int row);
/* framework_drop(): the process runs another program, and its memory is gone. framework_end(): the sums stay. */
void framework_drop(struct framework *f);
void framework_end(struct framework *f);
void framework_close(struct framework *f);                    /* stacks_close() of all */
void framework_mark(struct framework *f, unsigned int mark);   /* stacks_mark() of all */
void framework_follow_iterations(struct framework *f);         /* to be called when phases may have changed */
/* All peaks begin anew at the live bytes, as after torch.cuda.reset_peak_memory_stats(). */
void framework_restart(struct framework *f, uint64_t ts_ns);

/* ---- what is shown; with f NULL nothing is known ---- */

/* The blocks by stack of the first device that has this row of the account; NULL: no device has. */
const struct stacks *framework_stacks(const struct framework *f, unsigned int row);
/* The same device, as the framework numbers it; ORDINAL_NONE: no device has the row. */
unsigned int framework_device_number(const struct framework *f, unsigned int row);
/* CUDA's number of a row's GPU in the process: by the process's calls, or else by the framework's reports, if the
 * process uses no other GPU. ORDINAL_NONE: nothing has told the number. */
unsigned int framework_ordinal(const struct framework *f, const struct process *p, unsigned int row);
/* What all devices that have the row of the account have reserved. */
uint64_t framework_reserved(const struct framework *f, unsigned int row);
/* The stacks (by stack id) that allocated segments, also those that have ended; NULL: there are none. */
const struct hash *framework_segment_stacks(const struct framework *f);
/* Who waited for the stacks of autograd's threads (waiting.h); NULL: nobody has. */
const struct hash *framework_waiting(const struct framework *f);
/* Allocations for which nobody is there, because there were too many stacks. */
uint64_t framework_waiting_dropped(const struct framework *f);
/* Ranges that have no phase or name, as there were too many (phases.h). */
uint64_t framework_phases_dropped(const struct framework *f);
/* The newest iterations of the same device over which growth is known. */
struct iteration_span framework_iterations(const struct framework *f, unsigned int row);
bool framework_has_reported(const struct framework *f);
/* As phases_backward_stack(). */
uint32_t framework_backward_stack(const struct framework *f, uint32_t tid);

/* The free pieces inside a device's segments. */
struct framework_gaps framework_gaps(const struct framework *f, unsigned int ordinal);

/* Fills in what a row of the account shows at the ledger's now_ns, without the stacks: zeros where there is no
 * framework. since: from when growth counts (enum stacks_moment). Visits each block. framework_training_free()
 * releases the arrays in out->training. */
void framework_view(const struct framework *f, unsigned int row, const struct frames *frames, uint64_t now_ns,
		    unsigned int since, struct view_torch *out);
void framework_training_free(struct view_training *training);

/* What a block of the category (framework_category()) is for, with what names say of its stack. */
enum gmt_category framework_purpose(const struct frames *frames, const struct range *block, unsigned int category);

/* Why a PyTorch that takes device memory reports no blocks: the backend cudaMallocAsync, caching that is switched off,
 * a pluggable allocator. GMT_TORCH_NOT_SILENT: PyTorch reports blocks, or nothing says that PyTorch takes memory. */
enum gmt_torch_silence torch_silence(const struct framework *f, const struct process *p, const struct frames *frames);

#endif
