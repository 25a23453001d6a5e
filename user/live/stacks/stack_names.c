// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/stack_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gpumemtrace/stackmap.h>

#include "base/for_tests.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "live/stacks/address_space.h"
#include "live/stacks/walk_check.h"
#include "live/stream.h"
#include "symbol/elf/lines.h"
#include "symbol/intern.h"
#include "symbol/python/pycode.h"

#define CUT "..."
#define IDS_MAX 32768            /* symbols that are remembered: more than most sessions have */
/* Each word may be all frames of an address. So no stack has more, and no record is too long. */
#define FRAMES_MAX (LINES_DEPTH * GMT_STACK_WORDS)
_Static_assert(sizeof(struct gmt_stack_frames) + FRAMES_MAX * sizeof(uint32_t) <= UINT16_MAX, "the size of a record");

/* The parts of a symbol. Texts are interned, so equal ones have one address. */
struct symbol {
	const char *function, *module, *file;
	uint64_t offset;
	uint32_t line;
	uint8_t kind, flags;
};

struct naming {
	naming_put put;
	symbolizer_refused refused;
	void *arg;
	struct parse_client *client;
	struct symbolizer *symbolizer;
	struct intern texts;
	struct hash ids;                 /* hash of a struct symbol -> id */
	uint32_t count;                  /* ids given out */
	uint32_t most;                   /* IDS_MAX, or less for a test */
	uint32_t frame_count;            /* of the stack that is named */
	bool lacks_names;                /* ... and whether Python frames of it have no name */
	uint32_t frames[FRAMES_MAX];
};

static void begin_names(struct naming *naming)
{
	naming->symbolizer = symbolizer_new(naming->client, SYMBOLIZER_FILES, naming->refused, naming->arg);
	intern_init(&naming->texts);
	hash_init(&naming->ids, sizeof(uint32_t));
}

static void end_names(struct naming *naming)
{
	symbolizer_free(naming->symbolizer);
	intern_fini(&naming->texts);
	hash_fini(&naming->ids);
}

struct naming *naming_new(struct parse_client *client, naming_put put, symbolizer_refused refused, void *arg)
{
	struct naming *naming = xcalloc(1, sizeof(*naming));

	naming->put = put;
	naming->refused = refused;
	naming->arg = arg;
	naming->client = client;
	naming->most = number_for_tests("GPUMEMTRACE_SYMBOLS", IDS_MAX);
	begin_names(naming);
	return naming;
}

void naming_free(struct naming *naming)
{
	if (!naming)
		return;
	end_names(naming);
	free(naming);
}

void naming_forget(struct naming *naming)
{
	end_names(naming);
	begin_names(naming);
}

/* Symbols of programs that ended long ago must not stay for ever: all are forgotten, and those that are needed get new
 * ids. No stack has older ids then. */
static void forget_many(struct naming *naming)
{
	struct gmt_symbols_end rec = {
		.hdr = { .size = sizeof(rec), .kind = GMT_KIND_SYMBOLS_END, .ts_ns = stream_now_ns() },
		.last_id = naming->count,
	};

	if (hash_count(&naming->ids) < naming->most)
		return;
	naming_forget(naming);
	naming->put(naming->arg, &rec, sizeof(rec));
}

/* ---- symbols ---- */

size_t naming_text(unsigned char *to, const char *from)
{
	size_t len = from ? strnlen(from, NAMING_TEXT_MAX + 1) : 0;
	bool is_cut = len > NAMING_TEXT_MAX;

	if (is_cut) /* between characters of UTF-8 */
		for (len = NAMING_TEXT_MAX - strlen(CUT); len && ((unsigned char)from[len] & 0xc0) == 0x80;)
			len--;
	memcpy(to, from ? from : "", len);
	if (is_cut) {
		memcpy(to + len, CUT, strlen(CUT));
		len += strlen(CUT);
	}
	to[len] = '\0';
	return len;
}

static uint16_t append_text(unsigned char *text, size_t *used, const char *from)
{
	size_t len = naming_text(text + *used, from);

	*used += len + 1;
	return (uint16_t)len;
}

#define SYMBOL_MOST (sizeof(struct gmt_symbol) + 3 * (NAMING_TEXT_MAX + 1) + 8)

static void send_symbol(struct naming *naming, const struct symbol *symbol, uint32_t id)
{
	_Alignas(struct gmt_symbol) unsigned char bytes[SYMBOL_MOST] = { 0 };
	struct gmt_symbol *rec = (void *)bytes;
	size_t used = 0;

	rec->id = id;
	rec->line = symbol->line;
	rec->offset = symbol->offset;
	rec->kind = symbol->kind;
	rec->flags = symbol->flags;
	rec->function_len = append_text(rec->text, &used, symbol->function);
	rec->module_len = append_text(rec->text, &used, symbol->module);
	rec->file_len = append_text(rec->text, &used, symbol->file);
	rec->hdr.kind = GMT_KIND_SYMBOL;
	rec->hdr.size = (uint16_t)((sizeof(*rec) + used + 7) / 8 * 8);
	rec->hdr.ts_ns = stream_now_ns();
	naming->put(naming->arg, rec, rec->hdr.size);
}

