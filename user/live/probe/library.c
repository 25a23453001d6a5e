// SPDX-License-Identifier: BSD-2-Clause
/*
 * See library.h. Sections, not PT_DYNAMIC, lead to the symbols: every libcuda seen has them (they are
 * stripped of .symtab only). libelf checks that what it hands out lies inside the file. The file is
 * read, not mapped: it may belong to a container, whose owner could cut it off under us (SIGBUS).
 */
#include "live/probe/library.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/terms/probes.h"

#define SEGMENTS_MAX 32
#define NOTES_MAX 65536        /* a note segment larger than this is not worth reading */
#define TABLE_MAX (256u << 20) /* nor a symbol or string table: libcuda 580's are 17 KiB and 19 KiB */

/* The first instruction of a function built with -fcf-protection. Kernels before 6.18 and this one
 * single-step it, which costs ten times a `push` in a VM; what follows it is cheaper to probe. */
static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

struct name {
	const char *symbol;      /* a hook's: a pattern */
	size_t literal;          /* its first bytes that are not for fnmatch(3) to see: most names differ in them */
	uint16_t id;
};

struct segment {
	uint64_t address, offset, size;
};

struct reader {
	struct library *lib;
	int fd;
	Elf *elf;
	uint16_t machine;
	uint64_t file_size;
	struct segment code[SEGMENTS_MAX]; /* executable PT_LOADs */
	size_t code_count;
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

static int compare_key(const void *key, const void *name)
{
	return strcmp(key, ((const struct name *)name)->symbol);
}

static const char *wanted_symbol(const struct reader *r, uint16_t id)
{
	if (!r->kind->framework)
		return gmt_probes[id].symbol;
	return id <= r->kind->hook_count ? r->kind->hooks[id - 1].pattern : NULL;
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

/* The row or hook that the symbol is, NULL. */
static const struct name *find_name(const struct reader *r, const char *symbol)
{
	if (!r->kind->framework)
		return bsearch(symbol, r->names, r->name_count, sizeof(r->names[0]), compare_key);
	for (size_t i = 0; i < r->name_count; i++) {
		if (!strncmp(r->names[i].symbol, symbol, r->names[i].literal) &&
		    !fnmatch(r->names[i].symbol, symbol, 0))
			return &r->names[i];
	}
	return NULL;
}

/* NT_GNU_BUILD_ID out of the notes of one segment (elf(5), "Notes"). */
static void read_build_id(struct reader *r, const GElf_Phdr *phdr)
{
	Elf_Data *data;
	GElf_Nhdr note;
	size_t at = 0, next, name_at, desc_at;

	if (phdr->p_filesz > NOTES_MAX)
		return;
	data = elf_getdata_rawchunk(r->elf, (int64_t)phdr->p_offset, phdr->p_filesz,
				    phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const unsigned char *desc = (const unsigned char *)data->d_buf + desc_at;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp((const char *)data->d_buf + name_at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < sizeof(r->lib->build_id); i++)
				snprintf(r->lib->build_id + 2 * i, 3, "%02x", desc[i]);
			return;
		}
		at = next;
	}
}

static int read_code_segments(struct reader *r)
{
	size_t count;

	if (elf_getphdrnum(r->elf, &count))
		return say_damaged(r, "no program headers: %s", elf_errmsg(-1));
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(r->elf, (int)i, &phdr))
			return say_damaged(r, "program header %zu: %s", i, elf_errmsg(-1));
		if (phdr.p_type == PT_NOTE && !r->lib->build_id[0])
			read_build_id(r, &phdr);
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X) || r->code_count == SEGMENTS_MAX)
			continue;
		if (phdr.p_offset > r->file_size || phdr.p_filesz > r->file_size - phdr.p_offset)
			return say_damaged(r, "cut off: the code ends behind the end of the file");
		r->code[r->code_count++] =
			(struct segment){ phdr.p_vaddr, phdr.p_offset, phdr.p_filesz };
	}
	return r->code_count ? 0 : say_damaged(r, "no executable segment");
}

/* The file offset of a function, 0 if it is not in the file's code. */
static uint64_t offset_of_function(const struct reader *r, uint64_t address)
{
	for (size_t i = 0; i < r->code_count; i++) {
		const struct segment *seg = &r->code[i];

		if (address >= seg->address && address - seg->address < seg->size)
			return seg->offset + (address - seg->address);
	}
	return 0;
}

static bool is_exported_function(const GElf_Sym *sym)
{
	unsigned char bind = GELF_ST_BIND(sym->st_info), type = GELF_ST_TYPE(sym->st_info);

	/* STT_GNU_IFUNC is left out: its address is the resolver's, not the function's */
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS && sym->st_value &&
	       (bind == STB_GLOBAL || bind == STB_WEAK) && type == STT_FUNC;
}

