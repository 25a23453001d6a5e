// SPDX-License-Identifier: BSD-2-Clause
/*
 * The terms of include/gpumemtrace as version 0.1.0 has them. Files and scripts of users rely on each line here: a line is
 * never changed and never removed. A new term is a line more, with the minor version of recordings that brought the term.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/python.h>
#include <gpumemtrace/recfile.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "core/terms/names.h"
#include "core/account/view_stacks.h"

typedef const char *name_fn(unsigned int number);

struct pin {
	name_fn *name;           /* NULL: JSON does not have it */
	unsigned int number;
	const char *json;
	unsigned int minor;
};

/* X(function of the JSON name, NAME, number, JSON name, minor version) */
#define PINS(X)                                                                   \
	X(gmt_class_name, GMT_CLASS_DEVICE, 0, "device", 0)                       \
	X(gmt_class_name, GMT_CLASS_POOL, 1, "pool", 0)                           \
	X(gmt_class_name, GMT_CLASS_VMM, 2, "vmm", 0)                             \
	X(gmt_class_name, GMT_CLASS_ARRAY, 3, "array", 0)                         \
	X(gmt_class_name, GMT_CLASS_MANAGED, 4, "managed", 0)                     \
	X(gmt_class_name, GMT_CLASS_PINNED, 5, "pinned", 0)                       \
	X(gmt_class_name, GMT_CLASS_REGISTERED, 6, "registered", 0)               \
	X(gmt_class_name, GMT_CLASS_IMPORTED, 7, "imported", 0)                   \
	X(gmt_class_name, GMT_CLASS_GRAPH, 8, "graph", 0)                         \
	X(gmt_category_name, GMT_CATEGORY_PARAMETER, 0, "parameter", 0)           \
	X(gmt_category_name, GMT_CATEGORY_OPTIMIZER_STATE, 1, "optimizer_state", 0) \
	X(gmt_category_name, GMT_CATEGORY_GRADIENT, 2, "gradient", 0)             \
	X(gmt_category_name, GMT_CATEGORY_ACTIVATION, 3, "activation", 0)         \
	X(gmt_category_name, GMT_CATEGORY_INPUT, 4, "input", 0)                   \
	X(gmt_category_name, GMT_CATEGORY_AUTOGRAD_DETAIL, 5, "autograd_detail", 0) \
	X(gmt_category_name, GMT_CATEGORY_TEMPORARY, 6, "temporary", 0)           \
	X(gmt_category_name, GMT_CATEGORY_WORKSPACE, 7, "workspace", 0)           \
	X(gmt_category_name, GMT_CATEGORY_KEPT, 8, "kept", 0)                     \
	X(gmt_category_name, GMT_CATEGORY_UNKNOWN, 9, "unknown", 0)               \
	X(gmt_training_name, GMT_TRAINING_FORWARD, 0, "forward", 0)               \
	X(gmt_training_name, GMT_TRAINING_BACKWARD, 1, "backward", 0)             \
	X(gmt_training_name, GMT_TRAINING_OPTIMIZER, 2, "optimizer", 0)           \
	X(gmt_training_name, GMT_TRAINING_ZERO_GRAD, 3, "zero_grad", 0)           \
	X(gmt_torch_backend_name, GMT_TORCH_UNKNOWN, 0, NULL, 0)                  \
	X(gmt_torch_backend_name, GMT_TORCH_NATIVE, 1, "native", 0)               \
	X(gmt_torch_backend_name, GMT_TORCH_EXPANDABLE, 2, "expandable_segments", 0) \
	X(gmt_torch_backend_name, GMT_TORCH_MIXED, 3, "mixed", 0)                 \
	X(gmt_torch_silence_name, GMT_TORCH_NOT_SILENT, 0, NULL, 0)               \
	X(gmt_torch_silence_name, GMT_TORCH_ASYNC, 1, "cuda_malloc_async", 0)     \
	X(gmt_torch_silence_name, GMT_TORCH_UNCACHED, 2, "uncached", 0)           \
	X(gmt_torch_silence_name, GMT_TORCH_PLUGGABLE, 3, "pluggable", 0)         \
	X(gmt_torch_silence_name, GMT_TORCH_NO_HOOK, 4, "not_probed", 0)          \
	X(gmt_torch_silence_name, GMT_TORCH_UNTOLD, 5, "untold", 0)               \
	X(gmt_anomaly_name, GMT_ANOMALY_FREE_UNKNOWN, 0, "free_unknown", 0)       \
	X(gmt_anomaly_name, GMT_ANOMALY_DOUBLE_ALLOC, 1, "double_alloc", 0)       \
	X(gmt_anomaly_name, GMT_ANOMALY_UNDO_UNKNOWN, 2, "undo_unknown", 0)       \
	X(gmt_anomaly_name, GMT_ANOMALY_SIZE_UNKNOWN, 3, "size_unknown", 0)       \
	X(gmt_anomaly_name, GMT_ANOMALY_GPU_UNKNOWN, 4, "gpu_unknown", 0)         \
	X(gmt_anomaly_name, GMT_ANOMALY_RM_FREE_UNKNOWN, 5, "rm_free_unknown", 0) \
	X(gmt_anomaly_name, GMT_ANOMALY_RM_DOUBLE_ALLOC, 6, "rm_double_alloc", 0) \
	X(gmt_anomaly_name, GMT_ANOMALY_AFTER_EXIT, 7, "after_exit", 0)           \
	X(gmt_anomaly_name, GMT_ANOMALY_TORCH_MISSED, 8, "torch_missed", 0)       \
	X(gmt_anomaly_name, GMT_ANOMALY_TORCH_RESERVED, 9, "torch_reserved", 0)   \
	X(gmt_loss_name, GMT_LOSS_RING_FULL, 0, "ring_full", 0)                   \
	X(gmt_loss_name, GMT_LOSS_UNREADABLE, 1, "unreadable", 0)                 \
	X(gmt_loss_name, GMT_LOSS_INFLIGHT_DEEP, 2, "inflight_deep", 0)           \
	X(gmt_loss_name, GMT_LOSS_INFLIGHT_ORPHAN, 3, "inflight_orphan", 0)       \
	X(gmt_loss_name, GMT_LOSS_THREAD_STATE, 4, "thread_state", 0)             \
	X(gmt_loss_name, GMT_LOSS_TARGET_MAP_FULL, 5, "target_map_full", 0)       \
	X(gmt_loss_name, GMT_LOSS_IOCTL_UNREADABLE, 6, "ioctl_unreadable", 0)     \
	X(gmt_loss_name, GMT_LOSS_RETURN_UNSEEN, 7, "return_unseen", 0)           \
	X(gmt_loss_name, GMT_LOSS_PROGRAM_SKIPPED, 8, "program_skipped", 0)       \
	X(gmt_loss_name, GMT_LOSS_STACK_LOST, 9, "stack_lost", 0)                 \
	X(gmt_loss_name, GMT_LOSS_FILE_REFUSED, 10, "file_refused", 0)            \
	X(gmt_loss_name, GMT_LOSS_READER_ENDED, 11, "reader_ended", 0)            \
	X(gmt_loss_name, GMT_LOSS_STACK_CUT, 12, "stack_cut", 0)                  \
	X(gmt_purpose_name, GMT_PURPOSE_OTHER, 0, "other", 0)                     \
	X(gmt_purpose_name, GMT_PURPOSE_CONTEXT, 1, "context", 0)                 \
	X(gmt_purpose_name, GMT_PURPOSE_MODULE, 2, "modules", 0)                  \
	X(gmt_purpose_name, GMT_PURPOSE_ALLOC, 3, "alloc", 0)                     \
	X(gmt_purpose_name, GMT_PURPOSE_POOL, 4, "pool", 0)                       \
	X(gmt_purpose_name, GMT_PURPOSE_VMM, 5, "vmm", 0)                         \
	X(gmt_purpose_name, GMT_PURPOSE_HOST, 6, "host", 0)                       \
	X(gmt_purpose_name, GMT_PURPOSE_IMPORT, 7, "import", 0)                   \
	X(gmt_purpose_name, GMT_PURPOSE_GRAPH, 8, "graph", 0)                     \
	X(gmt_purpose_name, GMT_PURPOSE_STREAM, 9, "stream", 0)                   \
	X(gmt_end_name, GMT_END_REQUESTED, 0, "requested", 0)                     \
	X(gmt_end_name, GMT_END_TARGETS_GONE, 1, "targets_gone", 0)               \
	X(gmt_end_name, GMT_END_DURATION, 2, "duration", 0)                       \
	X(gmt_end_name, GMT_END_ERROR, 3, "error", 0)                             \
	X(gmt_shed_name, GMT_SHED_NOTHING, 0, "nothing", 0)                       \
	X(gmt_shed_name, GMT_SHED_READERS, 1, "readers", 0)                       \
	X(gmt_shed_name, GMT_SHED_STACKS, 2, "stacks", 0)                         \
	X(gmt_shed_name, GMT_SHED_EVENTS, 3, "events", 0)                         \
	X(gmt_shed_name, GMT_SHED_NAMES, 4, "names", 0)                           \
	X(gmt_oom_outcome_name, GMT_OOM_OPEN, 0, "open", 0)                       \
	X(gmt_oom_outcome_name, GMT_OOM_RETRY, 1, "retry", 0)                     \
	X(gmt_oom_outcome_name, GMT_OOM_RAISED, 2, "raised", 0)                   \
	X(gmt_oom_outcome_name, GMT_OOM_FATAL, 3, "fatal", 0)                     \
	X(gmt_oom_outcome_name, GMT_OOM_NONE, 4, "none", 0)                       \
	X(gmt_oom_sign_name, GMT_OOM_BY_NOTHING, 0, "nothing", 0)                 \
	X(gmt_oom_sign_name, GMT_OOM_BY_GIVEN, 1, "given", 0)                     \
	X(gmt_oom_sign_name, GMT_OOM_BY_SMALLER, 2, "smaller", 0)                 \
	X(gmt_oom_sign_name, GMT_OOM_BY_REPORTED, 3, "reported", 0)               \
	X(gmt_oom_sign_name, GMT_OOM_BY_WENT_ON, 4, "went_on", 0)                 \
	X(gmt_oom_sign_name, GMT_OOM_BY_SILENCE, 5, "silence", 0)                 \
	X(gmt_oom_sign_name, GMT_OOM_BY_EXIT, 6, "exit", 0)                       \
	X(gmt_oom_sign_name, GMT_OOM_BY_RETURN, 7, "return", 0)                   \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NONE, 0, "none", 0)              \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_ROOT, 1, "root", 0)              \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_ZERO, 2, "zero", 0)              \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_DEPTH, 3, "depth", 0)            \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NO_MAPPING, 4, "no_mapping", 0)  \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NO_TABLE, 5, "no_table", 0)      \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NO_ROW, 6, "no_row", 0)          \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_UNSUPPORTED, 7, "unsupported", 0) \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_FP_LOST, 8, "fp_lost", 0)        \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_FAULT, 9, "fault", 0)            \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_OUTSIDE, 10, "outside", 0)       \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_MISALIGNED, 11, "misaligned", 0) \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NO_PROGRESS, 12, "no_progress", 0) \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_TRAMPOLINE, 13, "trampoline", 0) \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_BAD_TABLE, 14, "bad_table", 0)   \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_NOT_WALKED, 15, "not_walked", 0) \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_SWITCHED, 16, "switched", 0)     \
	X(gmt_unwind_reason_name, GMT_UNWIND_END_REMAPPED, 17, "remapped", 0)     \
	X(gmt_py_reason_name, GMT_PY_END_NONE, 0, "none", 0)                      \
	X(gmt_py_reason_name, GMT_PY_END_ROOT, 1, "root", 0)                      \
	X(gmt_py_reason_name, GMT_PY_END_NO_STATE, 2, "no_state", 0)              \
	X(gmt_py_reason_name, GMT_PY_END_STALE, 3, "stale", 0)                    \
	X(gmt_py_reason_name, GMT_PY_END_FAULT, 4, "fault", 0)                    \
	X(gmt_py_reason_name, GMT_PY_END_BAD_POINTER, 5, "bad_pointer", 0)        \
	X(gmt_py_reason_name, GMT_PY_END_DEPTH, 6, "depth", 0)                    \
	X(gmt_py_reason_name, GMT_PY_END_INTERPRETERS, 7, "interpreters", 0)                    \
	X(gmt_py_reason_name, GMT_PY_END_UNRECOGNIZED, 8, "unrecognized", 0)                    \
	X(gmt_py_reason_name, GMT_PY_END_UNNAMED, 9, "unnamed", 0)                \
	X(NULL, GMT_HISTORY_NOTHING, 0, NULL, 0)                                  \
	X(NULL, GMT_HISTORY_BLOCK_ALLOC, 1, NULL, 0)                              \
	X(NULL, GMT_HISTORY_BLOCK_FREE, 2, NULL, 0)                               \
	X(NULL, GMT_HISTORY_SEGMENT_ALLOC, 3, NULL, 0)                            \
	X(NULL, GMT_HISTORY_SEGMENT_FREE, 4, NULL, 0)                             \
	X(NULL, GMT_HISTORY_OOM, 5, NULL, 0)                                      \
	X(NULL, GMT_HISTORY_TORCH, 1, NULL, 0)                                    \
	X(NULL, GMT_HISTORY_MAPPED, 2, NULL, 0)                                   \
	X(NULL, GMT_HISTORY_GUESSED, 4, NULL, 0)                                  \
	X(NULL, GMT_LAYER_API, 1, NULL, 0)                                        \
	X(NULL, GMT_LAYER_KERNEL, 2, NULL, 0)                                     \
	X(NULL, GMT_LAYER_NVML, 4, NULL, 0)                                       \
	X(NULL, GMT_LAYER_FRAMEWORK, 8, NULL, 0)                                  \
	X(NULL, GMT_PHASE_DONE, 0, NULL, 0)                                       \
	X(NULL, GMT_PHASE_ENTER, 1, NULL, 0)                                      \
	X(NULL, GMT_PHASE_UNDO, 2, NULL, 0)                                       \
	X(NULL, GMT_RANGE_BEGIN, 0, NULL, 0)                                      \
	X(NULL, GMT_RANGE_END, 1, NULL, 0)                                        \
	X(NULL, GMT_RANGE_BACKWARD, 2, NULL, 0)                                   \
	X(NULL, GMT_SYMBOL_NATIVE, 0, NULL, 0)                                    \
	X(NULL, GMT_SYMBOL_PYTHON, 1, NULL, 0)                                    \
	X(NULL, GMT_OOM_HAS_FREE, 1, NULL, 0)                                     \
	X(NULL, GMT_OOM_EXITED, 2, NULL, 0)                                       \
	X(NULL, GMT_OOM_REFUSED, 4, NULL, 0)                                      \
	X(NULL, GMT_OOM_UNSEEN, 8, NULL, 0)                                       \
	X(NULL, GMT_OOM_NO_ROOM, 16, NULL, 0)                                     \
	X(NULL, GMT_OOM_CLASS_NONE, 255, NULL, 0)                                 \
	X(NULL, GMT_OOM_ROW_HOST, 1, NULL, 0)                                     \
	X(NULL, GMT_OOM_ROW_PHYSICAL, 2, NULL, 0)                                 \
	X(NULL, GMT_OOM_ROW_NVML, 4, NULL, 0)                                     \
	X(NULL, GMT_OOM_ROW_TORCH, 8, NULL, 0)                                    \
	X(NULL, GMT_OOM_ROW_GAP, 16, NULL, 0)                                     \
	X(NULL, GMT_OOM_ROW_BLOCKS, 32, NULL, 0)                                  \
	X(NULL, GMT_OOM_STACK_STEADY, 1, NULL, 0) X(NULL, GMT_OOM_STACK_RESERVE, 2, NULL, 0)

