// SPDX-License-Identifier: BSD-2-Clause
/* See library.h. Symbols are found through sections, not PT_DYNAMIC: every libcuda seen has sections but no .symtab. */
#include "live/probe/library.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/terms/probes.h"
#include "symbol/elf/image.h"

/* The first instruction of a function built with -fcf-protection. Linux 6.18 and older kernels single-step an
 * endbr64. In a VM that costs ten times as much as a `push`. The next instruction is cheaper to probe. */
static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct name {
	const char *symbol;      /* a hook's: a pattern */
	size_t literal;          /* bytes before the pattern's first special character: where most names differ */
	uint16_t id;
};

struct reader {
	struct library *lib;
	struct image image;
	const struct library_kind *kind;
	struct name names[GMT_API_MAX];    /* without hooks: sorted by symbol */
	size_t name_count;
	uint64_t offset[GMT_API_MAX];      /* by id; 0: not found (offset 0 is the ELF header) */
	uint64_t size[GMT_API_MAX];
};

__attribute__((format(printf, 2, 3))) static int say_damaged(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->lib->why, sizeof(r->lib->why), format, args);
	va_end(args);
	return -ENOEXEC;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->symbol, ((const struct name *)b)->symbol);
}

static const char *wanted_symbol(const struct reader *r, uint16_t id)
{
	if (!r->kind->framework)
		return gmt_probes[id].symbol;
	return id && id <= r->kind->hook_count ? r->kind->hooks[id - 1].pattern : NULL;
}

static void list_names(struct reader *r)
{
	for (uint16_t id = 1; id < GMT_API_MAX; id++) {
		const char *symbol = wanted_symbol(r, id);

		if (symbol)
			r->names[r->name_count++] = (struct name){ symbol, strcspn(symbol, "*?[\\"), id };
	}
	if (!r->kind->framework)
		qsort(r->names, r->name_count, sizeof(r->names[0]), compare_names);
}

/* The row or hook for a symbol; NULL: there is none. */
static const struct name *find_name(const struct reader *r, const char *symbol)
{
	if (!r->kind->framework)
		return bsearch(&(struct name){ .symbol = symbol }, r->names, r->name_count, sizeof(r->names[0]),
			       compare_names);
	for (size_t i = 0; i < r->name_count; i++) {
		if (!strncmp(r->names[i].symbol, symbol, r->names[i].literal) &&
		    !fnmatch(r->names[i].symbol, symbol, 0))
			return &r->names[i];
	}
	return NULL;
}

static int check_code(struct reader *r)
{
	bool has_code = false;

	for (uint32_t i = 0; i < r->image.segment_count; i++) {
		const struct image_segment *segment = &r->image.segments[i];

		has_code |= segment->executable;
		if (segment->executable && (segment->offset > r->image.size ||
					    segment->file_size > r->image.size - segment->offset))
			return say_damaged(r, "cut off: the code extends beyond the end of the file");
	}
	return has_code ? 0 : say_damaged(r, "no executable segment");
}

static bool is_defined_function(const Elf64_Sym *sym)
{
	/* STT_GNU_IFUNC is left out: its address is the resolver's, not the function's */
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && sym->st_value &&
	       ELF64_ST_TYPE(sym->st_info) == STT_FUNC;
}

/* A library that exports next to nothing has local functions. Parts of a function are local, too, with longer names
 * that a pattern may match: a local function must have the exact name. */
static bool is_bound(const struct reader *r, const Elf64_Sym *sym, const struct name *name)
{
	unsigned char bind = ELF64_ST_BIND(sym->st_info);

	return bind == STB_GLOBAL || bind == STB_WEAK ||
	       (bind == STB_LOCAL && r->kind->framework && !name->symbol[name->literal]);
}

static void take_symbols(struct reader *r, const struct image_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const Elf64_Sym *symbol = &symbols->list[i];
		const struct name *name;

		if (!is_defined_function(symbol) || symbol->st_name >= symbols->names_size)
			continue;
		name = find_name(r, symbols->names + symbol->st_name);
		if (name && is_bound(r, symbol, name) && !r->offset[name->id]) {
			r->offset[name->id] = image_offset(&r->image, symbol->st_value, true);
			r->size[name->id] = symbol->st_size;
		}
	}
}

static int read_symbol_table(struct reader *r, uint32_t type)
{
	struct image_symbols symbols;
	bool is_read = image_symbols(&r->image, type, &symbols);

	if (is_read)
		take_symbols(r, &symbols);
	image_symbols_free(&symbols);
	return is_read ? 0 : say_damaged(r, "the symbol table is damaged, too large or has no names");
}

/* The table of local symbols in libtorch_cpu has 100 MB. It is not read if the exported symbols had the hooks. */
static bool has_hooks(const struct reader *r)
{
	for (size_t i = 0; i < r->name_count; i++)
		if (r->offset[r->names[i].id])
			return r->kind->framework;
	return false;
}

static int read_symbol_tables(struct reader *r)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	bool any = false;

	/* Most files end with the names of sections: without the names, sections are missing, too. */
	if (!r->image.section_names)
		return say_damaged(r, "no section headers");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const Elf64_Shdr *table = image_section(&r->image, NULL, types[i]);

		if (!table || has_hooks(r))
			continue;
		any = true;
		if (table->sh_size && read_symbol_table(r, types[i]))
			return -ENOEXEC;
	}
	return any ? 0 : say_damaged(r, "no symbols");
}

static bool starts_with_endbr64(const struct reader *r, uint64_t offset)
{
	unsigned char first[sizeof(endbr64) + 1]; /* one more byte: an instruction must follow */

	return r->image.machine == EM_X86_64 && image_read(&r->image, offset, first, sizeof(first)) &&
	       !memcmp(first, endbr64, sizeof(endbr64));
}

