/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools of corral.h that describe and change entries: stat, make directory, move, delete,
 * chmod.
 *
 * Should:   judge each path as corral_files_write() does, and act on the judged file.
 * Must not: run a command: the rules about commands do not apply.
 * Fails:    closed: a refused call changes nothing. */
#include "lib/file_task.h"

#include "files/tools.h"
#include "lib/sized.h"

static int check_flags(unsigned flags, unsigned known, struct err *e) {
	return (flags & ~known) == 0
		       ? 0
		       : err_set(e, ERR_USAGE, "library", "unknown flags: %#x", flags & ~known);
}

int corral_files_stat(const struct corral_files *files, const char *path, struct corral_stat *stat,
		      struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	struct entry entry;

	if (lib_need(stat, "stat", err) != 0) {
		return -1;
	}
	int rc = file_task_to_read(files, path, &t, &e);
	if (rc == 0) {
		rc = sized_check(&sized_stat, stat, &e);
	}
	if (rc == 0) {
		rc = tool_stat(&t.view, path, &entry, &e);
	}
	if (rc == 0) {
		const struct corral_stat found = {
			.kind = entry.kind,
			.bytes = entry.size,
			.modified_ns = entry.modified_ns,
			.mode = entry.mode,
		};
		rc = sized_out(&sized_stat, &found, stat, &e);
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_make_directory(const struct corral_files *files, const char *path, unsigned flags,
				struct corral_error *err) {
	struct err e = {0};
	struct file_task t;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0) {
		rc = check_flags(flags, CORRAL_DIRECTORY_PARENTS, &e);
	}
	if (rc == 0) {
		rc = tool_make_directory(
			&t.view, path,
			(flags & CORRAL_DIRECTORY_PARENTS) != 0 ? DIRECTORY_PARENTS : 0U, &e);
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_move(const struct corral_files *files, const char *from, const char *to,
		      unsigned flags, struct corral_error *err) {
	struct moving m = {.from = from, .to = to, .replace = (flags & CORRAL_MOVE_REPLACE) != 0};
	struct err e = {0};
	struct file_task t;

	int rc = file_task_to_write(files, from, &t, &e);
	if (rc == 0) {
		rc = to == NULL ? err_set(&e, ERR_USAGE, "library", "the new path is NULL")
				: check_flags(flags, CORRAL_MOVE_REPLACE, &e);
	}
	if (rc == 0) {
		rc = file_task_also_write(&t, to, &e);
	}
	if (rc == 0) {
		rc = tool_move(&t.view, &m, &e);
		t.at = m.at;
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_delete(const struct corral_files *files, const char *path, unsigned flags,
			struct corral_error *err) {
	struct err e = {0};
	struct file_task t;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0) {
		rc = check_flags(flags, CORRAL_DELETE_RECURSIVE, &e);
	}
	if (rc == 0) {
		rc = tool_delete(&t.view, path, (flags & CORRAL_DELETE_RECURSIVE) != 0, &e);
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_chmod(const struct corral_files *files, const char *path, unsigned mode,
		       struct corral_error *err) {
	struct err e = {0};
	struct file_task t;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0) {
		rc = tool_chmod(&t.view, path, mode, &e);
	}
	return file_task_end(&t, rc, &e, err);
}
