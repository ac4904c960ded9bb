/* SPDX-License-Identifier: Apache-2.0 */
/* Records refused calls with their paths, for the list of denials in the result.
 *
 * The arguments are read once more, from the waiting caller: another thread may have changed them
 * since, and then the record names another path.  Nothing is decided by it.
 *
 * Should:   record the path as the caller wrote it, made absolute, and without symlinks.
 * Must not: change the answer, allocate or lock; resolve /proc/self to the guard (K4).
 * Fails:    open: a call whose arguments cannot be read has no record. */
#include "linux/broker/refused.h"

#include "base/auto.h"
#include "base/ip.h"
#include "linux/bpf.h"
#include "linux/broker/files.h"
#include "linux/broker/resolve.h"
#include "linux/broker/sockets.h"
#include "linux/broker/walk.h"
#include "backend/journal.h"
#include "linux/kernel_api.h"
#include "linux/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>

/* Bounds for the search of a caller's command in its session. */
#define GENERATIONS_MAX 256
#define CLIMBS 3

/* ---- where a call has its paths ---- */

#define NONE (-1)
#define CWD (-2) /* the path is relative to the working directory */

/* Numbers of arguments.  dir without path: the descriptor itself; neither: a socket address. */
struct shape {
	enum syscall_id id;
	enum denial_op op;
	int8_t dir[2], path[2];
};

/* clang-format off */
#define FIRST(call, op) {CALL_##call, DENIAL_##op, {CWD, NONE}, {0, NONE}}
#define SECOND(call, op) {CALL_##call, DENIAL_##op, {CWD, NONE}, {1, NONE}}
#define AT(call, op) {CALL_##call, DENIAL_##op, {0, NONE}, {1, NONE}}
#define AT_SECOND(call, op) {CALL_##call, DENIAL_##op, {1, NONE}, {2, NONE}}
#define TWO(call, op) {CALL_##call, DENIAL_##op, {CWD, CWD}, {0, 1}}
#define TWO_AT(call, op) {CALL_##call, DENIAL_##op, {0, 2}, {1, 3}}
#define BY_FD(call, op) {CALL_##call, DENIAL_##op, {0, NONE}, {NONE, NONE}}
#define ADDRESS(call, op) {CALL_##call, DENIAL_##op, {NONE, NONE}, {NONE, NONE}}

static const struct shape shapes[] = {
	ADDRESS(bind, BIND),
	FIRST(chmod, CHMOD),
	FIRST(chown, CHOWN),
	ADDRESS(connect, CONNECT),
	FIRST(creat, CREATE),
	BY_FD(fchmod, CHMOD),
	AT(fchmodat, CHMOD),
	AT(fchmodat2, CHMOD),
	BY_FD(fchown, CHOWN),
	AT(fchownat, CHOWN),
	BY_FD(fremovexattr, XATTR),
	BY_FD(fsetxattr, XATTR),
	AT(futimesat, UTIME),
	FIRST(lchown, CHOWN),
	TWO(link, LINK),
	TWO_AT(linkat, LINK),
	FIRST(lremovexattr, XATTR),
	FIRST(lsetxattr, XATTR),
	FIRST(mkdir, MKDIR),
	AT(mkdirat, MKDIR),
	FIRST(mknod, MKNOD),
	AT(mknodat, MKNOD),
	FIRST(open, READ),
	AT(openat, READ),
	FIRST(removexattr, XATTR),
	TWO(rename, RENAME),
	TWO_AT(renameat, RENAME),
	TWO_AT(renameat2, RENAME),
	FIRST(rmdir, RMDIR),
	FIRST(setxattr, XATTR),
	SECOND(symlink, SYMLINK),
	AT_SECOND(symlinkat, SYMLINK),
	FIRST(truncate, TRUNCATE),
	FIRST(unlink, UNLINK),
	AT(unlinkat, UNLINK),
	FIRST(utime, UTIME),
	AT(utimensat, UTIME),
	FIRST(utimes, UTIME),
};
/* clang-format on */