#define X(function, term, number, ...) _Static_assert((term) == (number), #term " has another number in files that exist");
PINS(X)
#undef X

/* A list that has become longer: its new terms are to be pinned above. */
#define SIZE(count, number) _Static_assert((count) == (number), "a line in PINS for each new term, then this number")
SIZE(GMT_CLASS_COUNT, 9);
SIZE(GMT_CATEGORY_COUNT, 10);
SIZE(GMT_TRAINING_COUNT, 4);
SIZE(GMT_TORCH_BACKEND_COUNT, 4);
SIZE(GMT_TORCH_SILENCE_COUNT, 6);
SIZE(GMT_ANOMALY_COUNT, 10);
SIZE(GMT_LOSS_COUNT, 13);
SIZE(GMT_PURPOSE_COUNT, 10);
SIZE(GMT_END_COUNT, 4);
SIZE(GMT_SHED_COUNT, 5);
SIZE(GMT_OOM_OUTCOME_COUNT, 5);
SIZE(GMT_OOM_SIGN_COUNT, 8);
SIZE(GMT_UNWIND_REASON_COUNT, 18);
SIZE(GMT_PY_REASON_COUNT, 10);
SIZE(GMT_HISTORY_KIND_COUNT, 6);

/* Record kinds, and their sizes as version 0.1.0 wrote them. A structure that grows needs a reader that takes the old size,
 * and then another number here; structures never shrink. */
