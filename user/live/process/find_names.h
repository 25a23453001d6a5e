/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of containers, pods and users, in the files of daemons below a root. No daemon is asked. */
#ifndef GPUMEMTRACE_LIVE_PROCESS_FIND_NAMES_H
#define GPUMEMTRACE_LIVE_PROCESS_FIND_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "live/process/find_selector.h"

/* Finds the ids that the name in a selector stands for. */
void find_container_ids(const char *root, struct find_selector *selector);
void find_pod_ids(const char *root, struct find_selector *selector);

/* The name of a user as /etc/passwd has it, else the number. */
void find_user_name(const char *root, uint32_t uid, char *name, size_t size);
/* "NAMESPACE/NAME" of a pod as the names of the kubelet's log folders tell; "": they do not. */
void find_pod_name(const char *root, const char *uid, char *name, size_t size);

#endif
