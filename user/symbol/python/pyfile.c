// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/python/pyfile.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "symbol/python/eval_parts.h"

#define EVAL_NAME "_PyEval_EvalFrameDefault"
#define EVAL_BYTES_MAX (1u << 20)   /* of a part; 3.12.1's has 51 KB */
#define TOO_MANY (GMT_PY_EVAL_RANGES + 1) /* parts, or a part that is too large: the frames in it would not be known */
#define SCAN_BYTES (1u << 16)
#define SCAN_MAX (256u << 20)

/* The name of a symbol; "" if the symbol is not defined here. */
static const char *name_of_symbol(const struct image_symbols *table, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value || symbol->st_name >= table->names_size)
		return "";
	return table->names + symbol->st_name;
}

size_t pyfile_symbols(const struct image *image, struct pyfile_symbol *symbols, size_t count)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		symbols[i].vaddr = symbols[i].size = 0;
	for (size_t t = 0; t < 2 && found < count; t++) {
		struct image_symbols table;
		bool is_loaded = image_symbols(image, types[t], &table);

		for (size_t s = 0; is_loaded && s < table.count; s++) {
			const char *name = name_of_symbol(&table, &table.list[s]);

			for (size_t i = 0; name[0] && i < count; i++) {
				if (symbols[i].vaddr || strcmp(symbols[i].name, name))
					continue;
				symbols[i].vaddr = table.list[s].st_value;
				symbols[i].size = table.list[s].st_size;
				found++;
			}
		}
		image_symbols_free(&table);
	}
	return found;
}

static bool is_in_range(const struct gmt_py_range *range, uint64_t vaddr)
{
	return vaddr >= range->start && vaddr < range->end;
}

static size_t add_eval_range(struct gmt_py_range *ranges, size_t count, uint64_t start, uint64_t size)
{
	if (!size || count == TOO_MANY)
		return count;
	for (size_t i = 0; i < count; i++) {
		if (is_in_range(&ranges[i], start))
			return count;
	}
	if (size > EVAL_BYTES_MAX || count == GMT_PY_EVAL_RANGES)
		return TOO_MANY;
	ranges[count] = (struct gmt_py_range){ start, start + size };
	return count + 1;
}

/* Adds the parts that have names of their own: .cold of GCC, .cold.0 and .org.0 of BOLT, .lto_priv.0 of ld. */
static size_t add_named(const struct image *image, struct gmt_py_range *ranges, size_t count, bool *has_names)
{
	size_t len = strlen(EVAL_NAME);
	struct image_symbols table;

	*has_names = image_symbols(image, SHT_SYMTAB, &table);
	for (size_t s = 0; *has_names && s < table.count; s++) {
		const char *name = name_of_symbol(&table, &table.list[s]);

		if (!strncmp(name, EVAL_NAME, len) && name[len] == '.')
			count = add_eval_range(ranges, count, table.list[s].st_value, table.list[s].st_size);
	}
	image_symbols_free(&table);
	return count;
}

/* Adds the parts that only jumps lead to. */
static size_t add_unnamed(const struct image *image, struct gmt_py_range *ranges, size_t count)
{
	struct gmt_py_range parts[EVAL_PARTS_MAX];
	size_t found = eval_parts(image, &ranges[0], parts);

	for (size_t i = 0; i < found; i++)
		count = add_eval_range(ranges, count, parts[i].start, parts[i].end - parts[i].start);
	return count;
}

size_t pyfile_eval_ranges(const struct image *image, struct gmt_py_range ranges[GMT_PY_EVAL_RANGES])
{
	struct pyfile_symbol eval = { .name = EVAL_NAME };
	size_t count;
	uint64_t start;
	bool has_names;

	if (!pyfile_symbols(image, &eval, 1) || !image_code_at(image, eval.vaddr))
		return 0;
	if (!eval.size && (!image_fde(image, eval.vaddr, &start, &eval.size) || start != eval.vaddr))
		return 0;
	count = add_eval_range(ranges, 0, eval.vaddr, eval.size);
	if (count != TOO_MANY)
		count = add_named(image, ranges, count, &has_names);
	if (count != TOO_MANY && !has_names)
		count = add_unnamed(image, ranges, count);
	return count != TOO_MANY ? count : 0;
}

/* The number at the start of a text; 0 if it cannot be a minor version. */
static unsigned int minor_at(const char *text)
{
	char *end;
	unsigned long minor = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	return minor && minor < 100 ? (unsigned int)minor : 0;
}

unsigned int pyfile_minor_of_path(const char *path)
{
	const char *name = basename(path);

	if (!strncmp(name, "lib", 3))
		name += 3;
	return strncmp(name, "python3.", 8) ? 0 : minor_at(name + 8);
}

/* "lib/python3.8" or "python3.9", with which getpath.c looks for the library, or the DT_SONAME
 * "libpython3.10.so.1.0". 3.11 and newer have Py_Version. */
static unsigned int minor_in(const char *bytes, size_t size)
{
	static const char sign[] = "python3.";
	const char *at = bytes, *end = bytes + size;

	while ((at = memmem(at, (size_t)(end - at), sign, sizeof(sign) - 1))) {
		unsigned int minor = 0;
		size_t digits;

		at += sizeof(sign) - 1;
		if (!memchr(at, '\0', (size_t)(end - at)))
			break;
		digits = strspn(at, "0123456789");
		if (!at[digits] || !strncmp(at + digits, ".so", 3))
			minor = minor_at(at);
		if (minor && minor < 11)
			return minor;
	}
	return 0;
}

unsigned int pyfile_minor(const struct image *image)
{
	char *bytes = xmalloc(SCAN_BYTES);
	unsigned int minor = 0;

	for (uint32_t i = 0; i < image->segment_count && !minor; i++) {
		const struct image_segment *segment = &image->segments[i];

		/* Pieces overlap, so that no string is cut. */
		for (uint64_t at = 0; at < segment->file_size && at < SCAN_MAX && !minor; at += SCAN_BYTES - 64) {
			uint64_t left = segment->file_size - at;
			size_t size = left < SCAN_BYTES ? (size_t)left : SCAN_BYTES;

			if (!image_read(image, segment->offset + at, bytes, size))
				break;
			minor = minor_in(bytes, size);
		}
	}
	free(bytes);
	return minor;
}
