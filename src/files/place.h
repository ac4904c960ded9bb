/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path of the sandbox to a file of the host.
 *
 * Theory.  A file tool works outside the sandbox, for the agent that works in it.  So a
 * path is a path of the sandbox, and each name is resolved through the plan's mounts: a
 * name that is the target of a mount continues in that mount's source, any other name in
 * the current directory, and a symlink's target is a path of the sandbox again.  So a
 * symlink can point to any file in the view and to no other, and a file that is hidden in
 * the sandbox is hidden here.
 *
 * The walk holds descriptors (base/beneath.h).  At its end the kernel gives the descriptor's path,
 * access.h checks that path, and the tool works on the descriptor: no name is looked up
 * twice, so that a swap between check and use is not possible (F1).
 *
 * Should:   resolve a path to the same file as the kernel does for a command.
 * Must not: open a file other than to hold it, which neither blocks nor reads; follow a
 *           magic link of procfs; reveal entries behind a mask.
 * Fails:    closed: a path that keeps changing is an error. */
#ifndef CORRAL_FILES_PLACE_H
#define CORRAL_FILES_PLACE_H

#include "base/err.h"
#include "plan/plan.h"
#include "policy/policy.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The view of the file tools. */
struct lens {
	const struct plan *plan; /* of the namespaces engine; for_command: of any */
	const struct policy *policy;
	bool fast;         /* one call for several names, and drafts without a name, if available */
	bool reject_links; /* refuse a path with a symlink in it */
	bool for_command; /* judge for a command in a run, which has a /tmp, a procfs and an overlay
			   */
};

enum place_kind {
	PLACE_FILE,    /* a file of the host, of any type: fd, st */
	PLACE_MISSING, /* does not exist; `dir` is -1 if its directory is missing too */
	PLACE_OURS,    /* a directory that every run creates, for its mount points */
	PLACE_TEXT,    /* a small file that every run creates: tree->text */
	PLACE_RUN,     /* in a mount of one run: its /tmp, its procfs, a device */
	PLACE_MASK,    /* at or beneath a hidden path */
	PLACE_LINK,    /* behind a symlink, and reject_links is set */
};

struct place {
	enum place_kind kind;
	int fd;                   /* held; -1 when there is none */
	int dir;                  /* held: its parent directory; -1 at the root of a tree */
	const struct mount *tree; /* the mount that shows it; NULL in the bare root */
	struct stat st;           /* PLACE_FILE */
	char name[NAME_MAX + 1];  /* in dir */
	char path[PATH_MAX];      /* in the sandbox, without symlinks: access.h checks it */
};

enum {
	WALK_STAY = 1,    /* do not follow a final symlink */
	WALK_PARENTS = 2, /* create missing directories of the path, if the policy allows it */
};

/* Resolves `path`, absolute or relative to plan->cwd.  0 with *ret, which place_done()
 * releases; -1 with *e for an invalid path, or one that cannot be resolved. */
int place_find(const struct lens *v, const char *path, unsigned how, struct place *ret,
	       struct err *e);
void place_done(struct place *p);

/* -1 with *e for a system call that failed on `path`. */
int place_failed(int error, const char *doing, const char *path, struct err *e);

#endif
