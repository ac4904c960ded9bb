/* A path as a command inside would mean it, and what stands there.
 *
 * Theory.  A file tool works outside the sandbox on behalf of whoever works
 * inside it, so a path is an inside path, and every step of its way is made
 * through the plan's mounts: a name that is a mount's target leads into that
 * mount's source, any other into the directory we hold, and the words of a link
 * are an inside path again.  So a link may lead anywhere that the view shows and
 * to nothing else, and what is hidden inside is hidden here, whatever the host has.
 *
 * What is held is descriptors.  When the walk has ended the kernel says what the
 * descriptor stands for, that path is judged (access.h), and the tool works on the
 * descriptor: no name is looked up twice, so there is nothing to swap between (F1).
 *
 * Should:   arrive where the kernel would take a command inside.
 * Must not: open anything but by O_PATH, which neither waits nor reads; follow a
 *           magic link; tell what lies behind a mask.
 * Fails:    closed: a path that changes all the time is an error. */
#ifndef CORRAL_FILES_PLACE_H
#define CORRAL_FILES_PLACE_H

#include "base/err.h"
#include "plan/plan.h"
#include "policy/policy.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* What the tools look through. */
struct lens {
	const struct plan *plan; /* of the namespaces engine */
	const struct policy *policy;
	bool fast;         /* use openat2 and O_TMPFILE where they are */
	bool reject_links; /* any link on the way of a path refuses it */
};

enum place_kind {
	PLACE_FILE,    /* something of the host, of any kind: fd, st */
	PLACE_MISSING, /* nothing; the name is free in dir, unless a directory is missing too */
	PLACE_OURS,    /* a directory that every run makes anew, to hold its mounts */
	PLACE_TEXT,    /* a small file that every run makes anew: tree->text */
	PLACE_RUN,     /* in what belongs to one run alone: its /tmp, its processes, a device */
	PLACE_MASK,    /* at or behind something hidden */
	PLACE_LINK,    /* behind a link, and links are rejected */
};

struct place {
	enum place_kind kind;
	int fd;  /* O_PATH; -1 when there is none */
	int dir; /* O_PATH of the directory that holds it; -1 at the root of a tree */
	const struct mount *tree; /* that shows it; NULL in the bare root */
	struct stat st;           /* PLACE_FILE */
	char name[NAME_MAX + 1];  /* in dir */
	char path[PATH_MAX];      /* inside, without links: what is judged */
};

enum {
	WALK_STAY = 1,    /* a last link is the file itself */
	WALK_PARENTS = 2, /* missing directories are made on the way, where that is allowed */
};

/* Walks `path`, absolute or beneath plan->cwd.  0 with *ret, which place_done()
 * ends; -1 with *e for what is no path, or cannot be walked. */
int place_find(const struct lens *v, const char *path, unsigned how, struct place *ret,
	       struct err *e);
void place_done(struct place *p);

/* -1 with *e for a system call that failed on `path`. */
int place_failed(int error, const char *doing, const char *path, struct err *e);

#endif
