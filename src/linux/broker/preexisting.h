/* SPDX-License-Identifier: Apache-2.0 */
/* Protects files that existed before the run under a name that a rule protects (K6). */
#ifndef CORRAL_LINUX_BROKER_PREEXISTING_H
#define CORRAL_LINUX_BROKER_PREEXISTING_H

#include "linux/broker/resolve.h"

/* The directory is large: call preexisting_search() in a helper process. */
#define BEFORE_LATER 1

/* Whether a function of this file depends on the file at that real path: it has the name ".git" or
 * "HEAD", or is in a part of a repository that the run may have created. */
bool preexisting_concerns(const char *real);

/* Call it after a name was created: a ".git", a submodule's repository and the part of a ".git"
 * that belongs to a linked work tree are recorded as the run's own. */
void preexisting_made(struct broker *b, const struct resolved *p);

/* Whether the path is in a repository that the run created, or in a part of one. */
bool preexisting_in_made(const struct broker *b, const struct resolved *p);

/* Whether the run created the directory that the first `len` characters of p->real name, above p.
 */
bool preexisting_made_above(const struct broker *b, const struct resolved *p, size_t len);

/* True for a preexisting file or symlink ".git", which leads git to a repository; and for a HEAD
 * beside a preexisting ".git", which would make the directory itself a repository. */
bool preexisting_keeps_file(const struct broker *b, const struct resolved *p);

/* Before an entry is removed or renamed: 0, -EBUSY when it is or contains a protected
 * preexisting file, or BEFORE_LATER.  Needs p->entry. */
int preexisting_judge(const struct call *c, const struct resolved *p);

/* Before an entry is removed: 0 or -EBUSY.  The kernel keeps a directory that is not empty. */
int preexisting_remove(const struct call *c, const struct resolved *p);

/* In a helper: like preexisting_judge(), without BEFORE_LATER. */
int preexisting_search(const struct call *c, const struct resolved *p);

#endif
