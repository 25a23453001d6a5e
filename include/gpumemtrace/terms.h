/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The terms of recordings, dumps and JSON: numbers that are stored, and their names in JSON.
 *
 * A file or a line of JSON that somebody has keeps its meaning, so a list here is append-only: a number or a JSON name
 * is never changed, never removed and never given to something else. The lists of wire.h (record kinds), unwind.h and
 * python.h (why a walk ended), history_records.h (events) and api.h (probed functions) follow the same rule. Texts for
 * people stand in the same row and may change.
 *
 * To add a term:
 *  - append a row, with the next number;
 *  - append the same row to tests/unit/terms/test_terms.c, which fails to compile until then;
 *  - add the JSON name to user/doc/json-schema.json;
 *  - keep a recording that has it: tests/data/README.md.
 * A reader takes a number beyond the end of a list for "unknown": the file comes from a newer version.
 */
#ifndef GPUMEMTRACE_TERMS_H
#define GPUMEMTRACE_TERMS_H

/* Each list: X(NAME, number, json name, text, ...). Numbers count up from 0, checked at the end of this file. */

/* What an allocation is; the last word: whether the allocation is device memory that the process owns. In
 * gmt_oom.class_id, and the order of gmt_oom_row.class_bytes. */
#define GMT_CLASSES(X)                                                            \
	X(DEVICE, 0, "device", "cuMemAlloc", true)                                \
	X(POOL, 1, "pool", "stream-ordered", true)                                \
	X(VMM, 2, "vmm", "cuMemCreate", true)                                     \
	X(ARRAY, 3, "array", "arrays (estimated)", true)                          \
	X(MANAGED, 4, "managed", "managed", false)                                \
	X(PINNED, 5, "pinned", "pinned host", false)                              \
	X(REGISTERED, 6, "registered", "registered host", false)                  \
	X(IMPORTED, 7, "imported", "imported", false)                             \
	X(GRAPH, 8, "graph", "graph (planned)", false)

/* What a block of PyTorch's is for: the categories of torch.profiler's memory profiler, and the last two. Stored plus
 * 1; 0 means "unknown". Also the order of gmt_oom_row.category_bytes. */
#define GMT_CATEGORIES(X)                                                         \
	X(PARAMETER, 0, "parameter", "parameters")                                \
	X(OPTIMIZER_STATE, 1, "optimizer_state", "optimizer state")               \
	X(GRADIENT, 2, "gradient", "gradients")                                   \
	X(ACTIVATION, 3, "activation", "activations")                             \
	X(INPUT, 4, "input", "inputs, outputs")                                   \
	X(AUTOGRAD_DETAIL, 5, "autograd_detail", "backward in progress")            \
	X(TEMPORARY, 6, "temporary", "temporary")                                 \
	X(WORKSPACE, 7, "workspace", "workspaces")                                \
	X(KEPT, 8, "kept", "kept over iterations")                                \
	X(UNKNOWN, 9, "unknown", "unclassified")

/* The phases of a training. Everything outside the other phases is forward. In gmt_oom_row.phase. */
#define GMT_TRAINING_PHASES(X)                                                    \
	X(FORWARD, 0, "forward", "forward")                                       \
	X(BACKWARD, 1, "backward", "backward")                                    \
	X(OPTIMIZER, 2, "optimizer", "optimizer")                                 \
	X(ZERO_GRAD, 3, "zero_grad", "zero grad")

/* Where PyTorch's caching allocator gets its segments. In gmt_oom_row.torch_backend; JSON has null for the first. */
#define GMT_TORCH_BACKENDS(X)                                                     \
	X(UNKNOWN, 0, NULL, "unknown")                                            \
	X(NATIVE, 1, "native", "cuMemAlloc")                                      \
	X(EXPANDABLE, 2, "expandable_segments", "expandable segments")            \
	X(MIXED, 3, "mixed", "cuMemAlloc and expandable segments")

