// SPDX-License-Identifier: BSD-2-Clause
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

/* Dumps store a category plus 1. */
static const char *stored_category(unsigned int number)
{
	return number ? gmt_category_name(number - 1) : "none";
}

static const char *asked_class(unsigned int number)
{
	return number == GMT_OOM_CLASS_NONE ? "none" : gmt_class_name(number);
}

/* ---- fields: how each is printed ---- */

#define AT(type, member) offsetof(struct type, member)
#define SIZE(type, member) sizeof(((struct type *)NULL)->member)
#define NUMBER(type, member, as, term) { #member, AT(type, member), SIZE(type, member), 1, as, term },
#define BYTES(type, member, as) { #member, AT(type, member), 1, SIZE(type, member), as, NULL },
#define TERM(type, member, term) NUMBER(type, member, RECORD_TERM, term)
#define LIST(type, member, term) \
	{ #member, AT(type, member), SIZE(type, member[0]), SIZE(type, member) / SIZE(type, member[0]), \
	  RECORD_UNSIGNED, term },

#define AS_UNSIGNED(type, member) NUMBER(type, member, RECORD_UNSIGNED, NULL)
#define AS_SIGNED(type, member) NUMBER(type, member, RECORD_SIGNED, NULL)
#define AS_HEX(type, member) NUMBER(type, member, RECORD_HEX, NULL)
#define AS_TEXT(type, member) BYTES(type, member, RECORD_TEXT)
#define AS_UUID(type, member) BYTES(type, member, RECORD_UUID)
#define AS_CAUSE(type, member) \
	AS_API(type, member.api) AS_UNSIGNED(type, member.seq) AS_UNSIGNED(type, member.stack_id)
#define AS_API(type, member) TERM(type, member, gmt_api_symbol)
#define AS_CALL_PHASE(type, member) TERM(type, member, call_phase)
#define AS_UNWIND_REASON(type, member) TERM(type, member, gmt_unwind_reason_name)
#define AS_PY_REASON(type, member) TERM(type, member, gmt_py_reason_name)
#define AS_RANGE_WHAT(type, member) TERM(type, member, range_what)
#define AS_FRAMEWORK(type, member) TERM(type, member, gmt_framework_name)
#define AS_NVML_WHEN(type, member) TERM(type, member, nvml_when)
#define AS_END(type, member) TERM(type, member, gmt_end_name)
#define AS_SYMBOL_KIND(type, member) TERM(type, member, symbol_kind)
#define AS_OOM_OUTCOME(type, member) TERM(type, member, gmt_oom_outcome_name)
#define AS_SHED(type, member) TERM(type, member, gmt_shed_name)
#define AS_OOM_SIGN(type, member) TERM(type, member, gmt_oom_sign_name)
#define AS_ASKED_CLASS(type, member) TERM(type, member, asked_class)
#define AS_TORCH_BACKEND(type, member) TERM(type, member, gmt_torch_backend_text)
#define AS_TRAINING(type, member) TERM(type, member, gmt_training_name)
#define AS_STORED_CATEGORY(type, member) TERM(type, member, stored_category)
#define AS_HISTORY_KIND(type, member) TERM(type, member, history_kind)
#define AS_LOSSES(type, member) LIST(type, member, gmt_loss_name)
#define AS_CLASSES(type, member) LIST(type, member, gmt_class_name)
#define AS_CATEGORIES(type, member) LIST(type, member, gmt_category_name)

#define FIELD(type, how, member) AS_##how(type, member)
#define X(name, value, type, text) \
	static const struct record_field fields_of_##name[] = { GMT_FIELDS_##type(FIELD, type) };
GMT_KINDS(X)
#undef X

static const struct record_kind kinds[] = {
#define X(name, value, type, text) { value, fields_of_##name, COUNT(fields_of_##name) },
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
