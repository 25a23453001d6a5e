// SPDX-License-Identifier: BSD-2-Clause
/* See pycode.h. Entries of one address, told apart by their check words, form a list. */
#include "symbol/python/pycode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "symbol/python/pylines.h"
#include "symbol/python/pytext.h"

#define PAGE_BYTES 4096            /* the smallest page */
#define HEAD_BYTES 256             /* of a code object; all needed fields of any version */

struct entry {
	struct entry *next;        /* of the same address */
	uint32_t check;
	int first_line;
	int traceable;             /* units; tracebacks omit a frame that is before this instruction */
	char *function;
	char *file;
	uint8_t *lines;
	size_t lines_size;
	size_t bytes;              /* of memory, for the account */
};

struct pycode {
	struct pylayout layout;
	uint64_t code_type;
	struct hash entries;       /* code object's address -> struct entry * */
	size_t bytes;
};

struct pycode *pycode_new(const struct pylayout *layout, uint64_t code_type)
{
	struct pycode *codes = xcalloc(1, sizeof(*codes));

	codes->layout = *layout;
	codes->code_type = code_type;
	hash_init(&codes->entries, sizeof(struct entry *));
	return codes;
}

static void entry_free(struct entry *entry)
{
	if (!entry)
		return;
	free(entry->function);
	free(entry->file);
	free(entry->lines);
	free(entry);
}

static void forget_all(struct pycode *codes)
{
	size_t pos = 0;
	void *value;

	while (hash_next(&codes->entries, &pos, NULL, &value)) {
		struct entry *entry = *(struct entry **)value, *next;

		for (; entry; entry = next) {
			next = entry->next;
			entry_free(entry);
		}
	}
	hash_clear(&codes->entries);
	codes->bytes = 0;
}

void pycode_free(struct pycode *codes)
{
	if (!codes)
		return;
	forget_all(codes);
	hash_fini(&codes->entries);
	free(codes);
}

static uint64_t word_in_head(const unsigned char *head, uint16_t offset)
{
	uint64_t value;

	if (offset > HEAD_BYTES - sizeof(value))
		return 0;
	memcpy(&value, head + offset, sizeof(value));
	return value;
}

/* The check word as BPF makes it. BPF may have seen the code object before CPython computed the hash of its name: then
 * the check is the one without the hash. 0: the name cannot be read. */
static uint32_t check_of(const struct pylayout *layout, const unsigned char *head, const __u64 *text, bool with_hash)
{
	__u32 check[GMT_PY_CHECK_WORDS], sum;
	__u64 words[GMT_PY_HEAD_WORDS];

	if (layout->code_check > HEAD_BYTES - sizeof(words))
		return 0;
	memcpy(check, head + layout->code_check, sizeof(check));
	memcpy(words, head + layout->code_check, sizeof(words));
	sum = gmt_py_check(check, layout->check_mask);
	if (!layout->code_text)
		return sum;
	return text ? gmt_py_check_names(sum, words, layout->code_text, text, with_hash) : 0;
}

/* As gmt_py_read_text(): a short str may end before the words, at the end of a page that is the last one. */
static int read_text(uint64_t addr, py_read_fn read, void *arg, __u64 text[GMT_PY_TEXT_WORDS])
{
	size_t size = GMT_PY_TEXT_WORDS * sizeof(*text), part = PAGE_BYTES - (addr & (PAGE_BYTES - 1));
	int err = read(arg, addr, text, size);

	if (!err || part >= size)
		return err;
	memset(text, 0, size);
	return read(arg, addr, text, part);
}

/* Reads the check word, and chooses the form that BPF made, if it is one of the two. */
static uint32_t read_check(const struct pylayout *layout, const unsigned char *head, uint32_t want, py_read_fn read,
			   void *arg)
{
	uint16_t shown = (uint16_t)(layout->code_check + 8 * layout->code_text);
	__u64 text[GMT_PY_TEXT_WORDS];
	const __u64 *known = NULL;
	uint32_t check;

	if (layout->code_text && !read_text(word_in_head(head, shown) + GMT_PY_TEXT_AT, read, arg, text))
		known = text;
	check = check_of(layout, head, known, true);
	if (check != want && check_of(layout, head, known, false) == want)
		return want;
	return check;
}

/* A freed object keeps most of its bytes for a while, but CPython's allocator and the C library put an address into its
 * first word, or leave the count at 0. A live object has its count there; from 3.14 on, flags in the last two bytes. */
static bool is_alive(const unsigned char *head)
{
	uint64_t count = word_in_head(head, 0);

	return (uint32_t)count && !(count >> 32 & 0xffff);
}

/* Reads no more than the object: its memory may end there. */
static int read_head(struct pycode *codes, uint64_t code, py_read_fn read, void *arg, unsigned char *head)
{
	size_t size = codes->layout.code_size < HEAD_BYTES ? codes->layout.code_size : HEAD_BYTES;
	int err = read(arg, code, head, size);

	if (err)
		return err;
	memset(head + size, 0, HEAD_BYTES - size);
	if (codes->code_type && word_in_head(head, PYLAYOUT_OB_TYPE) != codes->code_type)
		return -EINVAL;
	return is_alive(head) ? 0 : -ESTALE;
}