/* Why PyTorch takes memory but reports no blocks. JSON alone; null for the first. */
#define GMT_TORCH_SILENCES(X)                                                     \
	X(NOT_SILENT, 0, NULL, "")                                                \
	X(ASYNC, 1, "cuda_malloc_async", "backend cudaMallocAsync")               \
	X(UNCACHED, 2, "uncached", "caching is off")                          \
	X(PLUGGABLE, 3, "pluggable", "a pluggable allocator")                     \
	X(NO_HOOK, 4, "not_probed", "PyTorch is older than 1.10, or libc10 cannot be probed") \
	X(UNTOLD, 5, "untold", "backend cudaMallocAsync, caching is off, or a pluggable allocator")

/* Records that contradict the ledger: the text behind a count of 1, and behind any other count. Counted, never hidden.
 * JSON alone. */
#define GMT_ANOMALIES(X)                                                          \
	X(FREE_UNKNOWN, 0, "free_unknown", "free of an address whose allocation was not seen", \
	  "frees of addresses whose allocations were not seen")                   \
	X(DOUBLE_ALLOC, 1, "double_alloc", "allocation at a live address (the free was missed)", \
	  "allocations at live addresses (the frees were missed)")                \
	X(UNDO_UNKNOWN, 2, "undo_unknown", "failed free that could not be undone", \
	  "failed frees that could not be undone")                                \
	X(SIZE_UNKNOWN, 3, "size_unknown", "allocation of unknown size", "allocations of unknown size") \
	X(GPU_UNKNOWN, 4, "gpu_unknown", "allocation on an unknown GPU", "allocations on an unknown GPU") \
	X(RM_FREE_UNKNOWN, 5, "rm_free_unknown", "free of a kernel object whose allocation was not seen", \
	  "frees of kernel objects whose allocations were not seen")              \
	X(RM_DOUBLE_ALLOC, 6, "rm_double_alloc", "kernel object that was allocated twice", \
	  "kernel objects that were allocated twice")                             \
	X(AFTER_EXIT, 7, "after_exit", "record of a process after its exit", "records of processes after their exits") \
	X(TORCH_MISSED, 8, "torch_missed", "PyTorch block whose allocation or free was not seen", \
	  "PyTorch blocks whose allocations or frees were not seen")              \
	X(TORCH_RESERVED, 9, "torch_reserved", "time that PyTorch reserved other bytes than its segments have", \
	  "times that PyTorch reserved other bytes than its segments have")

/* What is missing from the stream, and why: the text behind a count of 1, and behind any other count. The order of
 * gmt_loss.count. */
#define GMT_LOSSES(X)                                                             \
	X(RING_FULL, 0, "ring_full", "record: ring buffer full", "records: ring buffer full") \
	X(UNREADABLE, 1, "unreadable", "argument that could not be read", "arguments that could not be read") \
	X(INFLIGHT_DEEP, 2, "inflight_deep", "call that was nested too deep", "calls that were nested too deep") \
	X(INFLIGHT_ORPHAN, 3, "inflight_orphan", "return of a call whose entry was not seen", \
	  "returns of calls whose entry was not seen")                            \
	X(THREAD_STATE, 4, "thread_state", "record: no room for a thread's state", \
	  "records: no room for a thread's state")                                \
	X(TARGET_MAP_FULL, 5, "target_map_full", "process not followed: too many are traced", \
	  "processes not followed: too many are traced")                              \
	X(IOCTL_UNREADABLE, 6, "ioctl_unreadable", "ioctl structure that could not be read", \
	  "ioctl structures that could not be read")                              \
	X(RETURN_UNSEEN, 7, "return_unseen", "call that was left without a return, or ran inside such a call", \
	  "calls that were left without a return, or ran inside such calls")      \
	X(PROGRAM_SKIPPED, 8, "program_skipped", "probe hit that the kernel skipped", \
	  "probe hits that the kernel skipped")                                   \
	X(STACK_LOST, 9, "stack_lost", "stack trace of an allocation", "stack traces of allocations") \
	X(FILE_REFUSED, 10, "file_refused", "file of a process that could not be read", \
	  "files of processes that could not be read")                            \
	X(READER_ENDED, 11, "reader_ended", "file of a process whose reader gpumemtrace ended", \
	  "files of processes whose readers gpumemtrace ended")                   \
	X(STACK_CUT, 12, "stack_cut", "stack trace cut short: too many waited for unwinding tables", \
	  "stack traces cut short: too many waited for unwinding tables")

