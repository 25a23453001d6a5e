// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/table_parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* On an idle machine, the largest library needs 0.6 s for its table (tests/bench/tables.c). */
#define TABLE_NS 5000000000ULL
#define FACTS_NS 3000000000ULL

/* BPF walks by rows of its own machine, where a process may map another machine's files as code. */
#ifdef GMT_UNWIND_ARM64
#define WALKED_MACHINE EM_AARCH64
#else
#define WALKED_MACHINE EM_X86_64
#endif

struct facts {
	struct image_shape shape;
	struct table_key key;
};

/* Behind the words of a table. */
struct table_end {
	uint64_t base;
	uint32_t pages, rows, fdes, unsupported, is_damaged, reserved;
};

/* ---- the worker's side ---- */

int table_serve_facts(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct facts *facts;
	struct image image;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	facts = xcalloc(1, sizeof(*facts));
	image_shape(&image, &facts->shape);
	err = table_key_of(&image, 0, &facts->key);
	image_close(&image);
	*answer = (struct parse_answer){ facts, sizeof(*facts) };
	return err;
}

int table_serve_table(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct unwind_table table;
	struct table_end end;
	struct image image;
	size_t bytes;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	table = (struct unwind_table){ 0 };
	err = image.machine == WALKED_MACHINE ? unwind_table_build(&image, &table) : -ENOTSUP;
	image_close(&image);
	bytes = unwind_table_bytes(&table);
	if (!err && bytes / sizeof(*table.words) > UNWIND_TABLE_WORDS_MAX)
		err = -E2BIG;
	if (err) {
		unwind_table_fini(&table);
		return err;
	}
	end = (struct table_end){ table.base, table.pages, table.rows, table.fdes, table.unsupported,
				  table.is_damaged, 0 };
	table.words = xrealloc(table.words, bytes + sizeof(end));
	memcpy((char *)table.words + bytes, &end, sizeof(end));
	*answer = (struct parse_answer){ table.words, bytes + sizeof(end) };
	return 0;
}

int table_serve_switchers(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct switchers_range *ranges;
	struct image image;
	size_t count;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	ranges = xcalloc(SWITCHERS_MAX, sizeof(*ranges));
	count = switchers_find(&image, ranges);
	image_close(&image);
	*answer = (struct parse_answer){ ranges, count * sizeof(*ranges) };
	return 0;
}

/* ---- the asker's side ---- */

static int ask_for_table(struct parse_client *client, const struct source_file *file, enum parse_kind kind,
		     uint64_t budget_ns, size_t most, struct parse_answer *answer)
{
	struct parse_question question = {
		.kind = kind, .owner = file->owner, .fds = { file->fd }, .budget_ns = budget_ns, .most = most,
	};

	return parse_ask(client, &question, answer);
}

/* Whether the key says of the headers what they say. */
static bool is_key_of(const struct table_key *key, const struct image *shape)
{
	uint64_t base, end;

	return unwind_code_range(shape, &base, &end) && key->base == base && key->end == end &&
	       key->machine == shape->machine && key->file_size == shape->size &&
	       !memcmp(key->build_id, shape->build_id, sizeof(shape->build_id));
}

int table_ask_facts(struct parse_client *client, const struct source_file *file, struct image *shape,
		    struct table_key *key)
{
	struct parse_answer answer;
	const struct facts *facts;
	int err = ask_for_table(client, file, PARSE_FACTS, FACTS_NS, sizeof(*facts), &answer);

	facts = answer.data;
	if (!err && (answer.size != sizeof(*facts) || !image_of_shape(shape, &facts->shape) ||
		     !is_key_of(&facts->key, shape)))
		err = parse_refuse(client, file->owner);
	if (!err) {
		*key = facts->key;
		memset(key->build_id, 0, sizeof(key->build_id)); /* the rest of it is hashed, too */
		memcpy(key->build_id, shape->build_id, sizeof(shape->build_id));
		key->owner = file->owner;
	}
	free(answer.data);
	return err;
}

/* Takes the words over if they are a table of the key's module. */
static bool take_table(struct parse_answer *answer, const struct table_key *key, struct unwind_table *table)
{
	struct table_end end;
	size_t bytes;

	if (answer->size < sizeof(end))
		return false;
	bytes = answer->size - sizeof(end);
	memcpy(&end, (char *)answer->data + bytes, sizeof(end));
	*table = (struct unwind_table){ .base = end.base, .pages = end.pages, .rows = end.rows, .fdes = end.fdes,
					.unsupported = end.unsupported, .is_damaged = end.is_damaged };
	if (end.base != key->base || end.pages > UNWIND_TABLE_WORDS_MAX || end.rows > UNWIND_TABLE_WORDS_MAX ||
	    unwind_table_bytes(table) != bytes)
		return false;
	table->words = answer->data;
	answer->data = NULL;
	return unwind_table_check(table);
}

int table_ask_table(struct parse_client *client, const struct source_file *file, const struct table_key *key,
		    struct unwind_table *table)
{
	size_t most = UNWIND_TABLE_WORDS_MAX * sizeof(*table->words) + sizeof(struct table_end);
	struct parse_answer answer;
	int err = ask_for_table(client, file, PARSE_TABLE, TABLE_NS, most, &answer);

	*table = (struct unwind_table){ 0 };
	if (!err && !take_table(&answer, key, table))
		err = parse_refuse(client, file->owner);
	free(answer.data);
	return err;
}

/* The addresses may be any: switchers_mark() takes those that are the table's. */
int table_ask_switchers(struct parse_client *client, const struct source_file *file,
			struct switchers_range ranges[SWITCHERS_MAX])
{
	struct parse_answer answer;
	int err = ask_for_table(client, file, PARSE_SWITCHERS, FACTS_NS, SWITCHERS_MAX * sizeof(*ranges), &answer);

	if (!err && answer.size % sizeof(*ranges))
		err = parse_refuse(client, file->owner);
	if (!err && answer.size)
		memcpy(ranges, answer.data, answer.size);
	free(answer.data);
	return err ? err : (int)(answer.size / sizeof(*ranges));
}
