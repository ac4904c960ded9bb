/* Sockets without a network namespace.
 *
 * Should:   connect and bind the caller's own socket (pidfd_getfd) to an address that
 *           was copied and judged; with the network closed, that is the loopback, and
 *           there only what listens in this run.
 * Must not: wait for a connection (K5), or let a wildcard address reach the host's.
 * Fails:    closed: ENETUNREACH as in an empty network namespace, ECONNREFUSED on the
 *           loopback, EACCES for a socket file that the plan does not show. */
#include "linux/broker/sockets.h"

#include "base/auto.h"
#include "linux/broker/files.h"
#include "linux/broker/gate.h"
#include "linux/broker/notice.h"
#include "linux/broker/verdict.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static long result(long r) {
	return r < 0 ? -errno : 0;
}

int address_read(const struct call *c, struct address *a) {
	int len = call_int(c, 2);

	memset(a, 0, sizeof *a);
	if (len < 0 || (size_t)len > sizeof a->all) {
		return -EINVAL;
	}
	a->len = (socklen_t)len;
	return caller_bytes(c, c->args[1], &a->all, (size_t)len);
}

int socket_option(int fd, int level, int option) {
	int value = -1;
	socklen_t len = sizeof value;

	return syscall(SYS_getsockopt, fd, level, option, &value, &len) != 0 ? -errno : value;
}

static bool has_path(const struct address *a) {
	return a->len > offsetof(struct sockaddr_un, sun_path) && a->un.sun_path[0] != '\0';
}

/* The path of a unix address, which need not end with NUL. */
static void path_of(const struct address *a, char *path) {
	size_t n = a->len - offsetof(struct sockaddr_un, sun_path);

	n = n < sizeof a->un.sun_path ? n : sizeof a->un.sun_path;
	memcpy(path, a->un.sun_path, n);
	path[n] = '\0';
}

/* ---- addresses of the loopback ---- */

static const struct in6_addr loopback6 = IN6ADDR_LOOPBACK_INIT;
static const struct in6_addr any6 = IN6ADDR_ANY_INIT;

static struct in6_addr mapped(uint32_t network_order) {
	struct in6_addr a = {0};

	a.s6_addr[10] = a.s6_addr[11] = 0xff;
	memcpy(&a.s6_addr[12], &network_order, 4);
	return a;
}

static bool is_mapped(const struct in6_addr *a) {
	struct in6_addr none = mapped(0);

	return memcmp(a, &none, 12) == 0;
}

static struct in6_addr in_words(const struct address *a) {
	return a->any.sa_family == AF_INET6 ? a->in6.sin6_addr : mapped(a->in4.sin_addr.s_addr);
}

/* Where an address leads, in IPv6 words; "any" is the host itself. */
struct in6_addr address_leads(const struct address *a) {
	const struct in6_addr zero4 = mapped(0);
	struct in6_addr to = in_words(a);

	if (memcmp(&to, &any6, sizeof to) == 0) {
		return loopback6;
	}
	return memcmp(&to, &zero4, sizeof to) == 0 ? mapped(htonl(INADDR_LOOPBACK)) : to;
}

bool address_is_loopback(const struct in6_addr *a) {
	return is_mapped(a) ? a->s6_addr[12] == 127 : memcmp(a, &loopback6, sizeof *a) == 0;
}

bool address_is_inet(int domain) {
	return domain == AF_INET || domain == AF_INET6;
}

bool address_is_whole(const struct address *a, int domain) {
	/* The kernel takes an IPv6 address without its scope as well. */
	size_t in6 = offsetof(struct sockaddr_in6, sin6_scope_id);

	return a->len >= (domain == AF_INET6 ? in6 : sizeof a->in4);
}

static bool only_v6(int fd) {
	return socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1;
}

/* Binds to the loopback what is not bound yet.  Which socket is that only bind(2) tells:
 * getsockname(2) still has the port of a connection that was dissolved. */