/* The purpose of physical memory that was obtained inside a call. JSON alone. */
#define GMT_PURPOSES(X)                                                           \
	X(OTHER, 0, "other", "outside a probed call (launch, sync, library-internal)") \
	X(CONTEXT, 1, "context", "CUDA context")                                  \
	X(MODULE, 2, "modules", "modules and kernels")                            \
	X(ALLOC, 3, "alloc", "cuMemAlloc and arrays")                             \
	X(POOL, 4, "pool", "memory pools")                                        \
	X(VMM, 5, "vmm", "cuMemCreate")                                           \
	X(HOST, 6, "host", "pinned host memory")                                  \
	X(IMPORT, 7, "import", "imported memory")                                 \
	X(GRAPH, 8, "graph", "graph memory")                                      \
	X(STREAM, 9, "stream", "streams and events")

/* Why a session ended. In gmt_end.reason. */
#define GMT_ENDS(X)                                                               \
	X(REQUESTED, 0, "requested", "stopped on request")                        \
	X(TARGETS_GONE, 1, "targets_gone", "all traced processes have ended")     \
	X(DURATION, 2, "duration", "the duration has passed")                        \
	X(ERROR, 3, "error", "stopped by an error")

/* What gpumemtrace has given up so far to keep its own memory below its bound, in this order. In gmt_memory.shed. */
#define GMT_SHEDS(X)                                                              \
	X(NOTHING, 0, "nothing", "")                                              \
	X(READERS, 1, "readers", "processes that read files")                     \
	X(STACKS, 2, "stacks", "stack traces of new allocations")                 \
	X(EVENTS, 3, "events", "events of the window and of the page")             \
	X(NAMES, 4, "names", "names of stack traces")

/* The outcome of a request that could not be met. In gmt_oom.outcome. */
#define GMT_OOM_OUTCOMES(X)                                                       \
	X(OPEN, 0, "open", "undecided")                                           \
	X(RETRY, 1, "retry", "satisfied by a retry")                                    \
	X(RAISED, 2, "raised", "raised")                                          \
	X(FATAL, 3, "fatal", "fatal")                                             \
	X(NONE, 4, "none", "picture")

/* The sign of that outcome; "": it has no sentence of its own. In gmt_oom.sign. */
#define GMT_OOM_SIGNS(X)                                                          \
	X(NOTHING, 0, "nothing", "")                                              \
	X(GIVEN, 1, "given", "")                                                  \
	X(SMALLER, 2, "smaller", "")                                              \
	X(REPORTED, 3, "reported", "PyTorch raised its out-of-memory error")                    \
	X(WENT_ON, 4, "went_on", "The program received the error and continued with something else") \
	X(SILENCE, 5, "silence", "The program received the error and did not ask again") \
	X(EXIT, 6, "exit", "The program received the error and later ended without an error") \
	X(RETURN, 7, "return", "The call that needed the memory failed")

