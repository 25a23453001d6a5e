// SPDX-License-Identifier: BSD-2-Clause
/*
 * Attaches a given BPF program to functions of a library, in the way that the collector attaches its own programs.
 * Prints "attached" and stays until standard input is closed; throws away what comes through a map named "ring".
 *
 *   empty BPF.O LIBCUDA                 on entry and return of cuMemAlloc_v2 and cuMemFree_v2
 *   empty BPF.O LIBCUDA cuMemAlloc_v2   on its entry only
 *   empty BPF.O LIBC10 fw_block     on the entry of what this program of the collector's is for
 */
#include <bpf/libbpf.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/terms/probes.h"
#include "live/probe/library.h"
#include "live/probe/uprobe.h"

#define PROBES_MAX 16

static const char *name_of(const struct library *library, const struct library_probe *probe)
{
	const struct library_kind *kind = library->kind;

	return kind->framework ? kind->hooks[probe->id - 1].program : gmt_probes[probe->id].symbol;
}

/* How many probes there are of these functions. */
static size_t find(const struct library *library, const char *const *names, uint64_t *offsets)
{
	size_t count = 0;

	for (uint32_t i = 0; i < library->probe_count; i++)
		for (const char *const *name = names; *name; name++)
			if (count < PROBES_MAX && !strcmp(name_of(library, &library->probes[i]), *name))
				offsets[count++] = library->probes[i].offset;
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
	static const char *const both[] = { "cuMemAlloc_v2", "cuMemFree_v2", NULL };
	const char *only[] = { argc == 4 ? argv[3] : NULL, NULL };
	uint64_t offsets[PROBES_MAX] = { 0 }, cookies[PROBES_MAX] = { 0 };
	struct uprobe_places places = { .path = argc > 2 ? argv[2] : NULL, .offsets = offsets, .cookies = cookies };
	struct uprobe_set *entries = NULL, *returns = NULL;
	bool multi = uprobe_has_multi(), is_both = argc == 3;
	struct bpf_object *object = NULL;
	struct bpf_program *program;
	struct library library;
	int status = 1, prog_fd;
	size_t count = 0;

	if (argc == 3 || argc == 4)
		if (!library_open(argv[2], library_kind_of(argv[2], strlen(argv[2])), &library))
			count = find(&library, is_both ? both : only, offsets);
	if (!count) {
		fprintf(stderr, "empty: no such probes\n");
		goto out;
	}
	object = bpf_object__open(argv[1]);
	if (!object)
		goto out;
	program = bpf_object__next_program(object, NULL);
	if (multi)
		bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH_TYPE);
	prog_fd = bpf_object__load(object) ? -1 : bpf_program__fd(program);
	places.count = count;
	places.at_return = true;
	if (prog_fd >= 0 && is_both && uprobe_attach(&returns, prog_fd, &places, multi))
		prog_fd = -1;
	places.at_return = false;
	if (prog_fd < 0 || uprobe_attach(&entries, prog_fd, &places, multi)) {
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
