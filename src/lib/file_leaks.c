/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the secrets that a client of the file tools found in one file, for the audit log.
 *
 * Should:   write the records of a file with one append, each secret once.
 * Must not: grow with the number of findings (run/leak_log.h).
 * Fails:    open: without memory there is no record; the client has decided already. */
#include "lib/file_leaks.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

struct file_leaks {
	char *path;
	struct leak_log found;
};

void file_leaks_end(struct file_leaks *leaks, const struct prepared *p) {
	if (leaks != NULL) {
		audit_file_leaks(p, leaks->path, &leaks->found);
		leak_log_done(&leaks->found);
		free(leaks->path);
		free(leaks);
	}
}

int file_leaks_add(struct file_leaks **leaks, const struct prepared *p, const char *path,
		   const struct leak_record *found, struct err *e) {
	if (*leaks != NULL && !streq((*leaks)->path, path)) {
		file_leaks_end(*leaks, p);
		*leaks = NULL;
	}
	if (*leaks == NULL) {
		struct file_leaks *new = calloc(1, sizeof *new);
		char *copy = strdup(path);
		if (new == NULL || copy == NULL) {
			free(new);
			free(copy);
			return err_memory(e, "library");
		}
		new->path = copy;
		*leaks = new;
	}
	leak_log_put(&(*leaks)->found, found);
	return 0;
}
