/* SPDX-License-Identifier: Apache-2.0 */
/* Serves connect(2) and bind(2) of unix sockets, and records which socket files are the run's own.
 *
 * A socket of the host, or of another run, may be in the workspace or in a granted tree, and its
 * server may send descriptors to a client (SCM_RIGHTS), among them sockets of another network
 * namespace.  So connect(2) reaches only sockets that were bound in this run, and those that
 * net.sockets names.
 *
 * bind(2) creates an inode for the socket, which is never bound again.  The broker keeps an O_PATH
 * descriptor of that inode, so that its number is not reused.  Between bind(2) and that open the
 * name may have been replaced by another process's socket.  So after listen(2) the broker connects
 * to the inode, and the connection has to arrive at the caller's socket.  A process that wins that
 * race gets one connection without data.
 *
 * Should:   connect to the checked inode, by its descriptor (K3), also after a rename or by
 *           another hard link.
 * Must not: connect to a socket file that is not known to be the run's own.
 * Fails:    closed: ECONNREFUSED, as without a listener; EACCES for a denied path. */
#include "linux/broker/unix_sockets.h"

#include "base/auto.h"
#include "linux/broker/files.h"
#include "linux/broker/created.h"
#include "linux/broker/domain.h"
#include "linux/broker/verdict.h"
#include "linux/broker/view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Socket files in the table, each with a descriptor; the oldest is overwritten first. */
#define BOUND_MAX 256

/* Other connections that may be queued before the broker's own. */
#define STRANGERS 8

struct bound {
	uint64_t cookie; /* SO_COOKIE of the socket; 0: the entry is free */
	int file;        /* O_PATH: its inode */
	bool proven;     /* a connection to the file arrives at the socket */
};

/* Not in struct broker: a run without such sockets does not touch these pages. */
static struct bound bound[BOUND_MAX];
static size_t bound_next; /* the entry to overwrite next, modulo BOUND_MAX */

static long or_errno(long r) {
	return r < 0 ? -errno : 0;
}

/* ---- bound sockets ---- */

static void forget(struct bound *one) {
	if (one->cookie != 0) {
		drop_fd(&one->file);
		one->cookie = 0;
	}
}

/* An unlinked socket file cannot be connected to any more. */
static bool is_removed(const struct bound *one) {
	struct stat st;

	return fstat(one->file, &st) != 0 || st.st_nlink == 0;
}

static struct bound *free_place(void) {
	struct bound *found = NULL;

	for (size_t i = 0; i < BOUND_MAX; i++) {
		if (bound[i].cookie != 0 && is_removed(&bound[i])) {
			forget(&bound[i]);
		}
		if (bound[i].cookie == 0) {
			found = found == NULL ? &bound[i] : found;
		}
	}
	if (found == NULL) {
		found = &bound[bound_next++ % BOUND_MAX];
		forget(found);
	}
	return found;
}

static void remember(int fd, const struct resolved *p) {
	uint64_t cookie = socket_cookie(fd);
	auto_fd file = openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (file < 0 || cookie == 0) {
		return; /* connects to it will be refused */
	}
	struct bound *place = free_place();
	*place = (struct bound){.cookie = cookie, .file = take_fd(&file)};
}

/* ---- listening sockets ---- */

static void name_file(int file, struct socket_address *ret) {
	struct text by_fd = caller_fd_path(file);

	memset(ret, 0, sizeof *ret);
	ret->un.sun_family = AF_UNIX;
	memcpy(ret->un.sun_path, by_fd.s, by_fd.len);
	ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + by_fd.len + 1);
}

/* Accepts until the broker's own connection arrives: it has this process's pid.  Other connections
 * come from the host, before listen(2) has returned, and are closed. */
static bool accepts_own(const struct broker *b, int listener) {
	for (int i = 0; i < STRANGERS; i++) {
		struct ucred peer = {0};
		socklen_t len = sizeof peer;
		auto_fd fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) {
			return false;
		}
		if (peer.pid == b->self) {
			return true;
		}
	}
	return false;
}

static bool leads_to(const struct broker *b, int file, int listener) {
	struct socket_address a;
	struct wait_limit timer;
	int type = socket_option(listener, SOL_SOCKET, SO_TYPE);
	auto_fd probe = type < 0 ? -1 : socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	name_file(file, &a);
	if (probe < 0 || syscall(SYS_connect, probe, &a.any, a.len) != 0) {
		return false;
	}
	/* The caller shares the listener, and may set it to blocking at any time. */
	int flags = fcntl(listener, F_GETFL);
	if (flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) != 0) {
		return false;
	}
	caller_wait_limit(&timer);
	bool arrives = accepts_own(b, listener);
	caller_wait_unlimited(&timer);
	(void)fcntl(listener, F_SETFL, flags); /* the same call succeeded above */
	return arrives;
}

void unix_socket_listens(const struct broker *b, int fd) {
	uint64_t cookie = socket_cookie(fd);

	for (size_t i = 0; cookie != 0 && i < BOUND_MAX; i++) {
		struct bound *one = &bound[i];
		if (one->cookie == cookie && !one->proven) {
			one->proven = leads_to(b, one->file, fd);
		}
	}
}

/* Descriptors hold both inodes, so equal device and inode numbers mean the same inode. */
static bool is_own(int file) {
	struct stat st, own;

	if (fstat(file, &st) != 0 || !S_ISSOCK(st.st_mode)) {
		return false;
	}
	for (size_t i = 0; i < BOUND_MAX; i++) {
		if (bound[i].cookie != 0 && bound[i].proven && fstat(bound[i].file, &own) == 0 &&
		    own.st_dev == st.st_dev && own.st_ino == st.st_ino) {
			return true;
		}
	}
	return false;
}