#define KINDS(X)                                                                  \
	X(CALL, 1, 40) X(RM_ALLOC, 2, 80) X(RM_FREE, 3, 56) X(RM_DUP, 4, 64)      \
	X(UVM_GPU, 5, 40) X(UVM_VASPACE, 6, 48) X(UVM_MAP, 7, 96) X(UVM_UNMAP, 8, 56) \
	X(UVM_FREE, 9, 32) X(PROC_FORK, 10, 40) X(PROC_EXEC, 11, 48) X(PROC_EXIT, 12, 32) \
	X(PROC_SEEN, 13, 48) X(STACK, 14, 32) X(FW_MEM, 15, 64) X(STACK_COPY, 16, 64) \
	X(FW_OOM, 17, 56) X(FW_RANGE, 18, 136) X(FW_SIZE, 19, 56) X(CODE_MAPPED, 20, 48) X(SESSION, 0x8000, 520) \
	X(GPU, 0x8001, 200) X(PROC, 0x8002, 448) X(ATTACH, 0x8003, 32) X(NVML, 0x8004, 56) \
	X(LOSS, 0x8005, 128) X(LIBRARY, 0x8006, 352) X(END, 0x8007, 32) X(SYMBOL, 0x8008, 48) \
	X(STACK_FRAMES, 0x8009, 32) X(OOM, 0x800a, 152) X(OOM_ROW, 0x800b, 496) \
	X(OOM_STACK, 0x800c, 104) X(MARK, 0x800d, 32) X(FRAMEWORK, 0x800e, 32) X(HISTORY, 0x8010, 48) \
	X(HISTORY_UNSEEN, 0x8011, 48) X(HISTORY_RANGE, 0x8012, 64) X(HISTORY_EVENT, 0x8013, 56) \
	X(HISTORY_MARK, 0x8014, 136) X(LIMIT, 0x8015, 472) X(GPU_MEMORY, 0x8016, 64) \
	X(MEMORY, 0x8017, 72) X(LIBRARY_GONE, 0x8018, 40) X(SYMBOLS_END, 0x8019, 32) \
	X(OOM_WAITING, 0x801a, 40) X(GPU_NEIGHBOUR, 0x801b, 72)
