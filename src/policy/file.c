/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a policy file, and describes why one cannot be read.
 *
 * Should:   read from a descriptor that the caller opened, so that no name is resolved twice.
 * Must not: read more than POLICY_FILE_MAX bytes.
 * Fails:    closed: a file that is too large or not regular is an error. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

int policy_file_error(struct err *e, const char *name, int sys) {
	char file[SHOWN_MAX];
	value_shown(name, file, sizeof file);
	if (sys == ELOOP) {
		(void)err_set(e, ERR_USAGE, "policy", "%s: is a symbolic link", file);
		(void)err_fix(e, "replace the link by the file");
	} else if (sys == EFBIG) {
		(void)err_set(e, ERR_USAGE, "policy",
			      "%s: too large for a policy file (more than %zu bytes)", file,
			      POLICY_FILE_MAX);
	} else {
		(void)err_set(e, ERR_USAGE, "policy", "cannot read %s", file);
		e->sys = sys;
		if (sys == EACCES) {
			(void)err_fix(e, "make the file and its directory readable for this user "
					 "(a workspace needs r and x), or use --no-config");
		}
	}
	return -1;
}

int policy_file_read(int fd, const char *name, bool regular, struct buf *out, struct err *e) {
	struct stat st;
	if (fstat(fd, &st) != 0) {
		return policy_file_error(e, name, errno);
	}
	if (S_ISDIR(st.st_mode) || (regular && !S_ISREG(st.st_mode))) {
		char file[SHOWN_MAX];
		return err_set(e, ERR_USAGE, "policy", "%s: is not a regular file",
			       value_shown(name, file, sizeof file));
	}
	return fd_read_all(fd, POLICY_FILE_MAX, out) == 0 ? 0 : policy_file_error(e, name, errno);
}

int policy_file_descriptor(const char *name) {
	char *end;
	if (!str_starts(name, "fd:") || name[3] < '0' || name[3] > '9') {
		return -1;
	}
	errno = 0;
	long n = strtol(name + 3, &end, 10);
	return errno != 0 || *end != '\0' || n > INT_MAX ? -1 : (int)n;
}

const struct standing_file *policy_find_standing(const struct policy_inputs *in, const char *path) {
	for (size_t i = 0; i < in->nstanding; i++) {
		if (streq(in->standing[i].path, path)) {
			return &in->standing[i];
		}
	}
	return NULL;
}

int policy_read_standing(struct arena *a, const char *path, struct standing_file *ret,
			 struct err *e) {
	auto_buf text = {0};
	*ret = (struct standing_file){.path = path};
	if (owner_check_dir(path, e) != 0 || owner_check(path, e) != 0) {
		return -1;
	}
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT || errno == ENOTDIR ? 0 : policy_file_error(e, path, errno);
	}
	if (policy_file_read(fd, path, true, &text, e) != 0) {
		return -1;
	}
	ret->text = arena_strndup(a, text.data == NULL ? "" : text.data, text.len);
	ret->len = text.len;
	return ret->text == NULL ? err_memory(e, "policy") : policy_check_text(a, ret, e);
}

int policy_workspace_error(struct err *e, const struct value *v, int sys) {
	char path[SHOWN_MAX], from[SHOWN_MAX];
	(void)err_set(e, ERR_USAGE, "policy", "cannot use the workspace %s (%s)",
		      value_shown(v->str, path, sizeof path),
		      policy_origin_text(&v->origin, from, sizeof from));
	e->sys = sys;
	return err_fix(e, "choose an existing directory: --workspace DIR");
}