static long bind_loopback(int fd, const struct address *a) {
	struct address own = {.len = sizeof own.all};
	long r = result(syscall(SYS_bind, fd, &a->any, a->len));

	if (r != -EINVAL) {
		return r;
	}
	if (syscall(SYS_getsockname, fd, &own.any, &own.len) != 0) {
		return -errno;
	}
	/* IPV6_V6ONLY, set by another thread of the caller, is EINVAL too: then it is the wildcard.
	 */
	struct in6_addr at = in_words(&own);
	return address_is_loopback(&at) ? 0 : -EADDRNOTAVAIL;
}

/* ---- connect ---- */

/* Its port is left to connect(2), which shares it among destinations. */
static long bind_address(int fd, const struct address *a) {
	int before = socket_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), yes = 1;

	/* Where it fails the port is chosen early, which is none the worse for safety. */
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
	long r = bind_loopback(fd, a);
	if (before == 0) {
		/* As above. */
		(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &before, sizeof before);
	}
	return r;
}

static long hold6(int fd, const struct in6_addr *to) {
	struct address a = {.in6 = {.sin6_family = AF_INET6}, .len = sizeof a.in6};
	bool both = !only_v6(fd);
	int no = 0;

	a.in6.sin6_addr = is_mapped(to) ? mapped(htonl(INADDR_LOOPBACK)) : loopback6;
	long r = bind_address(fd, &a);
	if (r == -EADDRNOTAVAIL && !is_mapped(to)) {
		a.in6.sin6_addr = mapped(htonl(INADDR_LOOPBACK)); /* a host without ::1 */
		r = bind_address(fd, &a);
	}
	if (both) {
		/* The kernel has taken IPv4 away with ::1, and the next address may be one; to
		 * fail is to stay so. */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	}
	return r;
}

/* The address alone, before it is connected.  A connection that is dissolved takes with it
 * what the kernel chose and leaves what was bound; shutdown(2) dissolves one in the making
 * without asking us, and listen(2) would find the wildcard. */
static long hold_to_loopback(int fd, int domain, const struct in6_addr *to) {
	struct address a = {.in4 = {.sin_family = AF_INET}, .len = sizeof a.in4};

	a.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return domain == AF_INET6 ? hold6(fd, to) : bind_address(fd, &a);
}

/* Without waiting, whatever the caller's socket is set to; another thread of the
 * caller may see the flag for that moment. */
static long connect_at_once(int fd, const struct address *a, bool *ret_waits) {
	int flags = fcntl(fd, F_GETFL);

	*ret_waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
	if (*ret_waits && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		return -errno;
	}
	long r = result(syscall(SYS_connect, fd, &a->any, a->len));
	if (*ret_waits && fcntl(fd, F_SETFL, flags) != 0) {
		return -errno;
	}
	return r;
}

/* In a helper: a second connect waits for the first. */
static long connect_waiting(const struct call *c, int fd, const void *arg) {
	const struct address *a = arg;
	(void)c;

	return result(syscall(SYS_connect, fd, &a->any, a->len));
}

/* `held` is a descriptor that the address names, or -1. */
static long connect_to(const struct call *c, int fd, const struct address *a, int held) {
	bool waits;
	long r = connect_at_once(fd, a, &waits);

	if (waits && (r == -EINPROGRESS || r == -EAGAIN)) {
		return call_apart(c, fd, held, connect_waiting, a);
	}
	return r;
}

static long connect_unix(const struct call *c, int fd, struct address *a) {
	char path[sizeof a->un.sun_path + 1];
	auto_place p;

	p.fd = -1;
	if (!has_path(a)) {
		bool abstract = a->len > offsetof(struct sockaddr_un, sun_path);
		bool judged = c->b->plan->landlock_abi >= LANDLOCK_ABI_SCOPES;
		return abstract && !judged ? -ECONNREFUSED : connect_to(c, fd, a, -1);
	}
	path_of(a, path);
	int r = resolve_file(c, AT_FDCWD, path, true, &p);
	if (r != 0) {
		return r;
	}
	if (verdict_change(c, &p) != 0 && !plan_passes_socket(c->b->plan, p.real)) {
		return -EACCES;
	}
	struct text by_fd = fd_path(p.fd); /* what was judged is what is connected to (K3) */
	memset(a, 0, sizeof *a);
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, by_fd.s, by_fd.len);
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + by_fd.len + 1);
	return connect_to(c, fd, a, p.fd);
}

