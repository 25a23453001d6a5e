// SPDX-License-Identifier: BSD-2-Clause
/* The NVIDIA driver's facts and GPUs, from texts as it writes them and from a driver root made here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "compile.h"
#include "live/nvidia/driver.h"
#include "live/nvidia/inventory.h"

static void make_dir(const struct workdir *root, const char *path)
{
	char full[256];

	for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
		const char *end = strchr(slash + 1, '/');

		snprintf(full, sizeof(full), "%s%.*s", root->path,
			 (int)(end ? end - path : (ptrdiff_t)strlen(path)), path);
		if (mkdir(full, 0755))
			assert_int_equal(errno, EEXIST);
	}
}

static void put_file(const struct workdir *root, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root->path, path);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	if (workdir_make(state))
		return -1;
	make_dir(*state, "/proc/driver/nvidia/gpus");
	make_dir(*state, "/dev");
	return 0;
}

static void version(const char *text, const char *wanted)
{
	char found[64] = "";

	assert_int_equal(driver_parse_version(text, found, sizeof(found)), wanted != NULL);
	assert_string_equal(found, wanted ? wanted : "");
}

static void versions_of_both_flavours(void **state)
{
	(void)state;
	version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC "
		"2023\nGCC version: "
		"gcc version 11.4.0\n",
		"535.54.03");
	version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  "
		"(dvs-builder@U22-I3)  Wed\nGCC version:  \n",
		"580.159.04");
	version("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  595.45\n", "595.45");
	version("NVRM version: something\nGCC version: gcc version 11.4.0\n", NULL);
	version("", NULL);
}

static void layout(int major, uint32_t count, uint32_t client, uint32_t status, bool verified)
{
	struct gmt_driver_layout found;

	assert_int_equal(driver_layout(major, &found), verified);
	assert_int_equal(found.uvm_map_count, count);
	assert_int_equal(found.uvm_map_client, client);
	assert_int_equal(found.uvm_free_status, status);
}

static void layouts_by_major(void **state)
{
	(void)state;
	layout(525, 1176, 1188, 16, false);
	layout(535, 1176, 1188, 16, true);
	layout(545, 1176, 1188, 16, true);
	layout(549, 1176, 1188, 16, true);
	layout(550, 9240, 9252, 16, true);
	layout(580, 9240, 9252, 16, true);
	layout(589, 9240, 9252, 16, true);
	layout(590, 9240, 9252, 8, true);
	layout(595, 9240, 9252, 8, true);
	layout(596, 9240, 9252, 8, false);
	layout(9999, 9240, 9252, 8, false);
}

static void majors_of_devices(void **state)
{
	static const char text[] = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n 511 nvidia-uvm\n"
				   "510 nvidia-uvm-tools\n\nBlock devices:\n  8 sd\n  9 md\n";

	(void)state;
	assert_int_equal(driver_parse_devices(text, "nvidia"), 195);
	assert_int_equal(driver_parse_devices(text, "nvidia-uvm"), 511);
	assert_int_equal(driver_parse_devices(text, "mem"), 1);
	assert_int_equal(driver_parse_devices(text, "sd"), 0);
	assert_int_equal(driver_parse_devices(text, "uvm"), 0);
	assert_int_equal(driver_parse_devices("", "mem"), 0);
	assert_int_equal(driver_parse_devices("511 nvidia-uvm", "nvidia-uvm"), 511);
}

static void probe_of_a_driver_root(void **state)
{
	struct workdir *root = *state;
	struct driver_info info;

	put_file(root, "/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build\n");
	put_file(root, "/proc/devices", "Character devices:\n195 nvidia\n508 nvidia-uvm\n");
	assert_int_equal(driver_probe(root->path, &info), 0);
	assert_true(info.present);
	assert_string_equal(info.version, "590.48.01");
	assert_string_equal(info.reason, "");
	assert_int_equal(info.major, 590);
	assert_true(info.layout_verified);
	assert_int_equal(info.layout.uvm_free_status, 8);
	assert_int_equal(info.nvidia_major, 195);
	assert_int_equal(info.uvm_major, 508);
	assert_int_equal(info.ctl_rdev, 0);
	assert_true(driver_owns(&info, makedev(195, 255)));
	assert_true(driver_owns(&info, makedev(508, 0)));
	assert_false(driver_owns(&info, makedev(1, 3)));
}

static void probe_of_a_stand_in(void **state)
{
	struct workdir *root = *state;
	struct driver_info info;
	char path[128];

	put_file(root, "/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1.2  x\n");
	snprintf(path, sizeof(path), "%s/dev/nvidiactl", root->path);
	assert_int_equal(symlink("/dev/null", path), 0);
	snprintf(path, sizeof(path), "%s/dev/nvidia-uvm", root->path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(driver_probe(root->path, &info), 0);
	assert_int_equal(info.ctl_rdev, 1 << 20 | 3);
	assert_int_equal(info.uvm_rdev, 1 << 20 | 5);
	assert_false(driver_owns(&info, makedev(1, 3)));
}

static void probe_without_a_driver(void **state)
{
	struct driver_info info;
	char *too_long = calloc(1, 5000);

	(void)state;
	assert_int_equal(driver_probe("/", &info), 0);
	assert_int_equal(info.present, access("/proc/driver/nvidia/version", F_OK) == 0);
	assert_int_equal(info.present, !info.reason[0]);
	assert_int_equal(driver_probe(NULL, &info), 0);
	memset(too_long, 'x', 4999);
	assert_int_equal(driver_probe(too_long, &info), -ENAMETOOLONG);
	free(too_long);
}

static void unreadable_versions_are_not_verified(void **state)
{
	struct workdir *root = *state;
	struct driver_info info;

	put_file(root, "/proc/driver/nvidia/version", "NVRM version: a new format\n");
	assert_int_equal(driver_probe(root->path, &info), 0);
	assert_true(info.present);
	assert_false(info.layout_verified);
	assert_int_equal(info.major, 0);
	assert_int_equal(info.layout.uvm_free_status, 8); /* taken for the newest */
}