static int read_library_symbols(struct reader *r, Elf_Scn *section, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t entry = gelf_fsize(r->elf, ELF_T_SYM, 1, EV_CURRENT);

	if (!data || !entry)
		return say_damaged(r, "symbols: %s", elf_errmsg(-1));
	for (size_t i = 0; i < data->d_size / entry; i++) {
		const struct name *name;
		const char *symbol;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !is_exported_function(&sym))
			continue;
		symbol = elf_strptr(r->elf, shdr->sh_link, sym.st_name);
		name = symbol ? find_name(r, symbol) : NULL;
		if (name && !r->offset[name->id]) {
			r->offset[name->id] = offset_of_function(r, sym.st_value);
			r->size[name->id] = sym.st_size;
		}
	}
	return 0;
}

/* libtorch_cpu's table of local symbols is 100 MB: not read when that of the exported ones had them. */
static bool has_hooks(const struct reader *r)
{
	for (size_t i = 0; i < r->name_count; i++)
		if (r->offset[r->names[i].id])
			return r->kind->framework;
	return false;
}

static int read_symbol_sections(struct reader *r)
{
	Elf_Scn *section = NULL;
	bool any = false;
	size_t count;
	int err;

	if (elf_getshdrnum(r->elf, &count))
		return say_damaged(r, "no section headers: %s", elf_errmsg(-1));
	while ((section = elf_nextscn(r->elf, section))) {
		GElf_Shdr shdr, strings;

		if (!gelf_getshdr(section, &shdr))
			return say_damaged(r, "section header: %s", elf_errmsg(-1));
		if ((shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB) || has_hooks(r))
			continue;
		if (!gelf_getshdr(elf_getscn(r->elf, shdr.sh_link), &strings) || shdr.sh_size > TABLE_MAX ||
		    strings.sh_size > TABLE_MAX)
			return say_damaged(r, "the symbol table is too large or has no names");
		any = true;
		err = read_library_symbols(r, section, &shdr);
		if (err)
			return err;
	}
	return any ? 0 : say_damaged(r, "no symbols");
}

static bool starts_with_endbr64(struct reader *r, uint64_t offset)
{
	unsigned char first[sizeof(endbr64) + 1]; /* one more: there must be something to probe behind it */

	return r->machine == EM_X86_64 &&
	       pread(r->fd, first, sizeof(first), (off_t)offset) == (ssize_t)sizeof(first) &&
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
	GElf_Ehdr ehdr;
	int err;

	if (elf_kind(r->elf) != ELF_K_ELF)
		return say_damaged(r, "not an ELF file");
	if (gelf_getclass(r->elf) != ELFCLASS64)
		return say_damaged(r, "a 32-bit library: only 64-bit processes can be traced");
	if (!gelf_getehdr(r->elf, &ehdr))
		return say_damaged(r, "ELF header: %s", elf_errmsg(-1));
	if (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_AARCH64)
		return say_damaged(r, "built for an unknown machine (%u)", ehdr.e_machine);
	r->machine = ehdr.e_machine;
	err = read_code_segments(r);
	if (!err)
		err = read_symbol_sections(r);
	if (!err)
		make_probes(r);
	return err;
}

int library_read(int fd, const struct library_kind *kind, struct library *lib)
{
	struct reader r = { .lib = lib, .fd = fd, .kind = kind };
	struct statfs fs;
	struct stat st;
	int err;

	memset(lib, 0, sizeof(*lib));
	lib->kind = kind;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return say_damaged(&r, "not a regular file");
	lib->dev = st.st_dev;
	lib->ino = st.st_ino;
	lib->size = (uint64_t)st.st_size;
	lib->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
	lib->overlay = !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
	r.file_size = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!r.elf)
		return say_damaged(&r, "not an ELF file: %s", elf_errmsg(-1));
	list_names(&r);
	err = read_library_elf(&r);
	elf_end(r.elf);
	return err;
}

int library_open(const char *path, const struct library_kind *kind, struct library *lib)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0) {
		err = -errno;
		memset(lib, 0, sizeof(*lib));
		snprintf(lib->why, sizeof(lib->why), "%s", strerror(-err));
		return err;
	}
	err = library_read(fd, kind, lib);
	close(fd);
	return err;
}

bool library_same(const struct library *a, const struct library *b)
{
	if (a->ino != b->ino)
		return false;
	return a->dev == b->dev ||
	       ((a->overlay || b->overlay) && a->build_id[0] && !strcmp(a->build_id, b->build_id));
}
