/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RM objects of a process as a tree: clients at the top, each object below its parent, because freeing an object
 * frees all objects below.
 *
 * An object that is only referred to (tracing began after its allocation) is implied: its node stands below the client,
 * unseen, so that the object's children are found when the object is freed. The one invariant: every node but a client
 * has a parent in the same client, and there are no cycles.
 */
#ifndef GPUMEMTRACE_CORE_RM_RM_OBJECTS_H
#define GPUMEMTRACE_CORE_RM_RM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/slab.h"

struct rmnode {
	uint64_t key;            /* client << 32 | handle */
	uint32_t parent;         /* 0: a client */
	uint32_t child;          /* the newest */
	uint32_t next, prev;     /* siblings */
	uint32_t class_id;
	uint32_t device;         /* the caller's, like body */
	uint32_t body;
	bool seen;               /* its allocation was seen: not implied */
};

struct rmtree {
	struct slab nodes;       /* struct rmnode */
	struct hash index;       /* key -> node */
	uint64_t seen;           /* nodes that are not implied */
};

void rmtree_init(struct rmtree *tree);
void rmtree_fini(struct rmtree *tree);

static inline struct rmnode *rmtree_node(const struct rmtree *tree, uint32_t node)
{
	return slab_at(&tree->nodes, node);
}

/* The node of an object; a client is (client, client). 0: there is none. */
uint32_t rmtree_find(const struct rmtree *tree, uint32_t client, uint32_t handle);

/* The node of an object, which is implied if there is none. */
uint32_t rmtree_imply(struct rmtree *tree, uint32_t client, uint32_t handle);

/* Adds an object whose allocation was seen. An implied node of that name becomes the object and keeps its
 * children; a node that was seen must not be there. A parent without a node is implied. */
uint32_t rmtree_add(struct rmtree *tree, uint32_t client, uint32_t parent, uint32_t handle,
		    uint32_t class_id);

/* A leaf below the top. To free a subtree without recursion, remove the leaf and go on from the leaf's parent,
 * until the leaf was the top itself. */
uint32_t rmtree_leaf(const struct rmtree *tree, uint32_t top);
void rmtree_remove(struct rmtree *tree, uint32_t leaf);

/* Whether the client was seen created. If so, all objects of the client are known. */
bool rmtree_client_known(const struct rmtree *tree, uint32_t client);

#endif
