/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Wire records are the one contract between the BPF programs, the recording file and the ledger.
 *
 * Every record starts with struct gmt_hdr. A record has only fixed-width integers and byte arrays, in host byte order
 * (a recording's file header tells the byte order). Padding is explicit, and sizes are multiples of 8. Kinds are
 * append-only and their values are written out: a retired kind leaves a hole. A reader skips and counts kinds that it
 * does not know. Times are CLOCK_MONOTONIC nanoseconds.
 *
 * Records below GMT_KIND_USER_FIRST come from the kernel, in ring-buffer order. The collector writes the other records
 * into the same stream, for facts that the kernel does not send: replaying the stream gives the same report anywhere.
 *
 * The list GMT_FIELDS_ + a structure's name says what `gpumemtrace records` prints of the structure: X(T, how, member)
 * for each member. user/sink/records/record_fields.c has a macro for each `how`.
 */
#ifndef GPUMEMTRACE_WIRE_H
#define GPUMEMTRACE_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif
#include <gpumemtrace/terms.h>
#include <gpumemtrace/unwind.h>

#define GMT_UUID_BYTES 16
#define GMT_CALL_VALS 8      /* most values one call record carries */
#define GMT_COMM_BYTES 16    /* TASK_COMM_LEN, include/linux/sched.h */

#define GMT_KIND_USER_FIRST 0x8000

/* X(NAME, value, struct, text): one list, expanded into the enum, the names and the size checks. */
#define GMT_KINDS(X)                                                              \
	X(CALL, 1, gmt_call, "driver API call")                                   \
	X(RM_ALLOC, 2, gmt_rm_alloc, "kernel: RM object allocated")               \
	X(RM_FREE, 3, gmt_rm_free, "kernel: RM object freed")                     \
	X(RM_DUP, 4, gmt_rm_dup, "kernel: RM object duplicated")                  \
	X(UVM_GPU, 5, gmt_uvm_gpu, "kernel: GPU registered with UVM")             \
	X(UVM_VASPACE, 6, gmt_uvm_vaspace, "kernel: GPU VA space registered")     \
	X(UVM_MAP, 7, gmt_uvm_map, "kernel: external allocation mapped")          \
	X(UVM_UNMAP, 8, gmt_uvm_unmap, "kernel: external allocation unmapped")    \
	X(UVM_FREE, 9, gmt_uvm_free, "kernel: VA range freed")                    \
	X(PROC_FORK, 10, gmt_proc_fork, "process forked")                         \
	X(PROC_EXEC, 11, gmt_proc_exec, "process replaced its program")           \
	X(PROC_EXIT, 12, gmt_proc_exit, "process exited")                         \
	X(PROC_SEEN, 13, gmt_proc_exec, "process met for the first time")         \
	X(STACK, 14, gmt_stack, "call stack")                                     \
	X(FW_MEM, 15, gmt_fw_mem, "framework: memory block")                      \
	X(STACK_COPY, 16, gmt_stack_copy, "memory of a stack that could not be walked")  \
	X(FW_OOM, 17, gmt_fw_oom, "framework: out of memory")                     \
	X(FW_RANGE, 18, gmt_fw_range, "framework: what the program is doing")     \
	X(FW_SIZE, 19, gmt_fw_size, "framework: what a block was asked for")      \
	X(CODE_MAPPED, 20, gmt_code_mapped, "code was mapped")                    \
	X(SESSION, 0x8000, gmt_session, "session")                                \
	X(GPU, 0x8001, gmt_gpu, "GPU inventory")                                  \
	X(PROC, 0x8002, gmt_proc, "process facts")                                \
	X(ATTACH, 0x8003, gmt_attach, "process is traced from here on")           \
	X(NVML, 0x8004, gmt_nvml, "NVML used bytes of a process")                 \
	X(LOSS, 0x8005, gmt_loss, "loss counters")                                \
	X(LIBRARY, 0x8006, gmt_library, "library probed")                         \
	X(END, 0x8007, gmt_end, "end of session")                                 \
	X(SYMBOL, 0x8008, gmt_symbol, "name of a stack's frame")                  \
	X(STACK_FRAMES, 0x8009, gmt_stack_frames, "names of a stack's frames")    \
	X(OOM, 0x800a, gmt_oom, "out of memory: what was asked for")              \
	X(OOM_ROW, 0x800b, gmt_oom_row, "out of memory: what a process held")     \
	X(OOM_STACK, 0x800c, gmt_oom_stack, "out of memory: what a stack held")   \
	X(MARK, 0x800d, gmt_mark, "peaks and growth count from here")             \
	X(FRAMEWORK, 0x800e, gmt_framework, "a framework is loaded")                   \
	X(HISTORY, 0x8010, gmt_history, "window: a process in it")                \
	X(HISTORY_UNSEEN, 0x8011, gmt_history_unseen, "window: what PyTorch has held from before") \
	X(HISTORY_RANGE, 0x8012, gmt_history_range, "window: a segment or block that lived") \
	X(HISTORY_EVENT, 0x8013, gmt_history_event, "window: what happened to one") \
	X(HISTORY_MARK, 0x8014, gmt_history_mark, "window: what the program said that it did") \
	X(LIMIT, 0x8015, gmt_limit, "what the session goes without")              \
	X(GPU_MEMORY, 0x8016, gmt_gpu_memory, "NVML used and free bytes of a GPU") \
	X(MEMORY, 0x8017, gmt_memory, "gpumemtrace's own memory")                 \
	X(LIBRARY_GONE, 0x8018, gmt_library_gone, "library is no longer probed")   \
	X(SYMBOLS_END, 0x8019, gmt_symbols_end, "older symbols come no more")     \
	X(OOM_WAITING, 0x801a, gmt_oom_waiting, "out of memory: who waited for a stack's thread") \
	X(GPU_NEIGHBOUR, 0x801b, gmt_gpu_neighbour, "NVML used bytes of a process that is not traced")

enum gmt_kind {
#define X(name, value, type, text) GMT_KIND_##name = value,
	GMT_KINDS(X)
#undef X
};

struct gmt_hdr {
	__u16 size;   /* whole record in bytes, a multiple of 8 */
	__u16 kind;   /* enum gmt_kind */
	__u32 tgid;   /* process, as the initial pid namespace numbers it; 0: none */
	__u32 tid;    /* thread, likewise; 0: none */
	__u32 cpu;
	__u64 ts_ns;  /* CLOCK_MONOTONIC */
};

/* When a call record was sent. */
enum gmt_phase {
	GMT_PHASE_DONE = 0,   /* at return, with the result: every call that is not a release. Older recordings have
	                       * the ends of contexts so, too */
	GMT_PHASE_ENTER = 1,  /* at entry of a release, because its address may be given out again before it returns */
	GMT_PHASE_UNDO = 2,   /* a release returned an error: take the ENTER with the same tid and seq back */
};

/* One call of a probed function. vals[]: (hdr.size - sizeof) / 8 values, as the operation's fields (api.h). */
struct gmt_call {
	struct gmt_hdr hdr;
	__u16 api;       /* enum gmt_api */
	__u8 phase;      /* enum gmt_phase */
	__u8 unread;     /* bit i: vals[i] could not be read from the target and is 0; and GMT_CALL_CONTEXT_LOST */
	__s32 rc;        /* CUresult; 0 at ENTER */
	__u32 seq;       /* number of the call in its thread; ties ENTER to UNDO and ioctls to calls */
	__u32 stack_id;  /* 0: none */
	__u64 vals[];
};
/* In gmt_call.unread: before this call, records of the thread's contexts were lost, or the thread is new. Forget the
 * contexts of the thread. No operation reads vals[7] from memory, so the bit has no other meaning. */
#define GMT_CALL_CONTEXT_LOST 0x80
#define GMT_FIELDS_gmt_call(X, T)                                                 \
	X(T, API, api) X(T, CALL_PHASE, phase) X(T, SIGNED, rc) X(T, UNSIGNED, seq) \
	X(T, UNSIGNED, stack_id) X(T, HEX, unread)

/* The call that was running on the thread when an ioctl returned. */
struct gmt_cause {
	__u16 api;       /* enum gmt_api of the outermost running call; 0: none */
	__u16 reserved;
	__u32 seq;       /* its gmt_call.seq */
	__u32 stack_id;  /* 0: none */
	__u32 reserved2;
};

/* NV_ESC_RM_ALLOC, NV_ESC_RM_ALLOC_MEMORY and NV_ESC_RM_VID_HEAP_CONTROL(ALLOC_SIZE), after return. */
struct gmt_rm_alloc {
	struct gmt_hdr hdr;
	struct gmt_cause cause;
	__u32 client;    /* hRoot; for a root client (class 0, 1, 0x41) equal to object */
	__u32 parent;
	__u32 object;
	__u32 class_id;  /* hClass; 0x40 NV01_MEMORY_LOCAL_USER */
	__u32 status;    /* NV_STATUS, 0 = NV_OK; failures are sent for memory classes only */
	__u32 flags;     /* NV_MEMORY_ALLOCATION_PARAMS.flags, memory classes */
	__u32 attr;      /* NV_MEMORY_ALLOCATION_PARAMS.attr, memory classes */
	__u32 device_id; /* NV0080_ALLOC_PARAMETERS.deviceId, class 0x80; not the CUDA ordinal */
	__u64 size;      /* bytes, rounded up by RM; 0 for classes without memory */
};
#define GMT_FIELDS_gmt_rm_alloc(X, T)                                             \
	X(T, CAUSE, cause) X(T, HEX, client) X(T, HEX, parent) X(T, HEX, object) X(T, HEX, class_id) \
	X(T, HEX, status) X(T, HEX, flags) X(T, HEX, attr) X(T, UNSIGNED, device_id) \
	X(T, UNSIGNED, size)

/* NV_ESC_RM_FREE and NV_ESC_RM_VID_HEAP_CONTROL(FREE), after a successful return. The object's children go, too. */
struct gmt_rm_free {
	struct gmt_hdr hdr;
	struct gmt_cause cause;
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 reserved;
};
#define GMT_FIELDS_gmt_rm_free(X, T)                                              \
	X(T, CAUSE, cause) X(T, HEX, client) X(T, HEX, parent) X(T, HEX, object)

struct gmt_rm_dup {
	struct gmt_hdr hdr;
	struct gmt_cause cause;
	__u32 client;
	__u32 parent;
	__u32 object;
	__u32 client_src;
	__u32 object_src;
	__u32 reserved;
};
#define GMT_FIELDS_gmt_rm_dup(X, T)                                               \
	X(T, CAUSE, cause) X(T, HEX, client) X(T, HEX, parent) X(T, HEX, object) X(T, HEX, client_src) \
	X(T, HEX, object_src)

struct gmt_uvm_gpu {
	struct gmt_hdr hdr;
	__u8 uuid[GMT_UUID_BYTES];
};
#define GMT_FIELDS_gmt_uvm_gpu(X, T)                                              \
	X(T, UUID, uuid)

/* UVM_REGISTER_GPU_VASPACE: ties the VA space object, and so its parent device, to a GPU. */
struct gmt_uvm_vaspace {
	struct gmt_hdr hdr;
	__u8 uuid[GMT_UUID_BYTES];
	__u32 client;
	__u32 vaspace;
};
#define GMT_FIELDS_gmt_uvm_vaspace(X, T)                                          \
	X(T, UUID, uuid) X(T, HEX, client) X(T, HEX, vaspace)

/* UVM_MAP_EXTERNAL_ALLOCATION: [base, base + length) shows memory (client, memory) from offset on. */
struct gmt_uvm_map {
	struct gmt_hdr hdr;
	struct gmt_cause cause;
	__u64 base;
	__u64 length;
	__u64 offset;
	__u32 client;
	__u32 memory;
	__u32 gpu_count;           /* number of GPUs that map the memory; the first GPU owns the memory */
	__u32 reserved;
	__u8 uuid[GMT_UUID_BYTES]; /* the first GPU */
};
#define GMT_FIELDS_gmt_uvm_map(X, T)                                              \
	X(T, CAUSE, cause) X(T, HEX, base) X(T, UNSIGNED, length) X(T, UNSIGNED, offset) \
	X(T, HEX, client) X(T, HEX, memory) X(T, UNSIGNED, gpu_count) X(T, UUID, uuid)

struct gmt_uvm_unmap {
	struct gmt_hdr hdr;
	__u64 base;
	__u64 length;
	__u8 uuid[GMT_UUID_BYTES];
};
#define GMT_FIELDS_gmt_uvm_unmap(X, T)                                            \
	X(T, HEX, base) X(T, UNSIGNED, length) X(T, UUID, uuid)

struct gmt_uvm_free {
	struct gmt_hdr hdr;
	__u64 base;   /* the whole range that begins here is freed */
};
#define GMT_FIELDS_gmt_uvm_free(X, T)                                             \
	X(T, HEX, base)

/* Start times are CLOCK_BOOTTIME, cut to the precision of /proc/PID/stat (USER_HZ is 100 on x86 and arm64), so that the
 * kernel and the collector have the same number. Two lives of a pid may have the same start time: a PROC_FORK or
 * PROC_SEEN that follows a PROC_EXIT begins the next life. */
#define GMT_START_UNIT_NS 10000000

struct gmt_proc_fork {
	struct gmt_hdr hdr;     /* tgid: the child */
	__u32 parent_tgid;
	__u32 reserved;
	__u64 start_ns;         /* the child's */
};
#define GMT_FIELDS_gmt_proc_fork(X, T)                                            \
	X(T, UNSIGNED, parent_tgid) X(T, UNSIGNED, start_ns)

/* PROC_EXEC and PROC_SEEN. comm is the process's name at that moment. */
struct gmt_proc_exec {
	struct gmt_hdr hdr;
	__u64 start_ns;
	__u8 comm[GMT_COMM_BYTES];
};
#define GMT_FIELDS_gmt_proc_exec(X, T)                                            \
	X(T, UNSIGNED, start_ns) X(T, TEXT, comm)

#define GMT_EXIT_CODE_UNKNOWN (-1) /* the kernel's record was lost; the process is gone */

struct gmt_proc_exit {
	struct gmt_hdr hdr;
	__s32 exit_code;        /* as wait(2) would give it: status << 8 | signal; or unknown */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_proc_exit(X, T)                                            \
	X(T, SIGNED, exit_code)

/*
 * The call stack of a thread. A stack is sent once, and records before and after it name the stack by its id. An id is
 * given out once in a session, but one stack may get several ids (BPF forgot the stack, or other code was mapped).
 *
 * words[] are frames, innermost first: GMT_FRAME_* (unwind.h). A word with GMT_FRAME_PYTHON is a code object, and the
 * next word is lasti | check << 32 (struct gmt_py_frame, python.h). Python frames follow the native frame of the eval
 * loop that runs them, and the last of them has GMT_FRAME_LAST. If the native walk broke off, all Python frames that
 * are left follow.
 *
 * BPF sends one word more, for the collector: the number of the process's newest executable mapping (gmt_code_mapped),
 * and above it, from bit 32 on, that of the newest mapping that the list of the walk knew; 0: no list.
 */
struct gmt_stack {
	struct gmt_hdr hdr;     /* tid: the thread that had it first */
	__u32 id;               /* never 0 */
	__u16 count;            /* words */
	__u8 reason;            /* enum gmt_unwind_reason: why the native walk ended */
	__u8 py_reason;         /* enum gmt_py_reason */
	__u64 words[];
};
#define GMT_FIELDS_gmt_stack(X, T)                                                \
	X(T, UNSIGNED, id) X(T, UNSIGNED, count) X(T, UNWIND_REASON, reason) X(T, PY_REASON, py_reason)

/*
 * The memory of a stack that was taken without tables for all of its code. Sent before the stack; large memory comes in
 * pieces by rising address. When the collector has the tables, it walks the memory and sends the stack once more, under
 * its id. Never recorded.
 */
struct gmt_stack_copy {
	struct gmt_hdr hdr;
	__u32 stack_id;
	__u32 count;            /* words */
	__u64 pc, sp, fp;       /* the thread's registers */
	__u64 base;             /* address of the first word: sp, or where the piece before ended */
	struct gmt_unwind_more more;
	struct gmt_unwind_taken taken;
	__u64 words[];
};
#define GMT_FIELDS_gmt_stack_copy(X, T)                                           \
	X(T, UNSIGNED, stack_id) X(T, UNSIGNED, count) X(T, HEX, pc) X(T, HEX, sp) X(T, HEX, fp) \
	X(T, HEX, base)

/* An executable mapping of a process whose stacks are taken. Never recorded. */
struct gmt_code_mapped {
	struct gmt_hdr hdr;
	__u64 start, end;
	__u32 number;           /* of the process's mappings: 2 is the first one that is sent */
	__u32 has_file;
};
#define GMT_FIELDS_gmt_code_mapped(X, T)                                          \
	X(T, HEX, start) X(T, HEX, end) X(T, UNSIGNED, number) X(T, UNSIGNED, has_file)

/* ---- written by the collector ---- */

struct gmt_session {
	struct gmt_hdr hdr;
	__u64 wall_ns;          /* CLOCK_REALTIME at hdr.ts_ns */
	__u32 layers;           /* enum gmt_layer, or-ed: the active ones */
	__u32 reserved;
	__u8 version[32];       /* gpumemtrace's, NUL-terminated like all strings here */
	__u8 kernel[64];
	__u8 host[64];
	__u8 driver[64];        /* NVIDIA kernel driver, "580.159.04"; "" without one */
	__u8 why_no_kernel[128];/* why the kernel layer is not active; "" if it is */
	__u8 why_no_nvml[128];
};
#define GMT_FIELDS_gmt_session(X, T)                                              \
	X(T, UNSIGNED, wall_ns) X(T, HEX, layers) X(T, TEXT, version) X(T, TEXT, kernel) \
	X(T, TEXT, host) X(T, TEXT, driver) X(T, TEXT, why_no_kernel) X(T, TEXT, why_no_nvml)

/* Something that the user asked for and this machine's kernel cannot do. Texts are sentences without a full stop. */
struct gmt_limit {
	struct gmt_hdr hdr;
	__u8 what[96];          /* what is missing: "PyTorch's blocks have no stacks" */
	__u8 why[192];
	__u8 remedy[160];
};
#define GMT_FIELDS_gmt_limit(X, T)                                                \
	X(T, TEXT, what) X(T, TEXT, why) X(T, TEXT, remedy)

enum gmt_gpu_flag {
	GMT_GPU_MIG = 1,        /* a MIG instance; parent_index is its GPU's index */
	GMT_GPU_MIG_PARENT = 2, /* a GPU in MIG mode */
};

struct gmt_gpu {
	struct gmt_hdr hdr;
	__u32 index;            /* as nvidia-smi numbers it */
	__s32 minor;            /* /dev/nvidia<minor>; -1 unknown */
	__u32 flags;            /* enum gmt_gpu_flag */
	__u32 parent_index;
	__u64 total_bytes;      /* 0: unknown */
	__u8 uuid[GMT_UUID_BYTES];
	__u32 gpu_instance;     /* MIG only */
	__u32 compute_instance;
	__u8 name[96];
	__u8 pci[32];           /* "00000000:3B:00.0" */
};
#define GMT_FIELDS_gmt_gpu(X, T)                                                  \
	X(T, UNSIGNED, index) X(T, SIGNED, minor) X(T, HEX, flags) X(T, UNSIGNED, parent_index) \
	X(T, UNSIGNED, total_bytes) X(T, UUID, uuid) X(T, UNSIGNED, gpu_instance) \
	X(T, UNSIGNED, compute_instance) X(T, TEXT, name) X(T, TEXT, pci)

struct gmt_proc {
	struct gmt_hdr hdr;
	__u64 start_ns;         /* CLOCK_BOOTTIME; another life of the pid mostly has another start time */
	__u32 uid;
	__u32 ns_pid;           /* pid in the process's own namespace; the tgid if the process has no such namespace */
	__u32 parent_tgid;
	__u32 reserved;
	__u8 comm[GMT_COMM_BYTES];
	__u8 cgroup[128];
	__u8 cmdline[256];      /* arguments joined by a space, cut; see procfs_command() */
};
#define GMT_FIELDS_gmt_proc(X, T)                                                 \
	X(T, UNSIGNED, start_ns) X(T, UNSIGNED, uid) X(T, UNSIGNED, ns_pid) X(T, UNSIGNED, parent_tgid) \
	X(T, TEXT, comm) X(T, TEXT, cgroup) X(T, TEXT, cmdline)

enum gmt_attach_flag {
	GMT_ATTACH_FROM_START = 1, /* the process had not used a GPU before */
};

struct gmt_attach {
	struct gmt_hdr hdr;
	__u32 flags;
	__u32 reserved;
};
#define GMT_FIELDS_gmt_attach(X, T)                                               \
	X(T, HEX, flags)

struct gmt_loss {
	struct gmt_hdr hdr;
	__u64 count[GMT_LOSS_COUNT]; /* by enum gmt_loss_cause, since the start of the session; a reader takes as many
	                              * as size holds */
};
#define GMT_FIELDS_gmt_loss(X, T)                                                 \
	X(T, LOSSES, count)

struct gmt_library {
	struct gmt_hdr hdr;
	__u64 dev;
	__u64 ino;
	__u32 probes;           /* probes that were attached */
	__u32 absent;           /* rows of the table that this library does not export */
	__u32 shifted;          /* probes that were placed behind endbr64 */
	__u32 attach_us;
	__u8 build_id[40];      /* hex, cut; 40 digits (a SHA-1) have no NUL behind them */
	__u8 path[256];
};
#define GMT_FIELDS_gmt_library(X, T)                                              \
	X(T, HEX, dev) X(T, UNSIGNED, ino) X(T, UNSIGNED, probes) X(T, UNSIGNED, absent) \
	X(T, UNSIGNED, shifted) X(T, UNSIGNED, attach_us) X(T, TEXT, build_id) X(T, TEXT, path)

/* The file has lost its probes, because no process maps the file any more. If a process maps the file again, a LIBRARY
 * record tells so. */
struct gmt_library_gone {
	struct gmt_hdr hdr;
	__u64 dev;
	__u64 ino;
};
#define GMT_FIELDS_gmt_library_gone(X, T)                                         \
	X(T, HEX, dev) X(T, UNSIGNED, ino)

struct gmt_end {
	struct gmt_hdr hdr;
	__u32 reason;           /* enum gmt_end_reason */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_end(X, T)                                                  \
	X(T, END, reason)

/* The user asked for a new window: peaks begin at the live memory of this moment, and growth counts from it. */
struct gmt_mark {
	struct gmt_hdr hdr;
	__u32 number;           /* in the session, from 1 on */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_mark(X, T)                                                 \
	X(T, UNSIGNED, number)

/* The memory that gpumemtrace itself has, and what it has given up to stay below its bound. A replay gives the same up
 * at the same place. */
struct gmt_memory {
	struct gmt_hdr hdr;
	__u64 tracer_bytes;     /* anonymous memory of the tracer's own process, resident */
	__u64 readers_bytes;    /* likewise, of the processes that read files for it */
	__u64 most_bytes;       /* the most that both together were seen to have */
	__u64 maps_bytes;       /* of the BPF maps, which are in the kernel; 0: unknown */
	__u64 bound_bytes;      /* --memory */
	__u32 shed;             /* enum gmt_shed: the last step that was taken */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_memory(X, T)                                               \
	X(T, UNSIGNED, tracer_bytes) X(T, UNSIGNED, readers_bytes) X(T, UNSIGNED, most_bytes) \
	X(T, UNSIGNED, maps_bytes) X(T, UNSIGNED, bound_bytes) X(T, SHED, shed)

#include <gpumemtrace/fw.h>
#include <gpumemtrace/history_records.h>
#include <gpumemtrace/nvml_records.h>
#include <gpumemtrace/oom_records.h>
#include <gpumemtrace/symbol.h>

#define GMT_WIRE_CHECK(type) _Static_assert(sizeof(struct type) % 8 == 0, #type " is not a multiple of 8")
#define X(name, value, type, text) GMT_WIRE_CHECK(type);
GMT_KINDS(X)
#undef X
_Static_assert(sizeof(struct gmt_hdr) == 24, "header layout");
_Static_assert(sizeof(struct gmt_call) == 40, "call layout");
_Static_assert(sizeof(struct gmt_rm_alloc) == 80, "RM alloc layout");
_Static_assert(sizeof(struct gmt_stack) == 32, "stack layout");
_Static_assert(sizeof(struct gmt_fw_mem) == 64, "framework memory layout");
_Static_assert(sizeof(struct gmt_symbol) == 48, "symbol layout");
_Static_assert(sizeof(struct gmt_fw_oom) == 56, "framework OOM layout");
_Static_assert(sizeof(struct gmt_fw_range) == 136, "framework range layout");
_Static_assert(sizeof(struct gmt_fw_size) == 56, "framework size layout");
_Static_assert(sizeof(struct gmt_framework) == 32, "framework layout");
_Static_assert(sizeof(struct gmt_oom) == 152, "OOM layout");
_Static_assert(sizeof(struct gmt_history_event) == 56, "history event layout");

#endif
