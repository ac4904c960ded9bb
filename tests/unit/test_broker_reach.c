/* SPDX-License-Identifier: Apache-2.0 */
/* The broker on what lies outside the tree: sockets.  The host's are made by the
 * test itself, and every refused attempt succeeds without the broker. */
#include "broker_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

/* ---- sockets of the host ---- */

static int host_tcp, host_unix;
static uint16_t host_port;

static int tcp_socket(int family) {
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static struct sockaddr_in at4(const char *address, uint16_t port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	(void)inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static struct sockaddr_in6 at6(const char *address, uint16_t port) {
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	(void)inet_pton(AF_INET6, address, &a.sin6_addr);
	return a;
}

static struct sockaddr_un at_path(const char *path) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	return a;
}

static uint16_t port_of(int fd) {
	struct sockaddr_in a;
	socklen_t len = sizeof a;
	return getsockname(fd, (struct sockaddr *)&a, &len) == 0 || len > sizeof a
		       ? ntohs(a.sin_port)
		       : 0;
}

static void host_listen(void) {
	struct sockaddr_in a = at4("127.0.0.1", 0);
	struct sockaddr_un u = at_path(in_world("out/socket"));
	int one = 1;

	host_tcp = tcp_socket(AF_INET);
	(void)setsockopt(host_tcp, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
	host_unix = tcp_socket(AF_UNIX);
	if (bind(host_tcp, (struct sockaddr *)&a, sizeof a) != 0 || listen(host_tcp, 50) != 0 ||
	    bind(host_unix, (struct sockaddr *)&u, sizeof u) != 0 || listen(host_unix, 50) != 0) {
		abort();
	}
	host_port = port_of(host_tcp);
	if (symlink("../out/socket", in_world("ws/to-socket")) != 0) {
		abort();
	}
}

static void host_close(void) {
	close(host_tcp);
	close(host_unix);
}

/* Connections that reached the host since the last look. */
static int host_accepted(void) {
	int n = 0;
	struct pollfd fds[] = {{.fd = host_tcp, .events = POLLIN},
			       {.fd = host_unix, .events = POLLIN}};
	while (poll(fds, 2, 20) > 0) {
		for (int i = 0; i < 2; i++) {
			if (fds[i].revents != 0) {
				close(accept(fds[i].fd, NULL, NULL));
				n++;
			}
		}
	}
	return n;
}

static int connect4(const char *address, uint16_t port) {
	struct sockaddr_in a = at4(address, port);
	int fd = tcp_socket(AF_INET);
	int r = connect(fd, (struct sockaddr *)&a, sizeof a), error = errno;
	close(fd);
	errno = error;
	return r;
}

static int connect6(const char *address, uint16_t port) {
	struct sockaddr_in6 a = at6(address, port);
	int fd = tcp_socket(AF_INET6);
	int r = connect(fd, (struct sockaddr *)&a, sizeof a), error = errno;
	close(fd);
	errno = error;
	return r;
}

static int connect_path(const char *path) {
	struct sockaddr_un a = at_path(path);
	int fd = tcp_socket(AF_UNIX);
	int r = connect(fd, (struct sockaddr *)&a, sizeof a), error = errno;
	close(fd);
	errno = error;
	return r;
}

ATTEMPT(to_host, connect4("127.0.0.1", host_port))
ATTEMPT(to_host_any, connect4("0.0.0.0", host_port))
ATTEMPT(to_host_mapped, connect6("::ffff:127.0.0.1", host_port))
ATTEMPT(to_host_mapped_any, connect6("::ffff:0.0.0.0", host_port))
ATTEMPT(to_host_socket, connect_path("../out/socket"))
ATTEMPT(to_host_socket_link, connect_path("to-socket"))
ATTEMPT(to_host_socket_self, connect_path("/proc/self/cwd/to-socket"))

/* Listens at the host's own port, beside it, and so hopes to be taken for it. */
static int beside_host(void) {
	struct sockaddr_in a = at4("127.0.0.1", host_port);
	int fd = tcp_socket(AF_INET), one = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 50) != 0) {
		return 1;
	}
	int refused = 0;
	for (int i = 0; i < 20; i++) {
		refused += connect4("127.0.0.1", host_port) != 0 && errno == ECONNREFUSED;
	}
	return refused == 20 ? ECONNREFUSED : 0;
}

