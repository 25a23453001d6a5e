// SPDX-License-Identifier: BSD-2-Clause
/* The tables of record_fields.h. */
#include "sink/records/record_fields.h"

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/count.h"
#include "core/terms/names.h"
#include "core/terms/probes.h"

/* ---- names of numbers ---- */

#define WORDS(function, ...)                                                      \
	static const char *function(unsigned int number)                          \
	{                                                                         \
		static const char *const words[] = { __VA_ARGS__ };               \
		return number < COUNT(words) ? words[number] : NULL;              \
	}
WORDS(call_phase, [GMT_PHASE_DONE] = "done", [GMT_PHASE_ENTER] = "enter", [GMT_PHASE_UNDO] = "undo")
WORDS(range_what, [GMT_RANGE_BEGIN] = "begin", [GMT_RANGE_END] = "end", [GMT_RANGE_BACKWARD] = "backward")
WORDS(nvml_when, [GMT_NVML_BASELINE] = "baseline", [GMT_NVML_SAMPLE] = "sample")
WORDS(symbol_kind, [GMT_SYMBOL_NATIVE] = "native", [GMT_SYMBOL_PYTHON] = "python")
WORDS(history_kind, [GMT_HISTORY_NOTHING] = "nothing", [GMT_HISTORY_BLOCK_ALLOC] = "block_alloc",
      [GMT_HISTORY_BLOCK_FREE] = "block_free", [GMT_HISTORY_SEGMENT_ALLOC] = "segment_alloc",
      [GMT_HISTORY_SEGMENT_FREE] = "segment_free", [GMT_HISTORY_OOM] = "oom")

#define X(name, value, row, text) [value] = #row,
WORDS(framework_name, GMT_FRAMEWORKS(X))
#undef X

/* Dumps store a category plus 1. */
static const char *stored_category(unsigned int number)
{
	return number ? gmt_category_name(number - 1) : "none";
}

static const char *asked_class(unsigned int number)
{
	return number == GMT_OOM_CLASS_NONE ? "none" : gmt_class_name(number);
}

/* ---- fields ---- */

#define AT(type, member) offsetof(struct gmt_##type, member)
#define SIZE(type, member) sizeof(((struct gmt_##type *)NULL)->member)
#define U(type, member) { #member, AT(type, member), SIZE(type, member), 1, RECORD_UNSIGNED, NULL },
#define I(type, member) { #member, AT(type, member), SIZE(type, member), 1, RECORD_SIGNED, NULL },
#define H(type, member) { #member, AT(type, member), SIZE(type, member), 1, RECORD_HEX, NULL },
#define TERM(type, member, term) { #member, AT(type, member), SIZE(type, member), 1, RECORD_TERM, term },
#define LIST(type, member, term) \
	{ #member, AT(type, member), SIZE(type, member[0]), SIZE(type, member) / SIZE(type, member[0]), \
	  RECORD_UNSIGNED, term },
#define TEXT(type, member) { #member, AT(type, member), 1, SIZE(type, member), RECORD_TEXT, NULL },
#define UUID(type, member) { #member, AT(type, member), 1, SIZE(type, member), RECORD_UUID, NULL },
#define CAUSE(type) TERM(type, cause.api, gmt_api_symbol) U(type, cause.seq) U(type, cause.stack_id)
#define OF(type) TERM(type, framework, framework_name)

#define FIELDS(type, ...) static const struct record_field gmt_##type##_fields[] = { __VA_ARGS__ };
FIELDS(call, TERM(call, api, gmt_api_symbol) TERM(call, phase, call_phase) I(call, rc) U(call, seq) U(call, stack_id)
       H(call, unread))
FIELDS(rm_alloc, CAUSE(rm_alloc) H(rm_alloc, client) H(rm_alloc, parent) H(rm_alloc, object) H(rm_alloc, class_id)
       H(rm_alloc, status) H(rm_alloc, flags) H(rm_alloc, attr) U(rm_alloc, device_id) U(rm_alloc, size))