/* The flags of open(2) tell what it wants. */
static enum denial_op op_of(const struct call *c, const struct shape *s) {
	int flags = s->id == CALL_open ? call_int(c, 1) : call_int(c, 2);

	if (s->op != DENIAL_READ) {
		return s->op;
	}
	return (flags & O_CREAT) != 0  ? DENIAL_CREATE
	       : opening_writes(flags) ? DENIAL_WRITE
				       : DENIAL_READ;
}

static bool has_address(const struct shape *s) {
	return s->dir[0] == NONE;
}

static const struct shape *shape_of(enum syscall_id id) {
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (shapes[i].id == id) {
			return &shapes[i];
		}
	}
	return NULL;
}

/* ---- paths ---- */

struct paths {
	char named[2][PATH_MAX], resolved[2][REAL_MAX];
};

/* The path of the caller's descriptor or working directory; false: it is no file. */
static bool path_of_fd(const struct call *c, int fd, char out[PATH_MAX]) {
	struct text link = {.len = 0};

	caller_text_number(&link, (uint64_t)caller_entry(c));
	caller_text_add(&link, fd == AT_FDCWD ? "/cwd" : "/fd/");
	if (fd != AT_FDCWD) {
		caller_text_number(&link, (uint64_t)fd);
	}
	ssize_t n = syscall(SYS_readlinkat, c->b->proc, link.s, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	return out[0] == '/';
}

bool refused_make_absolute(const struct call *c, int dir, char path[PATH_MAX]) {
	char base[PATH_MAX];
	size_t len = strlen(path);

	if (path[0] == '/') {
		return true;
	}
	if (!path_of_fd(c, dir, base)) {
		return false;
	}
	size_t head = strlen(base);
	if (head + 1 + len + 1 > PATH_MAX) {
		return false;
	}
	memmove(path + head + 1, path, len + 1);
	memcpy(path, base, head);
	path[head] = '/';
	if (len == 0) {
		path[head] = '\0'; /* AT_EMPTY_PATH */
	}
	return true;
}

static bool resolves_to(const struct broker *b, const char *path, uint64_t flags,
			char out[REAL_MAX]) {
	auto_fd fd = sys_openat2(b->root, path, O_PATH | flags, RESOLVE_NO_MAGICLINKS);

	return fd >= 0 && !resolved_is_guards(b, fd) &&
	       resolved_real_path(b, fd, out, REAL_MAX) == 0;
}

void refused_resolve(const struct broker *b, const char *path, char out[REAL_MAX]) {
	const char *name = strrchr(path, '/') + 1;
	char dir[PATH_MAX];
	size_t len = (size_t)(name - path);

	out[0] = '\0';
	if (!b->fast || resolves_to(b, path, 0, out)) {
		return;
	}
	memcpy(dir, path, len);
	dir[len] = '\0';
	if (!resolves_to(b, dir, O_DIRECTORY, out) || strlen(out) + 1 + strlen(name) >= PATH_MAX) {
		out[0] = '\0';
		return;
	}
	len = strlen(out);
	out[len] = '/';
	memcpy(out + (len == 1 ? 1 : len + 1), name, strlen(name) + 1);
}

/* One path of the call; false: it cannot be read. */
static bool read_path(const struct call *c, const struct shape *s, int i, struct paths *p) {
	int dir = s->dir[i] == CWD ? AT_FDCWD : call_int(c, s->dir[i]);
	char *named = p->named[i];

	if (s->path[i] == NONE) {
		return path_of_fd(c, dir, named);
	}
	return caller_copy(c, c->args[s->path[i]], named, PATH_MAX) == 0 &&
	       refused_make_absolute(c, dir, named);
}

static bool read_paths(const struct call *c, const struct shape *s, struct paths *p) {
	p->named[1][0] = p->resolved[1][0] = p->resolved[0][0] = '\0';
	return read_path(c, s, 0, p) && (s->dir[1] == NONE || read_path(c, s, 1, p));
}

static void resolve_paths(const struct call *c, const struct shape *s, struct paths *p) {
	for (int i = 0; i < 2 && s->dir[i] != NONE; i++) {
		if (s->path[i] == NONE) {
			memcpy(p->resolved[i], p->named[i], PATH_MAX);
		} else {
			refused_resolve(c->b, p->named[i], p->resolved[i]);
		}
	}
}

/* ---- socket addresses ---- */

/* "192.0.2.1:443", "[2001:db8::1]:443" */
static void write_inet(const struct socket_address *a, char *out) {
	struct in6_addr to = socket_address_leads(a);
	struct text port = {.len = 0};
	struct ip ip;

	memcpy(ip.b, &to, sizeof ip.b);
	bool brackets = !ip_is4(&ip);
	out[0] = '[';
	size_t len = brackets + ip_text(&ip, out + brackets);
	memcpy(out + len, brackets ? "]:" : ":", 3);
	caller_text_number(&port, ntohs(a->in4.sin_port)); /* in both at the same place */
	memcpy(out + len + 1 + brackets, port.s, port.len + 1);
}

/* The gate has its own log.  Datagrams do not reach it: but the resolver of the C library connects
 * such sockets in order to sort addresses, and sends nothing. */
static bool is_gates(const struct broker *b, const struct socket_address *a) {
	struct in6_addr to = socket_address_leads(a);

	return b->plan->net.gate && !socket_address_is_loopback(&to);
}

/* The path of a socket file, "@" and an abstract name, or address and port. */
static bool read_address(const struct call *c, struct paths *p) {
	struct socket_address a;
	char *at = p->named[0];

	at[0] = p->resolved[0][0] = p->named[1][0] = p->resolved[1][0] = '\0';
	if (socket_address_read(c, &a) != 0) {
		return false;
	}
	if (a.any.sa_family == AF_UNIX && a.len > offsetof(struct sockaddr_un, sun_path)) {
		size_t len = a.len - offsetof(struct sockaddr_un, sun_path);
		memcpy(at, a.un.sun_path, len);
		at[len] = '\0';
		if (at[0] == '\0') {
			at[0] = '@';
			return true;
		}
		if (!refused_make_absolute(c, AT_FDCWD, at)) {
			return false;
		}
		refused_resolve(c->b, at, p->resolved[0]);
		return true;
	}
	if (!socket_address_is_inet(a.any.sa_family) || is_gates(c->b, &a)) {
		return false;
	}
	write_inet(&a, at);
	return true;
}

/* connect(2) of a socket for datagrams. */
static bool is_datagram(const struct call *c) {
	auto_taken fd = caller_take_fd(c, call_int(c, 0));

	return fd >= 0 && socket_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM;
}

/* ---- the record ---- */

/* The command of the session from which the caller descends.  A parent that ends while we climb
 * breaks the chain; in the next climb its children are the leader's. */
static uint64_t exec_of(const struct call *c) {
	for (int climb = 0; c->b->warm != NULL && climb < CLIMBS; climb++) {
		long pid = c->tid;
		for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
			uint64_t exec = warm_exec_of_leader(c->b->warm, (pid_t)pid);
			if (exec != 0) {
				return exec;
			}
			pid = caller_status(c, (pid_t)pid, "PPid:", 10);
		}
	}
	return 0;
}