#define X(name, value, type, text) SIZE_OF_##name = sizeof(struct type),
enum { GMT_KINDS(X) };
#undef X
#define X(name, value, size)                                                      \
	_Static_assert(GMT_KIND_##name == (value), #name " has another number in files that exist"); \
	_Static_assert((int)SIZE_OF_##name == (size), #name ": files that exist have another size");
KINDS(X)
#undef X
#define ONE(...) +1
_Static_assert((0 GMT_KINDS(ONE)) == (0 KINDS(ONE)), "a new record kind is to be pinned in KINDS");

static const struct pin pins[] = {
#define X(function, term, number, json, minor) { function, number, json, minor },
	PINS(X)
#undef X
};
#define PIN_COUNT (sizeof(pins) / sizeof(pins[0]))

static void json_names_are_those_of_the_first_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < PIN_COUNT; i++) {
		if (!pins[i].name)
			continue;
		if (pins[i].json)
			assert_string_equal(pins[i].name(pins[i].number), pins[i].json);
		else
			assert_null(pins[i].name(pins[i].number));
	}
}

static void numbers_of_a_newer_version_are_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < PIN_COUNT; i++) {
		if (!pins[i].name)
			continue;
		assert_string_equal(pins[i].name(200), "unknown");
		assert_string_equal(pins[i].name(UINT32_MAX), "unknown");
	}
}

