// SPDX-License-Identifier: BSD-2-Clause
#include "attribution.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "core/terms/frames.h"
#include "core/terms/own_code.h"
#include "symbol/owners.h"

struct attribution {
	struct owners *owners;
	struct hash symbols;            /* number of a symbol -> struct owners_match */
	struct hash stacks;             /* number of a stack -> struct view_verdict */
	struct owners_match *matches;   /* of one stack */
	uint32_t match_capacity;
	uint32_t epoch;                 /* of the frames whose numbers these are */
};

struct attribution *attribution_new(const struct options *options, char *why, size_t why_size)
{
	struct attribution *a = xcalloc(1, sizeof(*a));
	int err = 0;

	a->owners = owners_new();
	hash_init(&a->symbols, sizeof(struct owners_match));
	hash_init(&a->stacks, sizeof(struct view_verdict));
	for (size_t i = 0; i < options->owners.count && !err; i++)
		err = owners_add_file(a->owners, options->owners.texts[i], why, why_size);
	if (!err)
		err = owners_add_standard(a->owners, why, why_size);
	if (!err)
		return a;
	attribution_free(a);
	return NULL;
}

void attribution_free(struct attribution *a)
{
	owners_free(a->owners);
	hash_fini(&a->symbols);
	hash_fini(&a->stacks);
	free(a->matches);
	free(a);
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

void attribution_renew(struct attribution *a)
{
	hash_clear(&a->symbols);
	hash_clear(&a->stacks);
}

/* Answers are kept by number until numbers change. */
static void follow_numbers(struct attribution *a, const struct frames *frames)
{
	if (a->epoch == frames->epoch)
		return;
	a->epoch = frames->epoch;
	attribution_renew(a);
}

static struct owners_match match_of(struct attribution *a, const struct frames *frames, uint32_t symbol)
{
	const struct frames_symbol *s = &frames->symbols[symbol];
	bool is_new;
	struct owners_match *match = hash_put(&a->symbols, symbol, &is_new);

	if (is_new)
		*match = owners_match(a->owners, &(struct owners_frame){
			.module = text_or_null(s->module),
			.function = text_or_null(s->function),
			.file = text_or_null(s->file),
		});
	return *match;
}

/* How well a frame says whose call it was; 0: not at all. Code that no rule knows says more than a package that rules
 * know; native code says something only where no Python does. */
enum own_rank { OWN_NOT, OWN_NATIVE, OWN_NATIVE_LINE, OWN_PACKAGE, OWN_PROGRAM };

static enum own_rank own_rank(const struct frames_symbol *s, struct owners_match match)
{
	enum own_code code;

	if (match.verb == OWNERS_SKIP || match.verb == OWNERS_CARRIER)
		return OWN_NOT;
	if (s->kind != GMT_SYMBOL_PYTHON) {
		if (match.verb == OWNERS_OWNER || !s->function[0] || s->flags & GMT_SYMBOL_GUESSED)
			return OWN_NOT;
		return s->file[0] ? OWN_NATIVE_LINE : OWN_NATIVE;
	}
	code = s->file[0] ? own_code_of(s->file) : OWN_CODE_STANDARD;
	if (code == OWN_CODE_STANDARD)
		return OWN_NOT;
	return match.verb == OWNERS_NOTHING && code == OWN_CODE_PROGRAM ? OWN_PROGRAM : OWN_PACKAGE;
}

/* The folder of PyTorch's package, wherever it was unpacked, as the stack's own libraries tell; the length of its path
 * goes to *len. NULL: no frame is in such a library. */
static const char *torch_folder(const struct frames *frames, const uint32_t *list, uint32_t count, size_t *len)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *module = frames->symbols[list[i]].module, *found = strstr(module, "/torch/lib/lib");

		*len = found ? (size_t)(found - module) + strlen("/torch/") : 0;
		if (found)
			return module;
	}
	return NULL;
}

/* A frame's rank in its stack. PyTorch's own Python code is a package's, also where the folder does not say so. */
static enum own_rank rank_in_stack(const struct frames_symbol *s, struct owners_match match, const char *torch,
				   size_t len)
{
	return torch && !strncmp(s->file, torch, len) ? OWN_NOT : own_rank(s, match);
}

/* The innermost of the frames that say it best. */
static uint32_t own_line(const struct frames *frames, const uint32_t *list, const struct owners_match *matches,
			 uint32_t count)
{
	enum own_rank best = OWN_NOT;
	uint32_t line = VIEW_NO_FRAME;
	size_t len;
	const char *torch = torch_folder(frames, list, count, &len);

	for (uint32_t i = 0; i < count; i++) {
		enum own_rank rank = rank_in_stack(&frames->symbols[list[i]], matches[i], torch, len);

		if (rank <= best)
			continue;
		best = rank;
		line = i;
	}
	return line;
}

/* The line that called the program's own line: code of the same kind, but not of the same line. */
static uint32_t calling_line(const struct frames *frames, const uint32_t *list, const struct owners_match *matches,
			     uint32_t count, uint32_t line)
{
	const struct frames_symbol *own = line < count ? &frames->symbols[list[line]] : NULL;
	size_t len;
	const char *torch = torch_folder(frames, list, count, &len);

	for (uint32_t i = line + 1; own && i < count; i++) {
		const struct frames_symbol *s = &frames->symbols[list[i]];
		enum own_rank rank = rank_in_stack(s, matches[i], torch, len);

		if (s->place != own->place && rank == own_rank(own, matches[line]) && strcmp(s->function, "_start"))
			return i;
	}
	return 0;
}

/* CUDA's entry points take memory for the driver itself where a rule gives them an owner: contexts, modules, graphs. */
static bool is_of_driver(const struct frames_symbol *s, struct owners_match match)
{
	return match.verb == OWNERS_OWNER && !strncmp(basename(s->module), "libcuda.so", strlen("libcuda.so"));
}

static struct view_verdict judge_stack(void *arg, const struct frames *frames, uint32_t stack)
{
	struct attribution *a = arg;
	struct view_verdict *verdict;
	const uint32_t *list;
	uint32_t count;
	size_t frame;
	bool is_new;

	follow_numbers(a, frames);
	verdict = hash_put(&a->stacks, stack, &is_new);
	if (!is_new)
		return *verdict;
	list = frames_list(frames, stack, &count);
	if (count > a->match_capacity) {
		a->match_capacity = count;
		a->matches = xreallocarray(a->matches, count, sizeof(*a->matches));
	}
	for (uint32_t i = 0; i < count; i++)
		a->matches[i] = match_of(a, frames, list[i]);
	verdict->owner = owners_decide(a->matches, count, &frame);
	verdict->frame = frame < count ? (uint32_t)frame : VIEW_NO_FRAME;
	verdict->is_driver = frame < count && is_of_driver(&frames->symbols[list[frame]], a->matches[frame]);
	verdict->line = own_line(frames, list, a->matches, count);
	verdict->caller = calling_line(frames, list, a->matches, count, verdict->line);
	return *verdict;
}

static bool is_skipped(void *arg, const struct frames *frames, uint32_t symbol)
{
	follow_numbers(arg, frames);
	return match_of(arg, frames, symbol).verb == OWNERS_SKIP;
}

static const char *owner_name(void *arg, uint32_t owner)
{
	const struct attribution *a = arg;

	return owners_name(a->owners, (uint16_t)owner);
}

void attribution_ask(struct attribution *a, struct view_request *request)
{
	request->decide = judge_stack;
	request->is_skipped = is_skipped;
	request->owner_name = owner_name;
	request->owner_count = (uint32_t)owners_count(a->owners);
	request->arg = a;
}
