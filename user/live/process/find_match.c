// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/find_match.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "core/terms/cgroup_parts.h"
#include "live/process/find_facts.h"
#include "live/process/procfs.h"


/* ---- names ---- */

/* Takes the next argument of a command line; NUL ends each. */
static bool next_argument(struct scan *rest, struct scan *word)
{
	const char *end;

	if (rest->at >= rest->end)
		return false;
	end = memchr(rest->at, '\0', (size_t)(rest->end - rest->at));
	*word = (struct scan){ rest->at, end ? end : rest->end };
	rest->at = end ? end + 1 : rest->end;
	return true;
}

static bool is_argument(const struct scan *word, const char *wanted)
{
	size_t size = strlen(wanted);

	return (size_t)(word->end - word->at) == size && !memcmp(word->at, wanted, size);
}

static struct scan file_name_of(const struct scan *path)
{
	const char *slash = memrchr(path->at, '/', (size_t)(path->end - path->at));

	return (struct scan){ slash ? slash + 1 : path->at, path->end };
}

/* Programs whose first argument that is no option names what they run. */
static bool is_interpreter(const struct scan *program)
{
	static const char *const starts[] = { "python", "pypy", "perl", "ruby", "node", "julia", "lua", "php" };
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "Rscript" };
	struct scan name = file_name_of(program);

	for (size_t i = 0; i < COUNT(starts); i++)
		if ((size_t)(name.end - name.at) >= strlen(starts[i]) &&
		    !memcmp(name.at, starts[i], strlen(starts[i])))
			return true;
	for (size_t i = 0; i < COUNT(shells); i++)
		if (is_argument(&name, shells[i]))
			return true;
	return false;
}

/* Finds the script or module in the arguments behind the program. False: there is none, as with "-c". */
static bool find_script(struct scan *rest, struct scan *script)
{
	while (next_argument(rest, script)) {
		if (script->at < script->end && *script->at != '-')
			return true;
		if (is_argument(script, "-m"))
			return next_argument(rest, script);
		if (is_argument(script, "-c"))
			return false;
		if (is_argument(script, "-W") || is_argument(script, "-X"))
			next_argument(rest, script);
	}
	return false;
}

