/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/terms/names.h"

#include <string.h>
#include <strings.h>

#include <gpumemtrace/python.h>
#include <gpumemtrace/terms.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

#include "base/count.h"
#include "base/human.h"

struct term {
	const char *name, *text, *many;
};

/* For each list, the function of its JSON names and the function of its texts; ROW makes a struct term of a row. */
#define NAMES(stem, list, ROW)                                                    \
	static const struct term stem##_terms[] = { list(ROW) };                  \
	const char *gmt_##stem##_name(unsigned int number)                        \
	{                                                                         \
		return number < COUNT(stem##_terms) ? stem##_terms[number].name : "unknown"; \
	}
#define TERMS(stem, list, ROW)                                                    \
	NAMES(stem, list, ROW)                                                    \
	const char *gmt_##stem##_text(unsigned int number)                        \
	{                                                                         \
		return number < COUNT(stem##_terms) ? stem##_terms[number].text : "unknown"; \
	}
#define COUNTED(stem, list)                                                       \
	NAMES(stem, list, COUNTED_TERM)                                           \
	const char *gmt_##stem##_text(unsigned int number, uint64_t count)        \
	{                                                                         \
		if (number >= COUNT(stem##_terms))                                \
			return "unknown";                                         \
		return human_plural(count, stem##_terms[number].text, stem##_terms[number].many); \
	}

#define TERM(NAME, number, json, words, ...) [number] = { .name = json, .text = words },
#define COUNTED_TERM(NAME, number, json, one, many) [number] = { json, one, many },
#define REASON(NAME, number, complete, json, words) [number] = { .name = json, .text = words },
#define FRAMEWORK(NAME, number, row, words) [number] = { .name = #row, .text = words },

TERMS(framework, GMT_FRAMEWORKS, FRAMEWORK)
TERMS(class, GMT_CLASSES, TERM)
TERMS(category, GMT_CATEGORIES, TERM)
TERMS(training, GMT_TRAINING_PHASES, TERM)
TERMS(torch_backend, GMT_TORCH_BACKENDS, TERM)
TERMS(torch_silence, GMT_TORCH_SILENCES, TERM)
COUNTED(anomaly, GMT_ANOMALIES)
COUNTED(loss, GMT_LOSSES)
TERMS(purpose, GMT_PURPOSES, TERM)
TERMS(end, GMT_ENDS, TERM)
TERMS(shed, GMT_SHEDS, TERM)
TERMS(oom_outcome, GMT_OOM_OUTCOMES, TERM)
TERMS(oom_sign, GMT_OOM_SIGNS, TERM)
TERMS(unwind_reason, GMT_UNWIND_REASONS, REASON)
TERMS(py_reason, GMT_PY_REASONS, TERM)

static const struct { unsigned int kind; const char *name; } kinds[] = {
#define X(NAME, value, ...) { value, #NAME },
	GMT_KINDS(X)
#undef X
};

const char *gmt_kind_name(unsigned int kind)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return NULL;
}

unsigned int gmt_kind_find(const char *name, size_t size)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (strlen(kinds[i].name) == size && !strncasecmp(kinds[i].name, name, size))
			return kinds[i].kind;
	return 0;
}

const char *gmt_layer_name(size_t index, unsigned int *bit)
{
	static const struct { const char *name; unsigned int bit; } layers[] = {
#define X(NAME, bit, json) { json, bit },
		GMT_LAYERS(X)
#undef X
	};

	if (index >= COUNT(layers))
		return NULL;
	*bit = layers[index].bit;
	return layers[index].name;
}