/* Without its line table, a code object still has names. */
static void read_lines(struct entry *entry, uint64_t addr, py_read_fn read, void *arg)
{
	uint64_t size = 0;

	if (read(arg, addr + PYLAYOUT_VAR_SIZE, &size, sizeof(size)) || !size || size > PYCODE_LINES_MAX)
		return;
	entry->lines = xmalloc(size);
	entry->lines_size = size;
	if (read(arg, addr + PYLAYOUT_BYTES_DATA, entry->lines, size)) {
		free(entry->lines);
		entry->lines = NULL;
		entry->lines_size = 0;
	}
}

static int read_entry(struct pycode *codes, const unsigned char *head, uint32_t check, py_read_fn read, void *arg,
		      struct entry **out)
{
	const struct pylayout *layout = &codes->layout;
	struct entry *entry = xcalloc(1, sizeof(*entry));
	int err = -EINVAL;

	if (layout->code_qualname)
		err = pytext_read(layout, word_in_head(head, layout->code_qualname), PYCODE_NAME_MAX, read, arg,
				  &entry->function);
	if (err)
		err = pytext_read(layout, word_in_head(head, layout->code_name), PYCODE_NAME_MAX, read, arg,
				  &entry->function);
	if (!err)
		err = pytext_read(layout, word_in_head(head, layout->code_filename), PYCODE_FILE_MAX, read, arg,
				  &entry->file);
	if (err) {
		entry_free(entry);
		return err;
	}
	entry->first_line = (int)(uint32_t)word_in_head(head, layout->code_firstline);
	if (layout->code_traceable)
		entry->traceable = (int)(uint32_t)word_in_head(head, layout->code_traceable);
	read_lines(entry, word_in_head(head, layout->code_lines), read, arg);
	entry->check = check;
	entry->bytes = sizeof(*entry) + entry->lines_size + strlen(entry->function) + strlen(entry->file) + 2;
	*out = entry;
	return 0;
}

static struct entry *find_entry(const struct pycode *codes, uint64_t code, uint32_t check)
{
	struct entry **first = hash_get(&codes->entries, code), *entry;

	for (entry = first ? *first : NULL; entry; entry = entry->next) {
		if (entry->check == check)
			return entry;
	}
	return NULL;
}

static void keep_entry(struct pycode *codes, uint64_t code, struct entry *entry)
{
	struct entry **first;

	if (codes->bytes + entry->bytes > PYCODE_MEMORY_MAX)
		forget_all(codes);
	first = hash_put(&codes->entries, code, NULL);
	entry->next = *first;
	*first = entry;
	codes->bytes += entry->bytes;
}

static int load_entry(struct pycode *codes, const struct gmt_py_frame *frame, py_read_fn read, void *arg,
		      struct entry **out)
{
	unsigned char head[HEAD_BYTES], again[HEAD_BYTES];
	uint32_t check;
	int err = read_head(codes, frame->code, read, arg, head);

	if (err)
		return err;
	check = read_check(&codes->layout, head, frame->check, read, arg);
	if (frame->check && frame->check != check)
		return -ESTALE;
	*out = find_entry(codes, frame->code, check);
	if (*out)
		return 0;
	err = read_entry(codes, head, check, read, arg, out);
	/* The object may have gone while its names were read. */
	if (!err && (read_head(codes, frame->code, read, arg, again) ||
		     word_in_head(again, codes->layout.code_filename) !=
		     word_in_head(head, codes->layout.code_filename) ||
		     word_in_head(again, codes->layout.code_name) != word_in_head(head, codes->layout.code_name) ||
		     read_check(&codes->layout, again, check, read, arg) != check)) {
		entry_free(*out);
		return -ESTALE;
	}
	if (!err)
		keep_entry(codes, frame->code, *out);
	return err;
}

int pycode_resolve(struct pycode *codes, const struct gmt_py_frame *frame, py_read_fn read, void *arg,
		   struct pycode_where *where)
{
	const struct pylayout *layout = &codes->layout;
	struct entry *entry = frame->check ? find_entry(codes, frame->code, frame->check) : NULL;
	int err = entry ? 0 : load_entry(codes, frame, read, arg, &entry);

	memset(where, 0, sizeof(*where));
	if (err)
		return err;
	where->function = entry->function;
	where->file = entry->file;
	where->first_line = entry->first_line > 0 ? entry->first_line : 0;
	if (frame->lasti != GMT_PY_LASTI_UNKNOWN)
		where->line = pylines_find(layout->lines, entry->lines, entry->lines_size, entry->first_line,
					   frame->lasti);
	where->is_hidden = layout->code_traceable && (frame->lasti == -1 ||
			   (frame->lasti >= 0 && frame->lasti / 2 < entry->traceable));
	return 0;
}