TEST(the_hosts_sockets_are_out_of_reach) {
	static const struct {
		const char *name;
		inside_fn *attempt;
		int error;
	} rows[] = {
		{"to_host", to_host, ECONNREFUSED},
		{"to_host_any", to_host_any, ECONNREFUSED},
		{"to_host_mapped", to_host_mapped, ECONNREFUSED},
		{"to_host_mapped_any", to_host_mapped_any, ECONNREFUSED},
		{"to_host_socket", to_host_socket, EACCES},
		{"to_host_socket_link", to_host_socket_link, EACCES},
		{"to_host_socket_self", to_host_socket_self, EACCES},
		{"beside_host", beside_host, ECONNREFUSED},
	};
	world_make();
	host_listen();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int control = without_broker(rows[i].attempt);
		int reached = host_accepted();
		int got = with_broker(BROKER_SOCKETS, rows[i].attempt);
		int later = host_accepted();
		if (control != 0 || reached == 0 || got != rows[i].error || later != 0) {
			test_failed = true;
			printf("# %s: control %d, reached %d; with the broker %d, reached %d\n",
			       rows[i].name, control, reached, got, later);
		}
	}
	host_close();
	world_remove();
}

/* ---- the loopback inside ---- */

static int serve_and_connect(int family, const struct sockaddr *at, socklen_t len, bool only6) {
	int fd = tcp_socket(family), v6only = only6;
	if (family == AF_INET6) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof v6only);
	}
	CHECK_INT(at == NULL ? 0 : bind(fd, at, len), 0);
	CHECK_INT(listen(fd, 8), 0);
	return fd;
}

static int loopback_inside(void) {
	struct sockaddr_in a4 = at4("0.0.0.0", 0);
	struct sockaddr_in6 a6 = at6("::", 0);
	char text[64];
	struct sockaddr_in name;
	socklen_t len = sizeof name;

	int any4 = serve_and_connect(AF_INET, (struct sockaddr *)&a4, sizeof a4, false);
	CHECK_INT(getsockname(any4, (struct sockaddr *)&name, &len), 0);
	CHECK_STR(inet_ntop(AF_INET, &name.sin_addr, text, sizeof text), "127.0.0.1");
	CHECK_INT(connect4("127.0.0.1", port_of(any4)), 0);
	CHECK_INT(connect4("0.0.0.0", port_of(any4)), 0);
	CHECK_INT(connect6("::ffff:127.0.0.1", port_of(any4)), 0);
	CHECK_INT(connect6("::1", port_of(any4)), -1);
	CHECK_INT(errno, ECONNREFUSED);

	int both = serve_and_connect(AF_INET6, (struct sockaddr *)&a6, sizeof a6, false);
	CHECK_INT(connect4("127.0.0.1", port_of(both)), 0);
	CHECK_INT(connect6("::1", port_of(both)), 0);
	CHECK_INT(connect6("::", port_of(both)), 0);

	int unbound = serve_and_connect(AF_INET, NULL, 0, false);
	len = sizeof name;
	CHECK_INT(getsockname(unbound, (struct sockaddr *)&name, &len), 0);
	CHECK_STR(inet_ntop(AF_INET, &name.sin_addr, text, sizeof text), "127.0.0.1");
	CHECK_INT(connect4("127.0.0.1", port_of(unbound)), 0);

	struct sockaddr_in other = at4("127.0.0.9", 0);
	int far = serve_and_connect(AF_INET, (struct sockaddr *)&other, sizeof other, false);
	CHECK_INT(connect4("127.0.0.9", port_of(far)), 0);
	CHECK_INT(connect4("127.0.0.1", port_of(far)), -1);
	close(any4);
	CHECK_INT(connect4("127.0.0.1", port_of(both)), 0);
	return 0;
}

static int loopback6_inside(void) {
	struct sockaddr_in6 a6 = at6("::", 0);
	int only6 = serve_and_connect(AF_INET6, (struct sockaddr *)&a6, sizeof a6, true);
	CHECK_INT(connect6("::1", port_of(only6)), 0);
	CHECK_INT(connect4("127.0.0.1", port_of(only6)), -1);
	CHECK_INT(errno, ECONNREFUSED);
	return 0;
}

