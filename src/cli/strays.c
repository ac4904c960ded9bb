/* SPDX-License-Identifier: Apache-2.0 */
/* The note about files that a command wrote into its private home, where the user does not look for
 * them.
 *
 * Should:   name the files, the directory that has them, and a grant that a person can paste.
 * Must not: print a grant of a name that a shell would read otherwise, or a command that
 *           installs a program.
 * Fails:    open: out of memory prints nothing. */
#include "cli/cli.h"

#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STRAYS_SHOWN 5

/* Beneath an unquoted ~/. */
static bool is_plain(const char *name) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._/+-";
	return strspn(name, plain) == strlen(name);
}

/* Whether the user has a file of that name too. */
static bool is_taken(const char *name) {
	const char *home = getenv("HOME");
	char path[PATH_MAX];
	struct stat st;

	int n = snprintf(path, sizeof path, "%s/%s", home == NULL ? "" : home, name);
	return home != NULL && n >= 0 && (size_t)n < sizeof path && lstat(path, &st) == 0;
}

/* A grant names a path that exists on the host, so the file is moved there first.  Of a name at the
 * top of HOME the grant is the name itself, because HOME as a whole is none to propose. */
static void put_grant(const char *kept, const char *name, struct buf *out) {
	const char *slash = strrchr(name, '/');
	int len = (int)(slash == NULL ? strlen(name) : (size_t)(slash - name));

	/* The shell outside would find a program of ~/.local/bin. */
	if (*name == '.' || !is_plain(name) || !is_plain(kept)) {
		buf_puts(out, "to make a directory of yours writable: --write DIR");
		return;
	}
	buf_printf(out, "to keep it: %s -iT %s/%s ~/%s; for later runs: --write ~/%.*s",
		   is_taken(name) ? "cp -r" : "mv", kept, name, name, len, name);
}

void note_strays(const struct corral_result *result) {
	const char *kept = corral_result_home(result), *name;
	struct buf line, grant;

	if (kept == NULL) {
		return;
	}
	buf_init(&line);
	buf_init(&grant);
	for (size_t i = 0; (name = corral_result_stray(result, i)) != NULL; i++) {
		if (i == STRAYS_SHOWN) {
			buf_puts(&line, ", ...");
			break;
		}
		buf_printf(&line, "%s~/%s", i == 0 ? "" : ", ", name);
	}
	put_grant(kept, corral_result_stray(result, 0), &grant);
	if (!buf_failed(&line) && !buf_failed(&grant)) {
		str_hide_controls(line.data, false);
		print_note("the command created files in the private HOME, not in yours: %s (kept "
			   "in %s); %s",
			   line.data, kept, grant.data);
	}
	buf_done(&line);
	buf_done(&grant);
}
