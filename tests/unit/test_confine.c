/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of the gate's process when it has confined itself.  Every act is tried without
 * the confinement first, in a process of its own. */
#include "test.h"

/* One of the steps is looked at by itself: behind the filter it cannot be seen. */
#include "../../src/gate/confine.c"

#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static int abi_here(void) {
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	return abi < 0 ? 0 : (int)abi;
}

static pid_t me, parent; /* asking is not allowed later */

/* Not _exit(): before a function that does not return the sanitizer makes calls of its own. */
static void leave(int status) {
	for (;;) {
		(void)syscall(SYS_exit_group, status);
	}
}

/* How the process of fn ends: its exit status, or 1000 + a signal. */
static int ends(int (*fn)(void), bool confined) {
	int status = 0;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		me = getpid();
		parent = getppid();
		leave(confined && gate_confine(abi_here()) != 0 ? 99 : fn());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- what is dead ---- */

static int opens(void) {
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0;
}

static int executes(void) {
	char *const argv[] = {(char *)(uintptr_t) "true", NULL};
	(void)execve("/bin/true", argv, NULL);
	return 1;
}

static int makes_unix(void) {
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0;
}

static int makes_pair(void) {
	int pair[2];
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0;
}

static int makes_netlink(void) {
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0;
}

static int makes_tcp_by_number(void) { /* and by that, MPTCP */
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP) < 0;
}

static int binds(void) {
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return bind(fd, (struct sockaddr *)&any, sizeof any) != 0;
}

static int listens(void) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listen(fd, 1) != 0;
}

static int signals_parent(void) {
	return kill(parent, 0) != 0;
}

static int traced(void) {
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0;
}

static int forks(void) {
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		_exit(0);
	}
	return pid < 0;
}

static int maps(void) {
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int reads_another(void) {
	char byte = 0;
	struct iovec here = {&byte, 1}, there = {&byte, 1};
	return syscall(SYS_process_vm_readv, me, &here, 1, &there, 1, 0) != 1;
}

static int asks_who(void) {
	return getppid() <= 0;
}

static int reads_terminal_state(void) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int queued = 0;
	return ioctl(fd, TIOCOUTQ, &queued) != 0;
}

static int attaches_filter(void) {
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct sock_fprog program = {1, &all};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0;
}

static int owns_descriptor(void) {
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fcntl(fd, F_SETOWN, me) != 0;
}

/* Whatever the descriptor is: the request itself is not the gate's. */
static int answers_call(void) {
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	return ioctl(0, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} dead[] = {
	{"open", opens},
	{"execve", executes},
	{"socket(AF_UNIX)", makes_unix},
	{"socketpair", makes_pair},
	{"socket(AF_NETLINK)", makes_netlink},
	{"socket with a protocol", makes_tcp_by_number},
	{"bind", binds},
	{"listen", listens},
	{"kill", signals_parent},
	{"ptrace", traced},
	{"clone", forks},
	{"mmap", maps},
	{"process_vm_readv", reads_another},
	{"getppid", asks_who},
	{"an ioctl that is not listed", reads_terminal_state},
	{"an answer to a seccomp notification", answers_call},
	{"a socket option that is not listed", attaches_filter},
	{"an fcntl that is not listed", owns_descriptor},
};

TEST(what_a_relay_does_not_need_kills_it) {
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		int free_end = ends(dead[i].fn, false), end = ends(dead[i].fn, true);
		if (free_end != 0 || end != 1000 + SIGSYS) {
			printf("# %s: %d outside, %d confined\n", dead[i].name, free_end, end);
		}
		CHECK_INT(free_end, 0);
		CHECK_INT(end, 1000 + SIGSYS);
	}
}

/* ---- what lives ---- */

static struct {
	int loop, listener, pair[2];
	struct sockaddr_in at;
} world;

