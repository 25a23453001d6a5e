// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that static libelf and libdw of elfutils 0.192 (Debian 13) need and no archive has. They are in libeu,
 * which the build puts only into the shared libraries. Names, arguments and the place of the root come from
 * lib/eu-search.h of elfutils 0.192. If elfutils was built with a lock, the lock comes behind the root. Nothing here
 * takes the lock, because no two threads use a handle (lines.c, libbpf).
 *
 * The linker takes this file only where libelf and libdw leave the names open: libgmt.a is searched again behind the
 * two (SYMBOL_LIBS in the Makefile). elfutils 0.188 (Debian 12) needs none of these functions.
 */
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root;
};

typedef int (*compare_fn)(const void *left, const void *right);
typedef void (*free_fn)(void *node);

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, free_fn free_node);
void eu_tdestroy(struct search_tree *tree, free_fn free_node);
void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn compare);
void *eu_tfind(const void *key, struct search_tree *tree, compare_fn compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn compare);

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, free_fn free_node)
{
	eu_tdestroy(tree, free_node);
}

void eu_tdestroy(struct search_tree *tree, free_fn free_node)
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tfind(const void *key, struct search_tree *tree, compare_fn compare)
{
	return tfind(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn compare)
{
	return tdelete(key, &tree->root, compare);
}
