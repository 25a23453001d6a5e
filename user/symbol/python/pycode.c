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

static uint32_t check_of(const struct pylayout *layout, const unsigned char *head)
{
	uint32_t words[GMT_PY_CHECK_WORDS];

	if (layout->code_check > HEAD_BYTES - sizeof(words))
		return 0;
	memcpy(words, head + layout->code_check, sizeof(words));
	return gmt_py_check(words, layout->check_mask);
}

/* Reads no more than the object: its memory may end there. */
static int read_head(struct pycode *codes, uint64_t code, py_read_fn read, void *arg, unsigned char *head)
{
	size_t size = codes->layout.code_size < HEAD_BYTES ? codes->layout.code_size : HEAD_BYTES;
	int err = read(arg, code, head, size);

	if (err)
		return err;
	memset(head + size, 0, HEAD_BYTES - size);
	return codes->code_type && word_in_head(head, PYLAYOUT_OB_TYPE) != codes->code_type ? -EINVAL : 0;
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

static int read_entry(struct pycode *codes, const unsigned char *head, py_read_fn read, void *arg,
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
	entry->check = check_of(layout, head);
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
	check = check_of(&codes->layout, head);
	if (frame->check && frame->check != check)
		return -ESTALE;
	*out = find_entry(codes, frame->code, check);
	if (*out)
		return 0;
	err = read_entry(codes, head, read, arg, out);
	/* The object may have gone while its names were read. */
	if (!err && (read_head(codes, frame->code, read, arg, again) ||
		     word_in_head(again, codes->layout.code_filename) !=
		     word_in_head(head, codes->layout.code_filename) ||
		     word_in_head(again, codes->layout.code_name) != word_in_head(head, codes->layout.code_name) ||
		     check_of(&codes->layout, again) != check)) {
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