static int outside_inside(void) {
	struct sockaddr_in a = at4("192.0.2.1", 80), any = at4("0.0.0.0", 0);
	struct sockaddr_in6 v6 = at6("2001:db8::1", 80);
	int fd = tcp_socket(AF_INET), fd6 = tcp_socket(AF_INET6);
	CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, ENETUNREACH);
	CHECK_INT(connect(fd6, (struct sockaddr *)&v6, sizeof v6), -1);
	CHECK_INT(errno, ENETUNREACH);
	CHECK_INT(connect(fd6, (struct sockaddr *)&a, sizeof a),
		  -1); /* IPv4's words to an IPv6 socket */
	CHECK_INT(errno, EAFNOSUPPORT);
	CHECK_INT(bind(fd, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EADDRNOTAVAIL);
	any.sin_family = AF_UNSPEC; /* the kernel takes that for the wildcard */
	CHECK_INT(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
	struct sockaddr_in name;
	socklen_t len = sizeof name;
	CHECK_INT(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	CHECK_INT(name.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK_INT(connect(fd, (struct sockaddr *)&a, 4), -1);
	CHECK_INT(errno, EINVAL);
	CHECK_INT(connect(fd, (struct sockaddr *)8, sizeof a), -1);
	CHECK_INT(errno, EFAULT);
	CHECK_INT(connect(99, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(connect(0, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, ENOTSOCK);
	any.sin_family = AF_UNSPEC;
	CHECK_INT(connect(fd, (struct sockaddr *)&any, sizeof any), 0);
	return 0;
}

TEST(the_loopback_works_between_processes_of_the_run) {
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, loopback_inside), 0);
	int fd = tcp_socket(AF_INET6);
	struct sockaddr_in6 a6 = at6("::1", 0);
	bool has6 = fd >= 0 && bind(fd, (struct sockaddr *)&a6, sizeof a6) == 0;
	close(fd);
	if (has6) {
		CHECK_INT(with_broker(BROKER_SOCKETS, loopback6_inside), 0);
	} else {
		printf("# no IPv6 loopback on this host: sockets for IPv6 alone are not tested\n");
	}
	world_remove();
}

TEST(other_networks_are_out_of_reach) {
	world_make();
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)dup2(null, 0);
	CHECK_INT(with_broker(BROKER_SOCKETS, outside_inside), 0);
	close(null);
	world_remove();
}

static int full_network(void) {
	return connect4("127.0.0.1", host_port) < 0 ? errno : 0;
}

TEST(with_the_network_open_a_connection_is_made_as_asked) {
	world_make();
	host_listen();
	world_plan.own_net = false;
	CHECK_INT(with_broker(BROKER_SOCKETS, full_network), 0);
	CHECK_INT(host_accepted(), 1);
	host_close();
	world_remove();
}

/* ---- sockets with a path ---- */

static int bind_path(const char *path) {
	struct sockaddr_un a = at_path(path);
	int fd = tcp_socket(AF_UNIX);
	return bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 8) != 0 ? -1 : fd;
}

static int unix_inside(void) {
	struct sockaddr_un name = {0};
	socklen_t len = sizeof name;
	struct stat st;

	(void)umask(077);
	int fd = bind_path("a/../socket");
	CHECK(fd >= 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	CHECK_STR(name.sun_path, "a/../socket");
	CHECK_INT(stat("socket", &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	CHECK_INT(connect_path("socket"), 0);
	CHECK_INT(connect_path(in_world("ws/socket")), 0);
	CHECK_INT(connect_path("/proc/self/cwd/socket"), 0);
	CHECK_INT(connect_path("missing"), -1);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(connect_path("file"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_INT(bind_path("socket"), -1);
	CHECK_INT(errno, EADDRINUSE);
	CHECK_INT(chdir("a"), 0);
	CHECK(bind_path("b/socket") >= 0);
	CHECK_INT(connect_path("b/socket"), 0);
	CHECK_INT(stat("b/socket", &st), 0);
	return 0;
}

static int unix_refused(void) {
	CHECK_INT(bind_path("../ro/socket"), -1);
	CHECK_INT(errno, EROFS);
	CHECK_INT(bind_path("closed/socket"), -1);
	CHECK_INT(errno, EACCES);
	return 0;
}

TEST(sockets_with_a_path_live_where_files_may_be_made) {
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, unix_inside), 0);
	world_make();
	uint64_t before = world_print();
	CHECK_INT(with_broker(BROKER_SOCKETS, unix_refused), 0);
	CHECK(world_print() == before);
	world_remove();
}

/* ---- whose sockets they are ---- */

/* A socket of the host lies in the workspace, and takes other names there. */
static int host_socket_in_workspace(void) {
	CHECK_INT(connect_path("theirs"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_INT(connect_path("to-theirs"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	int own = bind_path("own");
	CHECK_INT(connect_path("own"), 0);
	CHECK_INT(link("own", "second"), 0);
	CHECK_INT(rename("own", "moved"), 0);
	CHECK_INT(connect_path("moved"), 0);
	CHECK_INT(connect_path("second"), 0);
	/* A name that was ours is not enough. */
	CHECK_INT(rename("theirs", "own"), 0);
	CHECK_INT(connect_path("own"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_INT(rename("own", "moved"), 0);
	CHECK_INT(connect_path("moved"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_INT(connect_path("second"), 0);
	close(own);
	CHECK_INT(connect_path("second"), -1);
	CHECK_INT(errno, ECONNREFUSED);
	return 0;
}

TEST(only_socket_files_that_were_bound_in_the_run_are_connected_to) {
	struct sockaddr_un a;

	world_make();
	host_listen();
	close(host_unix);
	a = at_path(in_world("ws/theirs"));
	host_unix = tcp_socket(AF_UNIX);
	REQUIRE(bind(host_unix, (struct sockaddr *)&a, sizeof a) == 0 && listen(host_unix, 9) == 0);
	REQUIRE(symlink("theirs", in_world("ws/to-theirs")) == 0);
	CHECK_INT(connect_path("theirs"), 0);
	CHECK_INT(host_accepted(), 1);
	CHECK_INT(with_broker(BROKER_SOCKETS, host_socket_in_workspace), 0);
	CHECK_INT(host_accepted(), 0);
	host_close();
	world_remove();
}

/* More sockets than the broker remembers: those that were removed are forgotten first. */
static int many_sockets(void) {
	char name[16];
	int kept = bind_path("kept");

	for (int i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof name, "s%d", i);
		int fd = bind_path(name);
		CHECK_INT(connect_path(name), 0);
		CHECK_INT(unlink(name), 0);
		close(fd);
	}
	CHECK_INT(connect_path("kept"), 0);
	close(kept);
	return 0;
}

TEST(removed_socket_files_do_not_push_out_others) {
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, many_sockets), 0);
	world_remove();
}

static int stranger; /* a socket of another network */

static int pass_on(int channel, int fd) {
	char byte = 0;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = {.head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof control};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
		return sendmsg(channel, &m, 0) == 1 ? 0 : -1;
	}
	if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) != 1 || m.msg_controllen == 0) {
		return -1;
	}
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

/* -1 where no namespace can be made. */
static int socket_of_another_network(void) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		return -1;
	}
	pid_t child = fork();
	if (child == 0) {
		bool apart = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
		_exit(!apart || pass_on(pair[1], tcp_socket(AF_INET)) != 0);
	}
	close(pair[1]);
	int fd = pass_on(pair[0], -1);
	close(pair[0]);
	(void)wait_for(child);
	return fd;
}

static int use_stranger(void) {
	struct sockaddr_in a = at4("127.0.0.1", 0), none = {.sin_family = AF_UNSPEC};

	CHECK_INT(bind(stranger, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(listen(stranger, 1), -1);
	CHECK_INT(errno, EPERM);
	a.sin_port = htons(host_port);
	CHECK_INT(connect(stranger, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EPERM);
	CHECK_INT(connect(stranger, (struct sockaddr *)&none, sizeof none), -1);
	CHECK_INT(errno, EPERM);
	return 0;
}

TEST(a_socket_of_another_network_is_not_used) {
	struct sockaddr_in a = at4("127.0.0.1", 0);

	world_make();
	stranger = socket_of_another_network();
	if (stranger < 0) {
		printf("# no network namespace can be made here: its sockets are not tested\n");
	} else {
		CHECK_INT(with_broker(BROKER_SOCKETS, use_stranger), 0);
		CHECK(bind(stranger, (struct sockaddr *)&a, sizeof a) == 0 ||
		      errno == EADDRNOTAVAIL);
		close(stranger);
	}
	world_remove();
}

static int abstract_name(void) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = tcp_socket(AF_UNIX), other = tcp_socket(AF_UNIX);
	(void)snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "broker-test-%d", getpid());
	if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 1) != 0) {
		return 1;
	}
	return connect(other, (struct sockaddr *)&a, sizeof a) < 0 ? errno : 0;
}

TEST(abstract_names_are_left_to_a_landlock_that_judges_them) {
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, abstract_name), 0);
	world_plan.landlock_abi = 5;
	CHECK_INT(with_broker(BROKER_SOCKETS, abstract_name), ECONNREFUSED);
	world_remove();
}

/* A full backlog makes connect(2) wait; others are served meanwhile. */
static int full_backlog(void) {
	struct sockaddr_un a = at_path("busy");
	int fd = tcp_socket(AF_UNIX);
	CHECK_INT(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	CHECK_INT(listen(fd, 0), 0);
	int first = tcp_socket(AF_UNIX);
	CHECK_INT(connect(first, (struct sockaddr *)&a, sizeof a), 0);
	pid_t waiter = fork();
	if (waiter == 0) {
		int second = tcp_socket(AF_UNIX);
		int r = connect(second, (struct sockaddr *)&a, sizeof a);
		_exit(r != 0 || (fcntl(second, F_GETFL) & O_NONBLOCK) != 0);
	}
	usleep(100000);
	CHECK_INT(waitpid(waiter, NULL, WNOHANG), 0);
	CHECK(bind_path("meanwhile") >= 0);
	int third = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(third, (struct sockaddr *)&a, sizeof a), -1);
	CHECK_INT(errno, EAGAIN);
	close(accept(fd, NULL, NULL));
	CHECK_INT(wait_for(waiter), 0);
	return 0;
}

TEST(a_connection_that_waits_does_not_hold_up_the_guard) {
	world_make();
	CHECK_INT(without_broker(full_backlog), 0);
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, full_backlog), 0);
	world_remove();
}

/* Connections that fill the backlog: the kernel answers one more SYN with nothing. */
static int fill_backlog(const struct sockaddr_in *a, int fds[8]) {
	int n = 0;

	for (; n < 8; n++) {
		fds[n] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connect(fds[n], (const struct sockaddr *)a, sizeof *a) != 0 &&
		    errno != EINPROGRESS) {
			return n;
		}
	}
	return n;
}

