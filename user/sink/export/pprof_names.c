// SPDX-License-Identifier: BSD-2-Clause
#include "sink/export/pprof_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/out.h"
#include "sink/export/protobuf.h"
#include "sink/text/stack_text.h"

/* The fields of profile.proto's messages that name things. */
enum profile_field { PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING_TABLE = 6 };
enum mapping_field {
	MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8, MAPPING_HAS_LINE_NUMBERS = 9, MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILENAME = 4 };

void pprof_names_init(struct pprof_names *p, struct out *out, const struct view *view)
{
	*p = (struct pprof_names){ .out = out, .view = view };
	hash_init(&p->texts, sizeof(uint64_t));
	hash_init(&p->mappings, sizeof(uint64_t));
	out_init_mem(&p->message);
	out_init_mem(&p->part);
	proto_text(out, PROFILE_STRING_TABLE, "");
}

void pprof_names_fini(struct pprof_names *p)
{
	out_close(&p->message);
	out_close(&p->part);
	hash_fini(&p->texts);
	hash_fini(&p->mappings);
}

/* ---- texts ---- */

/* Texts whose hashes of 64 bits are equal count as equal: nobody can choose such texts. */
uint64_t pprof_text(struct pprof_names *p, const char *text)
{
	uint64_t *index;
	bool is_new;

	if (!text[0])
		return 0;
	index = hash_put(&p->texts, hash_of_bytes(hash_seed(&p->texts), text, strlen(text)), &is_new);
	if (is_new) {
		proto_text(p->out, PROFILE_STRING_TABLE, text);
		*index = ++p->text_count;
	}
	return *index;
}

/* A number that is not 0, which stands for what is not known. */
static void put_known(struct out *out, uint32_t field, uint64_t value)
{
	if (value)
		proto_number(out, field, value);
}

/* ---- symbols ---- */

static const char *build_id_of(const struct view *view, const char *module)
{
	for (size_t i = 0; i < view->library_count; i++)
		if (!strncmp((const char *)view->libraries[i].path, module, sizeof(view->libraries[i].path)))
			return (const char *)view->libraries[i].build_id;
	return "";
}

/* Where a file lay in memory is not known, and its functions are those of the symbols: pprof need not look for it. */
static void write_mapping(struct pprof_names *p, uint64_t id, uint64_t name, uint64_t build_id)
{
	proto_number(&p->message, MAPPING_ID, id);
	proto_number(&p->message, MAPPING_FILENAME, name);
	put_known(&p->message, MAPPING_BUILD_ID, build_id);
	proto_number(&p->message, MAPPING_HAS_FUNCTIONS, true);
	proto_number(&p->message, MAPPING_HAS_FILENAMES, true);
	proto_number(&p->message, MAPPING_HAS_LINE_NUMBERS, true);
	proto_number(&p->message, MAPPING_HAS_INLINE_FRAMES, true);
	proto_message(p->out, PROFILE_MAPPING, &p->message);
}

/* The id of a module's mapping; 0: the module is not known. */
static uint64_t mapping_of(struct pprof_names *p, const char *module)
{
	char build_id[sizeof(p->view->libraries->build_id) + 1];
	uint64_t name = pprof_text(p, module), *id;
	bool is_new;

	if (!name)
		return 0;
	id = hash_put(&p->mappings, name, &is_new);
	if (!is_new)
		return *id;
	*id = ++p->mapping_count;
	snprintf(build_id, sizeof(build_id), "%.*s", (int)sizeof(build_id) - 1, build_id_of(p->view, module));
	write_mapping(p, *id, name, pprof_text(p, build_id));
	return *id;
}

/* pprof calls the file of the first mapping the program. All processes have to be of one program. */
static void name_program(struct pprof_names *p)
{
	const struct view *view = p->view;

	for (size_t i = 1; i < view->proc_count; i++)
		if (strcmp(view->procs[0].comm, view->procs[i].comm) != 0)
			return;
	if (view->proc_count && view->procs[0].comm[0])
		write_mapping(p, ++p->mapping_count, pprof_text(p, view->procs[0].comm), 0);
}

/* A location with one function; both have the same id. */
static void write_frame(struct pprof_names *p, uint64_t id, const char *name, const struct view_symbol *s)
{
	uint64_t name_index = pprof_text(p, name), file = s ? pprof_text(p, s->file) : 0;
	uint64_t mapping = s ? mapping_of(p, s->module) : 0;

	proto_number(&p->message, FUNCTION_ID, id);
	proto_number(&p->message, FUNCTION_NAME, name_index);
	put_known(&p->message, FUNCTION_FILENAME, file);
	proto_message(p->out, PROFILE_FUNCTION, &p->message);

	proto_number(&p->part, LINE_FUNCTION_ID, id);
	put_known(&p->part, LINE_LINE, s ? s->line : 0);
	proto_number(&p->message, LOCATION_ID, id);
	put_known(&p->message, LOCATION_MAPPING_ID, mapping);
	put_known(&p->message, LOCATION_ADDRESS, s ? s->offset : 0);
	proto_message(&p->message, LOCATION_LINE, &p->part);
	proto_message(p->out, PROFILE_LOCATION, &p->message);
}

void pprof_write_symbols(struct pprof_names *p)
{
	static const char *const others[] = {
#define X(name, text) [PPROF_##name] = text,
		PPROF_OTHER_FRAMES(X)
#undef X
	};
	size_t count = p->view->symbol_count;

	name_program(p);
	for (size_t i = 0; i < count; i++) {
		const struct view_symbol *s = &p->view->symbols[i];
		struct out name;
		char *text;

		out_init_mem(&name);
		if (s->function[0])
			out_text(&name, s->function);
		else
			stack_text_name(&name, s);
		text = out_take(&name);
		write_frame(p, i + 1, text, s);
		free(text);
	}
	for (size_t i = 0; i < COUNT(others); i++)
		write_frame(p, count + 1 + i, others[i], NULL);
}
