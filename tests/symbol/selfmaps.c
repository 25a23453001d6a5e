// SPDX-License-Identifier: BSD-2-Clause
/* See selfmaps.h. */
#include "selfmaps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/elf/image.h"
#include "symbol/unwind/unwind_table.h"

static bool open_image(struct image *image, const char *path, uint64_t start, uint64_t end)
{
	if (!strcmp(path, "[vdso]"))
		return !image_open_bytes(image, (const void *)(uintptr_t)start, end - start, NULL);
	return path[0] == '/' && !image_open(image, open(path, O_RDONLY | O_CLOEXEC));
}

static void add_module(struct self_tables *tables, const char *path, uint64_t offset, struct gmt_unwind_mapping *mapping)
{
	struct unwind_table table = { 0 };
	struct image image;

	mapping->flags = path[0] ? 0 : GMT_UNWIND_MAP_JIT;
	if (!open_image(&image, path, mapping->start, mapping->end))
		return;
	if (!unwind_table_build(&image, &table) && unwind_table_check(&table) &&
	    unwind_table_map(&image, mapping->start, mapping->end, offset, mapping)) {
		size_t count = table.pages + table.rows;

		tables->words = xreallocarray(tables->words, tables->word_count + count, sizeof(*tables->words));
		memcpy(tables->words + tables->word_count, table.words, unwind_table_bytes(&table));
		mapping->slot = tables->word_count;
		mapping->pages = table.pages;
		mapping->flags = GMT_UNWIND_MAP_TABLE;
		tables->word_count += (__u32)count;
		tables->vdso |= path[0] == '[';
	}
	unwind_table_fini(&table);
	image_close(&image);
}

void self_tables_build(struct self_tables *tables)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[4400];

	self_tables_fini(tables);
	while (file && fgets(line, sizeof(line), file) && tables->count < SELF_MAPPINGS) {
		uint64_t start, end, offset;
		char access[5], path[4097] = "";

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4096[^\n]", &start, &end, access,
			   &offset, path) < 4 || access[2] != 'x' || !strcmp(path, "[vsyscall]") || !strcmp(path, "[uprobes]"))
			continue;
		tables->mappings[tables->count] = (struct gmt_unwind_mapping){ .start = start, .end = end };
		add_module(tables, path, offset, &tables->mappings[tables->count++]);
	}
	if (file)
		fclose(file);
}

void self_tables_fini(struct self_tables *tables)
{
	free(tables->words);
	*tables = (struct self_tables){ 0 };
}
