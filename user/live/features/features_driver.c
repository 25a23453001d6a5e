// SPDX-License-Identifier: BSD-2-Clause
/* Checks NVIDIA's driver and libraries. */
#include <errno.h>
#include <limits.h>

#include "base/human.h"
#include "live/nvidia/driver.h"
#include "live/features/features_checks.h"
#include "live/probe/library.h"
#include "live/nvidia/nvml.h"
#include "live/probe/target.h"

void feature_check_driver(struct feature *feature, const struct features_where *where)
{
	struct driver_info info;

	driver_probe(where->root, &info);
	if (!info.present) {
		feature_say(feature, FEATURE_WARN, "%s", feature_kernel(where) == FEATURES_WSL ?
			    "WSL: the driver runs in Windows, so there are no ioctls to trace" : info.reason);
		feature_advise(feature, "CUDA calls are still traced, but physical memory is not");
	} else if (!info.layout_verified) {
		feature_say(feature, FEATURE_WARN,
		    "%s: the layout of its ioctl structures was not verified; the nearest known layout is used",
		    info.version[0] ? info.version : "unknown version");
		feature_advise(feature,
			       "Compare the physical column with nvidia-smi; drivers 535 to 595 were verified");
	} else {
		feature_say(feature, FEATURE_OK, "%s, ioctl layouts verified", info.version);
	}
}

void feature_check_uvm(struct feature *feature, const struct features_where *where)
{
	struct driver_info info;

	driver_probe(where->root, &info);
	if (info.uvm_major || info.uvm_rdev) {
		feature_say(feature, FEATURE_OK, "character device %u",
		    info.uvm_major ? info.uvm_major : info.uvm_rdev >> 20);
		return;
	}
	feature_say(feature, FEATURE_WARN, "not loaded%s", info.present ? " (the first CUDA program loads it)" : "");
	if (info.present)
		feature_advise(feature, "Run `modprobe nvidia-uvm` before tracing starts");
}

void feature_check_nvml(struct feature *feature, const struct features_where *where)
{
	char why[sizeof(feature->detail)];
	struct nvml *nvml;
	size_t count;
	int err = nvml_open(where->nvml, where->root, &nvml, why, sizeof(why));

	if (!err) {
		nvml_gpus(nvml, &count);
		feature_say(feature, FEATURE_OK, "%s: %zu %s", nvml_path(nvml), count,
		    human_plural(count, "GPU or MIG instance", "GPUs or MIG instances"));
		nvml_close(nvml);
		return;
	}
	feature_say(feature, FEATURE_WARN, "%s", why);
	feature_advise(feature,
	       "%s; without NVML the sum is not checked against nvidia-smi, and the memory from before the attach "
	       "is unknown",
	       err == -ENOTSUP ? "Use the dynamically linked build; it needs glibc 2.28 or newer" :
	       err == -ENOENT  ? "Install the driver's user-space libraries" :
				 "Load the NVIDIA driver");
}

void feature_check_libcuda(struct feature *feature, const struct features_where *where)
{
	struct library library;
	char path[PATH_MAX];

	(void)where;
	if (target_default_library(path, sizeof(path))) {
		feature_say(feature, FEATURE_WARN,
		    "programs that start here find no libcuda.so.1 (containers bring their own)");
		feature_advise(feature, "Install the driver's user-space libraries, or set LD_LIBRARY_PATH");
	} else if (library_open(path, &library_cuda, &library) || !library.is_one) {
		feature_say(feature, FEATURE_WARN, "%.90s: %s", path,
		    library.why[0] ? library.why : "not a CUDA driver library");
	} else {
		feature_say(feature, FEATURE_OK, "%.120s: %u probe points, %u missing", path, library.probe_count,
		    library.absent + library.aliased);
	}
}
