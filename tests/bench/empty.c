// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program of its own on entry and return of cuMemAlloc_v2 and cuMemFree_v2 of a file, attached as the
 * collector attaches its own. Prints "attached" and stays until standard input is closed; what comes
 * through a map named "ring" is thrown away.
 *
 *   empty EMPTY.BPF.O LIBCUDA
 *   empty COPY.BPF.O LIBCUDA alloc      on the entry of cuMemAlloc_v2 only
 */
#include <bpf/libbpf.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/probes.h"
#include "live/library.h"
#include "live/uprobe.h"

#define PROBES 2

static size_t find(const struct library *library, uint64_t *offsets, bool alloc_only)
{
	size_t count = 0;

	for (uint32_t i = 0; i < library->probe_count; i++) {
		const char *symbol = gmt_probes[library->probes[i].id].symbol;

		if (!strcmp(symbol, "cuMemAlloc_v2") || (!alloc_only && !strcmp(symbol, "cuMemFree_v2")))
			offsets[count++] = library->probes[i].offset;
	}
	return count;
}

static int drop(void *ctx, void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return 0;
}

/* Until standard input is closed. */
static void stay(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "ring");
	struct ring_buffer *ring = map ? ring_buffer__new(bpf_map__fd(map), drop, NULL, NULL) : NULL;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!poll(&in, 1, ring ? 1 : -1))
		ring_buffer__consume(ring);
	ring_buffer__free(ring);
}

int main(int argc, char **argv)
{
	uint64_t offsets[PROBES + 2] = { 0 }, cookies[PROBES + 2] = { 0 };
	struct uprobe_set *entries = NULL, *returns = NULL;
	struct bpf_object *object = NULL;
	struct bpf_program *program;
	struct library library;
	bool multi = uprobe_has_multi(), alloc_only = argc == 4;
	size_t count = alloc_only ? 1 : PROBES;
	int status = 1;

	if (argc < 3 || argc > 4 || library_open(argv[2], LIBRARY_CUDA, &library) || find(&library, offsets, alloc_only) != count) {
		fprintf(stderr, "empty: no such probes\n");
		goto out;
	}
	object = bpf_object__open(argv[1]);
	if (!object)
		goto out;
	program = bpf_object__next_program(object, NULL);
	if (multi)
		bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH_TYPE);
	if (bpf_object__load(object) ||
	    (!alloc_only &&
	     uprobe_attach(&returns, bpf_program__fd(program), argv[2], offsets, cookies, count, true, multi)) ||
	    uprobe_attach(&entries, bpf_program__fd(program), argv[2], offsets, cookies, count, false, multi)) {
		fprintf(stderr, "empty: the probes could not be attached\n");
		goto out;
	}
	puts("attached");
	fflush(stdout);
	stay(object);
	status = 0;
out:
	uprobe_detach(entries);
	uprobe_detach(returns);
	bpf_object__close(object);
	return status;
}
