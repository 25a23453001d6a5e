/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What PyTorch's viewer does with a snapshot: goes back over the events, from the end to the beginning, and
 * chokes when something ends that is there already, begins that is not there then, or when a block is in no
 * segment.
 */
#ifndef GPUMEMTRACE_TESTS_VIEWER_H
#define GPUMEMTRACE_TESTS_VIEWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "core/snapshot/snapshot.h"

struct viewer_list {
	struct { uint64_t base, size; } *list;
	size_t count;
};

static void viewer_put(struct viewer_list *l, uint64_t base, uint64_t size)
{
	l->list = xreallocarray(l->list, l->count + 1, sizeof(*l->list));
	l->list[l->count].base = base;
	l->list[l->count++].size = size;
}

/* The one that holds all of [base, base + size); l->count without one. */
static size_t viewer_find(const struct viewer_list *l, uint64_t base, uint64_t size)
{
	size_t i = 0;

	while (i < l->count && (base < l->list[i].base || base + size > l->list[i].base + l->list[i].size))
		i++;
	return i;
}

static bool viewer_has(const struct viewer_list *l, uint64_t base, uint64_t size)
{
	return viewer_find(l, base, size) < l->count;
}

/* Exactly this one. False: it is not there. */
static bool viewer_take(struct viewer_list *l, uint64_t base, uint64_t size)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->list[i].base != base || l->list[i].size != size)
			continue;
		l->list[i] = l->list[--l->count];
		return true;
	}
	return false;
}

/* Joined with the two that it touches. */
static void viewer_join(struct viewer_list *l, uint64_t base, uint64_t size)
{
	uint64_t end = base + size;

	for (size_t i = 0; i < l->count; i++) {
		if (l->list[i].base != end)
			continue;
		size += l->list[i].size;
		l->list[i] = l->list[--l->count];
		break;
	}
	for (size_t i = 0; i < l->count; i++) {
		if (l->list[i].base + l->list[i].size != base)
			continue;
		base = l->list[i].base;
		size += l->list[i].size;
		l->list[i] = l->list[--l->count];
		break;
	}
	viewer_put(l, base, size);
}

static bool viewer_cut(struct viewer_list *l, uint64_t base, uint64_t size)
{
	size_t i = viewer_find(l, base, size);
	uint64_t from, end;

	if (i == l->count)
		return false;
	from = l->list[i].base;
	end = from + l->list[i].size;
	l->list[i] = l->list[--l->count];
	if (base > from)
		viewer_put(l, from, base - from);
	if (base + size < end)
		viewer_put(l, base + size, end - base - size);
	return true;
}

struct viewer {
	struct viewer_list segments, blocks;
};

/* NULL, or what it chokes on. */
static const char *viewer_back(struct viewer *v, const struct snapshot_event *e)
{
	uint64_t at = e->address, size = e->size;

	switch (e->action) {
	case SNAPSHOT_FREE_COMPLETED:
		if (viewer_has(&v->blocks, at, 1))
			return "a block ends that lives on";
		viewer_put(&v->blocks, at, size);
		return NULL;
	case SNAPSHOT_FREE_REQUESTED:
		return viewer_has(&v->blocks, at, size) ? NULL : "a block is freed that is not there";
	case SNAPSHOT_ALLOC:
		return viewer_take(&v->blocks, at, size) ? NULL : "a block begins that is not there then";
	case SNAPSHOT_SEGMENT_FREE:
		if (viewer_has(&v->segments, at, 1))
			return "a segment ends that lives on";
		viewer_put(&v->segments, at, size);
		return NULL;
	case SNAPSHOT_SEGMENT_ALLOC:
		return viewer_take(&v->segments, at, size) ? NULL : "a segment begins that is not there then";
	case SNAPSHOT_SEGMENT_UNMAP:
		if (viewer_has(&v->segments, at, 1))
			return "a piece is unmapped that lives on";
		viewer_join(&v->segments, at, size);
		return NULL;
	case SNAPSHOT_SEGMENT_MAP:
		return viewer_cut(&v->segments, at, size) ? NULL : "a piece is mapped that is not there then";
	default:
		return NULL;
	}
}

/* The end: blocks cover their segments. */
static const char *viewer_begin(struct viewer *v, const struct snapshot *s, unsigned int device)
{
	for (size_t i = 0; i < s->segment_count; i++) {
		const struct snapshot_segment *g = &s->segments[i];
		uint64_t at = g->address, active = 0;

		for (size_t b = g->first_block; b < g->first_block + g->block_count; b++) {
			const struct snapshot_block *k = &s->blocks[b];

			if (k->address != at || !k->size)
				return "a segment's blocks do not follow each other";
			at += k->size;
			active += k->active ? k->size : 0;
			if (k->active && g->device == device)
				viewer_put(&v->blocks, k->address, k->size);
		}
		if (at != g->address + g->size || active != g->active || g->device >= s->device_count)
			return "a segment's blocks do not cover it";
		if (g->device == device)
			viewer_put(&v->segments, g->address, g->size);
	}
	return NULL;
}

static const char *viewer_device(struct viewer *v, const struct snapshot *s, unsigned int device)
{
	const char *wrong = viewer_begin(v, s, device);

	for (size_t i = s->event_count; i-- > 0 && !wrong;) {
		if (s->events[i].device != device)
			continue;
		wrong = viewer_back(v, &s->events[i]);
		for (size_t b = 0; b < v->blocks.count && !wrong; b++)
			if (!viewer_has(&v->segments, v->blocks.list[b].base, 1))
				wrong = "a block is in no segment";
	}
	return wrong;
}

/* NULL: nothing is wrong with any device. */
__attribute__((unused)) static const char *viewer_problem(const struct snapshot *s)
{
	const char *wrong = NULL;

	for (unsigned int device = 0; device < s->device_count && !wrong; device++) {
		struct viewer v = { 0 };

		wrong = viewer_device(&v, s, device);
		free(v.segments.list);
		free(v.blocks.list);
	}
	return wrong;
}

#endif