#define X(name, number, ...) GMT_CLASS_##name = (number),
enum gmt_class { GMT_CLASSES(X) GMT_CLASS_COUNT };
#undef X
#define X(name, number, ...) GMT_CATEGORY_##name = (number),
enum gmt_category { GMT_CATEGORIES(X) GMT_CATEGORY_COUNT };
#undef X
#define X(name, number, ...) GMT_TRAINING_##name = (number),
enum gmt_training { GMT_TRAINING_PHASES(X) GMT_TRAINING_COUNT };
#undef X
#define X(name, number, ...) GMT_TORCH_##name = (number),
enum gmt_torch_backend { GMT_TORCH_BACKENDS(X) GMT_TORCH_BACKEND_COUNT };
enum gmt_torch_silence { GMT_TORCH_SILENCES(X) GMT_TORCH_SILENCE_COUNT };
#undef X
#define X(name, number, ...) GMT_ANOMALY_##name = (number),
enum gmt_anomaly { GMT_ANOMALIES(X) GMT_ANOMALY_COUNT };
#undef X
#define X(name, number, ...) GMT_LOSS_##name = (number),
enum gmt_loss_cause { GMT_LOSSES(X) GMT_LOSS_COUNT };
#undef X
#define X(name, number, ...) GMT_PURPOSE_##name = (number),
enum gmt_purpose { GMT_PURPOSES(X) GMT_PURPOSE_COUNT };
#undef X
#define X(name, number, ...) GMT_END_##name = (number),
enum gmt_end_reason { GMT_ENDS(X) GMT_END_COUNT };
#undef X
#define X(name, number, ...) GMT_SHED_##name = (number),
enum gmt_shed { GMT_SHEDS(X) GMT_SHED_COUNT };
#undef X
#define X(name, number, ...) GMT_OOM_##name = (number),
enum gmt_oom_outcome { GMT_OOM_OUTCOMES(X) GMT_OOM_OUTCOME_COUNT };
#undef X
#define X(name, number, ...) GMT_OOM_BY_##name = (number),
enum gmt_oom_sign { GMT_OOM_SIGNS(X) GMT_OOM_SIGN_COUNT };
#undef X

/* X(NAME, bit, json name): where records come from. In gmt_session.layers. */
#define GMT_LAYERS(X)                                                             \
	X(API, 1, "api")              /* uprobes on libcuda */                    \
	X(KERNEL, 2, "kernel")        /* NVIDIA ioctls */                         \
	X(NVML, 4, "nvml")                                                        \
	X(FRAMEWORK, 8, "framework")  /* uprobes on frameworks' allocators */
#define X(name, bit, ...) GMT_LAYER_##name = (bit),
enum gmt_layer { GMT_LAYERS(X) GMT_LAYER_ALL = 15 };
#undef X

/* A list has no hole: its last number is the number of its rows, less one. */
#define GMT_TERM_ONE(...) +1
#define GMT_TERMS_CHECK(list, count)                                              \
	_Static_assert((0 list(GMT_TERM_ONE)) == (int)(count), #list " has a hole or a number twice")
GMT_TERMS_CHECK(GMT_CLASSES, GMT_CLASS_COUNT);
GMT_TERMS_CHECK(GMT_CATEGORIES, GMT_CATEGORY_COUNT);
GMT_TERMS_CHECK(GMT_TRAINING_PHASES, GMT_TRAINING_COUNT);
GMT_TERMS_CHECK(GMT_TORCH_BACKENDS, GMT_TORCH_BACKEND_COUNT);
GMT_TERMS_CHECK(GMT_TORCH_SILENCES, GMT_TORCH_SILENCE_COUNT);
GMT_TERMS_CHECK(GMT_ANOMALIES, GMT_ANOMALY_COUNT);
GMT_TERMS_CHECK(GMT_LOSSES, GMT_LOSS_COUNT);
GMT_TERMS_CHECK(GMT_PURPOSES, GMT_PURPOSE_COUNT);
GMT_TERMS_CHECK(GMT_ENDS, GMT_END_COUNT);
GMT_TERMS_CHECK(GMT_SHEDS, GMT_SHED_COUNT);
GMT_TERMS_CHECK(GMT_OOM_OUTCOMES, GMT_OOM_OUTCOME_COUNT);
GMT_TERMS_CHECK(GMT_OOM_SIGNS, GMT_OOM_SIGN_COUNT);

#define GMT_TERM_COUNT                                                            \
	((int)GMT_CLASS_COUNT + (int)GMT_CATEGORY_COUNT + (int)GMT_TRAINING_COUNT + (int)GMT_TORCH_BACKEND_COUNT + \
	 (int)GMT_TORCH_SILENCE_COUNT + (int)GMT_ANOMALY_COUNT + (int)GMT_LOSS_COUNT + (int)GMT_PURPOSE_COUNT + \
	 (int)GMT_END_COUNT + (int)GMT_SHED_COUNT + (int)GMT_OOM_OUTCOME_COUNT + (int)GMT_OOM_SIGN_COUNT)

#endif
