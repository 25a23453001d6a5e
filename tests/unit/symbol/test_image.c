// SPDX-License-Identifier: BSD-2-Clause
/* Files at and beyond each limit of the ELF reader: what the reader leaves out, and what a lack of memory is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/xalloc.h"
#include "memory_fd.h"
#include "parse_child.h"
#include "symbol/elf/image.h"

#define NOTES_MOST 65536         /* bytes of notes in which a build id is looked for */
#define NAME ".a-name"
#define LONG_NS 60000000000ULL

/* Headers of a file of segments and sections. `rest` bytes of zeros follow behind the sections. */
struct made {
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	uint64_t rest, size;     /* the offset of the rest, and the size of all */
};

static struct made make_file(uint16_t segment_count, uint16_t section_count, uint64_t rest)
{
	uint64_t sections = sizeof(Elf64_Ehdr) + segment_count * sizeof(Elf64_Phdr);
	uint64_t begin = sections + section_count * sizeof(Elf64_Shdr);
	char *bytes = xcalloc(1, begin + rest);
	struct made made = { (void *)bytes, (void *)(bytes + sizeof(Elf64_Ehdr)), (void *)(bytes + sections), begin,
			     begin + rest };

	*made.header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
		.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = segment_count,
		.e_shoff = sections, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = section_count,
	};
	for (uint16_t i = 0; i < segment_count; i++)
		made.segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = i * 0x1000u, .p_memsz = 0x1000 };
	return made;
}

/* The bytes are the image's from now on. */
static struct image open_made(const struct made *made)
{
	struct image image;

	assert_int_equal(image_open_bytes(&image, made->header, made->size, made->header), 0);
	return image;
}

static void segments(void **state)
{
	(void)state;
	for (uint16_t more = 0; more < 2; more++) {
		struct made made = make_file(IMAGE_SEGMENTS_MAX + more, 0, 0);
		struct image image = open_made(&made);

		assert_int_equal(image.segment_count, IMAGE_SEGMENTS_MAX);
		assert_int_equal(image.segments[IMAGE_SEGMENTS_MAX - 1].vaddr, (IMAGE_SEGMENTS_MAX - 1) * 0x1000);
		image_close(&image);
	}
}

/* A file with more sections is read as a file without sections. */
static void sections(void **state)
{
	(void)state;
	for (uint16_t more = 0; more < 2; more++) {
		struct made made = make_file(1, IMAGE_SECTIONS_MAX + more, 0);
		struct image image;

		made.sections[IMAGE_SECTIONS_MAX - 1].sh_type = SHT_DYNSYM;
		image = open_made(&made);
		assert_int_equal(image.section_count, more ? 0 : IMAGE_SECTIONS_MAX);
		assert_true((image_section(&image, NULL, SHT_DYNSYM) != NULL) == !more);
		image_close(&image);
	}
}

/* With more bytes of names, no section has a name. */
static void names_of_sections(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct made made = make_file(1, 2, IMAGE_NAMES_MAX + more);
		struct image image;

		made.header->e_shstrndx = 1;
		made.sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = made.rest,
						 .sh_size = IMAGE_NAMES_MAX + more,
						 .sh_name = IMAGE_NAMES_MAX - sizeof(NAME) };
		memcpy((char *)made.header + made.rest + IMAGE_NAMES_MAX - sizeof(NAME), NAME, sizeof(NAME));
		image = open_made(&made);
		assert_int_equal(image.section_count, 2);
		assert_true((image_section(&image, NAME, 0) != NULL) == !more);
		image_close(&image);
	}
}

/* Notes of `size` bytes, of which the last is a build id. */
static struct image with_notes(uint64_t size)
{
	struct made made = make_file(2, 0, size);
	struct {
		Elf64_Nhdr header;
		char name[4];
		unsigned char id[4];
	} last = { { 4, 4, NT_GNU_BUILD_ID }, "GNU", { 0xab, 0xcd, 0xef, 0x01 } };
	Elf64_Nhdr first = { 0, (Elf64_Word)(size - sizeof(first) - sizeof(last)), 0 };
	char *notes = (char *)made.header + made.rest;

	made.segments[1] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = made.rest, .p_filesz = size };
	memcpy(notes, &first, sizeof(first));
	memcpy(notes + size - sizeof(last), &last, sizeof(last));
	return open_made(&made);
}

static void notes(void **state)
{
	struct image image = with_notes(NOTES_MOST);

	(void)state;
	assert_string_equal(image.build_id, "abcdef01");
	image_close(&image);
	image = with_notes(NOTES_MOST + 4);
	assert_string_equal(image.build_id, "");
	image_close(&image);
}

/* A file of zeros behind its headers, with one large section: the zeros take no room. */
static int large_file(uint64_t section_size)
{
	struct made made = make_file(1, 2, 0);
	int fd;

	made.sections[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = made.size, .sh_size = section_size };
	fd = memory_fd(made.header, made.size);
	assert_int_equal(ftruncate(fd, (off_t)(made.size + section_size)), 0);
	free(made.header);
	return fd;
}

static void parts(void **state)
{
	(void)state;
	for (uint32_t more = 0; more < 2; more++) {
		struct image image;
		char *part;

		assert_int_equal(image_open(&image, large_file(IMAGE_PART_MAX + more)), 0);
		part = image_load(&image, image_section(&image, NULL, SHT_PROGBITS));
		assert_true((part != NULL) == !more);
		free(part);
		image_close(&image);
	}
}

/* Most of the memory that a worker may have is taken when the worker loads a large section. */
static int serve_load(void **state, struct parse_task *task, struct parse_answer *answer)
{
	char *room = xmalloc(PARSE_MEMORY - IMAGE_PART_MAX);
	struct image image;
	int err = image_open(&image, parse_take_fd(task));

	(void)answer;
	*state = room;
	return err ? err : image_load(&image, image_section(&image, NULL, SHT_PROGBITS)) ? 1 : -ENOENT;
}

/* A lack of memory is told, and does not pass for a section that is not there. */
static void no_memory(void **state)
{
	static const struct parse_table table = { .serve = { [PARSE_FACTS] = serve_load } };
	struct parse_question question = { .kind = PARSE_FACTS, .budget_ns = LONG_NS };
	struct parse_child child;
	struct parse_answer answer;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) /* it has an address space of its own */
	skip();
#endif
	child = parse_child_start(&table);
	question.fds[0] = large_file(4096);
	assert_int_equal(parse_ask(child.client, &question, &answer), 1);
	close(question.fds[0]);
	parse_client_rest(child.client);
	question.fds[0] = large_file(IMAGE_PART_MAX);
	assert_int_equal(parse_ask(child.client, &question, &answer), -ENOMEM);
	close(question.fds[0]);
	parse_child_end(&child);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(segments), TEST(sections), TEST(names_of_sections), TEST(notes), TEST(parts), TEST(no_memory),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
