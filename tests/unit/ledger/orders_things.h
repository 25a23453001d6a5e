/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More of what the driver does (orders_world.h): arrays, pools, graphs, captures, multicast objects. A call works on one
 * thing, and no second call on the same thing runs beside it, except frees of memory that a graph has planned.
 */
#ifndef GPUMEMTRACE_TESTS_ORDERS_THINGS_H
#define GPUMEMTRACE_TESTS_ORDERS_THINGS_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAYS 5
#define POOLS 3
#define GRAPHS 4                  /* handles of graphs, and as many of executables */
#define LIVES 10                  /* of graphs */
#define NODES 8
#define STREAMS 3
#define GROUPS 2                  /* multicast objects */
#define SLOTS 3                   /* places in a multicast object */
#define NODE_ARENA (3 * ARENA)
#define STREAM_AT(i) (0x5000 + 0x100 * (uint64_t)(i))
#define POOL_AT(i) (0x9100 + 0x10 * (uint64_t)(i))
#define ARRAY_AT(i) (0xa00 + (uint64_t)(i))
#define GRAPH_AT(i) (0x9500 + 0x10 * (uint64_t)(i))
#define EXEC_AT(i) (0x9600 + 0x10 * (uint64_t)(i))
#define GROUP_AT(i) (0x800 + (uint64_t)(i))
#define LOCATION_OF_HOST 2

enum thing { THING_NONE, THING_ARRAY, THING_POOL, THING_GRAPH, THING_EXEC, THING_NODE, THING_STREAM, THING_GROUP };

struct array_here {
	bool live, visible;
	bool is_sparse;           /* has no memory of its own, but that of objects */
	bool held[8];             /* objects behind its tiles */
	unsigned int tiles;
	int context, gpu;
	uint64_t bytes;
};

struct pool_here {
	bool live;
	int gpu;                  /* -1: of host memory */
};

/* One life of a graph: all that has its nodes. */
struct graph_life {
	int holders;
};

/* A handle of a graph or an executable. */
struct graph_here {
	bool live;
	bool is_child;            /* moved into another graph */
	int life;
};

struct node_here {
	bool live;                /* the graph has it */
	bool is_planned;          /* and nothing has freed it */
	bool is_mapped;           /* a launch has brought the memory */
	bool is_left;             /* the graph is gone, and nobody knows whether there was a launch */
	bool has_kernel;
	int life, gpu;
	uint64_t bytes, born;
};

struct stream_here {
	bool live, captures;
	int context;
	int life;                 /* of the graph that is captured; -1: it has no node */
};

struct group_here {
	bool live;
	int objects[SLOTS];       /* -1: none */
};

struct things {
	struct array_here arrays[ARRAYS];
	struct pool_here pools[POOLS];
	struct graph_life lives[LIVES];
	struct graph_here graphs[GRAPHS], execs[GRAPHS];
	struct node_here nodes[NODES];
	struct stream_here streams[STREAMS];
	struct group_here groups[GROUPS];
	uint64_t born;            /* nodes */
};

#endif
