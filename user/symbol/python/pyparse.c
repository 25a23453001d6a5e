// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/python/pyparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "symbol/python/pyfile.h"

#define PYTHON_NS 5000000000ULL  /* the longest wait; 30 ms is much on an idle machine */

struct python_answer {
	struct image_shape shape;
	struct pyparse_facts facts;
};

/* ---- the worker's side ---- */

static int read_python(const struct image *image, struct pyparse_facts *facts)
{
	enum { RUNTIME, VERSION, CODE_TYPE, SYMBOLS };
	struct pyfile_symbol symbols[SYMBOLS] = {
		[RUNTIME] = { .name = "_PyRuntime" },
		[VERSION] = { .name = "Py_Version" },
		[CODE_TYPE] = { .name = "PyCode_Type" },
	};

	pyfile_symbols(image, symbols, SYMBOLS);
	if (!symbols[RUNTIME].vaddr || !symbols[CODE_TYPE].vaddr)
		return -ENOENT;
	facts->runtime = symbols[RUNTIME].vaddr;
	facts->runtime_bytes = symbols[RUNTIME].size;
	facts->code_type = symbols[CODE_TYPE].vaddr;
	if (!symbols[VERSION].vaddr ||
	    !image_read_at(image, symbols[VERSION].vaddr, &facts->version, sizeof(facts->version)))
		facts->minor = pyfile_minor(image);
	facts->eval_count = (uint32_t)pyfile_eval_ranges(image, facts->eval);
	return 0;
}

int pyparse_serve_python(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct python_answer *python;
	struct image image;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	python = xcalloc(1, sizeof(*python));
	image_shape(&image, &python->shape);
	err = read_python(&image, &python->facts);
	image_close(&image);
	*answer = (struct parse_answer){ python, sizeof(*python) };
	return err;
}

int pyparse_serve_threads(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct pytls *tls;
	struct image image;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	tls = xcalloc(1, sizeof(*tls));
	err = pytls_read(&image, tls);
	image_close(&image);
	*answer = (struct parse_answer){ tls, sizeof(*tls) };
	return err;
}

int pyparse_serve_eval(void **state, struct parse_task *task, struct parse_answer *answer)
{
	struct gmt_py_range *ranges;
	struct image image;
	size_t count;
	int err = image_open(&image, parse_take_fd(task));

	(void)state;
	if (err)
		return err;
	ranges = xcalloc(GMT_PY_EVAL_RANGES, sizeof(*ranges));
	count = pyfile_eval_ranges(&image, ranges);
	image_close(&image);
	*answer = (struct parse_answer){ ranges, count * sizeof(*ranges) };
	return 0;
}

/* ---- the asker's side ---- */

static int ask_of_file(struct parse_client *client, const struct source_file *file, enum parse_kind kind, size_t most,
		     struct parse_answer *answer)
{
	struct parse_question question = {
		.kind = kind, .owner = file->owner, .fds = { file->fd }, .budget_ns = PYTHON_NS, .most = most,
	};

	return parse_ask(client, &question, answer);
}

static bool are_ranges(const struct gmt_py_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].end <= ranges[i].start)
			return false;
	return count <= GMT_PY_EVAL_RANGES;
}

int pyparse_python(struct parse_client *client, const struct source_file *file, struct image *shape,
		   struct pyparse_facts *facts)
{
	const struct python_answer *python;
	struct parse_answer answer;
	int err = ask_of_file(client, file, PARSE_PYTHON, sizeof(*python), &answer);

	python = answer.data;
	if (!err && (answer.size != sizeof(*python) || !image_of_shape(shape, &python->shape) ||
		     python->facts.eval_count > GMT_PY_EVAL_RANGES ||
		     !are_ranges(python->facts.eval, python->facts.eval_count)))
		err = parse_refuse(client, file->owner);
	if (!err)
		*facts = python->facts;
	free(answer.data);
	return err;
}

static int ask_threads(struct parse_client *client, const struct modules *modules, const struct module_map *map,
		       struct pytls *tls)
{
	struct parse_answer answer;
	struct source_file file;
	int err = source_open_module(modules, map, &file);

	if (err)
		return err;
	err = ask_of_file(client, &file, PARSE_THREADS, sizeof(*tls), &answer);
	close(file.fd);
	if (!err && (answer.size != sizeof(*tls) || !pytls_is_sound(answer.data)))
		err = parse_refuse(client, file.owner);
	if (!err)
		memcpy(tls, answer.data, sizeof(*tls));
	free(answer.data);
	return err;
}

int pyparse_threads(struct parse_client *client, const struct modules *modules, struct pytls *tls, const char **why)
{
	int err = -ENOENT;

	*why = "no glibc in the process";
	for (size_t i = 0; i < modules->map_count && err == -ENOENT; i++) {
		const char *name = modules_of(modules, &modules->maps[i])->name;

		if (!strncmp(name, "ld-musl", 7)) {
			*why = "musl is not supported";
			return -ENOTSUP;
		}
		if (!strncmp(name, "libc.so.6", 9) || !strncmp(name, "libc-2.", 7) ||
		    !strncmp(name, "libpthread", 10)) {
			err = ask_threads(client, modules, &modules->maps[i], tls);
			*why = parse_gave_up(err) ? parse_why(client, err) :
						    "glibc does not say where it keeps thread-specific data";
		}
	}
	return err;
}

int pyparse_eval(struct parse_client *client, const struct source_file *file,
		 struct gmt_py_range ranges[GMT_PY_EVAL_RANGES])
{
	struct parse_answer answer;
	size_t most = GMT_PY_EVAL_RANGES * sizeof(*ranges), count;
	int err = ask_of_file(client, file, PARSE_EVAL, most, &answer);

	count = answer.size / sizeof(*ranges);
	if (!err && (answer.size % sizeof(*ranges) || !are_ranges(answer.data, count)))
		err = parse_refuse(client, file->owner);
	if (!err && count)
		memcpy(ranges, answer.data, answer.size);
	free(answer.data);
	return err ? err : (int)count;
}
