/* What stood before the run under a name that a rule speaks of. */
#ifndef CORRAL_LINUX_BROKER_PREEXISTING_H
#define CORRAL_LINUX_BROKER_PREEXISTING_H

#include "linux/broker/resolve.h"

/* It may take long to find out: preexisting_search() in a process of its own. */
#define BEFORE_LATER 1

/* A name was made: a ".git", a submodule's repository and what a ".git" has of a linked work
 * tree are remembered as the run's own. */
void preexisting_made(struct broker *b, const struct resolved *p);

/* Whether the run has made the repository that the place lies in, or its part of one. */
bool preexisting_in_made(const struct broker *b, const struct resolved *p);

/* A file or link ".git", which leads git to a repository, that stood there before and is
 * kept as it is; and a HEAD beside any such ".git", which would make a repository of the
 * directory itself. */
bool preexisting_keeps_file(const struct broker *b, const struct resolved *p);

/* The name goes, or takes another: 0, -EBUSY when it is or holds what stood before and a
 * rule keeps, or BEFORE_LATER. */
int preexisting_judge(const struct call *c, const struct resolved *p);

/* The name goes; a directory that is not empty stays anyway: 0 or -EBUSY. */
int preexisting_remove(const struct call *c, const struct resolved *p);

/* In a helper: as preexisting_judge(), without BEFORE_LATER. */
int preexisting_search(const struct call *c, const struct resolved *p);

#endif
