/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects behind CUDA handles: one arena that never moves or shrinks, so a handle can be checked
 * before it is used. The last one freed is the first one given out again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "standin.h"

#define OBJECTS (1UL << 20)
#define BODY offsetof(struct object, vmm)

static struct {
	struct object *base;
	size_t count;           /* ever used */
	struct object *free;
} arena;

void *object_new(enum object_type type)
{
	struct object *object = arena.free;

	if (!arena.base) {
		arena.base = mmap(NULL, OBJECTS * sizeof(*object), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena.base == MAP_FAILED)
			abort();
	}
	if (object)
		arena.free = object->next_free;
	else if (arena.count < OBJECTS)
		object = &arena.base[arena.count++];
	else
		abort();
	memset(object, 0, sizeof(*object));
	object->type = type;
	return (char *)object + BODY;
}

void *object_get(const void *handle, enum object_type type)
{
	size_t offset = (size_t)((const char *)handle - (const char *)arena.base) - BODY;

	if (!arena.base || offset % sizeof(struct object) || offset / sizeof(struct object) >= arena.count)
		return NULL;
	return arena.base[offset / sizeof(struct object)].type == type ? (void *)handle : NULL;
}

void object_delete(void *body)
{
	struct object *object = (struct object *)((char *)body - BODY);

	object->type = OBJECT_FREE;
	object->next_free = arena.free;
	arena.free = object;
}

void object_each(enum object_type type, void (*fn)(void *body, void *arg), void *arg)
{
	for (size_t i = 0; i < arena.count; i++)
		if (arena.base[i].type == type)
			fn((char *)&arena.base[i] + BODY, arg);
}
