/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h about dumps: a request for memory that could not be met, and the memory that each process held
 * then. A dump is a recording (recfile.h) that has these records instead of the records that led to the failure.
 */
#ifndef GPUMEMTRACE_OOM_RECORDS_H
#define GPUMEMTRACE_OOM_RECORDS_H

enum gmt_oom_flag {
	GMT_OOM_HAS_FREE = 1,   /* free_bytes is known */
	GMT_OOM_EXITED = 2,     /* exit_code and exit_ns are valid */
	GMT_OOM_REFUSED = 4,    /* the kernel driver refused a request outside of a known call, maybe in a launch */
	GMT_OOM_UNSEEN = 8,     /* no picture was taken or kept: the holders of memory are not known */
	GMT_OOM_NO_ROOM = 16,   /* the kernel driver refused the request, because too little was free */
};

#define GMT_OOM_CLASS_NONE 255

struct gmt_oom {
	struct gmt_hdr hdr;     /* the failure at which the picture that follows was taken */
	__u32 number;           /* counts from 1 in a session; 0: nothing failed, the user asked for a dump */
	__u16 api;              /* enum gmt_api; 0: no call failed, a framework reached its own limit */
	__u8 outcome;           /* enum gmt_oom_outcome */
	__u8 sign;              /* enum gmt_oom_sign */
	__u8 class_id;          /* enum gmt_class of the request, or GMT_OOM_CLASS_NONE */
	__u8 flags;             /* enum gmt_oom_flag */
	__u16 reserved;
	__u32 failures;         /* number of failed calls */
	__u32 stack_id;         /* the stack of the first failed call; 0: none */
	__u32 pieces;           /* handles that were given before a call failed: part of asked_bytes */
	__u64 asked_bytes;      /* bytes of the largest try */
	__u64 failed_bytes;     /* bytes of the newest try, counted as asked_bytes */
	__u64 given_bytes;      /* RETRY: bytes that were given in the end */
	__u64 framework_bytes;  /* bytes that PyTorch was asked for; 0: unknown */
	__u64 freed_bytes;      /* bytes that the process freed before its last try */
	__u64 free_bytes;       /* free bytes on the GPU, as CUDA told the thread after the failure */
	__u64 first_ns, last_ns;/* times of the first and the newest failure */
	__u64 decided_ns;       /* time of the outcome; 0: undecided */
	__u64 exit_ns;
	__s32 exit_code;
	__u32 backward_stack_id; /* the stack of the thread for whose backward this thread works; 0: none is known */
	__u8 uuid[GMT_UUID_BYTES]; /* the GPU; 0: unknown, or no GPU */
};
#define GMT_FIELDS_gmt_oom(X, T)                                                  \
	X(T, UNSIGNED, number) X(T, API, api) X(T, OOM_OUTCOME, outcome) X(T, OOM_SIGN, sign) \
	X(T, ASKED_CLASS, class_id) X(T, HEX, flags) X(T, UNSIGNED, failures) X(T, UNSIGNED, stack_id) \
	X(T, UNSIGNED, pieces) X(T, UNSIGNED, asked_bytes) X(T, UNSIGNED, failed_bytes) \
	X(T, UNSIGNED, given_bytes) X(T, UNSIGNED, framework_bytes) X(T, UNSIGNED, freed_bytes) \
	X(T, UNSIGNED, free_bytes) X(T, UNSIGNED, first_ns) X(T, UNSIGNED, last_ns) \
	X(T, UNSIGNED, decided_ns) X(T, UNSIGNED, exit_ns) X(T, SIGNED, exit_code) \
	X(T, UNSIGNED, backward_stack_id) X(T, UUID, uuid)

enum gmt_oom_row_flag {
	GMT_OOM_ROW_HOST = 1,     /* memory of a process that lies on no GPU */
	GMT_OOM_ROW_PHYSICAL = 2, /* the kernel layer was active */
	GMT_OOM_ROW_NVML = 4,
	GMT_OOM_ROW_TORCH = 8,
	GMT_OOM_ROW_GAP = 16,     /* torch_gap is known */
	GMT_OOM_ROW_BLOCKS = 32,  /* has only the stacks of PyTorch's blocks in the row before */
};

#define GMT_OOM_CLASSES 16
#define GMT_OOM_CATEGORIES 16

