/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the numbers of terms.h, fw.h, unwind.h and python.h are called: in JSON (_name), and for people (_text). A
 * number may come from a file of a newer version: a number that is in no list is "unknown".
 */
#ifndef GPUMEMTRACE_CORE_TERMS_NAMES_H
#define GPUMEMTRACE_CORE_TERMS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/terms.h>

const char *gmt_framework_name(unsigned int number);
const char *gmt_framework_text(unsigned int number);
const char *gmt_class_name(unsigned int number);
const char *gmt_class_text(unsigned int number);
const char *gmt_category_name(unsigned int number);
const char *gmt_category_text(unsigned int number);
const char *gmt_training_name(unsigned int number);
const char *gmt_training_text(unsigned int number);
const char *gmt_torch_backend_name(unsigned int number); /* NULL: JSON has null */
const char *gmt_torch_backend_text(unsigned int number);
const char *gmt_torch_silence_name(unsigned int number); /* likewise */
const char *gmt_torch_silence_text(unsigned int number);
const char *gmt_anomaly_name(unsigned int number);
const char *gmt_anomaly_text(unsigned int number, uint64_t count); /* to follow the count */
const char *gmt_loss_name(unsigned int number);
const char *gmt_loss_text(unsigned int number, uint64_t count); /* likewise */
const char *gmt_purpose_name(unsigned int number);
const char *gmt_purpose_text(unsigned int number);
const char *gmt_end_name(unsigned int number);
const char *gmt_end_text(unsigned int number);
const char *gmt_shed_name(unsigned int number);
const char *gmt_shed_text(unsigned int number);
const char *gmt_oom_outcome_name(unsigned int number);
const char *gmt_oom_outcome_text(unsigned int number);
const char *gmt_oom_sign_name(unsigned int number);
const char *gmt_oom_sign_text(unsigned int number);
const char *gmt_unwind_reason_name(unsigned int number);
const char *gmt_unwind_reason_text(unsigned int number);
const char *gmt_py_reason_name(unsigned int number);
const char *gmt_py_reason_text(unsigned int number);

/* Whether memory of the class is a GPU's memory and the process's own. */
static inline bool gmt_class_is_device(unsigned int number)
{
#define X(NAME, number, json, text, device) | (device) << (number)
	return number < GMT_CLASS_COUNT && (0u GMT_CLASSES(X)) >> number & 1;
#undef X
}

/* The name of a record kind in GMT_KINDS (wire.h), such as "FW_MEM"; NULL: not known. And the kind of a name, in upper
 * or lower case; 0: no kind has this name. */
const char *gmt_kind_name(unsigned int kind);
unsigned int gmt_kind_find(const char *name, size_t size);

/* The layers of enum gmt_layer in order, NULL-terminated by index: the JSON name, and the bit. */
const char *gmt_layer_name(size_t index, unsigned int *bit);

#endif