/* What was judged is what is connected to (K3): the kernel would take the wildcard for the
 * address that the socket is bound to. */
static void lead_to(struct address *a, const struct in6_addr *to) {
	if (a->any.sa_family == AF_INET6) {
		a->in6.sin6_addr = *to;
	} else {
		memcpy(&a->in4.sin_addr, &to->s6_addr[12], sizeof a->in4.sin_addr);
	}
}

/* With the network closed: the loopback, and there only our own. */
static long connect_inside(const struct call *c, int fd, struct address *a) {
	struct in6_addr to = address_leads(a);
	uint16_t port = ntohs(a->in4.sin_port); /* at the same place in both families */

	if (gate_serves(c->b, &to, port)) {
		long r = hold_to_loopback(fd, a->any.sa_family, &to);
		return r == 0 ? gate_forward(c, fd, &to, port) : r;
	}
	if (!address_is_loopback(&to)) {
		return -ENETUNREACH;
	}
	switch (port_owner(c->b, &to, port)) {
	case PORT_OURS:
		break;
	case PORT_OURS_MAPPED:
		to = mapped(htonl(INADDR_LOOPBACK));
		break;
	case PORT_NOBODY:
	case PORT_FOREIGN:
		return -ECONNREFUSED;
	}
	lead_to(a, &to);
	long r = hold_to_loopback(fd, a->any.sa_family, &to);
	return r == 0 ? connect_to(c, fd, a, -1) : r;
}

/* The caller's socket and the address that is beside it; the domain, or -errno. */
static int socket_and_address(const struct call *c, int *ret_fd, struct address *ret) {
	*ret_fd = caller_take_fd(c, call_int(c, 0));
	if (*ret_fd < 0) {
		return *ret_fd;
	}
	int domain = socket_option(*ret_fd, SOL_SOCKET, SO_DOMAIN);
	int r = domain < 0 ? domain : address_read(c, ret);
	return r < 0 ? r : domain;
}

long serve_connect(struct call *c) {
	struct address a;

	if (!plan_shares(c->b->plan)) {
		return gate_connect(c);
	}
	auto_taken fd = -1;
	int domain = socket_and_address(c, &fd, &a);

	if (domain < 0) {
		return domain;
	}
	if (a.len < sizeof(sa_family_t)) {
		return -EINVAL;
	}
	if (a.any.sa_family == AF_UNSPEC) {
		return connect_to(c, fd, &a, -1); /* ends an association; leads nowhere */
	}
	if (a.any.sa_family != domain) {
		return domain == AF_UNIX ? -EINVAL : -EAFNOSUPPORT;
	}
	if (domain == AF_UNIX) {
		return connect_unix(c, fd, &a);
	}
	if (!c->b->plan->own_net) {
		return connect_to(c, fd, &a, -1);
	}
	return address_is_inet(domain) && address_is_whole(&a, domain) ? connect_inside(c, fd, &a)
								       : -EINVAL;
}

/* ---- bind ---- */

/* The name's node in the caller's words where they mean the same to us, so that
 * getsockname(2) gives them back.  The words are resolved a second time then; nothing
 * can change under them meanwhile, because every call inside that could is waiting
 * for this process, or there is no rule inside the tree and Landlock's judgement of
 * the second time is all there is. */
static long bind_path(const struct call *c, int fd, const struct address *a) {
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
		notice_node(c, p.real, S_IFSOCK);
	}
	return done;
}

