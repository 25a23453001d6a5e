// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes as the texts that come from /proc, from users and from programs: what is found lies inside the text, what is
 * written fits, and text that goes on to people ends.
 *
 * The first byte chooses the parser.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/maps.h"
#include "core/terms/cgroup_parts.h"
#include "live/framework/library_kinds.h"
#include "live/nvidia/driver.h"
#include "live/nvidia/inventory.h"
#include "live/probe/mmap_watch.h"
#include "live/probe/usdt_notes.h"
#include "live/process/procfs.h"
#include "live/process/settings.h"
#include "symbol/elf/demangle.h"
#include "symbol/owners.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "does not hold: %s\n", what);
		abort();
	}
}

static void must_fit(const char *text, size_t size)
{
	must(strnlen(text, size) < size, "text ends within its room");
}

/* ---- /proc ---- */

static void read_maps(const char *text, size_t size)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end - text) : size;
		struct maps_line map;

		if (!maps_parse_line(text, len, &map)) {
			must(map.start <= map.end, "a mapping has no negative size");
			must(!map.path_len || (map.path >= text && map.path + map.path_len <= text + len),
			     "a path lies in its line");
		}
		len += end != NULL;
		text += len;
		size -= len;
	}
}

static void read_stat(const char *text, size_t size)
{
	struct procfs_stat stat;

	if (!procfs_parse_stat(text, size, 100, &stat))
		must_fit(stat.comm, sizeof(stat.comm));
}

static void read_status(const char *text, size_t size)
{
	struct procfs_status status;

	if (!procfs_parse_status(text, size, &status))
		must(status.ns_count >= 1 && status.ns_count <= PROCFS_NS_DEPTH, "a process has a pid namespace");
}

static void read_cgroup(const char *text, size_t size)
{
	char path[64];

	struct cgroup_parts parts;

	procfs_parse_cgroup(text, size, path, sizeof(path));
	must_fit(path, sizeof(path));
	cgroup_parts_read(text, size, &parts);
	must_fit(parts.container, sizeof(parts.container));
	must_fit(parts.pod, sizeof(parts.pod));
	must_fit(parts.job, sizeof(parts.job));
	must_fit(parts.step, sizeof(parts.step));
	must_fit(parts.unit, sizeof(parts.unit));
}

static void read_cmdline(const char *text, size_t size)
{
	char line[64];

	procfs_parse_cmdline(text, size, line, sizeof(line));
	must_fit(line, sizeof(line));
	for (const char *p = line; *p; p++)
		must((unsigned char)*p >= ' ' && *p != 0x7f, "no control character");
}

static void read_environment(const char *text, size_t size)
{
	for (unsigned int id = 0; id < GMT_FW_COUNT; id++)
		settings_parse(framework_of(id), text, size);
}

/* ---- the driver's texts: they end with NUL ---- */

static void read_driver(const char *text, size_t size)
{
	char version[16], pci[32];
	uint8_t uuid[GMT_UUID_BYTES];

	(void)size;
	if (driver_parse_version(text, version, sizeof(version)))
		must_fit(version, sizeof(version));
	driver_parse_devices(text, "nvidia-uvm");
	inventory_parse_uuid(text, uuid);
	inventory_format_pci(text, pci, sizeof(pci));
	must_fit(pci, sizeof(pci));
}

/* ---- what users and programs write ---- */

static void read_rules(const char *text, size_t size)
{
	static const struct owners_frame frame = { "/usr/lib/libtorch.so", "at::empty(int)", "a/b.py" };
	struct owners *owners = owners_new();
	char why[128] = "";
	int err = owners_add(owners, "file", text, size, why, sizeof(why));
	struct owners_match match = owners_match(owners, &frame);
	size_t decided;

	must_fit(why, sizeof(why));
	must(!err == !why[0], "an error has a reason");
	must(match.owner < owners_count(owners), "a match has an owner");
	owners_name(owners, owners_decide(&match, 1, &decided));
	owners_free(owners);
}

static void read_symbol(const char *text, size_t size)
{
	char name[200];

	(void)size;
	demangle(text, true, name, sizeof(name));
	must_fit(name, sizeof(name));
	demangle_short(text, 40, name, sizeof(name));
	must(strlen(name) <= 40, "a short name is short");
}

static void read_foreign(const char *text, size_t size)
{
	char line[4 * 20 + 1];

	must(human_text(line, 20, text, size) <= 20, "a cut text has so many columns");
	must_fit(line, sizeof(line));
	for (const char *p = line; *p; p++)
		must((unsigned char)*p >= ' ' && *p != 0x7f, "no control character");
}

static void read_probe(const char *text, size_t size)
{
	struct gmt_usdt usdt;

	(void)size;
	usdt_parse_args(text, &usdt);
}

/* ---- the kernel's records ---- */

static void see_mapping(const struct watch_mapping *mapping, void *arg)
{
	const char *const *bounds = arg;

	must(mapping->path > bounds[0] && mapping->path + strlen(mapping->path) < bounds[1], "a path lies in its record");
}

static void read_mapping(const char *text, size_t size)
{
	const char *bounds[] = { text, text + size };
	uint64_t lost = 0;

	if (size >= 8)
		watch_decode(text, size, see_mapping, bounds, &lost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The bytes end where they end, or with a NUL that is no part of them. */
	static const struct {
		void (*read)(const char *text, size_t size);
		bool has_end;
	} parsers[] = {
		{ read_maps, false }, { read_stat, false }, { read_status, false }, { read_cgroup, false },
		{ read_cmdline, false }, { read_environment, false }, { read_driver, true }, { read_rules, false },
		{ read_symbol, true }, { read_foreign, false }, { read_probe, true }, { read_mapping, false },
	};
	unsigned int which;
	char *text;

	if (!size)
		return 0;
	which = *data % (sizeof(parsers) / sizeof(parsers[0]));
	size--;
	text = malloc(size + parsers[which].has_end + !size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size);
	if (parsers[which].has_end)
		text[size] = '\0';
	parsers[which].read(text, size);
	free(text);
	return 0;
}
