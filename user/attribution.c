// SPDX-License-Identifier: BSD-2-Clause
#include "attribution.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "core/terms/frames.h"
#include "core/terms/own_code.h"
#include "core/terms/owner_names.h"
#include "symbol/owners.h"

struct attribution {
	struct owners *owners;
	struct hash symbols;            /* number of a symbol -> struct owners_match */
	struct hash stacks;             /* number of a stack -> struct view_verdict */
	struct owner_names above;       /* owners that no rule has; their numbers follow those of the rules */
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
	owner_names_init(&a->above);
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
	owner_names_fini(&a->above);
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
	owner_names_clear(&a->above);
}

/* Answers are kept by number until numbers change. */
static void follow_numbers(struct attribution *a, const struct frames *frames)
{
	if (a->epoch == frames->epoch)
		return;
	a->epoch = frames->epoch;
	attribution_renew(a);
}

static struct owners_frame frame_of(const struct frames_symbol *s)
{
	return (struct owners_frame){
		.module = text_or_null(s->module),
		.function = text_or_null(s->function),
		.file = text_or_null(s->file),
	};
}

static struct owners_match match_of(struct attribution *a, const struct frames *frames, uint32_t symbol)
{
	const struct owners_frame frame = frame_of(&frames->symbols[symbol]);
	bool is_new;
	struct owners_match *match = hash_put(&a->symbols, symbol, &is_new);

	if (is_new)
		*match = owners_match(a->owners, &frame);
	return *match;
}

/* A stack that is judged. */
struct judged {
	const struct frames_symbol *symbols;
	const uint32_t *list;           /* its frames, innermost first */
	const struct owners_match *matches;
	uint32_t count;
	const char *torch;              /* begins with the folder of PyTorch's package; NULL: not known */
	size_t torch_len;
};

/* How well a frame says whose call it was; 0: not at all. Code that no rule knows says more than a package that rules
 * know; native code says something only where no Python does. */
enum own_rank { OWN_NOT, OWN_NATIVE, OWN_NATIVE_LINE, OWN_PACKAGE, OWN_PROGRAM };

static enum own_rank own_rank(const struct frames_symbol *s, struct owners_match match)
{
	enum own_code code;

	if (match.verb == OWNERS_SKIP || match.verb == OWNERS_CARRIER || match.verb == OWNERS_PART)
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

/* Finds the folder of PyTorch's package, wherever it was unpacked, as the stack's own libraries tell. */
static void find_torch_folder(struct judged *j)
{
	for (uint32_t i = 0; i < j->count && !j->torch; i++) {
		const char *module = j->symbols[j->list[i]].module, *found = strstr(module, "/torch/lib/lib");

		j->torch = found ? module : NULL;
		j->torch_len = found ? (size_t)(found - module) + strlen("/torch/") : 0;
	}
}

/* A frame's rank in its stack. PyTorch's own Python code is a package's, also where the folder does not say so. */
static enum own_rank rank_in_stack(const struct judged *j, uint32_t frame)
{
	const struct frames_symbol *s = &j->symbols[j->list[frame]];