/* The memory of a process on a GPU, or on no GPU. Its stacks follow. Members are as in struct view_row (view.h). */
struct gmt_oom_row {
	struct gmt_hdr hdr;     /* tgid: the process's */
	__u32 number;           /* gmt_oom.number */
	__u16 flags;            /* enum gmt_oom_row_flag */
	__u8 torch_backend;     /* enum gmt_torch_backend */
	__u8 device;            /* 1 + CUDA's number of the GPU in the process; 0: unknown. Older versions wrote 0 */
	__u8 uuid[GMT_UUID_BYTES]; /* 0: unknown */
	__u64 class_bytes[GMT_OOM_CLASSES]; /* live bytes by enum gmt_class */
	__u64 attributed, physical, before_attach;
	__s64 context, modules, pool_reserve, rounding, other;
	__u64 nvml, nvml_ns;
	__u64 torch_allocated, torch_reserved, torch_gap;
	__u64 stacks_live, stacks_peak, stacks_peak_ns;
	__u64 rest_bytes;       /* part of stacks_live that belongs to stacks that do not follow */
	__u32 stacks, rest;     /* numbers of stacks that follow, and that do not follow */
	__u64 since_ns;         /* gmt_oom_stack.grown counts from this time */
	__u64 recent_ns;        /* gmt_oom_stack.recent counts from this time */
	__u64 category_bytes[GMT_OOM_CATEGORIES]; /* bytes of PyTorch's blocks by enum gmt_category: a guess */
	__u64 torch_before;     /* part of torch_allocated: blocks from before the attach */
	__u64 growth;           /* bytes that iterations left behind, growth_count times, on average */
	__u32 growth_count;     /* times among the newest growth_iterations */
	__u32 iteration;        /* number of the training's iteration; 0: no training was seen */
	__u8 phase;             /* enum gmt_training: the training's phase */
	__u8 reserved2[3];
	__u32 growth_iterations; /* 0: growth_count, each left more. Older versions wrote 0 */
};
#define GMT_FIELDS_gmt_oom_row(X, T)                                              \
	X(T, UNSIGNED, number) X(T, HEX, flags) X(T, TORCH_BACKEND, torch_backend) \
	X(T, UNSIGNED, device) X(T, UUID, uuid) \
	X(T, CLASSES, class_bytes) X(T, UNSIGNED, attributed) X(T, UNSIGNED, physical) \
	X(T, UNSIGNED, before_attach) X(T, SIGNED, context) X(T, SIGNED, modules) \
	X(T, SIGNED, pool_reserve) X(T, SIGNED, rounding) X(T, SIGNED, other) X(T, UNSIGNED, nvml) \
	X(T, UNSIGNED, nvml_ns) X(T, UNSIGNED, torch_allocated) X(T, UNSIGNED, torch_reserved) \
	X(T, UNSIGNED, torch_gap) X(T, UNSIGNED, stacks_live) X(T, UNSIGNED, stacks_peak) \
	X(T, UNSIGNED, stacks_peak_ns) X(T, UNSIGNED, rest_bytes) X(T, UNSIGNED, stacks) \
	X(T, UNSIGNED, rest) X(T, UNSIGNED, since_ns) X(T, UNSIGNED, recent_ns)   \
	X(T, CATEGORIES, category_bytes) X(T, UNSIGNED, torch_before) X(T, UNSIGNED, growth) \
	X(T, UNSIGNED, growth_count) X(T, UNSIGNED, iteration) X(T, TRAINING, phase) \
	X(T, UNSIGNED, growth_iterations)

enum gmt_oom_stack_flag {
	GMT_OOM_STACK_STEADY = 1, /* the memory grew in both halves of the time, and stays */
	GMT_OOM_STACK_RESERVE = 2, /* the memory is a framework's reserve: its blocks and its cache */
};

struct gmt_oom_stack {
	struct gmt_hdr hdr;     /* tgid: the row's */
	__u32 number;
	__u32 stack_id;         /* 0: none */
	__u64 live, count;
	__u64 at_peak;          /* the stack's part of the row's stacks_peak */
	__s64 grown, recent;
	__u64 allocs, frees, alloc_bytes;
	__u32 flags;            /* enum gmt_oom_stack_flag */
	__u32 purpose;          /* PyTorch's blocks: 1 + enum gmt_category of most live bytes; 0: unknown */
};
#define GMT_FIELDS_gmt_oom_stack(X, T)                                            \
	X(T, UNSIGNED, number) X(T, UNSIGNED, stack_id) X(T, UNSIGNED, live) X(T, UNSIGNED, count) \
	X(T, UNSIGNED, at_peak) X(T, SIGNED, grown) X(T, SIGNED, recent) X(T, UNSIGNED, allocs) \
	X(T, UNSIGNED, frees) X(T, UNSIGNED, alloc_bytes) X(T, HEX, flags)        \
	X(T, STORED_CATEGORY, purpose)

/* Who waited in a backward while the threads of a stack allocated blocks: a record for each stack that waited, after
 * the request's picture. There is none where it was not certain once who waited. */
struct gmt_oom_waiting {
	struct gmt_hdr hdr;     /* tgid: the row's */
	__u32 number;           /* gmt_oom.number */
	__u32 stack_id;         /* gmt_oom_stack.stack_id */
	__u32 waiting_id;       /* the stack of the thread that waited */
	__u32 reserved;
};
#define GMT_FIELDS_gmt_oom_waiting(X, T)                                          \
	X(T, UNSIGNED, number) X(T, UNSIGNED, stack_id) X(T, UNSIGNED, waiting_id)

#endif