FIELDS(rm_free, CAUSE(rm_free) H(rm_free, client) H(rm_free, parent) H(rm_free, object))
FIELDS(rm_dup, CAUSE(rm_dup) H(rm_dup, client) H(rm_dup, parent) H(rm_dup, object) H(rm_dup, client_src)
       H(rm_dup, object_src))
FIELDS(uvm_gpu, UUID(uvm_gpu, uuid))
FIELDS(uvm_vaspace, UUID(uvm_vaspace, uuid) H(uvm_vaspace, client) H(uvm_vaspace, vaspace))
FIELDS(uvm_map, CAUSE(uvm_map) H(uvm_map, base) U(uvm_map, length) U(uvm_map, offset) H(uvm_map, client)
       H(uvm_map, memory) U(uvm_map, gpu_count) UUID(uvm_map, uuid))
FIELDS(uvm_unmap, H(uvm_unmap, base) U(uvm_unmap, length) UUID(uvm_unmap, uuid))
FIELDS(uvm_free, H(uvm_free, base))
FIELDS(proc_fork, U(proc_fork, parent_tgid) U(proc_fork, start_ns))
FIELDS(proc_exec, U(proc_exec, start_ns) TEXT(proc_exec, comm))
FIELDS(proc_exit, I(proc_exit, exit_code))
FIELDS(stack, U(stack, id) U(stack, count) TERM(stack, reason, gmt_unwind_reason_name)
       TERM(stack, py_reason, gmt_py_reason_name))
FIELDS(fw_mem, H(fw_mem, ptr) I(fw_mem, delta) U(fw_mem, total_allocated) U(fw_mem, total_reserved)
       U(fw_mem, device_type) U(fw_mem, device_index) OF(fw_mem) U(fw_mem, stack_id))
FIELDS(stack_copy, U(stack_copy, stack_id) U(stack_copy, count) H(stack_copy, pc) H(stack_copy, sp) H(stack_copy, fp)
       H(stack_copy, base))
FIELDS(fw_oom, U(fw_oom, size) U(fw_oom, total_allocated) U(fw_oom, total_reserved) U(fw_oom, device_type)
       U(fw_oom, device_index) OF(fw_oom) U(fw_oom, stack_id))
FIELDS(fw_range, H(fw_range, object) TERM(fw_range, what, range_what) OF(fw_range) TEXT(fw_range, name))
FIELDS(fw_size, H(fw_size, ptr) U(fw_size, size) H(fw_size, stream) U(fw_size, device_type)
       U(fw_size, device_index) OF(fw_size))
FIELDS(session, U(session, wall_ns) H(session, layers) TEXT(session, version) TEXT(session, kernel) TEXT(session, host)
       TEXT(session, driver) TEXT(session, why_no_kernel) TEXT(session, why_no_nvml))
FIELDS(gpu, U(gpu, index) I(gpu, minor) H(gpu, flags) U(gpu, parent_index) U(gpu, total_bytes) UUID(gpu, uuid)
       U(gpu, gpu_instance) U(gpu, compute_instance) TEXT(gpu, name) TEXT(gpu, pci))
FIELDS(proc, U(proc, start_ns) U(proc, uid) U(proc, ns_pid) U(proc, parent_tgid) TEXT(proc, comm) TEXT(proc, cgroup)
       TEXT(proc, cmdline))
FIELDS(attach, H(attach, flags))
FIELDS(nvml, U(nvml, used_bytes) UUID(nvml, uuid) TERM(nvml, when, nvml_when))
FIELDS(loss, LIST(loss, count, gmt_loss_name))
FIELDS(library, H(library, dev) U(library, ino) U(library, probes) U(library, absent) U(library, shifted)
       U(library, attach_us) TEXT(library, build_id) TEXT(library, path))
