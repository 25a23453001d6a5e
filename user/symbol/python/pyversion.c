// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/python/pyversion.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "symbol/elf/modules.h"
#include "symbol/python/pyfile.h"
#include "symbol/python/pyparse.h"
#include "symbol/python/pytls.h"
#include "symbol/elf/source.h"

#define MINOR_VERSION 11            /* the first with Py_Version */
#define MINOR_DEBUG 13              /* the first with _Py_DebugOffsets */
#define RELEASE_CANDIDATE 0xc0      /* PY_RELEASE_LEVEL; from release candidates on, structures do not change */
#define INTERPRETERS_MAX 4096       /* that are searched for a thread: idle ones have none, and come first */
#define THREADS_MAX 4096
#define SEARCHED_MAX 4              /* threads for which the key is searched for */
#define RUNTIME_BYTES_MAX (16u << 10) /* the key is in the first 2.5 KB of every version known */
#define KEYS_MAX 1024               /* PTHREAD_KEYS_MAX, glibc */

#define SHOWN_COLUMNS 80            /* of a path or a name in a sentence */

struct finder {
	struct pyversion *python;
	struct parse_client *client;
	pid_t pid;
	struct modules modules;
	struct image shape;
	struct pyparse_facts facts;
	struct pytls tls;
	unsigned char head[PYLAYOUT_DEBUG_BYTES]; /* of _PyRuntime */
};

__attribute__((format(printf, 2, 3))) static int refuse_python(struct finder *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->python->why, sizeof(f->python->why), format, args);
	va_end(args);
	return -ENOTSUP;
}

/* Foreign text as it may be printed. */
struct shown {
	char text[4 * SHOWN_COLUMNS + 1];
};
static struct shown show_text(const char *text)
{
	struct shown shown;

	human_text(shown.text, SHOWN_COLUMNS, text, strlen(text));
	return shown;
}

static int say_starting(struct finder *f, const char *what)
{
	refuse_python(f, "%s", what);
	return -EAGAIN;
}

int pyversion_read(void *arg, uint64_t addr, void *dst, size_t n)
{
	struct iovec local = { dst, n }, remote = { (void *)(uintptr_t)addr, n };
	ssize_t got = process_vm_readv(*(pid_t *)arg, &local, 1, &remote, 1, 0);

	return got < 0 ? -errno : (size_t)got == n ? 0 : -EFAULT;
}

/* The BPF walker's C code finds thread states here, too. Its `walk` is the first member of struct process_walk. */
struct gmt_py_walk;
static int read_walked(const struct gmt_py_walk *walk, uint64_t addr, void *dst, size_t size);
#define PY_READ(dst, size, addr) read_walked(walk, addr, dst, size)
#include "../../../bpf/python.bpf.h"

struct process_walk {
	struct gmt_py_walk walk;
	pid_t pid;
};

static int read_walked(const struct gmt_py_walk *walk, uint64_t addr, void *dst, size_t size)
{
	pid_t pid = ((const struct process_walk *)walk)->pid;

	return pyversion_read(&pid, addr, dst, size);
}

static bool read_word(struct finder *f, uint64_t addr, uint64_t *value)
{
	return !pyversion_read(&f->pid, addr, value, sizeof(*value));
}

/* 0: it is CPython; -ENOENT: it is not; else it could not be read, and the reason is said. */
static int ask_candidate(struct finder *f, const struct module_map *map)
{
	struct source_file file;
	int err = source_open_module(&f->modules, map, &file);

	if (err)
		return -ENOENT;
	err = pyparse_python(f->client, &file, &f->shape, &f->facts);
	close(file.fd);
	if (err && !parse_gave_up(err))
		return -ENOENT;
	if (err)
		refuse_python(f, "%s %s", show_text(modules_of(&f->modules, map)->path).text,
			      parse_why(f->client, err));
	return err;
}

/* Whether a module may hold CPython: libpython, or the program itself. */
static bool is_candidate(const struct module *module, const char *exe, bool want_library)
{
	bool is_library = !strncmp(module->name, "libpython", 9);

	return module->kind == MODULE_FILE && is_library == want_library &&
	       (is_library || !strncmp(module->name, "python", 6) || !strcmp(module->path, exe));
}

/* Finds the mapping of CPython's code, and what its file says. Libraries come first: the program of a shared build is
 * small and has no interpreter. 0; -ENOENT; else an error with a reason. */
static int find_module(struct finder *f, const char *exe, struct module_map **found)
{
	int err = -ENOENT;

	for (int want_library = 1; want_library >= 0; want_library--) {
		uint32_t tried = UINT32_MAX;

		for (size_t i = 0; i < f->modules.map_count; i++) {
			struct module_map *map = &f->modules.maps[i];

			if (map->module == tried ||
			    !is_candidate(modules_of(&f->modules, map), exe, want_library))
				continue;
			tried = map->module;
			*found = map;
			err = ask_candidate(f, map);
			if (err != -ENOENT)
				return err;
		}
	}
	return err;
}

