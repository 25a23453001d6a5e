// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The BPF side is one translation unit: the maps, the code that sends records, and the sources of records.
 * The BPF side keeps no totals, so everything behind the ring buffer can be replayed from a recording.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <gpumemtrace/config.h>

#include "maps.bpf.h"
#include "guard.bpf.h"
#include "users.bpf.h"
#include "emit.bpf.h"
#include "thread.bpf.h"
#include "stack.bpf.h"
#include "call.bpf.h"
#include "ioctl.bpf.h"
#include "usdt.bpf.h"
#include "framework.bpf.h"
#include "pytorch.bpf.h"
#include "proc.bpf.h"
#include "mapped.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
