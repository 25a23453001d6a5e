/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/history/history_marks.h"

#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/wire.h>

#include "base/xalloc.h"

#define OPEN_MAX 65536   /* all open ranges are forgotten when there are so many: ends get lost, and are counted */

void history_marks_init(struct history_marks *m)
{
	*m = (struct history_marks){ 0 };
	hash_init(&m->by_name, sizeof(uint32_t));
	hash_init(&m->open, sizeof(uint32_t));
}

void history_marks_fini(struct history_marks *m)
{
	for (uint32_t i = 0; i < m->name_count; i++)
		free(m->names[i]);
	free(m->names);
	free(m->list);
	hash_fini(&m->by_name);
	hash_fini(&m->open);
}

/* False: there are too many names, or another name has the same hash. */
static bool number_name(struct history_marks *m, const uint8_t *name, uint32_t *number)
{
	char text[GMT_RANGE_NAME_BYTES];
	uint32_t *known;
	uint64_t hash;

	memcpy(text, name, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	hash = hash_of_bytes(hash_seed(&m->by_name), text, strlen(text));
	known = hash_get(&m->by_name, hash);
	if (!known) {
		if (m->name_count == HISTORY_MARK_NAMES)
			return false;
		m->names = xreallocarray(m->names, m->name_count + 1, sizeof(*m->names));
		m->names[m->name_count] = xstrdup(text);
		known = hash_put(&m->by_name, hash, NULL);
		*known = m->name_count++;
	}
	*number = *known;
	return !strcmp(m->names[*number], text);
}

static void add_mark(struct history_marks *m, struct history_mark mark)
{
	if (!m->list)
		m->list = xcalloc(HISTORY_MARKS, sizeof(*m->list));
	m->list[m->next++ % HISTORY_MARKS] = mark;
}

/* An end comes twice, from the end of the range and from the end of its object. The second end finds no range. */
void history_marks_see(struct history_marks *m, uint32_t process, uint64_t event, const struct gmt_fw_range *rec)
{
	uint64_t key = rec->object ^ (uint64_t)process << 48;
	struct history_mark mark = {
		.ts_ns = rec->hdr.ts_ns, .event = event, .process = process, .is_end = rec->what == GMT_RANGE_END,
	};
	uint32_t name;

	if (rec->what == GMT_RANGE_END) {
		if (!hash_take(&m->open, key, &name))
			return;
	} else if (rec->what == GMT_RANGE_BEGIN) {
		if (!number_name(m, rec->name, &name)) {
			m->dropped++;
			return;
		}
		if (hash_count(&m->open) >= OPEN_MAX) {
			m->dropped += hash_count(&m->open);
			hash_clear(&m->open);
		}
		*(uint32_t *)hash_put(&m->open, key, NULL) = name;
	} else {
		return;
	}
	mark.name = name;
	add_mark(m, mark);
}

void history_marks_read(struct history_marks *m, uint32_t process, const struct gmt_history_mark *rec)
{
	uint32_t name;

	if (!number_name(m, rec->name, &name)) {
		m->dropped += !rec->is_end;
		return;
	}
	add_mark(m, (struct history_mark){
		.ts_ns = rec->hdr.ts_ns, .event = rec->event, .process = process, .name = name,
		.is_end = rec->is_end,
	});
}
