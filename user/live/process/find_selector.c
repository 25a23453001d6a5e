// SPDX-License-Identifier: BSD-2-Clause
#include "live/process/find_selector.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/scan.h"

const char *find_kind_text(enum find_kind kind)
{
	static const char *const texts[] = {
#define X(name, text) text,
		FIND_KINDS(X)
#undef X
	};
	return (size_t)kind < COUNT(texts) ? texts[kind] : "";
}

/* The sentence in `why` says what is expected: "... is EXPECTED, not 'TEXT'". */
typedef bool (*take_fn)(struct find_selector *selector, const char *root, const char *text);

static bool take_pid(struct find_selector *selector, const char *root, const char *text)
{
	struct scan rest = { text, text + strlen(text) };
	uint64_t pid;

	(void)root;
	if (!scan_number(&rest, 10, &pid) || rest.at < rest.end || !pid || pid > INT_MAX)
		return false;
	selector->pid = (pid_t)pid;
	return true;
}

static bool take_text(struct find_selector *selector, const char *root, const char *text)
{
	(void)root;
	snprintf(selector->wanted, sizeof(selector->wanted), "%s", text);
	return true;
}

/* A path below the mount of cgroups is cut to the path that the kernel shows. With cgroup v1 there is a folder for each
 * hierarchy. */
static bool take_cgroup(struct find_selector *selector, const char *root, const char *text)
{
	static const char mount[] = "/sys/fs/cgroup";
	size_t size = sizeof(mount) - 1;
	char path[PATH_MAX];

	if (!strncmp(text, mount, size) && (text[size] == '/' || !text[size])) {
		text += size;
		snprintf(path, sizeof(path), "%s%s/cgroup.controllers", root, mount);
		if (access(path, F_OK) && text[0])
			text += 1 + strcspn(text + 1, "/");
	}
	text += strspn(text, "/");
	size = strlen(text);
	while (size && text[size - 1] == '/')
		size--;
	snprintf(selector->wanted, sizeof(selector->wanted), "/%.*s", (int)size, text);
	return size;
}

static bool take_unit(struct find_selector *selector, const char *root, const char *text)
{
	static const char *const suffixes[] = { ".service", ".scope", ".slice" };
	size_t size = strlen(text);
	bool has_suffix = false;

	(void)root;
	for (size_t i = 0; i < COUNT(suffixes); i++)
		has_suffix |= size > strlen(suffixes[i]) && !strcmp(text + size - strlen(suffixes[i]), suffixes[i]);
	snprintf(selector->wanted, sizeof(selector->wanted), "%s%s", text, has_suffix ? "" : ".service");
	return !strchr(text, '/');
}

static bool take_number(struct scan *rest, char text[CGROUP_JOB_BYTES])
{
	uint64_t number;

	if (!scan_number(rest, 10, &number) || number > UINT32_MAX)
		return false;
	snprintf(text, CGROUP_JOB_BYTES, "%u", (unsigned int)number);
	return true;
}

/* "123", "123.0", "123.batch"; of an array "123_4", "123_4.0". */
static bool take_job(struct find_selector *selector, const char *root, const char *text)
{
	struct scan rest = { text, text + strlen(text) };

	(void)root;
	if (!take_number(&rest, selector->wanted) || !strcmp(selector->wanted, "0"))
		return false;
	if (rest.at < rest.end && *rest.at == '_') {
		rest.at++;
		if (!take_number(&rest, selector->task))
			return false;
	}
	if (rest.at == rest.end)
		return true;
	snprintf(selector->step, sizeof(selector->step), "%s", rest.at + 1);
	return *rest.at == '.' && selector->step[0] && strlen(rest.at + 1) < sizeof(selector->step);
}

/* A name is compared with the names of folders, a uid with cgroups. */
static bool take_pod(struct find_selector *selector, const char *root, const char *text)
{
	const char *slash = strchr(text, '/');

	take_text(selector, root, text);
	return !strchr(text, '_') && (!slash || (slash > text && slash[1] && !strchr(slash + 1, '/')));
}

int find_selector_read(struct find_selector *selector, const char *root, enum find_kind kind, const char *text,
		       char *why, size_t why_size)
{
	static const struct { take_fn take; const char *expected; } all[] = {
		[FIND_PID] = { take_pid, "a process id" },
		[FIND_NAME] = { take_text, "a name or a pattern" },
		[FIND_CUDA] = { take_text, "" },
		[FIND_CONTAINER] = { take_text, "the id or the name of a container" },
		[FIND_CGROUP] = { take_cgroup, "the path of a cgroup below the root" },
		[FIND_UNIT] = { take_unit, "the name of a service, a scope or a slice" },
		[FIND_SLURM_JOB] = { take_job, "the id of a Slurm job, JOB_TASK of an array, or either with .STEP" },
		[FIND_POD] = { take_pod, "the uid of a pod, or [NAMESPACE/]NAME" },
	};
	bool is_short = strlen(text) + sizeof(".service") < FIND_WANTED;

	*selector = (struct find_selector){ .kind = kind, .text = text };
	if ((text[0] || kind == FIND_CUDA) && is_short && all[kind].take(selector, root, text))
		return 0;
	snprintf(why, why_size, "%s", all[kind].expected);
	return -EINVAL;
}

void find_settle(struct find_selector *selector)
{
	if (selector->kind == FIND_CONTAINER && selector->container[0])
		snprintf(selector->wanted, sizeof(selector->wanted), "%s", selector->container);
	selector->is_settled = true;
}