/* The loopback in place of the wildcard. */
static void loopback_for(int fd, int domain, struct address *a) {
	uint16_t port = a->in4.sin_port;

	if (domain == AF_INET) {
		a->in4.sin_family = AF_INET;
		a->in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a->len = sizeof a->in4;
		return;
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = port;
	a->in6.sin6_addr = only_v6(fd) ? loopback6 : mapped(htonl(INADDR_LOOPBACK));
	a->len = sizeof a->in6;
}

static bool is_wildcard(const struct address *a, int domain) {
	const struct in6_addr zero4 = mapped(0);

	if (domain == AF_INET) {
		return a->in4.sin_addr.s_addr == htonl(INADDR_ANY);
	}
	return memcmp(&a->in6.sin6_addr, &any6, sizeof any6) == 0 ||
	       memcmp(&a->in6.sin6_addr, &zero4, sizeof zero4) == 0;
}

static long bind_inside(int fd, int domain, struct address *a) {
	/* For IPv4 the kernel takes AF_UNSPEC too, with the wildcard. */
	bool unspecified = domain == AF_INET && a->any.sa_family == AF_UNSPEC;

	if (!address_is_whole(a, domain)) {
		return -EINVAL;
	}
	if ((a->any.sa_family != domain && !unspecified) ||
	    (unspecified && !is_wildcard(a, domain))) {
		return -EAFNOSUPPORT;
	}
	if (is_wildcard(a, domain)) {
		loopback_for(fd, domain, a);
	}
	struct in6_addr at = address_leads(a);
	if (!address_is_loopback(&at)) {
		return -EADDRNOTAVAIL;
	}
	return result(syscall(SYS_bind, fd, &a->any, a->len));
}

long serve_bind(struct call *c) {
	struct address a;
	auto_taken fd = -1;
	int domain = socket_and_address(c, &fd, &a);

	if (domain < 0) {
		return domain;
	}
	if (address_is_inet(domain) && c->b->plan->own_net && plan_shares(c->b->plan)) {
		return bind_inside(fd, domain, &a);
	}
	if (domain == AF_UNIX && a.any.sa_family == AF_UNIX && has_path(&a)) {
		return bind_path(c, fd, &a);
	}
	return result(syscall(SYS_bind, fd, &a.any, a.len));
}

/* ---- listen ---- */

/* The kernel would give an unbound socket the wildcard. */
static long bind_unbound(int fd, int domain) {
	struct address a;

	memset(&a, 0, sizeof a);
	loopback_for(fd, domain, &a);
	return bind_loopback(fd, &a);
}

long serve_listen(struct call *c) {
	struct stat st;
	auto_taken fd = caller_take_fd(c, call_int(c, 0));

	if (fd < 0) {
		return fd;
	}
	int domain = socket_option(fd, SOL_SOCKET, SO_DOMAIN);
	if (domain < 0) {
		return domain;
	}
	bool inside = address_is_inet(domain) && c->b->plan->own_net;
	long r = inside ? bind_unbound(fd, domain) : 0;
	if (r == 0) {
		r = result(syscall(SYS_listen, fd, call_int(c, 1)));
	}
	if (r == 0 && inside && fstat(fd, &st) == 0) {
		port_remember(c->b, st.st_ino);
	}
	return r;
}

/* ---- pairs ---- */

/* A pair of packet sockets in the place of one of datagrams: it keeps messages apart
 * as well, and sends nowhere but to its other half, whatever address is given. */
long serve_socketpair(struct call *c) {
	int pair[2], numbers[2];
	int flags = call_int(c, 1) & (SOCK_NONBLOCK | SOCK_CLOEXEC);
	bool cloexec = (flags & SOCK_CLOEXEC) != 0;

	if (call_int(c, 0) != AF_UNIX || call_int(c, 2) != 0) {
		return -EPROTONOSUPPORT;
	}
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & SOCK_NONBLOCK);
	if (syscall(SYS_socketpair, AF_UNIX, type, 0, pair) != 0) {
		return -errno;
	}
	auto_fd one = pair[0], other = pair[1];
	numbers[0] = call_add(c, one, cloexec);
	numbers[1] = numbers[0] < 0 ? -EMFILE : call_add(c, other, cloexec);
	if (numbers[0] < 0 || numbers[1] < 0) {
		return numbers[0] < 0 ? numbers[0] : numbers[1];
	}
	return caller_write(c, c->args[3], numbers, sizeof numbers);
}
