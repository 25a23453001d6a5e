// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/address_space.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/bpf/array_map.h"
#include "live/process/procfs.h"
#include "live/stacks/map_publisher.h"
#include "live/stacks/space_tables.h"
#include "parse/client.h"
#include "symbol/python/pycode.h"

#define READS_MAX 3              /* of a process that maps code meanwhile */
#define REFUSALS_MAX 60          /* with the periods of reading, a second or two */

/* Whether a path names the same file for the process and for us. */
static bool shares_mounts(uint32_t tgid)
{
	struct stat mine, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)procfs_reader((pid_t)tgid));
	return !stat(path, &its) && !stat("/proc/self/ns/mnt", &mine) && its.st_ino == mine.st_ino &&
	       its.st_dev == mine.st_dev;
}

void space_init(struct space *space, uint32_t tgid, struct parse_client *client, bool with_python)
{
	*space = (struct space){ .tgid = tgid, .client = client, .slot = PUBLISHER_NO_SLOT,
				 .next_slot = PUBLISHER_NO_SLOT, .with_python = with_python,
				 .shares_mounts = shares_mounts(tgid) };
}

static void drop_lists(struct space *space)
{
	modules_fini(&space->modules);
	free(space->mappings);
	free(space->is_pending);
	space->mappings = NULL;
	space->is_pending = NULL;
	space->pending = 0;
}

void space_fini(struct space *space, struct publisher *publisher)
{
	space_withdraw(space, publisher);
	drop_lists(space);
	for (size_t i = 0; i < SPACE_OLD_LISTS; i++)
		modules_fini(&space->old[i].modules);
	code_events_fini(&space->events);
	pycode_free(space->codes);
	space->codes = NULL;
}

/* ---- what is mapped ---- */

static bool is_unchanged(const struct space *space, const struct modules *now)
{
	if (space->modules.map_count != now->map_count)
		return false;
	for (size_t i = 0; i < now->map_count; i++)
		if (!space_has_map(&space->modules, &space->modules.maps[i], now, &now->maps[i]))
			return false;
	return true;
}

bool space_may_open(const struct space *space)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)procfs_reader((pid_t)space->tgid));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/* Looks for the process's Python, unless the answer is final. */
static void ask_python(struct space *space)
{
	int err;

	if (!space->with_python || space->python_state == SPACE_PYTHON_FOUND ||
	    space->python_state == SPACE_PYTHON_REFUSED)
		return;
	err = pyversion_find(procfs_reader((pid_t)space->tgid), space->client, &space->python);
	if (!err) {
		space->python_state = SPACE_PYTHON_FOUND;
		space->codes = pycode_new(&space->python.layout, space->python.code_type);
	} else if ((err == -ENOTSUP && ++space->refusals >= REFUSALS_MAX) ||
		   (parse_gave_up(err) && !parse_may_pass(err))) {
		/* A Python that is starting up can look like an unknown version. */
		space->python_state = SPACE_PYTHON_REFUSED;
	} else {
		space->python_state = err == -ENOENT ? SPACE_PYTHON_NONE : SPACE_PYTHON_UNKNOWN;
	}
}

/* Whether a mapping of the former list is not in the new list. */
static bool has_lost_code(const struct space *before, const struct modules *now)
{
	for (size_t i = 0; i < before->modules.map_count; i++) {
		const struct module_map *old = &before->modules.maps[i], *map = modules_find(now, old->start);

		if (!map || !space_has_map(&before->modules, old, now, map))
			return true;
	}
	return false;
}

/* Keeps the former list for stacks of its time, or drops it if the new list has all of its code. */
static void keep_old_list(struct space *space, struct space *before)
{
	if (has_lost_code(before, &space->modules)) {
		modules_fini(&space->old[SPACE_OLD_LISTS - 1].modules);
		memmove(space->old + 1, space->old, (SPACE_OLD_LISTS - 1) * sizeof(*space->old));
		space->old[0] = (struct code_list){ before->modules, before->first, before->last };
		before->modules = (struct modules){ 0 };
	}
	drop_lists(before);
}

/* Reads the mappings at a moment, if the process leaves time for that. */
static int read_at_moment(struct space *space, struct modules *now, struct publisher *publisher)
{
	int err = 0;

	for (int i = 0; i < READS_MAX; i++) {
		uint32_t first = publisher_mapped(publisher, space->tgid);

		err = modules_read(now, (uint32_t)procfs_reader((pid_t)space->tgid));
		if (err)
			return err;
		modules_limit(now, GMT_UNWIND_MAPPINGS_MAX);
		space->first = first;
		space->last = publisher_mapped(publisher, space->tgid);
		if (space->first == space->last)
			break;
	}
	return err;
}

/* The list is true for a later moment, too. */
static void renew_moment(struct space *space)
{
	if (space->next)
		space->next_moment = space->first;
	if (!space->next && space->is_listed && space->slot_moment != space->first) {
		space->slot_moment = space->first;
		space->is_told = false;
	}
}

