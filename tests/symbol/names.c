// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints the answers of the symbol modules, which test_symbols.py compares with the answers of other tools. Lines on
 * stdin:
 *
 *   names FILE [DEBUG]  addresses (hex) -> "NAME\tFILE:LINE\tFILE:LINE..." ('-' unknown; innermost place first)
 *   names -f FILE [DEBUG]  likewise -> "NAME"
 *   names -d            mangled names   -> readable ones, with parameters
 *   names -s WIDTH      mangled names   -> short ones
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/demangle.h"
#include "symbol/elf/elfsym.h"
#include "symbol/elf/image.h"
#include "symbol/elf/lines.h"

static char line[65536], text[262144], name[ELFSYM_NAME_BYTES];

static void print_address(const struct elfsym *symbols, const struct image *image, struct lines *lines,
			  uint64_t vaddr)
{
	struct lines_place places[LINES_DEPTH];
	size_t count = lines ? lines_find(lines, vaddr, places, LINES_DEPTH) : 0;

	printf("%s", elfsym_find(symbols, image, vaddr, name) ? name : "-");
	for (size_t i = 0; i < count; i++)
		printf("\t%s:%u", places[i].file ? places[i].file : "-", places[i].line);
	putchar('\n');
}

static int print_names(const char *path, const char *debug_path, bool with_lines)
{
	struct image image, debug = { .fd = -1 };
	struct elfsym symbols;
	struct lines *lines = NULL;

	if (image_open(&image, open(path, O_RDONLY)) ||
	    (debug_path && image_open(&debug, open(debug_path, O_RDONLY))))
		return 1;
	elfsym_read(&symbols, &image, debug_path ? &debug : NULL);
	if (with_lines)
		lines = lines_open(&image);
	if (with_lines && !lines && debug_path)
		lines = lines_open(&debug);
	while (fgets(line, sizeof(line), stdin))
		print_address(&symbols, &image, lines, strtoull(line, NULL, 16));
	lines_close(lines);
	elfsym_fini(&symbols);
	image_close(&image);
	image_close(&debug);
	return 0;
}

int main(int argc, char **argv)
{
	size_t width = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc > 2 && !strcmp(argv[1], "-f"))
		return print_names(argv[2], argv[3], false);
	if (argc > 1 && argv[1][0] != '-')
		return print_names(argv[1], argv[2], true);
	while (argc > 1 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(argv[1], "-d"))
			demangle(line, true, text, sizeof(text));
		else
			demangle_short(line, width, text, sizeof(text));
		puts(text);
	}
	return argc < 2;
}
