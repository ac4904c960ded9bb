/* Unix sockets: which socket files are the run's own.
 *
 * A socket of the host, or of another run, may lie in the workspace or in a granted tree, and
 * whoever connects to it has all that its owner gives: also descriptors (SCM_RIGHTS), and with
 * them sockets of another network.  So connect(2) reaches a socket that was bound in this run,
 * and those that net.sockets names.
 *
 * What binds a file to its socket is the inode, which is made by bind(2) and never bound again.
 * The broker keeps a descriptor of that inode, so that its number cannot become another's.  The
 * name may have gone to somebody else's socket between bind(2) and the look at it: so when the
 * socket begins to listen, a connection to the kept inode has to arrive at that very socket.
 * Who wins that race sees a connection without a byte, and no other.
 *
 * Should:   connect to what was judged and held (K3), also after a rename or by a hard link.
 * Must not: connect to a file that is not known to be the run's own.
 * Fails:    closed: ECONNREFUSED, as where nobody listens; EACCES for what is denied. */
#include "linux/broker/unix_sockets.h"

#include "base/auto.h"
#include "linux/broker/files.h"
#include "linux/broker/created.h"
#include "linux/broker/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Socket files that are remembered, each with a descriptor; the oldest is forgotten first. */
#define BOUND_MAX 256

/* Others who may have connected before the broker does. */
#define STRANGERS 8

struct bound {
	uint64_t cookie; /* of the socket; 0: the place is free */
	int file;        /* O_PATH: its inode */
	bool proven;     /* a connection to the file arrives at the socket */
};

/* Not in struct broker: a run without such sockets does not touch these pages. */
static struct bound bound[BOUND_MAX];
static size_t bound_next; /* whose turn it is to be forgotten */

static long result(long r) {
	return r < 0 ? -errno : 0;
}

/* ---- what was bound here ---- */

static void forget(struct bound *one) {
	if (one->cookie != 0) {
		drop_fd(&one->file);
		one->cookie = 0;
	}
}

/* A file without a name cannot be connected to any more. */
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
		return; /* nobody will be connected to it */
	}
	struct bound *place = free_place();
	*place = (struct bound){.cookie = cookie, .file = take_fd(&file)};
}

/* ---- and listens ---- */

static void name_file(int file, struct socket_address *ret) {
	struct text by_fd = caller_fd_path(file);

	memset(ret, 0, sizeof *ret);
	ret->un.sun_family = AF_UNIX;
	memcpy(ret->un.sun_path, by_fd.s, by_fd.len);
	ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + by_fd.len + 1);
}

/* The broker serves one call at a time: a connection that this process made is the one that is
 * looked for.  Others come from outside and are lost; they came before listen(2) returned. */
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
	struct patience timer;
	int type = socket_option(listener, SOL_SOCKET, SO_TYPE);
	auto_fd probe = type < 0 ? -1 : socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	name_file(file, &a);
	if (probe < 0 || syscall(SYS_connect, probe, &a.any, a.len) != 0) {
		return false;
	}
	/* The listener is the caller's, who may make it wait. */
	int flags = fcntl(listener, F_GETFL);
	if (flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) != 0) {
		return false;
	}
	caller_wait_limit(&timer);
	bool arrives = accepts_own(b, listener);
	caller_wait_unlimited(&timer);
	(void)fcntl(listener, F_SETFL, flags); /* it could be set */
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

/* Two descriptors hold both inodes: equal numbers are one inode. */
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

/* The path of a unix address, which need not end with NUL. */
static void path_of(const struct socket_address *a, char *path) {
	size_t n = a->len - offsetof(struct sockaddr_un, sun_path);

	n = n < sizeof a->un.sun_path ? n : sizeof a->un.sun_path;
	memcpy(path, a->un.sun_path, n);
	path[n] = '\0';
}

/* Of the host's sockets, the abstract ones are not in a network namespace of the run's own, or
 * Landlock judges them. */
static long connect_abstract(const struct call *c, int fd, const struct socket_address *a) {
	const struct plan *plan = c->b->plan;
	bool abstract = a->len > offsetof(struct sockaddr_un, sun_path);
	bool judged = !plan_lacks_namespaces(plan) || plan->landlock_abi >= LANDLOCK_ABI_SCOPES;

	return abstract && !judged ? -ECONNREFUSED : socket_connect(c, fd, a, -1);
}

/* Where Landlock judges datagrams, or their loss was accepted, only those have no proof. */
static bool is_closed(const struct call *c, int fd, const struct resolved *p) {
	return c->b->plan->engine >= ENGINE_LANDLOCK &&
	       socket_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_DGRAM && !is_own(p->fd);
}

/* A socket of the host that the policy names. */
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
		if (is_closed(c, fd, &p)) {
			return -ECONNREFUSED;
		}
	}
	name_file(p.fd, a); /* what was judged is what is connected to (K3) */
	return socket_connect(c, fd, a, p.fd);
}

/* ---- bind ---- */

/* The name's node in the caller's words where they mean the same to us, so that
 * getsockname(2) gives them back.  The words are resolved a second time then; nothing
 * can change under them meanwhile, because every call inside that could is waiting
 * for this process, or there is no rule inside the tree and Landlock's judgement of
 * the second time is all there is. */
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
		return -EACCES; /* a path through /proc/self would be ours */
	}
	auto_fd cwd = path[0] == '/' ? -1 : caller_fd(c, AT_FDCWD);
	if (path[0] != '/' && (cwd < 0 || fchdir(cwd) != 0)) {
		return cwd < 0 ? cwd : -errno;
	}
	long done = result(syscall(SYS_bind, fd, &a->any, a->len));
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
	return has_path(a) ? bind_path(c, fd, a) : result(syscall(SYS_bind, fd, &a->any, a->len));
}
