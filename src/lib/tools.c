/* SPDX-License-Identifier: Apache-2.0 */
/* Installs, lists, removes and checks tools (lib/tools.h).
 *
 * Should:   compare the whole content with the hash before each run that uses the tool; leave the
 *           old tool in place until the new one is complete.
 * Must not: follow a symlink beneath the directory of tools, or work inside a sandbox.
 * Fails:    closed: a tool that changed, or whose record is missing, refuses the run. */
#include "lib/tools.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/remove_tree.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WHERE "tool"
#define TOOL_MAX ((size_t)256 * 1024 * 1024)
#define HASH_LENGTH 64
#define HASH_FILE "sha256"
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

static int check_name(const char *name, struct err *e) {
	if (name != NULL && policy_tool_name(name)) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE, "not a valid name of a tool");
	return err_fix(e, "use letters, digits and _, after the first also . + -");
}

/* ---- the content ---- */

/* Reads a regular file; its bytes go to *out. */
static int read_program(int fd, const char *shown, struct buf *out, struct err *e) {
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		(void)err_sys_at(e, WHERE, "cannot read", shown);
		return err_fix(e, "name a program that you can read");
	}
	if (!S_ISREG(st.st_mode)) {
		(void)err_set(e, ERR_USAGE, WHERE, "%s is not a regular file", shown);
		return err_fix(e, "name a program or a script");
	}
	if (fd_read_all(fd, TOOL_MAX, out) != 0) {
		return err_sys_at(e, WHERE, "cannot read", shown);
	}
	return 0;
}

static void hash_of(const struct buf *text, char ret[HASH_LENGTH + 1]) {
	trust_sha256_hex(text->data == NULL ? "" : text->data, text->len, ret);
}

static int write_file_at(int dir, const char *name, mode_t mode, const void *data, size_t len) {
	auto_fd fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 || fd_write_all(fd, data, len) != 0 || fchmod(fd, mode) != 0 || fsync(fd) != 0
		       ? -1
		       : 0;
}

/* ---- places ---- */

struct place {
	struct arena arena;
	struct host host;
	const char *dir; /* STATE/tools */
	int fd;          /* of it; -1: it does not exist */
};

static void place_done(struct place *p) {
	drop_fd(&p->fd);
	arena_done(&p->arena);
}

static int refuse_inside(struct err *e) {
	(void)err_set(e, ERR_REFUSED, WHERE, "tools cannot be changed inside a sandbox");
	return err_fix(e, "run the command outside, as the user who owns the tools");
}

static int place_open(struct place *p, bool change, struct err *e) {
	char failed[PATH_MAX];
	*p = (struct place){.fd = -1};
	arena_init(&p->arena);
	if (probe_host(&p->arena, &p->host, e) != 0) {
		return -1;
	}
	if (change && plan_caller_variable(&p->host, "CORRAL_LEVEL") != NULL) {
		return refuse_inside(e);
	}
	p->dir = p->host.state_dir == NULL ? NULL
					   : path_join(&p->arena, p->host.state_dir, TOOLS_NAME);
	if (p->dir == NULL) {
		(void)err_set(e, ERR_SETUP, WHERE, "there is no state directory for tools");
		return err_fix(e, "set HOME to an existing directory");
	}
	if (owner_check(p->host.state_dir, e) != 0 || owner_check(p->dir, e) != 0) {
		return -1;
	}
	if (change && dirs_make(p->dir, failed) != 0) {
		return err_sys_at(e, WHERE, "cannot create", failed);
	}
	p->fd = open(p->dir, DIR_FLAGS | O_CLOEXEC);
	return p->fd < 0 && errno != ENOENT ? err_sys_at(e, WHERE, "cannot open", p->dir) : 0;
}

/* ---- install ---- */

/* Fills the new directory `made` with the program and its hash. */
static int fill(const struct place *p, const char *made, const char *name,
		const struct buf *program, struct err *e) {
	char hash[HASH_LENGTH + 1];
	auto_fd dir = openat(p->fd, made, DIR_FLAGS | O_CLOEXEC);
	if (dir < 0 || mkdirat(dir, TOOL_BIN, 0700) != 0) {
		return err_sys_at(e, WHERE, "cannot create a directory in", p->dir);
	}
	auto_fd bin = openat(dir, TOOL_BIN, DIR_FLAGS | O_CLOEXEC);
	hash_of(program, hash);
	if (bin < 0 ||
	    write_file_at(bin, name, 0555, program->data == NULL ? "" : program->data,
			  program->len) != 0 ||
	    write_file_at(dir, HASH_FILE, 0400, hash, HASH_LENGTH) != 0 || fchmod(bin, 0755) != 0 ||
	    fchmod(dir, 0755) != 0 || fsync(bin) != 0 || fsync(dir) != 0) {
		return err_sys_at(e, WHERE, "cannot write the tool in", p->dir);
	}
	return 0;
}

