// SPDX-License-Identifier: BSD-2-Clause
/*
 * Empty probes on entry and return of cuMemAlloc_v2 and cuMemFree_v2 of a file, attached as the
 * collector attaches its own. Prints "attached" and stays until standard input is closed.
 *
 *   empty EMPTY.BPF.O LIBCUDA
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/probes.h"
#include "live/library.h"
#include "live/uprobe.h"

#define PROBES 2

static size_t find(const struct library *library, uint64_t *offsets)
{
	size_t count = 0;

	for (uint32_t i = 0; i < library->probe_count; i++) {
		const char *symbol = gmt_probes[library->probes[i].id].symbol;

		if (!strcmp(symbol, "cuMemAlloc_v2") || !strcmp(symbol, "cuMemFree_v2"))
			offsets[count++] = library->probes[i].offset;
	}
	return count;
}

int main(int argc, char **argv)
{
	uint64_t offsets[PROBES + 2] = { 0 }, cookies[PROBES + 2] = { 0 };
	struct uprobe_set *entries = NULL, *returns = NULL;
	struct bpf_object *object = NULL;
	struct bpf_program *program;
	struct library library;
	bool multi = uprobe_has_multi();
	int status = 1;

	if (argc != 3 || library_open(argv[2], LIBRARY_CUDA, &library) || find(&library, offsets) != PROBES) {
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
	    uprobe_attach(&returns, bpf_program__fd(program), argv[2], offsets, cookies, PROBES, true, multi) ||
	    uprobe_attach(&entries, bpf_program__fd(program), argv[2], offsets, cookies, PROBES, false, multi)) {
		fprintf(stderr, "empty: the probes could not be attached\n");
		goto out;
	}
	puts("attached");
	fflush(stdout);
	(void)!read(STDIN_FILENO, &status, 1);
	status = 0;
out:
	uprobe_detach(entries);
	uprobe_detach(returns);
	bpf_object__close(object);
	return status;
}
