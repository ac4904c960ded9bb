/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses symlinks in a repository that lead out of it.
 *
 * Theory.  The host's git appends to .git/logs/HEAD, and writes the index, COMMIT_EDITMSG and
 * FETCH_HEAD through the symlinks that it finds there.  The text is partly the command's: names of
 * branches, a message.  So a symlink there would let the next git of the host write a start-up file
 * of the user.  Symlinks within the repository (HEAD, refs of old versions) stay possible.  All of
 * them being within, one through another is, too.
 *
 * A directory is not searched for symlinks.  It is renamed into a repository only from a place in
 * it that is as deep: then each symlink beneath it is one that was allowed there, also if other
 * calls, and helpers of calls that wait, change it meanwhile.  The same holds for a file, in whose
 * place another run of the workspace may put a symlink: from elsewhere it is linked by its
 * descriptor, and not renamed (dirents.c).
 *
 * A ".git" that the run created belongs to it (preexisting.c), but no ".git" or submodule within
 * one that it has not created.
 *
 * Should:   let mv(1) copy a directory that may not be renamed.
 * Must not: depend on the content of a directory.
 * Fails:    closed: a target that only the file system could resolve leads out. */
#include "linux/broker/repository.h"

#include "linux/broker/preexisting.h"

#include <errno.h>

static bool is_made(const struct call *c, const struct resolved *p) {
	return preexisting_made_above(c->b, p, rules_repository(&c->b->plan->rules, p->real));
}

int repository_lead(const struct call *c, const struct resolved *p, const char *target) {
	return rules_lead_out(&c->b->plan->rules, p->real, target) && !is_made(c, p) ? -EBUSY : 0;
}

int repository_move(const struct call *c, const struct resolved *from, const struct resolved *to) {
	return rules_move_out(&c->b->plan->rules, from->real, to->real) && !is_made(c, to) ? -EXDEV
											   : 0;
}