int space_read(struct space *space, const struct tables *tables, struct publisher *publisher)
{
	struct space before = *space;
	struct modules now = { 0 };
	int err = read_at_moment(space, &now, publisher);
	bool is_same;

	now.has_our_paths = space->shares_mounts;
	if (err || !now.map_count) {
		modules_fini(&now);
		space->first = before.first;
		space->last = before.last;
		return err ?: -ESRCH; /* a zombie has no mappings */
	}
	is_same = is_unchanged(space, &now);
	if (!is_same || space->python_state == SPACE_PYTHON_UNKNOWN)
		ask_python(space);
	/* The table of a Python that has just been found needs marks. */
	if (is_same && (space->python_state != SPACE_PYTHON_FOUND || before.python_state == SPACE_PYTHON_FOUND)) {
		modules_fini(&now);
		renew_moment(space);
		return 0;
	}
	space->modules = now;
	space_fill(space, &before, tables);
	keep_old_list(space, &before);
	space->is_listed = false;
	return 1;
}

/* ---- what was mapped ---- */

static bool has_changed(const struct space *space, const struct modules *modules, uint32_t first, uint32_t last,
			uint32_t moment, uint64_t address)
{
	const struct module_map *map = modules_find(modules, address);
	bool has_file = map && modules_of(modules, map)->kind != MODULE_ANONYMOUS;

	return code_events_changed(&space->events, moment < first ? moment : first, moment > last ? moment : last,
				   address, has_file);
}

bool space_has_changed(const struct space *space, uint32_t moment, uint64_t address)
{
	return has_changed(space, &space->modules, space->first, space->last, moment, address);
}

struct modules *space_code_at(struct space *space, uint32_t moment, uint64_t address)
{
	if (modules_find(&space->modules, address) && !space_has_changed(space, moment, address))
		return &space->modules;
	for (size_t i = 0; i < SPACE_OLD_LISTS; i++) {
		struct code_list *old = &space->old[i];

		if (modules_find(&old->modules, address) &&
		    !has_changed(space, &old->modules, old->first, old->last, moment, address))
			return &old->modules;
	}
	return NULL;
}

bool space_is_told_all(const struct space *space)
{
	return code_events_reach(&space->events, space->last);
}

/* ---- what BPF gets ---- */

static int tell_space(struct space *space, struct publisher *publisher)
{
	struct gmt_stack_space value = {
		.slot = space->slot, .mapping_count = space->mapping_count, .number = space->slot_moment,
	};
	bool has_python = space->python_state == SPACE_PYTHON_FOUND;
	int err;

	if (has_python)
		value.python = space->python.config;
	err = publisher_tell(publisher, space->tgid, &value);
	if (!err) {
		space->is_told = true;
		space->is_python_told = has_python;
	}
	return err;
}

static int give_list(struct space *space, struct publisher *publisher)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	struct gmt_unwind_mapping *list;
	uint32_t count = (uint32_t)space->modules.map_count; /* GMT_UNWIND_MAPPINGS_MAX at most */
	int64_t number;
	int fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stack_mappings", sizeof(uint32_t),
			    sizeof(struct gmt_unwind_mapping), count, &options);
	if (fd < 0)
		return -errno;
	list = mapped_open(fd, count * sizeof(*list), true);
	if (!list) {
		close(fd);
		return -ENOMEM;
	}
	memcpy(list, space->mappings, count * sizeof(*list));
	mapped_close(list, count * sizeof(*list));
	number = publisher_put_list(publisher, fd, &space->next_slot);
	if (number < 0)
		return (int)number;
	space->next = number;
	space->next_count = count;
	space->next_moment = space->first;
	space->is_listed = true;
	return -EAGAIN;
}

/* The new list is in place: from now on BPF uses it. */
static int use_list(struct space *space, struct publisher *publisher)
{
	uint32_t old = space->slot;
	int err;

	space->slot = space->next_slot;
	space->mapping_count = space->next_count;
	space->slot_moment = space->next_moment;
	space->next_slot = PUBLISHER_NO_SLOT;
	space->next = 0;
	err = tell_space(space, publisher);
	publisher_drop_list(publisher, old);
	return err;
}

int space_publish(struct space *space, struct publisher *publisher, bool may_list)
{
	int err = 0;

	if (space->next && publisher_is_done(publisher, space->next))
		err = use_list(space, publisher);
	else if (!space->is_told || (space->python_state == SPACE_PYTHON_FOUND && !space->is_python_told))
		err = tell_space(space, publisher);
	if (err || (space->is_listed && !space->next))
		return err;
	return may_list && !space->next ? give_list(space, publisher) : -EAGAIN;
}

void space_withdraw(struct space *space, struct publisher *publisher)
{
	if (space->is_told)
		publisher_forget(publisher, space->tgid);
	publisher_drop_list(publisher, space->slot);
	publisher_drop_list(publisher, space->next_slot);
	space->slot = space->next_slot = PUBLISHER_NO_SLOT;
	space->mapping_count = 0;
	space->next = 0;
	space->is_told = space->is_python_told = space->is_listed = false;
}