/* ---- connect ---- */

static bool has_path(const struct socket_address *a) {
	return a->len > offsetof(struct sockaddr_un, sun_path) && a->un.sun_path[0] != '\0';
}

/* The path of a unix address, which may lack a NUL. */
static void path_of(const struct socket_address *a, char *path) {
	size_t n = a->len - offsetof(struct sockaddr_un, sun_path);

	n = n < sizeof a->un.sun_path ? n : sizeof a->un.sun_path;
	memcpy(path, a->un.sun_path, n);
	path[n] = '\0';
}

/* Abstract sockets of the host are not visible in the run's network namespace, or Landlock denies
 * them (ABI 6).  Where neither holds, refuse. */
static long connect_abstract(const struct call *c, int fd, const struct socket_address *a) {
	const struct plan *plan = c->b->plan;
	bool abstract = a->len > offsetof(struct sockaddr_un, sun_path);
	bool judged = !plan_lacks_namespaces(plan) || plan->landlock_abi >= LANDLOCK_ABI_SCOPES;

	return abstract && !judged ? -ECONNREFUSED : socket_connect(c, fd, a, -1);
}

/* Datagram sockets do not listen, so there is no proof for them: they are left to Landlock (ABI 9),
 * or the user accepted the gap. */
static bool is_refused(const struct call *c, int fd, const struct resolved *p) {
	return c->b->plan->engine >= ENGINE_LANDLOCK &&
	       socket_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_DGRAM && !is_own(p->fd);
}

/* A socket of the host that net.sockets names, with the device and inode of the plan. */
static bool is_named(const struct call *c, const struct resolved *p) {
	const struct plan *plan = c->b->plan;
	struct stat st;

	return plan_passes_socket(plan, p->real) && fstat(p->fd, &st) == 0 &&
	       plan_socket_stands(plan, p->real, st.st_dev, st.st_ino);
}

long unix_socket_connect(const struct call *c, int fd, struct socket_address *a) {
	char path[sizeof a->un.sun_path + 1];
	auto_place p;

	p.fd = -1;
	if (!has_path(a)) {
		return connect_abstract(c, fd, a);
	}
	path_of(a, path);
	int r = resolve_file(c, AT_FDCWD, path, true, &p);
	if (r != 0) {
		return r;
	}
	if (!is_named(c, &p)) {
		if (verdict_change(c, &p) != 0) {
			return -EACCES;
		}
		if (is_refused(c, fd, &p)) {
			return -ECONNREFUSED;
		}
	}
	name_file(p.fd, a); /* connect to the checked inode (K3) */
	return socket_connect(c, fd, a, p.fd);
}

/* ---- bind ---- */

/* In a view of the caller's own: by the directory's descriptor, so that getsockname(2) does not
 * return the caller's path. */
static long bind_in_view(const struct call *c, int fd, const struct resolved *p) {
	struct socket_address a;

	name_file(p->fd, &a);
	size_t at = strlen(a.un.sun_path), len = strlen(p->name);
	if (at + 1 + len + 1 > sizeof a.un.sun_path) {
		return -ENAMETOOLONG;
	}
	a.un.sun_path[at++] = '/';
	memcpy(a.un.sun_path + at, p->name, len + 1);
	a.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + at + len + 1);
	long done = or_errno(in_domain(SYS_bind, fd, domain_pointer(&a.any), a.len));
	if (done == 0) {
		remember(fd, p);
		created_node(c, p->real, S_IFSOCK);
	}
	return done;
}

/* Binds by the caller's own path, so that getsockname(2) returns it.  The kernel then resolves the
 * path a second time.  It cannot change meanwhile, because the command's calls that could change
 * it wait for this process; or there is no rule inside the tree, and Landlock's check of the
 * second resolution is enough. */
static long bind_path(const struct call *c, int fd, const struct socket_address *a) {
	char path[sizeof a->un.sun_path + 1];
	auto_place p;

	path_of(a, path);
	int r = resolve_name(c, AT_FDCWD, path, &p);
	if (r == 0) {
		r = verdict_make(c, &p);
	}
	if (r == 0) {
		r = files_take_umask(c);
	}
	if (r != 0) {
		return r;
	}
	if (p.by_proc) {
		return -EACCES; /* a path through /proc/self would be the guard's */
	}
	if (view_is_foreign(c->b)) {
		return bind_in_view(c, fd, &p);
	}
	auto_fd cwd = path[0] == '/' ? -1 : caller_fd(c, AT_FDCWD);
	if (path[0] != '/' && (cwd < 0 || fchdir(cwd) != 0)) {
		return cwd < 0 ? cwd : -errno;
	}
	long done = or_errno(in_domain(SYS_bind, fd, domain_pointer(&a->any), a->len));
	if (path[0] != '/' && fchdir(c->b->root) != 0) {
		return -errno;
	}
	if (done == 0) {
		remember(fd, &p);
		created_node(c, p.real, S_IFSOCK);
	}
	return done;
}

long unix_socket_bind(const struct call *c, int fd, const struct socket_address *a) {
	return has_path(a) ? bind_path(c, fd, a)
			   : or_errno(in_domain(SYS_bind, fd, domain_pointer(&a->any), a->len));
}