static uint64_t hash_symbol(struct naming *naming, const struct symbol *symbol)
{
	uint64_t parts[6] = {
		(uintptr_t)symbol->function, (uintptr_t)symbol->module, (uintptr_t)symbol->file, symbol->offset,
		symbol->line, (uint64_t)symbol->kind << 8 | symbol->flags,
	};

	return hash_of_bytes(hash_seed(&naming->ids), parts, sizeof(parts));
}

static void add_frame(struct naming *naming, const struct symbol *symbol)
{
	uint32_t *id;
	bool is_new;

	id = hash_put(&naming->ids, hash_symbol(naming, symbol), &is_new);
	if (is_new) {
		*id = ++naming->count;
		send_symbol(naming, symbol, *id);
	}
	naming->frames[naming->frame_count++] = *id;
}

/* ---- frames ---- */

static void add_native(struct naming *naming, struct space *space, uint32_t moment, uint64_t word)
{
	uint64_t address = word & GMT_FRAME_PC_MASK;
	bool is_return = !(word & GMT_FRAME_EXACT);
	struct modules *modules = space_code_at(space, moment, address - is_return), none = { 0 };
	const struct symbol_frames *found = symbolizer_find(naming->symbolizer, modules ? modules : &none, address,
							    is_return);

	for (uint32_t i = 0; i < found->count; i++) {
		const struct symbol_frame *frame = &found->frames[i];

		add_frame(naming, &(struct symbol){
			.function = intern(&naming->texts, frame->function),
			.module = intern(&naming->texts, frame->path && frame->path[0] ? frame->path : frame->module),
			.file = intern(&naming->texts, frame->file),
			.offset = frame->function ? 0 : frame->offset,
			.line = frame->line,
			.kind = GMT_SYMBOL_NATIVE,
			.flags = (frame->inlined ? GMT_SYMBOL_INLINED : 0) |
				 (word & GMT_FRAME_GUESSED ? GMT_SYMBOL_GUESSED : 0),
		});
	}
}

static void add_python(struct naming *naming, struct space *space, uint64_t code, uint64_t where)
{
	struct gmt_py_frame frame = {
		.code = code & GMT_FRAME_PC_MASK, .lasti = (int32_t)where, .check = (uint32_t)(where >> 32),
	};
	struct symbol symbol = { .kind = GMT_SYMBOL_PYTHON };
	pid_t pid = (pid_t)space->tgid;
	struct pycode_where at;

	if (space->codes && !pycode_resolve(space->codes, &frame, pyversion_read, &pid, &at)) {
		if (at.is_hidden)
			return;
		symbol.function = intern(&naming->texts, at.function);
		symbol.file = intern(&naming->texts, at.file);
		symbol.line = at.line > 0 ? (uint32_t)at.line : 0;
	} else {
		symbol.offset = frame.code;
		naming->lacks_names = true;
	}
	add_frame(naming, &symbol);
}

/* A frame of the eval loop is left out if its Python frames follow, which say more. */
static bool is_shown_by_python(const struct gmt_stack *stack, uint32_t i)
{
	return (stack->words[i] & GMT_FRAME_EVAL) && !(stack->words[i] & GMT_FRAME_PYTHON) &&
	       i + 1 < stack->count && (stack->words[i + 1] & GMT_FRAME_PYTHON);
}

static void put_frames(struct naming *naming, const struct gmt_stack *stack)
{
	size_t count = naming->frame_count, size = sizeof(struct gmt_stack_frames) + (count + count % 2) * 4;
	struct gmt_stack_frames *rec = xcalloc(1, size);

	rec->hdr.kind = GMT_KIND_STACK_FRAMES;
	rec->hdr.size = (uint16_t)size;
	rec->hdr.tgid = stack->hdr.tgid;
	rec->hdr.ts_ns = stream_now_ns();
	rec->stack_id = stack->id;
	rec->count = (uint32_t)count;
	memcpy(rec->symbols, naming->frames, count * 4);
	naming->put(naming->arg, rec, size);
	free(rec);
}

void naming_python(struct naming *naming, struct space *space, const struct gmt_stack *stack)
{
	forget_many(naming);
	naming->frame_count = 0;
	for (uint32_t i = 0; i + 1 < stack->count; i++) {
		if (!(stack->words[i] & GMT_FRAME_PYTHON))
			continue;
		add_python(naming, space, stack->words[i], stack->words[i + 1]);
		i++;
	}
}

void naming_stack(struct naming *naming, struct space *space, struct gmt_stack *stack, bool is_changed)
{
	uint32_t count = stack->count, moment = walk_moment(stack);

	forget_many(naming);
	naming->frame_count = 0;
	naming->lacks_names = false;
	for (uint32_t i = 0; i < count; i++) {
		if (!(stack->words[i] & GMT_FRAME_PYTHON)) {
			if (!is_shown_by_python(stack, i))
				add_native(naming, space, moment, stack->words[i]);
		} else if (i + 1 < count) {
			add_python(naming, space, stack->words[i], stack->words[i + 1]);
			i++;
		}
	}
	if (naming->lacks_names && !(GMT_PY_CUT >> (stack->py_reason & 31) & 1)) {
		stack->py_reason = GMT_PY_END_UNNAMED;
		is_changed = true;
	}
	if (is_changed)
		naming->put(naming->arg, stack, stack->hdr.size);
	put_frames(naming, stack);
}