/* A longer text is no program's path, and a job could make it take minutes to compare. */
static bool fits_text(const char *pattern, const struct scan *text)
{
	char copy[PATH_MAX];

	if (text->end - text->at >= (ssize_t)sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%.*s", (int)(text->end - text->at), text->at);
	return copy[0] && !fnmatch(pattern, copy, 0);
}

static bool fits_path(const char *pattern, const struct scan *path)
{
	struct scan name = file_name_of(path);

	return fits_text(pattern, strchr(pattern, '/') ? path : &name);
}

static bool fits_names(const char *pattern, const char *comm, const char *cmdline, size_t size)
{
	struct scan name = { comm, comm + strlen(comm) }, rest = { cmdline, cmdline + size }, program, script;

	if (fits_text(pattern, &name))
		return true;
	if (!next_argument(&rest, &program))
		return false;
	return fits_path(pattern, &program) ||
	       (is_interpreter(&program) && find_script(&rest, &script) && fits_path(pattern, &script));
}

static bool match_name(const char *root, struct find_selector *selector, pid_t pid)
{
	struct procfs_stat stat;
	char *cmdline;
	ssize_t size;
	bool fits;

	if (procfs_stat_below(root, pid, &stat) || stat.kernel_thread)
		return false;
	cmdline = xmalloc(PROCFS_STRINGS_MAX);
	size = procfs_read_below(root, pid, "cmdline", cmdline, PROCFS_STRINGS_MAX);
	fits = fits_names(selector->wanted, stat.comm, cmdline, size > 0 ? (size_t)size : 0);
	free(cmdline);
	return fits;
}

static bool match_pid(const char *root, struct find_selector *selector, pid_t pid)
{
	(void)root;
	return selector->pid == pid;
}

static bool match_cuda(const char *root, struct find_selector *selector, pid_t pid)
{
	struct find_process process;

	(void)selector;
	return find_facts(root, pid, &process) && (process.has_libcuda || process.is_hidden);
}

/* ---- cgroups ---- */

typedef bool (*path_fits_fn)(struct find_selector *selector, const char *path, size_t size);

/* Whether the path of one of the hierarchies fits. */
static bool any_path_fits(const char *root, pid_t pid, struct find_selector *selector, path_fits_fn fits)
{
	char text[16384];
	ssize_t size = procfs_read_below(root, pid, "cgroup", text, sizeof(text));
	struct scan all = { text, text + (size > 0 ? size : 0) }, path;

	while (cgroup_next_path(&all, &path))
		if (fits(selector, path.at, (size_t)(path.end - path.at)))
			return true;
	return false;
}

static bool fits_cgroup(struct find_selector *selector, const char *path, size_t size)
{
	size_t wanted = strlen(selector->wanted);

	return size >= wanted && !memcmp(path, selector->wanted, wanted) && (size == wanted || path[wanted] == '/');
}

static bool match_cgroup(const char *root, struct find_selector *selector, pid_t pid)
{
	return any_path_fits(root, pid, selector, fits_cgroup);
}

static bool is_same_text(const char *text, size_t size, const char *wanted)
{
	return strlen(wanted) == size && !memcmp(text, wanted, size);
}

static bool has_id(const struct find_selector *selector, const char *id, size_t size)
{
	for (size_t i = 0; i < selector->id_count; i++)
		if (is_same_text(id, size, selector->ids[i]))
			return true;
	return false;
}

/* The beginning of an id may fit two containers: the first one counts, and the other one is noted. */
static bool is_container(const char *id, size_t size, void *arg)
{
	struct find_selector *selector = arg;
	size_t wanted = strlen(selector->wanted);

	if (has_id(selector, id, size))
		return true;
	/* A container that is named so comes before ids that begin so. */
	if (selector->id_count)
		return false;
	if (size < wanted || strncasecmp(id, selector->wanted, wanted))
		return false;
	/* An LXC container has a name for an id. */
	if (size != wanted && (size < 32 || wanted < FIND_ID_LEAST))
		return false;
	if (!selector->container[0])
		snprintf(selector->container, sizeof(selector->container), "%.*s", (int)size, id);
	if (is_same_text(id, size, selector->container))
		return true;
	selector->is_ambiguous = true;
	return false;
}

static bool fits_container(struct find_selector *selector, const char *path, size_t size)
{
	return cgroup_any_container(path, size, is_container, selector);
}

static bool match_container(const char *root, struct find_selector *selector, pid_t pid)
{
	return any_path_fits(root, pid, selector, fits_container);
}

static bool is_wanted_unit(const char *name, size_t size, void *arg)
{
	return is_same_text(name, size, ((struct find_selector *)arg)->wanted);
}

static bool fits_unit(struct find_selector *selector, const char *path, size_t size)
{
	return cgroup_any_unit(path, size, is_wanted_unit, selector);
}

static bool match_unit(const char *root, struct find_selector *selector, pid_t pid)
{
	return any_path_fits(root, pid, selector, fits_unit);
}

static bool fits_pod(struct find_selector *selector, const char *path, size_t size)
{
	struct cgroup_parts parts;

	cgroup_parts_read(path, size, &parts);
	return parts.pod[0] && (!strcmp(parts.pod, selector->wanted) || has_id(selector, parts.pod, strlen(parts.pod)));
}

static bool match_pod(const char *root, struct find_selector *selector, pid_t pid)
{
	return any_path_fits(root, pid, selector, fits_pod);
}

/* ---- Slurm ---- */

static bool is_job(const struct find_selector *selector, const struct cgroup_parts *parts)
{
	return !strcmp(parts->job, selector->wanted) && (!selector->step[0] || !strcmp(parts->step, selector->step));
}

static bool fits_job(struct find_selector *selector, const char *path, size_t size)
{
	struct cgroup_parts parts;

	cgroup_parts_read(path, size, &parts);
	return parts.job[0] && is_job(selector, &parts);
}

static bool has_job(struct find_selector *selector, const char *path, size_t size)
{
	struct cgroup_parts parts;

	(void)selector;
	cgroup_parts_read(path, size, &parts);
	return parts.job[0];
}

/* Steps with a name have these numbers in the environment (slurm.h). */
static void name_step(char step[CGROUP_JOB_BYTES])
{
	static const struct { const char *number, *name; } names[] = {
		{ "4294967290", "interactive" }, { "4294967291", "batch" }, { "4294967292", "extern" },
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(step, names[i].number))
			snprintf(step, CGROUP_JOB_BYTES, "%s", names[i].name);
}

static void take_variable(const struct scan *line, const char *name, char value[CGROUP_JOB_BYTES])
{
	size_t size = strlen(name);

	if ((size_t)(line->end - line->at) > size && !memcmp(line->at, name, size) && line->at[size] == '=')
		snprintf(value, CGROUP_JOB_BYTES, "%.*s", (int)(line->end - line->at - (ssize_t)size - 1),
			 line->at + size + 1);
}

/* What the environment of a process says of its job. */
struct environ_job {
	struct cgroup_parts own;
	char array[CGROUP_JOB_BYTES], task[CGROUP_JOB_BYTES]; /* "": the job is of no array */
};

static void read_environ(const char *root, pid_t pid, struct environ_job *job)
{
	char *bytes = xmalloc(PROCFS_STRINGS_MAX);
	ssize_t size = procfs_read_below(root, pid, "environ", bytes, PROCFS_STRINGS_MAX);
	struct scan rest = { bytes, bytes + (size > 0 ? size : 0) }, line;

	*job = (struct environ_job){ 0 };
	while (next_argument(&rest, &line)) {
		take_variable(&line, "SLURM_JOB_ID", job->own.job);
		take_variable(&line, "SLURM_STEP_ID", job->own.step);
		take_variable(&line, "SLURM_ARRAY_JOB_ID", job->array);
		take_variable(&line, "SLURM_ARRAY_TASK_ID", job->task);
	}
	free(bytes);
	name_step(job->own.step);
}

/* A task of an array is a job with an id of its own, and the environment alone says of which array. Any user can set
 * the environment: a cgroup must name the same job. */
static bool match_task(const char *root, struct find_selector *selector, pid_t pid, bool is_in_cgroup)
{
	struct find_selector own = { .kind = FIND_SLURM_JOB };
	struct environ_job job;

	read_environ(root, pid, &job);
	if (!job.own.job[0] || strcmp(job.array, selector->wanted) || strcmp(job.task, selector->task))
		return false;
	snprintf(own.wanted, sizeof(own.wanted), "%s", job.own.job);
	memcpy(own.step, selector->step, sizeof(own.step));
	return is_in_cgroup ? any_path_fits(root, pid, &own, fits_job) : is_job(&own, &job.own);
}

/* Slurm without cgroups (proctrack/linuxproc): the environment tells. A cgroup counts first. */
static bool match_job(const char *root, struct find_selector *selector, pid_t pid)
{
	bool is_in_cgroup = any_path_fits(root, pid, selector, has_job);
	struct environ_job job;

	if (selector->task[0])
		return match_task(root, selector, pid, is_in_cgroup);
	if (is_in_cgroup)
		return any_path_fits(root, pid, selector, fits_job);
	read_environ(root, pid, &job);
	return job.own.job[0] && is_job(selector, &job.own);
}

bool find_matches(const char *root, struct find_selector *selector, pid_t pid)
{
	static bool (*const all[])(const char *root, struct find_selector *selector, pid_t pid) = {
		[FIND_PID] = match_pid,		  [FIND_NAME] = match_name,	[FIND_CUDA] = match_cuda,
		[FIND_CONTAINER] = match_container, [FIND_CGROUP] = match_cgroup, [FIND_UNIT] = match_unit,
		[FIND_SLURM_JOB] = match_job,	  [FIND_POD] = match_pod,
	};

	return all[selector->kind](root, selector, pid);
}