static int set_module(struct finder *f, struct module_map *map)
{
	struct pyversion *python = f->python;
	const struct module *module = modules_of(&f->modules, map);

	modules_set_image(&f->modules, map->module, &f->shape);
	if (!map->has_bias)
		return refuse_python(f, "%s is not mapped as its headers say", show_text(module->name).text);
	python->bias = map->bias;
	python->dev = module->dev;
	python->ino = module->ino;
	snprintf(python->path, sizeof(python->path), "%s", module->path);
	python->runtime = map->bias + f->facts.runtime;
	python->code_type = map->bias + f->facts.code_type;
	return 0;
}

static unsigned int old_minor(struct finder *f, const char *exe)
{
	unsigned int minor = pyfile_minor_of_path(f->python->path);

	if (!minor)
		minor = pyfile_minor_of_path(exe);
	return minor ? minor : f->facts.minor;
}

static int find_version(struct finder *f, const char *exe)
{
	bool has_debug = pylayout_has_debug(f->head, sizeof(f->head));
	uint32_t version = has_debug ? pylayout_debug_version(f->head) : (uint32_t)f->facts.version;
	unsigned int minor;

	if (!version)
		version = 3u << 24 | old_minor(f, exe) << 16;
	f->python->config.version = version;
	minor = version >> 16 & 0xff;
	if (version >> 24 != 3 || !pylayout_of(minor))
		return refuse_python(f, "Python %u.%u is not supported (3.%d to 3.%u are)", version >> 24, minor,
				     PYLAYOUT_MINOR_MIN, pylayout_newest());
	f->python->layout = *pylayout_of(minor);
	pylayout_adapt(&f->python->layout, f->shape.machine);
	if (minor >= MINOR_VERSION && (version & 0xff) < RELEASE_CANDIDATE)
		return refuse_python(f, "a pre-release of Python 3.%u is not supported", minor);
	if (minor >= MINOR_DEBUG && !has_debug)
		return refuse_python(f, "this build of Python 3.%u does not export its memory layout", minor);
	if (has_debug && pylayout_is_free_threaded(f->head))
		return refuse_python(f, "a free-threaded build of Python 3.%u is not supported", minor);
	return 0;
}

/* The sizes differ in a debug build, in a fork, and in a version that only looks like a known version. */
static int find_layout(struct finder *f)
{
	struct pylayout *layout = &f->python->layout;
	uint64_t basic_size = 0;

	if (layout->minor >= MINOR_DEBUG && pylayout_debug(f->head, layout))
		return refuse_python(f, "Python 3.%u describes its memory layout in an unknown format", layout->minor);
	if (!read_word(f, f->python->code_type + PYLAYOUT_TYPE_BASICSIZE, &basic_size))
		return say_starting(f, "its memory cannot be read");
	if (basic_size != layout->code_size)
		return refuse_python(f, "an unknown build of Python 3.%u: a code object has %llu bytes, not %u",
				     layout->minor, (unsigned long long)basic_size, layout->code_size);
	pylayout_config(layout, &f->python->config);
	return 0;
}

/* Takes a Py_tss_t (_is_initialized, _key), if the key leads from the thread's pointer to its state. */
static bool take_key(struct finder *f, const uint32_t *pair, uint64_t tstate, uint64_t thread)
{
	struct gmt_py_config config = f->python->config;
	struct process_walk walk = { .pid = f->pid };

	if (pair[0] != 1 || pair[1] >= KEYS_MAX)
		return false;
	pytls_key(&f->tls, pair[1], &config);
	if (gmt_py_tstate(&config, &walk.walk, thread - (uint64_t)(int64_t)config.thread_self) != tstate)
		return false;
	f->python->config = config;
	return true;
}

/* Takes the key from the place that the version's table names. */
static bool read_key(struct finder *f, uint64_t tstate, uint64_t thread)
{
	const struct pyversion *python = f->python;
	uint32_t pair[2];

	return !pyversion_read(&f->pid, python->runtime + python->layout.runtime_key - 4, pair, sizeof(pair)) &&
	       take_key(f, pair, tstate, thread);
}

struct searched {
	struct finder *finder;
	uint64_t tstate, thread;
};

static bool take_found(void *arg, const uint32_t *pair)
{
	const struct searched *searched = arg;

	return take_key(searched->finder, pair, searched->tstate, searched->thread);
}

/* Searches for the key, in case a point release has moved it: a pair in _PyRuntime that looks like a key and leads to
 * the thread state. */
static bool search_key(struct finder *f, uint64_t tstate, uint64_t thread)
{
	struct searched searched = { f, tstate, thread };
	uint64_t size = f->facts.runtime_bytes;
	uint32_t *words, at;

	size = (size && size < RUNTIME_BYTES_MAX ? size : RUNTIME_BYTES_MAX) & ~7ULL;
	words = xmalloc(size);
	if (pyversion_read(&f->pid, f->python->runtime, words, size))
		size = 0;
	at = pylayout_search_key(&f->python->layout, words, size / 4, take_found, &searched);
	if (at)
		pylayout_move_key(&f->python->layout, at);
	free(words);
	return at;
}