void refused_add(const struct call *c, const struct journal_refusal *r) {
	struct journal_refusal one = *r;

	if (c->b->journal != NULL) {
		one.exec = exec_of(c);
		journal_refuse(c->b->journal, &one);
	}
}

/* ---- errors ---- */

/* An error that a rule may have caused: of a call with paths, or with an address. */
static bool is_refusal(int error, bool address) {
	switch (error) {
	case EACCES:
	case EPERM:
	case EROFS:
		return true;
	case EBUSY:
	case EXDEV:
	case ENOENT: /* in a directory that the sandbox does not have, and the host may have */
		return !address;
	case ENETUNREACH:
	case ECONNREFUSED:
	case EADDRNOTAVAIL:
		return address;
	default:
		return false;
	}
}

/* No path of the call is in a directory that the sandbox hides. */
static bool is_plain_miss(const struct call *c, int error, const struct paths *p) {
	const struct plan *plan = c->b->plan;

	return error == ENOENT && !plan_hides_host(plan, p->named[0]) &&
	       (p->named[1][0] == '\0' || !plan_hides_host(plan, p->named[1]));
}

void refused_record(const struct call *c, int error) {
	const struct broker *b = c->b;
	bool records = b->journal != NULL && b->plan->denials != DENIALS_OFF;
	const struct shape *s = records ? shape_of(c->call) : NULL;
	struct paths p;

	p.named[0][0] = '\0';
	if (s == NULL || !is_refusal(error, has_address(s))) {
		return;
	}
	/* A program looks for many files that are nowhere: first whether that is all. */
	if (!has_address(s) && (!read_paths(c, s, &p) || is_plain_miss(c, error, &p))) {
		return;
	}
	if (getpid() != b->self || (has_address(s) && !read_address(c, &p))) {
		return;
	}
	resolve_paths(c, s, &p);
	bool inet = has_address(s) && p.named[0][0] != '/' && p.named[0][0] != '@';
	bool datagram = inet && s->op == DENIAL_CONNECT && is_datagram(c);
	if (caller_waits(c)) {
		refused_add(c, &(struct journal_refusal){
				       .op = datagram ? DENIAL_DATAGRAM : op_of(c, s),
				       .error = error,
				       .named = {p.named[0], p.named[1]},
				       .resolved = {p.resolved[0], p.resolved[1]},
			       });
	}
}