/* as the driver writes it; cut into pieces because two question marks begin a trigraph */
#define NOT_STARTED    \
	"GPU-????????" \
	"-????"        \
	"-????"        \
	"-????"        \
	"-????????????"

static void uuids(void **state)
{
	static const uint8_t wanted[16] = { 0xad, 0x5a, 0x98, 0x42, 0x01, 0x23, 0x45, 0x67,
					    0x89, 0xab, 0xcd, 0xef, 0x00, 0xff, 0x10, 0x2f };
	static const uint8_t zeros[16];
	uint8_t uuid[16];

	(void)state;
	assert_true(inventory_parse_uuid("GPU-ad5a9842-0123-4567-89ab-cdef00ff102f", uuid));
	assert_memory_equal(uuid, wanted, 16);
	assert_true(inventory_parse_uuid("MIG-AD5A9842-0123-4567-89AB-CDEF00FF102F", uuid));
	assert_memory_equal(uuid, wanted, 16);
	assert_false(inventory_parse_uuid("GPU-ad5a9842-0123-4567-89ab-cdef00ff102", uuid));
	assert_memory_equal(uuid, zeros, 16);
	assert_false(inventory_parse_uuid("GPU-ad5a9842-0123-4567-89ab-cdef00ff102f0", uuid));
	assert_false(inventory_parse_uuid(NOT_STARTED, uuid));
	assert_false(inventory_parse_uuid("ad5a9842-0123-4567-89ab-cdef00ff102f", uuid));
	assert_false(inventory_parse_uuid("", uuid));
	assert_memory_equal(uuid, zeros, 16);
}

static void pci_addresses(void **state)
{
	char pci[32];

	(void)state;
	assert_true(inventory_format_pci("0000:3b:00.0", pci, sizeof(pci)));
	assert_string_equal(pci, "00000000:3B:00.0");
	assert_true(inventory_format_pci("00000009:01:00.0", pci, sizeof(pci)));
	assert_string_equal(pci, "00000009:01:00.0");
	assert_true(inventory_format_pci("0000:3b:1f", pci, sizeof(pci)));
	assert_string_equal(pci, "00000000:3B:1F.0");
	assert_false(inventory_format_pci("nothing", pci, sizeof(pci)));
	assert_string_equal(pci, "");
}

#define INFORMATION(model, uuid, bus, minor, excluded)                                                    \
	"Model: \t\t " model "\nIRQ:   \t\t 30\nGPU UUID: \t " uuid "\nVideo BIOS: \t 96.00.74.00.01\n"   \
	"Bus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t " bus "\nDevice Minor: \t " minor "\n" \
	"GPU Firmware: \t 580.159.04\nGPU Excluded:\t " excluded "\n"

static void gpus_without_nvml(void **state)
{
	struct workdir *root = *state;
	struct gmt_gpu *gpus;

	/* the file system's order is not the bus's */
	make_dir(root, "/proc/driver/nvidia/gpus/0000:81:00.0");
	make_dir(root, "/proc/driver/nvidia/gpus/0000:0a:00.0");
	make_dir(root, "/proc/driver/nvidia/gpus/0000:41:00.0");
	put_file(root, "/proc/driver/nvidia/gpus/0000:81:00.0/information",
		 INFORMATION("NVIDIA H200", "GPU-00000000-0000-0000-0000-000000000081", "0000:81:00.0", "0",
			     "No"));
	put_file(root, "/proc/driver/nvidia/gpus/0000:0a:00.0/information",
		 INFORMATION("NVIDIA H100 80GB HBM3", NOT_STARTED, "0000:0a:00.0", "11", "No"));
	put_file(root, "/proc/driver/nvidia/gpus/0000:41:00.0/information",
		 INFORMATION("NVIDIA H200", "GPU-00000000-0000-0000-0000-000000000041", "0000:41:00.0", "2",
			     "Yes"));
	assert_int_equal(inventory_read(root->path, &gpus), 2); /* the excluded one has no number */
	assert_string_equal((char *)gpus[0].pci, "00000000:0A:00.0");
	assert_string_equal((char *)gpus[0].name, "NVIDIA H100 80GB HBM3");
	assert_int_equal(gpus[0].index, 0);
	assert_int_equal(gpus[0].minor, 11);
	assert_int_equal(gpus[0].uuid[15], 0);
	assert_int_equal(gpus[1].index, 1);
	assert_int_equal(gpus[1].uuid[15], 0x81);
	assert_int_equal(gpus[1].minor, 0);
	assert_int_equal(gpus[1].hdr.kind, GMT_KIND_GPU);
	assert_int_equal(gpus[1].hdr.size, sizeof(gpus[1]));
	free(gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_of_both_flavours),
		cmocka_unit_test(layouts_by_major),
		cmocka_unit_test(majors_of_devices),
		cmocka_unit_test_setup_teardown(probe_of_a_driver_root, setup, workdir_remove),
		cmocka_unit_test_setup_teardown(probe_of_a_stand_in, setup, workdir_remove),
		cmocka_unit_test(probe_without_a_driver),
		cmocka_unit_test_setup_teardown(unreadable_versions_are_not_verified, setup, workdir_remove),
		cmocka_unit_test(uuids),
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test_setup_teardown(gpus_without_nvml, setup, workdir_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