/* What does not complete at once is dissolved: nothing is sent again to whoever listens later.
 * One that waits is tried again, and arrives when there is room. */
static int pending_inside(void) {
	struct sockaddr_in a = at4("127.0.0.1", 0);
	int fds[8];
	int server = serve_and_connect(AF_INET, (struct sockaddr *)&a, sizeof a, false);

	a.sin_port = htons(port_of(server));
	CHECK_INT(listen(server, 0), 0);
	int n = fill_backlog(&a, fds);
	CHECK(n < 8);
	CHECK_INT(errno, ECONNREFUSED);
	struct pollfd end = {.fd = fds[n], .events = POLLOUT};
	CHECK_INT(poll(&end, 1, 0), 1);
	CHECK((end.revents & POLLHUP) != 0); /* not on its way */
	pid_t waiter = fork();
	if (waiter == 0) {
		int fd = tcp_socket(AF_INET);
		_exit(connect(fd, (struct sockaddr *)&a, sizeof a) != 0);
	}
	usleep(100000);
	CHECK_INT(waitpid(waiter, NULL, WNOHANG), 0);
	for (int i = 0; i < n; i++) {
		close(accept(server, NULL, NULL));
	}
	CHECK_INT(wait_for(waiter), 0);
	return 0;
}

TEST(a_pending_connection_does_not_outlive_its_judgement) {
	world_make();
	CHECK_INT(with_broker(BROKER_SOCKETS, pending_inside), 0);
	world_remove();
}

TESTS_MAIN