static int rename_over(int dir, const char *from, const char *to) {
	if (syscall(SYS_renameat2, dir, from, dir, to, RENAME_EXCHANGE) == 0) {
		return 0;
	}
	return errno == ENOENT ? renameat(dir, from, dir, to) : -1;
}

static int install(const struct place *p, const char *name, const struct buf *program,
		   struct err *e) {
	char made[48];
	(void)snprintf(made, sizeof made, ".new-%ld-%s", (long)getpid(), "tool");
	(void)remove_tree(p->fd,
			  made); /* of a killed process with this pid; mkdirat() reports it */
	if (mkdirat(p->fd, made, 0700) != 0) {
		return err_sys_at(e, WHERE, "cannot create a directory in", p->dir);
	}
	int rc = fill(p, made, name, program, e);
	if (rc == 0 && (rename_over(p->fd, made, name) != 0 || fsync(p->fd) != 0)) {
		rc = err_sys_at(e, WHERE, "cannot install the tool in", p->dir);
	}
	(void)remove_tree(p->fd, made); /* the old tool, or a part of the new one */
	return rc;
}

static int install_file(const char *name, const char *path, struct err *e) {
	struct place p = {.fd = -1};
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct buf program;
	buf_init(&program);
	int rc = read_program(fd, path, &program, e);
	if (rc == 0 && program.len == 0) {
		rc = err_set(e, ERR_USAGE, WHERE, "%s is empty", path);
	}
	if (rc == 0) {
		rc = place_open(&p, true, e) != 0 ? -1 : install(&p, name, &program, e);
		place_done(&p);
	}
	buf_done(&program);
	return rc;
}

int corral_tool_install(const char *name, const char *path, struct corral_error *err) {
	struct err e = {0};
	if (lib_need(path, "the path", err) != 0) {
		return -1;
	}
	return check_name(name, &e) == 0 && install_file(name, path, &e) == 0 ? 0
									      : lib_fail(&e, err);
}