/* Whether `leads` is true of any thread's state. Threads may end meanwhile. */
static bool try_threads(struct finder *f, bool (*leads)(struct finder *, uint64_t, uint64_t), unsigned int most,
			unsigned int *threads)
{
	const struct pylayout *layout = &f->python->layout;
	uint64_t interp = 0, tstate, thread;

	*threads = 0;
	if (!read_word(f, f->python->runtime + layout->runtime_interps, &interp))
		return false;
	for (int i = 0; i < INTERPRETERS_MAX && interp; i++) {
		if (!read_word(f, interp + layout->interp_threads, &tstate))
			return false;
		for (; tstate && *threads < most; ++*threads) {
			if (!read_word(f, tstate + layout->tstate_thread, &thread))
				return false;
			if (thread && leads(f, tstate, thread))
				return true;
			if (!read_word(f, tstate + layout->tstate_next, &tstate))
				return false;
		}
		if (!read_word(f, interp + layout->interp_next, &interp))
			return false;
	}
	if (interp) /* there may be threads in those that were not searched */
		*threads = most;
	return false;
}

/* One thread whose state the key leads to proves the layout. */
static int prove_layout(struct finder *f)
{
	unsigned int threads;
	uint64_t pair = 1;

	if (try_threads(f, read_key, THREADS_MAX, &threads) || try_threads(f, search_key, SEARCHED_MAX, &threads))
		return 0;
	read_word(f, f->python->runtime + f->python->layout.runtime_key - 4, &pair);
	if (!threads || !pair)
		return say_starting(f, "no thread yet");
	return refuse_python(f, "the thread state of Python 3.%u was not found where it should be",
			     f->python->layout.minor);
}

/* What tells whether a thread runs another interpreter than the main one. prove_layout() knows where to look for it. */
static int find_interpreters(struct finder *f)
{
	const struct pylayout *layout = &f->python->layout;
	struct gmt_py_config *config = &f->python->config;
	uint64_t main_interp = 0;

	if (!layout->runtime_current)
		return 0;
	config->interps = f->python->runtime + layout->runtime_interps;
	config->current = f->python->runtime + layout->runtime_current;
	if (!read_word(f, config->interps + 8, &main_interp) || !main_interp)
		return say_starting(f, "no interpreter yet");
	config->main_interp = main_interp;
	return 0;
}

static int find_eval(struct finder *f)
{
	struct gmt_py_config *config = &f->python->config;

	config->eval_count = f->facts.eval_count;
	memcpy(config->eval, f->facts.eval, sizeof(config->eval));
	if (!config->eval_count)
		return refuse_python(f, "the eval function is not in %s, or has too many parts",
				     show_text(f->python->path).text);
	for (uint32_t i = 0; i < config->eval_count; i++) {
		config->eval[i].start += f->python->bias;
		config->eval[i].end += f->python->bias;
	}
	return 0;
}

static int find_in_module(struct finder *f, struct module_map *map, const char *exe)
{
	const char *why;
	int err = set_module(f, map), failed;

	if (!err && pyversion_read(&f->pid, f->python->runtime, f->head, sizeof(f->head)))
		err = say_starting(f, "its memory cannot be read");
	if (!err)
		err = find_version(f, exe);
	if (!err)
		err = find_layout(f);
	if (!err)
		err = find_eval(f);
	if (err)
		return err;
	failed = pyparse_threads(f->client, &f->modules, &f->tls, &why);
	if (!failed) {
		err = prove_layout(f);
		return err ? err : find_interpreters(f);
	}
	err = refuse_python(f, "%s%s", parse_gave_up(failed) ? "glibc's file " : "", why);
	return parse_gave_up(failed) ? failed : err;
}

static void exe_of(pid_t pid, char *exe, size_t size)
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	len = readlink(link, exe, size - 1);
	exe[len > 0 ? len : 0] = '\0';
	if (len > 10 && !strcmp(exe + len - 10, " (deleted)")) /* maps.c cuts it off too */
		exe[len - 10] = '\0';
}

int pyversion_find(pid_t pid, struct parse_client *client, struct pyversion *python)
{
	struct finder *f = xcalloc(1, sizeof(*f));
	struct module_map *map;
	char exe[PATH_MAX];
	int err;

	memset(python, 0, sizeof(*python));
	f->python = python;
	f->client = client;
	f->pid = pid;
	err = modules_read(&f->modules, (uint32_t)pid);
	if (err)
		goto out;
	exe_of(pid, exe, sizeof(exe));
	err = find_module(f, exe, &map);
	if (!err)
		err = find_in_module(f, map, exe);
out:
	modules_fini(&f->modules);
	free(f);
	return err;
}