/* GMT_REC_MINOR counts rows: what is pinned came with that version or one before. */
static void a_new_term_raises_the_minor_version(void **state)
{
	(void)state;
	assert_true(GMT_REC_MINOR >= 0 && GMT_REC_MINOR <= UINT16_MAX);
	for (size_t i = 0; i < PIN_COUNT; i++)
		assert_in_range(pins[i].minor, 0, GMT_REC_MINOR);
}

static void layers_and_orders(void **state)
{
	static const char *const layers[] = { "api", "kernel", "nvml", "framework" };
	static const char *const orders[] = { "live", "peak", "growth", "old", "allocated" };
	unsigned int bit, all = 0;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		assert_string_equal(gmt_layer_name(i, &bit), layers[i]);
		assert_int_equal(bit, 1u << i);
		all |= bit;
	}
	assert_null(gmt_layer_name(4, &bit));
	assert_int_equal(all, GMT_LAYER_ALL);
	assert_int_equal(VIEW_ORDER_COUNT, 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_string_equal(view_order_name(i), orders[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_names_are_those_of_the_first_version),
		cmocka_unit_test(numbers_of_a_newer_version_are_unknown),
		cmocka_unit_test(a_new_term_raises_the_minor_version),
		cmocka_unit_test(layers_and_orders),
	};

	return cmocka_run_group_tests_name("terms", tests, NULL, NULL);
}
