/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes an entry for each row of api.h. An entry with a function of its own elsewhere in the stand-in overrides the
 * weak one here. The other entries call the function of an entry with the same operation, with the arguments moved to
 * the places that this function takes: the values of both rows say where. So a new entry of a known operation is a row
 * of api.h.
 *
 * Prototypes are not included: here all entries take what six registers hold.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gpumemtrace/api.h>

#include "generic.h"
#include "new_exports.h"

#define ARGUMENTS 6
#define NOT_SUPPORTED 801   /* CUDA_ERROR_NOT_SUPPORTED */
#define ENTRY __attribute__((weak, visibility("default"), section("standin_generic")))

typedef int entry_fn(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);

static int call_generic(unsigned int id, const uint64_t args[ARGUMENTS]);

#define X(id, symbol, op, flags, ...)                                                                \
	ENTRY int symbol(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)     \
	{                                                                                            \
		return call_generic(id, (const uint64_t[]){ a, b, c, d, e, f });                     \
	}
GMT_APIS(X)
#undef X

/* What an older driver does not have. */
#ifdef STANDIN_OLD_EXPORTS
#define V(name, version, symbol) __asm__(".hidden " #symbol);
#define S(name, version) V(name, version, name)
#define HIDE(symbol) V(,, symbol)
PROCS_NEW(S, V,)
GENERIC_NEW(HIDE)
#undef HIDE
#undef V
#undef S
#endif

struct row {
	const char *symbol;
	entry_fn *entry;
	unsigned int op, flags, count;
	uint32_t caps[GMT_CALL_VALS];
};

static const struct row rows[GMT_API_MAX] = {
#define X(id, symbol, op, flags, ...)                                                                \
	[id] = { #symbol, symbol, GMT_OP_##op, flags, sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
		 { __VA_ARGS__ } },
	GMT_APIS(X)
#undef X
};

extern const char __start_standin_generic[] __attribute__((visibility("hidden")));
extern const char __stop_standin_generic[] __attribute__((visibility("hidden")));

static bool is_generic(const struct row *row)
{
	uintptr_t at = (uintptr_t)row->entry;

	return at >= (uintptr_t)__start_standin_generic && at < (uintptr_t)__stop_standin_generic;
}

static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Of the functions of the same operation that with the likest name. NULL: there is none. */
static const struct row *model_of(const struct row *row)
{
	const struct row *best = NULL;

	for (unsigned int i = 0; i < GMT_API_MAX; i++) {
		const struct row *other = &rows[i];

		if (!other->symbol || other->op != row->op || is_generic(other))
			continue;
		if (!best || common_prefix(other->symbol, row->symbol) > common_prefix(best->symbol, row->symbol))
			best = other;
	}
	return best;
}

#define CAP_KIND(cap) ((cap) >> 24)
#define CAP_ARGUMENT(cap) ((cap) >> 16 & 0xff)
#define CAP_OFFSET(cap) ((cap) & 0xffff)

/* One value, from where the one entry has it to where the other does. False: these are too different. */
static bool move_value(uint32_t from, const uint64_t args[ARGUMENTS], uint32_t to, uint64_t moved[ARGUMENTS])
{
	bool in_register = CAP_KIND(from) <= GMT_CAP_ARG32, wide = CAP_KIND(from) == GMT_CAP_ARG64;
	uint64_t value = args[CAP_ARGUMENT(from) % ARGUMENTS];

	if (CAP_KIND(from) == GMT_CAP_STKHASH || in_register != (CAP_KIND(to) <= GMT_CAP_ARG32) ||
	    (!in_register && CAP_KIND(from) != CAP_KIND(to)))
		return false;
	if (in_register)
		value = wide ? value : (uint32_t)value;
	else
		value += CAP_OFFSET(from) - (uint64_t)CAP_OFFSET(to);
	moved[CAP_ARGUMENT(to) % ARGUMENTS] = value;
	return true;
}

/* False: it does not fit the model. Arguments that are no values of the operation are passed on where all values are
 * in the same places, and else are 0. */
static bool move_values(const struct row *row, const struct row *model, const uint64_t args[ARGUMENTS],
			uint64_t moved[ARGUMENTS])
{
	memset(moved, 0, ARGUMENTS * sizeof(*moved));
	if (row->count == model->count && !memcmp(row->caps, model->caps, sizeof(row->caps)))
		memcpy(moved, args, ARGUMENTS * sizeof(*moved));
	for (unsigned int i = 0; i < row->count && i < model->count; i++)
		if (!move_value(row->caps[i], args, model->caps[i], moved))
			return false;
	return true;
}

static int call_generic(unsigned int id, const uint64_t args[ARGUMENTS])
{
	const struct row *row = &rows[id], *model = model_of(row);
	uint64_t to[ARGUMENTS];

	/* A scope in which nothing happens. */
	if (row->flags & GMT_API_SCOPE && !row->count)
		return 0;
	if (!model || !move_values(row, model, args, to))
		return NOT_SUPPORTED;
	return model->entry(to[0], to[1], to[2], to[3], to[4], to[5]);
}

void *generic_entry(const char *name)
{
	for (unsigned int i = 0; i < GMT_API_MAX; i++)
		if (rows[i].symbol && !strcmp(rows[i].symbol, name) && is_generic(&rows[i]))
			return (void *)rows[i].entry;
	return NULL;
}

const char *standin_unplayed(unsigned int id)
{
	static const uint64_t none[ARGUMENTS];
	const struct row *row = &rows[id % GMT_API_MAX], *model = row->symbol ? model_of(row) : NULL;
	uint64_t moved[ARGUMENTS];

	if (!row->symbol || !is_generic(row) || (row->flags & GMT_API_SCOPE && !row->count))
		return NULL;
	return model && move_values(row, model, none, moved) ? NULL : row->symbol;
}
