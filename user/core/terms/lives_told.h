/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lives of allocations and blocks, calls and moments, as plain numbers for whoever writes all of them down
 * (core/lives/lives.h).
 *
 * Each change of memory has a number, in the order of the records. At a change N lives what was born at N or before and
 * has not died at N or before: the bytes of these lives are the ledger's bytes then, exactly. Times alone do not say so
 * where several changes have one time.
 */
#ifndef GPUMEMTRACE_CORE_TERMS_LIVES_TOLD_H
#define GPUMEMTRACE_CORE_TERMS_LIVES_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#define LIFE_NO_GPU (-1)         /* nobody knows the GPU */
#define LIFE_ON_HOST (-2)        /* the memory lies on no GPU */
#define LIFE_NO_ORDINAL UINT8_MAX

struct life_point {
	uint64_t change;
	uint64_t ts_ns;          /* CLOCK_MONOTONIC */
	uint64_t own;            /* the change, counted among those of the process alone */
};

/* X(NAME, name): how a life ended. */
#define LIFE_ENDS(X)                                                              \
	X(NONE, NULL)            /* it goes on */                                 \
	X(FREED, "freed")                                                         \
	X(EXEC, "exec")          /* the process ran another program */            \
	X(EXIT, "exit")          /* the process ended */                          \
	X(CHANGED, "changed")    /* another life goes on: on another GPU, or with another size */ \
	X(LOST, "lost")          /* of a block: the memory below it went */
enum life_end {
#define X(name, text) LIFE_##name,
	LIFE_ENDS(X)
#undef X
};

/* An allocation, or a block of a framework's. Memory whose GPU or size became known later has several lives. */
struct life {
	struct life_point birth, death; /* death: all 0 where the end is LIFE_NONE */
	uint64_t call;           /* number of the call that allocated it; 0: none did */
	enum life_end end;
	bool is_block;
	bool continues;          /* an earlier life of the same memory, or a free that failed */
	bool is_segment;         /* of an allocation: a framework's blocks lie in such memory */
	bool is_counted;         /* of an allocation on a GPU: it is memory of the process */
	int16_t gpu;             /* number of gpus.h; LIFE_NO_GPU, LIFE_ON_HOST */
	uint8_t class;           /* of an allocation: enum gmt_class */
	uint8_t ordinal;         /* CUDA's number of the GPU; LIFE_NO_ORDINAL */
	uint8_t category;        /* of a block: 1 + enum gmt_category; 0: not known */
	uint32_t process;
	uint32_t stack_id;       /* 0: none */
	uint32_t tid;            /* 0: not known */
	uint32_t iteration;      /* of a block: in which it was made; 0: not known */
	uint64_t address;        /* 0: none is known */
	uint64_t bytes;          /* 0: not known */
	uint64_t asked;          /* of a block: what the program asked for; 0: not known */
};

struct life_call {
	uint64_t number, change; /* change: the newest */
	uint64_t ts_ns;
	uint32_t process, tid, stack_id;
	uint16_t api;            /* enum gmt_api */
	bool begins;             /* a release that has begun: its result comes with another record, if it fails */
	int32_t result;
};

/* X(NAME, name): why a moment is worth to be asked for. */
#define LIFE_MOMENTS(X)                                                           \
	X(PEAK, "peak")          /* the most that the process had on the GPU */   \
	X(END, "end")            /* the last that is known: the process's end, or that of the records */ \
	X(MARK, "mark")          /* growth is counted from there */               \
	X(WINDOW, "window")      /* somebody asked for a new window */            \
	X(REQUEST, "request")    /* a request for memory failed */                \
	X(ITERATION, "iteration") /* of a training on a device, its end */
enum life_why {
#define X(name, text) LIFE_AT_##name,
	LIFE_MOMENTS(X)
#undef X
};

struct life_moment {
	enum life_why why;
	struct life_point at;
	uint32_t process;
	int16_t gpu;
	uint8_t ordinal;         /* ITERATION */
	uint32_t number;         /* of the iteration, of the request; 0: none */
	uint64_t bytes;          /* what the ledger says the process has there */
};

/* X(NAME, name): sums that no call gives. */
#define LIFE_LEVELS(X)                                                            \
	X(PHYSICAL, "physical")  /* what the kernel driver gave */                \
	X(NVML, "nvml")                                                           \
	X(RESERVED, "reserved")  /* what a framework has from the driver */
enum life_level_of {
#define X(name, text) LIFE_LEVEL_##name,
	LIFE_LEVELS(X)
#undef X
	LIFE_LEVEL_COUNT
};

struct life_level {
	enum life_level_of of;
	struct life_point at;
	uint32_t process;
	int16_t gpu;
	uint64_t bytes;
};

struct life_process {
	uint32_t number, tgid, ns_pid, uid;
	uint64_t start_ns;       /* CLOCK_BOOTTIME; 0: not known */
	uint64_t attach_ns, exit_ns; /* exit_ns: 0: it has not ended */
	int exit_code;
	bool from_start;
	const char *comm, *cmdline, *cgroup;
};

/* Who takes all of that; the structures are good for the call alone. What nobody takes is NULL. */
struct life_taker {
	void *arg;
	void (*allocation)(void *arg, const struct life *life);
	void (*block)(void *arg, const struct life *life);
	void (*call)(void *arg, const struct life_call *call);
	void (*moment)(void *arg, const struct life_moment *moment);
	/* The peak so far, which takes the place of the one before: of a process on a GPU, or of a framework's blocks
	 * on a device (ordinal). */
	void (*peak)(void *arg, const struct life_moment *moment, bool is_of_blocks);
	void (*level)(void *arg, const struct life_level *level);
	/* The same number comes again when more is known of the request. */
	void (*request)(void *arg, uint32_t process, int gpu, uint64_t change, const struct gmt_oom *rec);
	void (*process)(void *arg, const struct life_process *process);
	/* The process has ended, and all its lives. */
	void (*exit)(void *arg, uint32_t process);
	/* Comes after process(), in long sessions: the number means nothing any longer. */
	void (*forget)(void *arg, uint32_t process);
	/* Memory is short: the taker gives up what it has kept. NULL: the taker needs each life. */
	void (*shed)(void *arg, uint64_t ts_ns);
	/* Only where each taker has shed(): the life goes on, and nothing more is told of it. */
	void (*lost)(void *arg, const struct life *life);
};

#endif