static bool is_offset_seen(const struct reader *r, uint16_t id)
{
	/* 200 rows: 20,000 comparisons at most, less than sorting them would cost in code */
	for (uint16_t i = 1; i < id; i++) {
		if (r->offset[i] == r->offset[id])
			return true;
	}
	return false;
}

static bool is_one(const struct reader *r)
{
	if (r->kind->framework)
		return r->lib->probe_count;
	return r->offset[GMT_API_cuMemAlloc_v2] ||
	       (r->offset[GMT_API_cuInit] && r->offset[GMT_API_cuMemCreate]);
}

static void make_probes(struct reader *r)
{
	struct library *lib = r->lib;

	for (uint16_t id = 1; id < GMT_API_MAX; id++) {
		struct library_probe *probe = &lib->probes[lib->probe_count];

		if (!wanted_symbol(r, id))
			continue;
		if (!r->offset[id]) {
			lib->absent += !r->kind->framework || !r->kind->hooks[id - 1].is_variant;
		} else if (is_offset_seen(r, id)) {
			lib->aliased++; /* one address, one probe: the first row has the newest signature */
		} else {
			*probe = (struct library_probe){ .id = id, .offset = r->offset[id] };
			if ((!r->size[id] || r->size[id] > sizeof(endbr64)) &&
			    starts_with_endbr64(r, probe->offset)) {
				probe->offset += sizeof(endbr64);
				probe->shifted = true;
				lib->shifted++;
			}
			lib->probe_count++;
		}
	}
	lib->is_one = is_one(r);
}

static int read_library_elf(struct reader *r)
{
	int err;

	if (r->image.machine != EM_X86_64 && r->image.machine != EM_AARCH64)
		return say_damaged(r, "built for an unknown machine (%u)", r->image.machine);
	memcpy(r->lib->build_id, r->image.build_id, sizeof(r->lib->build_id));
	err = check_code(r);
	if (!err)
		err = read_symbol_tables(r);
	if (!err)
		make_probes(r);
	return err;
}

/* Fills in what the file system says of the file. */
static int describe_file(int fd, struct library *lib)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		snprintf(lib->why, sizeof(lib->why), "not a regular file");
		return -ENOEXEC;
	}
	lib->dev = st.st_dev;
	lib->ino = st.st_ino;
	lib->size = (uint64_t)st.st_size;
	lib->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
	lib->owner = st.st_uid;
	lib->overlay = !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
	return 0;
}

int library_open_file(const char *path, const struct library_kind *kind, struct library *lib)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	memset(lib, 0, sizeof(*lib));
	lib->kind = kind;
	if (fd < 0) {
		err = -errno;
		snprintf(lib->why, sizeof(lib->why), "%s", strerror(-err));
		return err;
	}
	err = describe_file(fd, lib);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int library_read(int fd, const struct library_kind *kind, struct library *lib)
{
	struct reader r = { .lib = lib, .kind = kind };
	unsigned char ident[EI_NIDENT];
	bool is_32_bit;
	int err;

	memset(lib, 0, sizeof(*lib));
	lib->kind = kind;
	err = describe_file(fd, lib);
	if (err) {
		close(fd);
		return err;
	}
	is_32_bit = pread(fd, ident, sizeof(ident), 0) == sizeof(ident) && !memcmp(ident, ELFMAG, SELFMAG) &&
		    ident[EI_CLASS] == ELFCLASS32;
	if (image_open(&r.image, fd))
		return say_damaged(&r, is_32_bit ? "a 32-bit library: only 64-bit processes can be traced" :
						   "not an ELF file, or its headers are damaged");
	list_names(&r);
	err = read_library_elf(&r);
	image_close(&r.image);
	return err;
}

int library_open(const char *path, const struct library_kind *kind, struct library *lib)
{
	int fd = library_open_file(path, kind, lib);

	return fd < 0 ? fd : library_read(fd, kind, lib);
}

static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof(byte)); /* any other value is no bool */
	return byte <= 1;
}

static bool is_sound(const struct reader *r, const struct library *found)
{
	if (found->probe_count > GMT_API_MAX || found->why[sizeof(found->why) - 1] || !is_flag(&found->is_one) ||
	    found->build_id[sizeof(found->build_id) - 1] ||
	    strspn(found->build_id, "0123456789abcdef") != strlen(found->build_id))
		return false;
	for (uint32_t i = 0; i < found->probe_count; i++) {
		const struct library_probe *probe = &found->probes[i];

		if (!probe->id || probe->id >= GMT_API_MAX || (i && probe->id <= probe[-1].id) ||
		    !wanted_symbol(r, probe->id) || !is_flag(&probe->shifted) || probe->offset >= r->lib->size)
			return false;
	}
	return true;
}

bool library_take(struct library *lib, const struct library *found)
{
	const struct reader r = { .lib = lib, .kind = lib->kind };
	struct library file = *lib;

	if (!is_sound(&r, found))
		return false;
	*lib = *found;
	lib->kind = file.kind;
	lib->dev = file.dev;
	lib->ino = file.ino;
	lib->size = file.size;
	lib->mtime_ns = file.mtime_ns;
	lib->owner = file.owner;
	lib->overlay = file.overlay;
	return true;
}

bool library_same(const struct library *a, const struct library *b)
{
	if (a->ino != b->ino)
		return false;
	return a->dev == b->dev ||
	       ((a->overlay || b->overlay) && a->build_id[0] && !strcmp(a->build_id, b->build_id));
}
