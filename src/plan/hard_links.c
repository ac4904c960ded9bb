/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a rule about a file that has further hard links which no rule names.
 *
 * Should:   count each name once, however many rules name it.
 * Must not: walk a tree to find the other names.
 * Fails:    closed: the plan is refused, with the command that finds them. */
#include "plan/internal.h"

#include "base/str.h"

#include <stdlib.h>

static int file_order(const struct hide *a, const struct hide *b) {
	int order = (int)a->rank - (int)b->rank;
	if (order == 0) {
		order = (a->seen.dev > b->seen.dev) - (a->seen.dev < b->seen.dev);
	}
	return order != 0 ? order : (a->seen.ino > b->seen.ino) - (a->seen.ino < b->seen.ino);
}

static int name_order(const void *left, const void *right) {
	const struct hide *a = *(const struct hide *const *)left;
	const struct hide *b = *(const struct hide *const *)right;
	int order = file_order(a, b);
	return order != 0 ? order : strcmp(a->path, b->path);
}

/* The number of names that the hides of one file cover; they are sorted by path.  Two rules about
 * one name count once: otherwise a policy file that repeats a rule would leave the other name open
 * (P3). */
static uint64_t names_covered(const struct hide *const *run, size_t n) {
	uint64_t covered = 1;
	for (size_t i = 1; i < n; i++) {
		covered += !streq(run[i]->path, run[i - 1]->path);
	}
	return covered;
}

static int check_names_of(const struct hide *const *run, size_t n, struct err *e) {
	uint64_t covered = names_covered(run, n);
	for (size_t i = 0; i < n; i++) {
		const struct hide *h = run[i];
		if (h->written == NULL || covered >= h->seen.names) {
			continue;
		}
		err_set(e, ERR_REFUSED, WHERE,
			"%s %s cannot be enforced: the file has %llu hard links, and the rules "
			"name %llu of them",
			h->note, h->written, (unsigned long long)h->seen.names,
			(unsigned long long)covered);
		return err_fix(e,
			       "add rules for the others (find / -xdev -samefile %s), or replace "
			       "the file by a copy",
			       h->written);
	}
	return 0;
}

/* A mount covers a name, not the inode: another hard link would stay readable.  Only a walk of
 * every granted tree could find it, so the rules must name them all. */
int hard_links_check(const struct builder *b, struct err *e) {
	const struct hide **files = arena_array(b->a, b->nhides + 1, sizeof(const struct hide *));
	size_t n = 0, run;
	if (files == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < b->nhides; i++) {
		if (b->hides[i].seen.kind == LOOK_FILE && b->hides[i].seen.names > 1) {
			files[n++] = &b->hides[i];
		}
	}
	qsort(files, n, sizeof *files, name_order);
	for (size_t i = 0; i < n; i += run) {
		for (run = 1; i + run < n && file_order(files[i], files[i + run]) == 0;) {
			run++;
		}
		if (check_names_of(&files[i], run, e) != 0) {
			return -1;
		}
	}
	return 0;
}