void refused_at_once(const struct call *c, int fd) {
	bool records = c->b->journal != NULL && c->b->plan->denials != DENIALS_OFF;
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	if (records && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 &&
	    state == TCP_CLOSE) {
		refused_record(c, ECONNREFUSED);
	}
}

void refused_send(const struct call *c, const struct socket_address *a) {
	const struct broker *b = c->b;
	struct in6_addr to = socket_address_leads(a);

	if (b->journal != NULL && socket_address_is_whole(a, a->any.sa_family) &&
	    !socket_address_is_loopback(&to)) {
		char address[PATH_MAX];

		write_inet(a, address);
		refused_add(c,
			    &(struct journal_refusal){.op = DENIAL_SEND,
						      .error = b->plan->net.gate ? 0 : ENETUNREACH,
						      .named = {address}});
	}
}

long refused_call(const struct call *c, int nr) {
	for (size_t i = 0; i < syscall_rules_count; i++) {
		const struct syscall_rule *r = &syscall_rules[i];
		if (syscall_names[r->id].nr[bpf_native()] != nr || r->verdict != RULE_REFUSE) {
			continue;
		}
		refused_add(c, &(struct journal_refusal){.op = DENIAL_SYSCALL,
							 .error = r->error,
							 .named = {syscall_names[r->id].name}});
		return -r->error;
	}
	return -ENOSYS;
}

void refused_open_files(const struct call *c) {
	const struct broker *b = c->b;
	const struct plan *plan = b->plan;
	struct rlimit now;

	if (b->journal == NULL || plan->denials == DENIALS_OFF || getpid() != b->self ||
	    syscall(SYS_prlimit64, c->tid, RLIMIT_NOFILE, NULL, &now) != 0) {
		return;
	}
	if (now.rlim_cur >= plan_rlimit(plan, RLIMIT_NOFILE)) {
		refused_add(c, &(struct journal_refusal){.op = DENIAL_LIMIT,
							 .error = EMFILE,
							 .named = {"open files"}});
	}
}