static bool world_open(void) {
	socklen_t len = sizeof world.at;
	world.at = (struct sockaddr_in){.sin_family = AF_INET};
	world.at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	world.loop = epoll_create1(EPOLL_CLOEXEC);
	world.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return world.loop >= 0 &&
	       bind(world.listener, (struct sockaddr *)&world.at, sizeof world.at) == 0 &&
	       listen(world.listener, 4) == 0 &&
	       getsockname(world.listener, (struct sockaddr *)&world.at, &len) == 0 &&
	       socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, world.pair) == 0;
}

static void world_close(void) {
	(void)close(world.loop);
	(void)close(world.listener);
	(void)close(world.pair[0]);
	(void)close(world.pair[1]);
}

/* As the gate does: 0, or the number of the step that failed. */
static int relays(void) {
	int way[2], on = 1;
	char got[8] = "";
	struct linger at_once = {.l_onoff = 1};
	struct epoll_event event = {.events = EPOLLIN};
	socklen_t len = sizeof on;

	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (struct sockaddr *)&world.at, sizeof world.at) != 0) {
		return 1;
	}
	int server = accept4(world.listener, NULL, NULL, SOCK_CLOEXEC);
	if (server < 0 || pipe2(way, O_NONBLOCK | O_CLOEXEC) != 0 ||
	    fcntl(way[1], F_SETPIPE_SZ, 65536) < 0) {
		return 2;
	}
	if (setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0 ||
	    setsockopt(server, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0 ||
	    setsockopt(server, SOL_SOCKET, SO_RCVLOWAT, &on, sizeof on) != 0 ||
	    setsockopt(server, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) != 0 ||
	    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
	    getsockopt(server, SOL_SOCKET, SO_ERROR, &on, &len) != 0) {
		return 3;
	}
	if (send(client, "hello", 5, MSG_NOSIGNAL) != 5 ||
	    epoll_ctl(world.loop, EPOLL_CTL_ADD, server, &event) != 0 ||
	    epoll_wait(world.loop, &event, 1, 1000) != 1) {
		return 4;
	}
	if (splice(server, NULL, way[1], NULL, 64, SPLICE_F_NONBLOCK) != 5 ||
	    splice(way[0], NULL, client, NULL, 5, 0) != 5 ||
	    recv(server, got, sizeof got, 0) != 5 || memcmp(got, "hello", 5) != 0) {
		return 5; /* round once: the client sent it again */
	}
	struct pollfd end = {.fd = server, .events = POLLRDHUP};
	if (shutdown(client, SHUT_WR) != 0 || poll(&end, 1, 1000) != 1) {
		return 6;
	}
	return close(server) != 0 ? 7 : 0;
}

static int speaks(void) {
	char byte = 'x', number[8];
	struct iovec body = {&byte, 1};
	struct msghdr msg = {.msg_iov = &body, .msg_iovlen = 1};
	const struct itimerval none = {.it_value = {0}};
	struct timespec now;

	if (sendmsg(world.pair[0], &msg, MSG_NOSIGNAL) != 1 ||
	    recvmsg(world.pair[1], &msg, MSG_CMSG_CLOEXEC) != 1) {
		return 1;
	}
	if (syscall(SYS_getrandom, number, sizeof number, 0) != (long)sizeof number ||
	    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0 ||
	    setitimer(ITIMER_REAL, &none, NULL) != 0) {
		return 2;
	}
	struct ifreq lo = {.ifr_name = "lo"};
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return udp < 0 || ioctl(udp, SIOCGIFINDEX, &lo) != 0 ? 3 : 0;
}

TEST(what_a_relay_needs_works) {
	REQUIRE(world_open());
	CHECK_INT(ends(relays, false), 0);
	CHECK_INT(ends(relays, true), 0);
	CHECK_INT(ends(speaks, false), 0);
	CHECK_INT(ends(speaks, true), 0);
	world_close();
}

/* The program is what the kernel would load; nothing of it is reachable by luck. */
TEST(a_call_of_another_architecture_is_not_in_the_list) {
	CHECK_INT(filter[0].k, offsetof(struct seccomp_data, arch));
	CHECK_INT(filter[1].k, NATIVE);
	CHECK_INT(filter[2].k, SECCOMP_RET_KILL_PROCESS);
	CHECK_INT(filter[ARRAY_LEN(filter) - 1].k, SECCOMP_RET_KILL_PROCESS);
}

