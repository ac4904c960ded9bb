/* SPDX-License-Identifier: Apache-2.0 */
/* rm -rf for a tree that a hostile command has filled.  System calls only. */
#ifndef CORRAL_BASE_REMOVE_TREE_H
#define CORRAL_BASE_REMOVE_TREE_H

/* Removes name in the directory `parent`, and everything beneath it.  -1 with errno set if
 * something is left; 0 also for a tree that does not exist. */
int remove_tree(int parent, const char *name);

/* Opens the directory `name` in `dir`, and gives the owner all rights to it. */
int remove_tree_open(int dir, const char *name);

/* Empties an open directory. */
int remove_tree_contents(int dir);

#endif
