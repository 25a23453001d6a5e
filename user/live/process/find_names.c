// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of containers, pods and users, from files that root's daemons keep. No daemon is asked.
 *
 *   docker           /var/lib/docker/containers/ID/config.v2.json: "ID", "Name" with a '/' in front
 *   podman, cri-o    /var/lib/containers/storage/overlay-containers/containers.json: a list of "id", "names"
 *                    (containers/storage)
 *   Kubernetes       /var/log/pods/NAMESPACE_NAME_UID (kubelet's BuildPodLogsDirectory); its names have no '_'
 *
 * Other names need a daemon: containerd keeps them in a database, podman without root in a user's own folder, which the
 * user can change. /var/lib/kubelet/pods/UID/etc-hosts has the name of a pod, too, but the pod can write to this file.
 */
#include "live/process/find_names.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/js.h"
#include "base/scan.h"
#include "base/xalloc.h"
#include "live/process/procfs.h"

#define JSON_MAX (8u << 20)      /* bytes of a file */
#define ENTRIES_MAX 65536        /* of a folder */
#define PASSWD_MAX (1u << 20)

static void add_id(struct find_selector *selector, const char *id, size_t size)
{
	if (!size || size >= CGROUP_ID_BYTES) /* the kernel's cgroups have no such id */
		return;
	if (selector->id_count == FIND_IDS)
		selector->has_more_ids = true;
	else
		snprintf(selector->ids[selector->id_count++], CGROUP_ID_BYTES, "%.*s", (int)size, id);
}

/* ---- containers ---- */

static json_t *read_json(const char *path, struct find_selector *selector)
{
	char *bytes = xmalloc(JSON_MAX);
	ssize_t size = procfs_read(path, bytes, JSON_MAX);
	json_t *value = size > 0 ? json_loadb(bytes, (size_t)size, 0, NULL) : NULL;

	selector->is_cut |= size == JSON_MAX - 1;
	free(bytes);
	return value;
}

static void look_at_docker(const char *folder, const char *id, struct find_selector *selector)
{
	char path[PATH_MAX];
	json_t *container;
	const char *name;

	snprintf(path, sizeof(path), "%.*s/%.255s/config.v2.json", PATH_MAX - 300, folder, id);
	container = read_json(path, selector);
	name = json_string_value(json_object_get(container, "Name"));
	if (name && !strcmp(name + (name[0] == '/'), selector->wanted))
		add_id(selector, id, strlen(id));
	json_decref(container);
}

static void look_at_storage(const char *root, struct find_selector *selector)
{
	json_t *containers, *container, *name;
	char path[PATH_MAX];
	size_t i, j;

	snprintf(path, sizeof(path), "%s/var/lib/containers/storage/overlay-containers/containers.json", root);
	containers = read_json(path, selector);
	json_array_foreach(containers, i, container) {
		const char *id = json_string_value(json_object_get(container, "id"));

		json_array_foreach(json_object_get(container, "names"), j, name)
			if (id && json_is_string(name) && !strcmp(json_string_value(name), selector->wanted))
				add_id(selector, id, strlen(id));
	}
	json_decref(containers);
}

void find_container_ids(const char *root, struct find_selector *selector)
{
	struct dirent *entry;
	char path[PATH_MAX];
	size_t left = ENTRIES_MAX;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers", root);
	folder = opendir(path);
	while (folder && left && (entry = readdir(folder))) {
		left--;
		if (entry->d_name[0] != '.')
			look_at_docker(path, entry->d_name, selector);
	}
	selector->is_cut |= !left;
	if (folder)
		closedir(folder);
	look_at_storage(root, selector);
}

/* ---- pods ---- */

struct pod_folder {
	struct scan space, name, uid;
};

static bool split_folder(const char *text, struct pod_folder *pod)
{
	const char *first = strchr(text, '_'), *last = strrchr(text, '_');

	if (!first || first == last || first == text || last == first + 1 || !last[1])
		return false;
	*pod = (struct pod_folder){ { text, first }, { first + 1, last }, { last + 1, last + strlen(last) } };
	return true;
}

static bool is_text(const struct scan *s, const char *text, size_t size)
{
	return (size_t)(s->end - s->at) == size && !memcmp(s->at, text, size);
}

/* Calls back for each folder of a pod's logs. False: there are too many. */
static bool each_pod(const char *root, void (*fn)(const struct pod_folder *pod, void *arg), void *arg)
{
	size_t left = ENTRIES_MAX;
	struct pod_folder pod;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *folder;

	snprintf(path, sizeof(path), "%s/var/log/pods", root);
	folder = opendir(path);
	while (folder && left && (entry = readdir(folder))) {
		left--;
		if (split_folder(entry->d_name, &pod))
			fn(&pod, arg);
	}
	if (folder)
		closedir(folder);
	return left;
}

/* Logs of earlier pods of this name may be there, too. Without a namespace, pods of one namespace are meant:
 * `container` remembers the namespace. */
static void note_pod(const struct pod_folder *pod, void *arg)
{
	struct find_selector *selector = arg;
	const char *slash = strchr(selector->wanted, '/'), *name = slash ? slash + 1 : selector->wanted;
	size_t space = (size_t)(pod->space.end - pod->space.at);

	if (!is_text(&pod->name, name, strlen(name)))
		return;
	if (slash && !is_text(&pod->space, selector->wanted, (size_t)(slash - selector->wanted)))
		return;
	if (!selector->container[0])
		snprintf(selector->container, sizeof(selector->container), "%.*s", (int)space, pod->space.at);
	if (!is_text(&pod->space, selector->container, strlen(selector->container)))
		selector->is_ambiguous = true;
	else
		add_id(selector, pod->uid.at, (size_t)(pod->uid.end - pod->uid.at));
}

void find_pod_ids(const char *root, struct find_selector *selector)
{
	selector->is_cut |= !each_pod(root, note_pod, selector);
}

struct wanted_pod {
	const char *uid;
	char *name;
	size_t size;
};

static void note_name(const struct pod_folder *pod, void *arg)
{
	struct wanted_pod *wanted = arg;

	if (is_text(&pod->uid, wanted->uid, strlen(wanted->uid)))
		snprintf(wanted->name, wanted->size, "%.*s/%.*s", (int)(pod->space.end - pod->space.at), pod->space.at,
			 (int)(pod->name.end - pod->name.at), pod->name.at);
}

void find_pod_name(const char *root, const char *uid, char *name, size_t size)
{
	struct wanted_pod wanted = { uid, name, size };

	name[0] = '\0';
	if (uid[0])
		each_pod(root, note_name, &wanted);
}

/* ---- users ---- */

/* Takes the next field of a line of passwd(5). */
static bool next_field(struct scan *line, struct scan *field)
{
	const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at));

	*field = (struct scan){ line->at, colon ? colon : line->end };
	line->at = colon ? colon + 1 : line->end;
	return field->at < line->end;
}

static bool is_user(struct scan line, uint32_t uid, struct scan *name)
{
	struct scan field;
	uint64_t number;

	return next_field(&line, name) && next_field(&line, &field) && next_field(&line, &field) &&
	       scan_number(&field, 10, &number) && field.at == field.end && number == uid;
}

void find_user_name(const char *root, uint32_t uid, char *name, size_t size)
{
	char *bytes = xmalloc(PASSWD_MAX), path[PATH_MAX];
	struct scan all, line, found;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/etc/passwd", root);
	got = procfs_read(path, bytes, PASSWD_MAX);
	all = (struct scan){ bytes, bytes + (got > 0 ? got : 0) };
	snprintf(name, size, "%u", uid);
	while (scan_line(&all, &line)) {
		if (is_user(line, uid, &found) && found.at < found.end) {
			snprintf(name, size, "%.*s", (int)(found.end - found.at), found.at);
			break;
		}
	}
	free(bytes);
}
