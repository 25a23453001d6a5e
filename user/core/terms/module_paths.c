// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/module_paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define STEPS_SHOWN 12
#define NAME_BYTES 80        /* of a step */
#define FORWARD "forward"

void module_paths_init(struct module_paths *paths)
{
	*paths = (struct module_paths){ .list = xcalloc(1, sizeof(*paths->list)), .count = 1 };
	hash_init(&paths->by_step, sizeof(uint32_t));
}

void module_paths_fini(struct module_paths *paths)
{
	hash_fini(&paths->by_step);
	free(paths->list);
	*paths = (struct module_paths){ 0 };
}

/* Whether the function is `name`, or the method `name` of a class. */
static bool has_name(const char *function, const char *name)
{
	size_t len = strlen(function), name_len = strlen(name);

	return len >= name_len && !strcmp(function + len - name_len, name) &&
	       (len == name_len || function[len - name_len - 1] == '.');
}

/* Source: torch/nn/modules/module.py of PyTorch 1.13 and 2.11. */
enum module_role module_paths_role(const char *function, const char *file)
{
	if (has_name(function, FORWARD))
		return MODULE_ROLE_FORWARD;
	return has_name(function, "_call_impl") && strstr(file, "/torch/nn/modules/module.py") ? MODULE_ROLE_CALL
												: MODULE_ROLE_NONE;
}

const char *module_paths_class(const char *function, const char *file, size_t *len)
{
	const char *name = basename(file);

	*len = strlen(function) - strlen(FORWARD);
	if (!*len) {
		*len = strlen(name);
		return name;
	}
	--*len; /* the point */
	return function;
}

static bool is_step(const struct module_step *step, uint32_t parent, const char *name, size_t len)
{
	return step->parent == parent && step->len == len && !memcmp(step->name, name, len);
}

uint32_t module_paths_step(struct module_paths *paths, uint32_t parent, const char *name, size_t len)
{
	uint64_t hash = hash_of_bytes(hash_seed(&paths->by_step), &parent, sizeof(parent));
	uint32_t *head;

	hash = hash_of_bytes(hash, name, len);
	head = hash_get(&paths->by_step, hash);
	for (uint32_t i = head ? *head : 0; i; i = paths->list[i].next)
		if (is_step(&paths->list[i], parent, name, len))
			return i;
	if (paths->count >= MODULE_PATHS_MAX) {
		paths->dropped++;
		return parent;
	}
	head = hash_put(&paths->by_step, hash, NULL);
	paths->list = xgrow(paths->list, paths->count, sizeof(*paths->list));
	paths->list[paths->count] = (struct module_step){ parent, *head, name, len };
	*head = paths->count;
	return paths->count++;
}

static void append_bytes(char **at, const char *text, size_t len)
{
	memcpy(*at, text, len);
	*at += len;
	**at = '\0';
}

char *module_paths_text(const struct module_paths *paths, uint32_t path)
{
	char *text = xmalloc(STEPS_SHOWN * (NAME_BYTES + strlen(MODULE_PATHS_BETWEEN)) +
			     strlen(MODULE_PATHS_LEFT_OUT) + 1), *at = text;
	uint32_t shown[STEPS_SHOWN], count = 0;

	*text = '\0';
	for (; path && count < STEPS_SHOWN; path = paths->list[path].parent)
		shown[count++] = path;
	if (path)
		append_bytes(&at, MODULE_PATHS_LEFT_OUT, strlen(MODULE_PATHS_LEFT_OUT));
	while (count--) {
		const struct module_step *step = &paths->list[shown[count]];

		append_bytes(&at, step->name, step->len < NAME_BYTES ? step->len : NAME_BYTES);
		if (count)
			append_bytes(&at, MODULE_PATHS_BETWEEN, strlen(MODULE_PATHS_BETWEEN));
	}
	return text;
}
