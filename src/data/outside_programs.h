/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs of the host Corral itself may execute outside a sandbox: npm and its like for
 * @registries, and git for `corral scan`.
 *
 * Theory.  The caller's PATH may lead into a project, and a sandboxed command can have put a
 * program there: in this run, or in another one whose workspace was larger.  Which files other runs
 * could write is recorded nowhere.  So a program counts only where runs do not write: in
 * directories of root, and in the directories of the toolchains in HOME, which every run shows
 * read-only.  In a repository neither counts. */
#ifndef CORRAL_DATA_OUTSIDE_PROGRAMS_H
#define CORRAL_DATA_OUTSIDE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

struct outside_facts {
	/* Owner and mode of the entry itself; false: there is none. */
	bool (*look)(void *arg, const char *path, uint32_t *ret_uid, uint32_t *ret_mode);
	void *arg;
	uint32_t uid;     /* of the caller */
	const char *home; /* canonical, or NULL */
};

/* Whether no sandboxed command can have written the program, or directory of programs, with this
 * canonical path. */
bool outside_program_is_safe(const struct outside_facts *facts, const char *path);

/* Whether the path is in one of the trees where a system has its programs. */
bool outside_program_is_of_system(const char *path);

#endif
