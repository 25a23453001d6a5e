/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rm/rm_objects.h"

/* When an implied node gets its real parent, a cycle is looked for so many nodes up. RM's own objects nest a
 * handful deep (client, device, channel group, channel, engine). */
#define RMTREE_DEPTH 32

static uint64_t make_key(uint32_t client, uint32_t handle)
{
	return (uint64_t)client << 32 | handle;
}

void rmtree_init(struct rmtree *tree)
{
	slab_init(&tree->nodes, sizeof(struct rmnode));
	hash_init(&tree->index, sizeof(uint32_t));
	tree->seen = 0;
}

void rmtree_fini(struct rmtree *tree)
{
	slab_fini(&tree->nodes);
	hash_fini(&tree->index);
}

uint32_t rmtree_find(const struct rmtree *tree, uint32_t client, uint32_t handle)
{
	const uint32_t *node = hash_get(&tree->index, make_key(client, handle));

	return node ? *node : 0;
}

static void link_child(struct rmtree *tree, uint32_t parent, uint32_t child)
{
	struct rmnode *p = rmtree_node(tree, parent), *c = rmtree_node(tree, child);

	c->parent = parent;
	c->prev = 0;
	c->next = p->child;
	if (c->next)
		rmtree_node(tree, c->next)->prev = child;
	p->child = child;
}

static void unlink_child(struct rmtree *tree, uint32_t child)
{
	struct rmnode *c = rmtree_node(tree, child);

	if (c->prev)
		rmtree_node(tree, c->prev)->next = c->next;
	else if (c->parent)
		rmtree_node(tree, c->parent)->child = c->next;
	if (c->next)
		rmtree_node(tree, c->next)->prev = c->prev;
	c->parent = c->prev = c->next = 0;
}

static uint32_t new_node(struct rmtree *tree, uint64_t key)
{
	uint32_t node = slab_new(&tree->nodes);

	rmtree_node(tree, node)->key = key;
	*(uint32_t *)hash_put(&tree->index, key, NULL) = node;
	return node;
}

uint32_t rmtree_imply(struct rmtree *tree, uint32_t client, uint32_t handle)
{
	uint32_t node = rmtree_find(tree, client, handle), top;

	if (node)
		return node;
	node = new_node(tree, make_key(client, handle));
	if (handle == client)
		return node;
	top = rmtree_imply(tree, client, client);
	link_child(tree, top, node);
	return node;
}

/* Whether `node` is `below` or one of its ancestors; when in doubt, yes. */
static bool is_above(const struct rmtree *tree, uint32_t node, uint32_t below)
{
	for (int depth = 0; depth < RMTREE_DEPTH; depth++) {
		if (below == node)
			return true;
		if (!below)
			return false;
		below = rmtree_node(tree, below)->parent;
	}
	return true;
}

uint32_t rmtree_add(struct rmtree *tree, uint32_t client, uint32_t parent, uint32_t handle,
		    uint32_t class_id)
{
	uint32_t node = rmtree_find(tree, client, handle), up;
	struct rmnode *n;

	if (!node)
		node = new_node(tree, make_key(client, handle));
	if (handle != client) {
		up = rmtree_imply(tree, client, parent == handle ? client : parent);
		if (rmtree_node(tree, node)->child && is_above(tree, node, up))
			up = rmtree_imply(tree, client, client);
		unlink_child(tree, node);
		link_child(tree, up, node);
	}
	n = rmtree_node(tree, node);
	n->class_id = class_id;
	n->seen = true;
	tree->seen++;
	return node;
}

uint32_t rmtree_leaf(const struct rmtree *tree, uint32_t top)
{
	while (rmtree_node(tree, top)->child)
		top = rmtree_node(tree, top)->child;
	return top;
}

void rmtree_remove(struct rmtree *tree, uint32_t leaf)
{
	struct rmnode *n = rmtree_node(tree, leaf);

	unlink_child(tree, leaf);
	hash_erase(&tree->index, n->key);
	tree->seen -= n->seen;
	slab_free(&tree->nodes, leaf);
}

bool rmtree_client_known(const struct rmtree *tree, uint32_t client)
{
	uint32_t node = rmtree_find(tree, client, client);

	return node && rmtree_node(tree, node)->seen;
}