/* ---- the steps behind the filter ---- */

static int still_opens(void) {
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || close_files(abi_here()) != 0) {
		return 99;
	}
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES) {
		return 1;
	}
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES) {
		return 2;
	}
	if (abi_here() >= 6 && (kill(parent, 0) == 0 || errno != EPERM)) {
		return 3;
	}
	return 0;
}

TEST(files_and_processes_are_closed_a_second_time) {
	if (abi_here() == 0) {
		SKIP("the kernel has no Landlock");
	}
	CHECK_INT(ends(opens, false), 0);
	CHECK_INT(ends(signals_parent, false), 0);
	CHECK_INT(ends(still_opens, false), 0);
}

/* An older kernel's structure is shorter, and a right that it does not know is an error. */
static int abi_tried;

static int closes_by_abi(void) {
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || close_files(abi_tried) != 0;
}

TEST(every_abi_up_to_the_kernels_is_taken) {
	for (abi_tried = 0; abi_tried <= abi_here() + 3; abi_tried++) {
		CHECK_INT(ends(closes_by_abi, false), 0);
	}
}

/* Seen from outside, as the kernel tells it to anybody. */
static void proc_of(pid_t pid, const char *name, char *text, size_t cap) {
	char path[64];
	size_t len = 0;
	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	if (file != NULL) {
		len = fread(text, 1, cap - 1, file);
		(void)fclose(file);
	}
	text[len] = '\0';
}

static void limit_of(const char *text, const char *name, unsigned long long ret[2]) {
	const char *line = strstr(text, name);
	ret[0] = ret[1] = 1;
	if (line != NULL) {
		(void)sscanf(line + strlen(name), "%llu %llu", &ret[0], &ret[1]);
	}
}

/* Confined, and there until the other end is closed. */
static pid_t stays(int go) {
	char byte;
	int ready[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ready) != 0) {
		return -1;
	}
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		byte = gate_confine(abi_here()) == 0 ? 'y' : 'n';
		leave(send(ready[1], &byte, 1, 0) == 1 && recv(go, &byte, 1, 0) == 1 ? 0 : 1);
	}
	bool well = read(ready[0], &byte, 1) == 1 && byte == 'y';
	(void)close(ready[0]);
	(void)close(ready[1]);
	return well ? pid : -1;
}

TEST(no_privilege_is_left_and_no_core) {
	int go[2], status = -1;
	char text[4096];
	unsigned long long core[2], files[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) == 0);
	pid_t pid = stays(go[0]);
	REQUIRE(pid > 0);
	proc_of(pid, "status", text, sizeof text);
	CHECK(strstr(text, "CapEff:\t0000000000000000") != NULL);
	CHECK(strstr(text, "CapPrm:\t0000000000000000") != NULL);
	CHECK(strstr(text, "CapInh:\t0000000000000000") != NULL);
	CHECK(strstr(text, "CapAmb:\t0000000000000000") != NULL);
	CHECK(strstr(text, "NoNewPrivs:\t1") != NULL);
	CHECK(strstr(text, "Seccomp:\t2") != NULL);
	proc_of(pid, "limits", text, sizeof text);
	limit_of(text, "Max core file size", core);
	limit_of(text, "Max open files", files);
	CHECK(core[0] == 0 && core[1] == 0);
	CHECK(files[0] >= GATE_FILES || files[0] == files[1]);
	CHECK_INT(write(go[1], "x", 1), 1);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	(void)close(go[0]);
	(void)close(go[1]);
}

/* Nobody's confinement but the gate's: the parent is as free as before. */
TEST(the_parent_is_free) {
	CHECK_INT(opens(), 0);
	CHECK_INT(makes_unix(), 0);
	CHECK_INT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
}

TESTS_MAIN