int corral_tool_remove(const char *name, struct corral_error *err) {
	struct err e = {0};
	struct place p = {.fd = -1};
	struct stat st;
	int rc = check_name(name, &e) != 0 ? -1 : place_open(&p, true, &e);
	if (rc == 0 && fstatat(p.fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		rc = err_set(&e, ERR_USAGE, WHERE, "there is no tool %s", name);
		(void)err_fix(&e, "list them: corral tool list");
	}
	if (rc == 0 && remove_tree(p.fd, name) != 0) {
		rc = err_sys_at(&e, WHERE, "cannot remove the tool", name);
	}
	place_done(&p);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

/* ---- the check ---- */

static int refuse_changed(const char *name, const char *why, struct err *e) {
	(void)err_set(e, ERR_REFUSED, WHERE, "the tool %s %s", name, why);
	return err_fix(
		e, "find out who changed it; then install it again: corral tool install %s FILE",
		name);
}

/* The recorded hash; false: there is none that can be used. */
static bool read_record(int dir, char ret[HASH_LENGTH + 1]) {
	auto_fd fd = openat(dir, HASH_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct buf text;
	buf_init(&text);
	bool read = fd >= 0 && fd_read_all(fd, HASH_LENGTH, &text) == 0 && text.len == HASH_LENGTH;
	if (read) {
		memcpy(ret, text.data, HASH_LENGTH);
		ret[HASH_LENGTH] = '\0';
	}
	buf_done(&text);
	return read && strspn(ret, "0123456789abcdef") == HASH_LENGTH;
}

/* Whether the directory has this one name. */
static bool has_only(int dir, const char *name) {
	int copy = openat(dir, ".", DIR_FLAGS | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	bool only = list != NULL;
	if (list == NULL) {
		drop_fd(&copy);
		return false;
	}
	for (const struct dirent *d; only && (d = readdir(list)) != NULL;) {
		only = streq(d->d_name, ".") || streq(d->d_name, "..") || streq(d->d_name, name);
	}
	(void)closedir(list); /* it was only read */
	return only;
}

static int check_tool(int tools, const char *name, struct err *e) {
	char want[HASH_LENGTH + 1], have[HASH_LENGTH + 1];
	struct err unreadable = {0};
	struct buf program;
	auto_fd dir = openat(tools, name, DIR_FLAGS | O_CLOEXEC);
	auto_fd bin = dir < 0 ? -1 : openat(dir, TOOL_BIN, DIR_FLAGS | O_CLOEXEC);
	auto_fd fd =
		bin < 0 ? -1 : openat(bin, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (dir < 0) {
		(void)err_set(e, ERR_REFUSED, WHERE, "the tool %s is not installed", name);
		return err_fix(e, "corral tool install %s FILE", name);
	}
	if (!read_record(dir, want)) {
		return refuse_changed(name, "has no recorded hash", e);
	}
	buf_init(&program);
	bool read = read_program(fd, name, &program, &unreadable) == 0;
	hash_of(&program, have);
	buf_done(&program);
	if (!read) {
		return refuse_changed(name, "cannot be read", e);
	}
	if (!streq(want, have)) {
		return refuse_changed(name,
				      "is not the program that was installed: its hash differs", e);
	}
	return has_only(bin, name) ? 0
				   : refuse_changed(name, "has other files in its directory", e);
}

int tools_check(const struct prepared *p, struct err *e) {
	const struct value *names = &p->policy.values[KEY_ENV_TOOLS];
	char path[PATH_MAX];
	if (names->count == 0) {
		return 0;
	}
	int n = snprintf(path, sizeof path, "%s/%s",
			 p->host.state_dir == NULL ? "" : p->host.state_dir, TOOLS_NAME);
	if (n < 0 || (size_t)n >= sizeof path || owner_check(path, e) != 0) {
		return n < 0 || (size_t)n >= sizeof path
			       ? err_set(e, ERR_SETUP, WHERE, "the path of the tools is too long")
			       : -1;
	}
	auto_fd tools = open(path, DIR_FLAGS | O_CLOEXEC);
	if (tools < 0) {
		return err_sys_at(e, WHERE, "cannot open", path);
	}
	for (size_t i = 0; i < names->count; i++) {
		if (check_tool(tools, names->items[i].str, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- list ---- */

struct listing {
	struct emit j;
	struct buf *out;
	bool json;
};

static void list_tool(struct listing *l, int tools, const char *name) {
	char hash[HASH_LENGTH + 1] = "";
	struct err e = {0};
	auto_fd dir = openat(tools, name, DIR_FLAGS | O_CLOEXEC);
	bool good = check_tool(tools, name, &e) == 0;
	bool known = dir >= 0 && read_record(dir, hash);
	if (!l->json) {
		buf_printf(l->out, "%s  %.16s  %s\n", name, known ? hash : "-",
			   good ? "ok" : e.what);
		return;
	}
	emit_object(&l->j, NULL);
	emit_string(&l->j, "name", name);
	emit_string(&l->j, "sha256", known ? hash : NULL);
	emit_bool(&l->j, "ok", good);
	emit_string(&l->j, "error", good ? NULL : e.what);
	emit_end_object(&l->j);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_tool(const struct dirent *d) {
	return policy_tool_name(d->d_name);
}

int corral_tool_list(enum corral_format format, char **text, struct corral_error *err) {
	struct err e = {0};
	struct place p;
	struct buf out;
	struct listing l = {.out = &out, .json = format == CORRAL_JSON};
	struct dirent **names = NULL;
	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	buf_puts(&out, "");
	emit_init(&l.j, &out, false);
	int rc = place_open(&p, false, &e);
	int n = rc == 0 && p.fd >= 0 ? scandir(p.dir, &names, is_tool, by_name) : 0;
	if (l.json) {
		emit_array(&l.j, NULL);
	}
	for (int i = 0; i < n; i++) {
		list_tool(&l, p.fd, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (l.json) {
		emit_end_array(&l.j);
	}
	rc = rc == 0 ? lib_give(&out, text, &e) : -1;
	buf_done(&out);
	place_done(&p);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