FIELDS(end, TERM(end, reason, gmt_end_name))
FIELDS(symbol, U(symbol, id) U(symbol, line) H(symbol, offset) TERM(symbol, kind, symbol_kind) H(symbol, flags))
FIELDS(stack_frames, U(stack_frames, stack_id) U(stack_frames, count))
FIELDS(oom, U(oom, number) TERM(oom, api, gmt_api_symbol) TERM(oom, outcome, gmt_oom_outcome_name)
       TERM(oom, sign, gmt_oom_sign_name) TERM(oom, class_id, asked_class) H(oom, flags) U(oom, failures)
       U(oom, stack_id) U(oom, pieces) U(oom, asked_bytes) U(oom, failed_bytes) U(oom, given_bytes)
       U(oom, framework_bytes) U(oom, freed_bytes) U(oom, free_bytes) U(oom, first_ns) U(oom, last_ns)
       U(oom, decided_ns) U(oom, exit_ns) I(oom, exit_code) UUID(oom, uuid))
FIELDS(oom_row, U(oom_row, number) H(oom_row, flags) TERM(oom_row, torch_backend, gmt_torch_backend_text)
       UUID(oom_row, uuid) LIST(oom_row, class_bytes, gmt_class_name) U(oom_row, attributed) U(oom_row, physical)
       U(oom_row, before_attach) I(oom_row, context) I(oom_row, modules) I(oom_row, pool_reserve) I(oom_row, rounding)
       I(oom_row, other) U(oom_row, nvml) U(oom_row, nvml_ns) U(oom_row, torch_allocated) U(oom_row, torch_reserved)
       U(oom_row, torch_gap) U(oom_row, stacks_live) U(oom_row, stacks_peak) U(oom_row, stacks_peak_ns)
       U(oom_row, rest_bytes) U(oom_row, stacks) U(oom_row, rest) U(oom_row, since_ns) U(oom_row, recent_ns)
       LIST(oom_row, category_bytes, gmt_category_name) U(oom_row, torch_before) U(oom_row, growth)
       U(oom_row, growth_count) U(oom_row, iteration) TERM(oom_row, phase, gmt_training_name))
FIELDS(oom_stack, U(oom_stack, number) U(oom_stack, stack_id) U(oom_stack, live) U(oom_stack, count)
       U(oom_stack, at_peak) I(oom_stack, grown) I(oom_stack, recent) U(oom_stack, allocs) U(oom_stack, frees)
       U(oom_stack, alloc_bytes) H(oom_stack, flags) TERM(oom_stack, purpose, stored_category))
FIELDS(mark, U(mark, number))
FIELDS(framework, H(framework, flags) OF(framework))
FIELDS(history, U(history, since) U(history, first) U(history, left_out))
FIELDS(history_unseen, U(history_unseen, allocated) U(history_unseen, reserved) U(history_unseen, device))
FIELDS(history_range, H(history_range, base) U(history_range, length) H(history_range, born) U(history_range, asked)
       U(history_range, stack_id) U(history_range, is_block) H(history_range, flags) U(history_range, device)
       TERM(history_range, category, stored_category))
FIELDS(history_event, H(history_event, address) U(history_event, size) H(history_event, born)
       U(history_event, stack_id) TERM(history_event, kind, history_kind) H(history_event, flags)
       U(history_event, device) TERM(history_event, category, stored_category))
FIELDS(history_mark, U(history_mark, event) U(history_mark, is_end) TEXT(history_mark, name))
FIELDS(limit, TEXT(limit, what) TEXT(limit, why) TEXT(limit, remedy))

/* ---- kinds ---- */

static const struct record_kind kinds[] = {
#define X(name, value, type, text) { value, type##_fields, COUNT(type##_fields) },
	GMT_KINDS(X)
#undef X
};

const struct record_kind *record_kind(unsigned int kind)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].kind == kind)
			return &kinds[i];
	return NULL;
}
