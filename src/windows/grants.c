/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the entries in the DACLs of the paths that a run grants.
 *
 * Should:   grant the rights to read and execute and, for writing, to change the content.
 * Must not: grant WRITE_DAC, WRITE_OWNER or, on the granted directory itself, DELETE: the command
 *           could change its own boundary, or replace the directory.
 * Fails:    closed: a path that is not compared as equal gets a grant of its own. */
#include "windows/grants.h"

#include "base/str.h"

#include <ctype.h>
#include <strings.h>

/* winnt.h: FILE_GENERIC_READ, FILE_GENERIC_EXECUTE, FILE_GENERIC_WRITE, DELETE. */
#define MASK_READ UINT32_C(0x00120089)
#define MASK_EXECUTE UINT32_C(0x001200A0)
#define MASK_WRITE UINT32_C(0x00120116)
#define MASK_DELETE UINT32_C(0x00010000)

/* OBJECT_INHERIT_ACE, CONTAINER_INHERIT_ACE, INHERIT_ONLY_ACE. */
#define FLAG_FILES 0x1U
#define FLAG_DIRECTORIES 0x2U
#define FLAG_ONLY_INHERIT 0x8U

size_t grants_entries(const struct path_grant *g, struct grant_entry ret[GRANT_ENTRIES_MAX]) {
	uint32_t mask = MASK_READ | MASK_EXECUTE | (g->access == GRANT_WRITE ? MASK_WRITE : 0);

	if (!g->directory) {
		ret[0] = (struct grant_entry){.mask = mask};
		return 1;
	}
	if (g->access == GRANT_READ) {
		ret[0] = (struct grant_entry){.mask = mask, .flags = FLAG_FILES | FLAG_DIRECTORIES};
		return 1;
	}
	ret[0] = (struct grant_entry){.mask = mask};
	ret[1] = (struct grant_entry){
		.mask = mask | MASK_DELETE,
		.flags = FLAG_FILES | FLAG_DIRECTORIES | FLAG_ONLY_INHERIT,
	};
	return 2;
}

bool grants_within(const char *path, const char *dir) {
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '\\') {
		n--;
	}
	return strncasecmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '\\');
}

static bool includes(const struct path_grant *outer, const struct path_grant *inner) {
	bool same = strcasecmp(outer->path, inner->path) == 0;
	return outer->access >= inner->access &&
	       (same || (outer->directory && grants_within(inner->path, outer->path)));
}

size_t grants_reduce(struct path_grant *list, size_t n) {
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool redundant = false;
		for (size_t j = 0; j < n && !redundant; j++) {
			/* Of two that include each other, the first stays. */
			redundant = j != i && includes(&list[j], &list[i]) &&
				    (j < i || !includes(&list[i], &list[j]));
		}
		/* list[j] with j < i may have moved to a lower index, but was not changed there:
		 * it includes the same paths. */
		if (!redundant) {
			struct path_grant keep = list[i];
			list[i] = list[kept];
			list[kept++] = keep;
		}
	}
	return kept;
}

bool grants_is_absolute(const char *path) {
	bool drive = isalpha((unsigned char)path[0]) && path[1] == ':' &&
		     (path[2] == '\\' || path[2] == '/');
	bool share = (path[0] == '\\' || path[0] == '/') && path[1] == path[0] && path[2] != '\0';

	for (const char *p = path; (drive || share) && *p != '\0';) {
		size_t len = strcspn(p, "\\/");
		if ((len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.')) {
			return false;
		}
		p += len + (p[len] != '\0');
	}
	return drive || share;
}