	return j->torch && !strncmp(s->file, j->torch, j->torch_len) ? OWN_NOT : own_rank(s, j->matches[frame]);
}

/* The innermost of the frames that say it best. */
static uint32_t own_line(const struct judged *j)
{
	enum own_rank best = OWN_NOT;
	uint32_t line = VIEW_NO_FRAME;

	for (uint32_t i = 0; i < j->count; i++) {
		enum own_rank rank = rank_in_stack(j, i);

		if (rank <= best)
			continue;
		best = rank;
		line = i;
	}
	return line;
}

/* The line that called the program's own line: code of the same kind, but not of the same line. */
static uint32_t calling_line(const struct judged *j, uint32_t line)
{
	const struct frames_symbol *own = line < j->count ? &j->symbols[j->list[line]] : NULL;

	for (uint32_t i = line + 1; own && i < j->count; i++) {
		const struct frames_symbol *s = &j->symbols[j->list[i]];

		if (s->place != own->place && rank_in_stack(j, i) == own_rank(own, j->matches[line]) &&
		    strcmp(s->function, "_start"))
			return i;
	}
	return 0;
}

/* ---- owners ---- */

/* The framework that took the memory, inside of the frame that decided; 0: none. A stack of Python alone has the
 * framework of a part outside of it. */
static uint16_t framework_inside(const struct judged *j, uint32_t decisive)
{
	uint16_t found = 0;

	for (uint32_t i = 0; i < decisive; i++)
		if (j->matches[i].verb == OWNERS_CARRIER)
			found = j->matches[i].owner;
	for (uint32_t i = decisive; i < j->count && !found && j->matches[decisive].verb == OWNERS_PART; i++)
		if (j->matches[i].verb == OWNERS_CARRIER)
			found = j->matches[i].owner;
	return found;
}

/* The name of the owner that a frame's code is: a package; else a file of Python, or a library. */
static const char *name_of_code(const struct frames_symbol *s, char package[OWNERS_PACKAGE_MAX])
{
	const struct owners_frame frame = frame_of(s);
	const char *name = owners_package(&frame, package);

	if (strcmp(name, "-"))
		return name;
	return s->kind == GMT_SYMBOL_PYTHON ? own_code_short_name(s->file) : basename(s->module);
}

/* The owner with its framework. If there are too many of them, the framework alone is the owner. */
static uint32_t number_owner(struct attribution *a, const char *name, uint16_t allocator)
{
	uint32_t number = owner_names_put(&a->above, name, allocator);

	return number == OWNER_NAMES_FULL ? allocator : (uint32_t)owners_count(a->owners) + number;
}

/* A framework takes memory for the code that called it, which is the owner. */
static void judge_above(struct attribution *a, const struct judged *j, struct view_verdict *verdict)
{
	uint16_t framework = j->matches[verdict->frame].owner;
	char package[OWNERS_PACKAGE_MAX];
	uint32_t above = verdict->frame;
	const char *name;

	while (above < j->count && rank_in_stack(j, above) == OWN_NOT)
		above++;
	verdict->is_framework = above == j->count;
	if (verdict->is_framework)
		return;
	if (j->matches[above].verb == OWNERS_OWNER)
		name = owners_name(a->owners, j->matches[above].owner);
	else
		name = name_of_code(&j->symbols[j->list[above]], package);
	if (!*name)
		return;
	verdict->owner = number_owner(a, name, framework);
	verdict->frame = above;
}

static void judge_owner(struct attribution *a, const struct judged *j, struct view_verdict *verdict)
{
	uint16_t allocator;
	size_t frame;

	verdict->owner = owners_decide(j->matches, j->count, &frame);
	verdict->frame = frame < j->count ? (uint32_t)frame : VIEW_NO_FRAME;
	if (verdict->frame == VIEW_NO_FRAME)
		return;
	if (j->matches[frame].verb == OWNERS_CARRIER) {
		judge_above(a, j, verdict);
		return;
	}
	allocator = framework_inside(j, verdict->frame);
	if (allocator && j->matches[frame].verb != OWNERS_NOTHING)
		verdict->owner = number_owner(a, owners_name(a->owners, (uint16_t)verdict->owner), allocator);
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
	struct judged j;
	uint32_t frame;
	bool is_new;

	follow_numbers(a, frames);
	verdict = hash_put(&a->stacks, stack, &is_new);
	if (!is_new)
		return *verdict;
	j = (struct judged){ .symbols = frames->symbols };
	j.list = frames_list(frames, stack, &j.count);
	if (j.count > a->match_capacity) {
		a->match_capacity = j.count;
		a->matches = xreallocarray(a->matches, j.count, sizeof(*a->matches));
	}
	for (uint32_t i = 0; i < j.count; i++)
		a->matches[i] = match_of(a, frames, j.list[i]);
	j.matches = a->matches;
	find_torch_folder(&j);
	judge_owner(a, &j, verdict);
	frame = verdict->frame;
	verdict->is_driver = frame < j.count && is_of_driver(&j.symbols[j.list[frame]], j.matches[frame]);
	verdict->line = own_line(&j);
	verdict->caller = calling_line(&j, verdict->line);
	return *verdict;
}

static bool is_skipped(void *arg, const struct frames *frames, uint32_t symbol)
{
	follow_numbers(arg, frames);
	return match_of(arg, frames, symbol).verb == OWNERS_SKIP;
}

static struct view_owner_names owner_names(void *arg, uint32_t owner)
{
	const struct attribution *a = arg;
	size_t first = owners_count(a->owners);
	const struct owner_name *above = owner < first ? NULL : &a->above.list[owner - first];

	if (!above)
		return (struct view_owner_names){ .name = owners_name(a->owners, (uint16_t)owner) };
	return (struct view_owner_names){ .name = above->name, .allocator = owners_name(a->owners, above->allocator) };
}

/* Each stack asks for its owner once. */
static uint64_t owners_dropped(const void *arg)
{
	const struct attribution *a = arg;

	return a->above.dropped;
}

void attribution_ask(struct attribution *a, struct view_request *request)
{
	request->decide = judge_stack;
	request->is_skipped = is_skipped;
	request->owner_names = owner_names;
	request->owner_count = (uint32_t)owners_count(a->owners) + OWNER_NAMES_MAX;
	request->owners_dropped = owners_dropped;
	request->arg = a;
}
