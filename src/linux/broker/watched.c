/* SPDX-License-Identifier: Apache-2.0 */
/* Records reads of hidden files, for `denials = all`.
 *
 * The kernel refuses these calls by itself (a mount namespace without the file, Landlock), and
 * reports that to no process.  So the filter sends them here, the path is copied, and the call
 * continues: the caller waits only for the copy.  Whether the file exists on the host is not known
 * here; the supervisor looks after the run (run/denials.h).
 *
 * execve(2) is among them also where commands.default is deny: the kernel refuses a program that is
 * not listed.  The execve(2) that starts the command is not: the process shares the memory of the
 * guard until then, which cannot answer (SYSCALL_FIRST_EXEC).
 *
 * Should:   answer first, then look at the path.
 * Must not: decide anything (K1), allocate or lock; resolve a path on the caller's behalf.
 * Fails:    open: a path that cannot be read has no record. */
#include "linux/broker/watched.h"

#include "base/path.h"
#include "linux/broker/refused.h"
#include "linux/broker/resolve.h"
#include "linux/broker/sockets.h"
#include "backend/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A relative path that may leave the directory that the caller works in, which is visible: by "..",
 * or by a dot file of a private HOME. */
static bool may_be_hidden(const char *path) {
	return path[0] == '/' || (path[0] == '.' && path[1] != '/' && path[1] != '\0') ||
	       strstr(path, "/..") != NULL;
}

/* The error of the kernel; 0: it lets the call succeed, or fail as on the host. */
static int error_of(const struct broker *b, const char *path, enum denial_op op) {
	if (!plan_hides_host(b->plan, path)) {
		return 0;
	}
	switch (plan_mount_visibility(b->plan, path)) {
	case VISIBILITY_DENIED:
		return EACCES;
	case VISIBILITY_NONE:
		if (plan_lacks_namespaces(b->plan)) {
			return op == DENIAL_STAT ? 0 : EACCES; /* Landlock ignores stat(2) */
		}
		return ENOENT;
	case VISIBILITY_PRIVATE:
	case VISIBILITY_READ:
	case VISIBILITY_WRITE:
		break;
	}
	return ENOENT;
}

/* The sandbox has a file of that name all the same: in the private HOME, or a mount point. */
static bool exists_inside(const struct broker *b, const char *path) {
	return syscall(SYS_faccessat, b->root, path, F_OK) == 0;
}

/* The path is absolute.  Returns whether it is hidden. */
static bool record_hidden(const struct call *c, char path[PATH_MAX], enum denial_op op) {
	const struct broker *b = c->b;

	path_normalize(path, path);
	int error = error_of(b, path, op);
	if (error == 0 || (error == ENOENT && exists_inside(b, path))) {
		return false;
	}
	refused_add(c, &(struct journal_refusal){.op = op, .error = error, .named = {path}});
	return true;
}

long watched_pass(const struct call *c, int dirfd, uint64_t address, enum denial_op op) {
	char path[PATH_MAX];
	const struct broker *b = c->b;
	bool copied = b->journal != NULL && caller_copy(c, address, path, sizeof path) == 0 &&
		      may_be_hidden(path) && refused_make_absolute(c, dirfd, path);

	(void)call_let_pass(c);
	if (copied) {
		(void)record_hidden(c, path, op);
	}
	return CALL_ANSWERED;
}

/* A program that the sandbox shows, and that Landlock or a noexec mount does not let execute. */
static void record_unlisted(const struct call *c, const char *path) {
	const struct broker *b = c->b;
	char real[REAL_MAX];

	refused_resolve(b, path, real);
	if (real[0] == '/' && !plan_executes(b->plan, real)) {
		refused_add(c, &(struct journal_refusal){.op = DENIAL_EXEC,
							 .error = EACCES,
							 .named = {path},
							 .resolved = {real}});
	}
}

static long watched_exec(const struct call *c, int dirfd, uint64_t address) {
	char path[PATH_MAX];
	const struct broker *b = c->b;
	bool copied = b->journal != NULL && caller_copy(c, address, path, sizeof path) == 0 &&
		      refused_make_absolute(c, dirfd, path);

	(void)call_let_pass(c);
	if (copied && !record_hidden(c, path, DENIAL_EXEC)) {
		record_unlisted(c, path);
	}
	return CALL_ANSWERED;
}

long serve_access(struct call *c) {
	return watched_pass(c, AT_FDCWD, c->args[0], DENIAL_STAT);
}

long serve_chdir(struct call *c) {
	return watched_pass(c, AT_FDCWD, c->args[0], DENIAL_STAT);
}

long serve_execve(struct call *c) {
	return watched_exec(c, AT_FDCWD, c->args[0]);
}

long serve_execveat(struct call *c) {
	return watched_exec(c, call_int(c, 0), c->args[1]);
}

long serve_faccessat(struct call *c) {
	return watched_pass(c, call_int(c, 0), c->args[1], DENIAL_STAT);
}

long serve_faccessat2(struct call *c) {
	return watched_pass(c, call_int(c, 0), c->args[1], DENIAL_STAT);
}

long serve_lstat(struct call *c) {
	return watched_pass(c, AT_FDCWD, c->args[0], DENIAL_STAT);
}

long serve_newfstatat(struct call *c) {
	return watched_pass(c, call_int(c, 0), c->args[1], DENIAL_STAT);
}

/* A datagram to another host: the run's network namespace has no route. */
long serve_sendto(struct call *c) {
	struct socket_address a;
	uint64_t len = c->args[5];
	bool copied;

	memset(&a, 0, sizeof a);
	a.len = len > sizeof a.in6 ? sizeof a.in6 : (socklen_t)len;
	copied = a.len >= sizeof a.in4 && caller_bytes(c, c->args[4], &a.all, a.len) == 0;
	(void)call_let_pass(c);
	if (copied && socket_address_is_inet(a.any.sa_family)) {
		refused_send(c, &a);
	}
	return CALL_ANSWERED;
}

long serve_stat(struct call *c) {
	return watched_pass(c, AT_FDCWD, c->args[0], DENIAL_STAT);
}

long serve_statx(struct call *c) {
	return watched_pass(c, call_int(c, 0), c->args[1], DENIAL_STAT);
}
