/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that view.h, category.h, api.h, wire.h, unwind.h and python.h give to their lists; "?" for a value
 * outside of one. */
#include "core/view/view.h"

#include "base/human.h"

static const struct {
	const char *name, *text;
	bool is_device;
} classes[] = {
#define X(name, json, text, device) { json, text, device },
	GMT_CLASSES(X)
#undef X
};

static const struct {
	const char *name, *one, *many;
} anomalies[] = {
#define X(name, json, one, many) { json, one, many },
	GMT_ANOMALIES(X)
#undef X
};

static const struct {
	const char *name, *text;
} purposes[] = {
#define X(name, json, text) { json, text },
	GMT_PURPOSES(X)
#undef X
}, torch_backends[] = {
#define X(name, json, text) { json, text },
	GMT_TORCH_BACKENDS(X)
#undef X
}, torch_silences[] = {
#define X(name, json, text) { json, text },
	GMT_TORCH_SILENCES(X)
#undef X
}, trainings[] = {
#define X(name, json, text) { json, text },
	GMT_TRAINING_PHASES(X)
#undef X
}, categories[] = {
#define X(name, json, text) { json, text },
	GMT_CATEGORIES(X)
#undef X
};

static const struct {
	const char *one, *many;
} loss_texts[] = {
#define X(name, one, many) { one, many },
	GMT_LOSSES(X)
#undef X
};

static const char *const unwind_texts[] = {
#define X(name, value, complete, text) [value] = text,
	GMT_UNWIND_REASONS(X)
#undef X
};

/* These are written in capitals. The longest has 16 characters. */
#define NAME_MAX_CHARS 20
#define AT(s, i) (s)[(i) < sizeof(s) ? (i) : sizeof(s) - 1]
#define LOWER(s, i) (AT(s, i) >= 'A' && AT(s, i) <= 'Z' ? AT(s, i) - 'A' + 'a' : AT(s, i))
#define LOWER_4(s, i) LOWER(s, i), LOWER(s, (i) + 1), LOWER(s, (i) + 2), LOWER(s, (i) + 3)

#define LOWER_NAME(s) { LOWER_4(s, 0), LOWER_4(s, 4), LOWER_4(s, 8), LOWER_4(s, 12), LOWER_4(s, 16) }

static const char loss_names[][NAME_MAX_CHARS + 1] = {
#define X(name, one, many) LOWER_NAME(#name),
	GMT_LOSSES(X)
#undef X
};

static const char unwind_names[][NAME_MAX_CHARS + 1] = {
#define X(name, value, complete, text) [value] = LOWER_NAME(#name),
	GMT_UNWIND_REASONS(X)
#undef X
};

static const char py_names[][NAME_MAX_CHARS + 1] = {
#define X(name, value, text) [value] = LOWER_NAME(#name),
	GMT_PY_REASONS(X)
#undef X
};

#define X(name, ...) _Static_assert(sizeof(#name) <= NAME_MAX_CHARS + 1, #name);
GMT_LOSSES(X)
GMT_UNWIND_REASONS(X)
GMT_PY_REASONS(X)
#undef X

#define PICK(list, i, what) ((size_t)(i) < sizeof(list) / sizeof((list)[0]) ? (list)[i].what : "?")

const char *gmt_class_name(enum gmt_class class)
{
	return PICK(classes, class, name);
}

const char *gmt_class_text(enum gmt_class class)
{
	return PICK(classes, class, text);
}

bool gmt_class_is_device(enum gmt_class class)
{
	return (size_t)class < sizeof(classes) / sizeof(classes[0]) && classes[class].is_device;
}

const char *gmt_anomaly_name(enum gmt_anomaly anomaly)
{
	return PICK(anomalies, anomaly, name);
}

const char *gmt_anomaly_text(enum gmt_anomaly anomaly, uint64_t count)
{
	return human_plural(count, PICK(anomalies, anomaly, one), PICK(anomalies, anomaly, many));
}

const char *gmt_purpose_name(enum gmt_purpose purpose)
{
	return PICK(purposes, purpose, name);
}

const char *gmt_purpose_text(enum gmt_purpose purpose)
{
	return PICK(purposes, purpose, text);
}

const char *gmt_torch_backend_name(enum gmt_torch_backend backend)
{
	return PICK(torch_backends, backend, name);
}

const char *gmt_torch_silence_name(enum gmt_torch_silence silence)
{
	return PICK(torch_silences, silence, name);
}

const char *gmt_torch_silence_text(enum gmt_torch_silence silence)
{
	return PICK(torch_silences, silence, text);
}

const char *gmt_training_name(enum gmt_training phase)
{
	return PICK(trainings, phase, name);
}

const char *gmt_training_text(enum gmt_training phase)
{
	return PICK(trainings, phase, text);
}

const char *gmt_category_name(enum gmt_category category)
{
	return PICK(categories, category, name);
}

const char *gmt_category_text(enum gmt_category category)
{
	return PICK(categories, category, text);
}

const char *gmt_torch_backend_text(enum gmt_torch_backend backend)
{
	return PICK(torch_backends, backend, text);
}

#define PICK_TEXT(list, i) ((size_t)(i) < sizeof(list) / sizeof((list)[0]) ? (list)[i] : "?")

const char *gmt_loss_name(enum gmt_loss_cause cause)
{
	return PICK_TEXT(loss_names, cause);
}

const char *gmt_loss_text(enum gmt_loss_cause cause, uint64_t count)
{
	return human_plural(count, PICK(loss_texts, cause, one), PICK(loss_texts, cause, many));
}

const char *gmt_unwind_reason_name(enum gmt_unwind_reason reason)
{
	return PICK_TEXT(unwind_names, reason);
}

const char *gmt_unwind_reason_text(enum gmt_unwind_reason reason)
{
	return PICK_TEXT(unwind_texts, reason);
}

const char *gmt_py_reason_name(enum gmt_py_reason reason)
{
	return PICK_TEXT(py_names, reason);
}

