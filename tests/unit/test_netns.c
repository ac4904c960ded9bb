/* SPDX-License-Identifier: Apache-2.0 */
/* The helper that creates the network namespace, and the layer that joins it. */
#include "test.h"

#include "linux/kernel_api.h"
#include "linux/layer.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct plan plan = {.own_net = true};

static struct kit kit_for_test(void) {
	return (struct kit){.plan = &plan, .gate_fd = -1, .sys_fd = -1};
}

static ino_t own_network(void) {
	struct stat st = {0};

	return stat("/proc/self/ns/net", &st) == 0 ? st.st_ino : 0;
}

static bool loopback_is_up(void) {
	struct ifreq r = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & IFF_UP) != 0;

	(void)close(fd);
	return up;
}

/* The status of a function in pid 1 of a new user and pid namespace; -1: there is none here. */
static int in_namespaces(int (*act)(void)) {
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWPID, .exit_signal = SIGCHLD};
	long pid = sys_clone3(&args);
	int status = 0;

	if (pid == 0) {
		_exit(act());
	}
	return pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : -1;
}

static int join_helper(void) {
	struct kit k = kit_for_test();
	struct err e = {0};
	ino_t before = own_network();
	int status = 0;

	if (layer_netns.enter(&k, &e) != 0 || own_network() != before) {
		return 1;
	}
	if (layer_network.enter(&k, &e) != 0 || own_network() == before || !loopback_is_up()) {
		return 2;
	}
	if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD) {
		return 3; /* the helper was not reaped */
	}
	pid_t next = fork();
	if (next == 0) {
		_exit(getpid() == 2 ? 0 : 1);
	}
	return waitpid(next, &status, 0) == next && status == 0 ? 0 : 4;
}

TEST(pid_1_joins_the_namespace_of_the_helper_and_the_next_process_is_pid_2) {
	int status = in_namespaces(join_helper);

	if (status < 0) {
		SKIP("no user namespace: %s", strerror(errno));
	}
	CHECK_INT(status, 0);
}

/* A helper that was killed has left no socket. */
static int join_killed(void) {
	struct kit k = kit_for_test();
	struct err e = {0};
	ino_t before = own_network();

	k.netns = NETNS_HELPER;
	k.netns_socket = -ESRCH;
	k.netns_helper = fork();
	if (k.netns_helper == 0) {
		(void)raise(SIGKILL);
	}
	return layer_network.enter(&k, &e) == -1 && e.kind == ERR_SETUP && own_network() == before
		       ? 0
		       : 1;
}

TEST(a_helper_that_dies_stops_the_run) {
	CHECK_INT(join_killed(), 0);
}

TEST(without_a_namespace_the_layer_fails) {
	struct kit k = kit_for_test();
	struct err e = {0};

	CHECK_INT(layer_network.enter(&k, &e), -1);
	CHECK_INT(e.kind, ERR_SETUP);
}

/* Without the right to choose a pid there is no helper. */
TEST(a_host_that_refuses_the_helper_is_reported) {
	struct kit k = kit_for_test();
	struct err e = {0};

	if (geteuid() == 0) {
		SKIP("root may choose pids");
	}
	CHECK_INT(layer_netns.enter(&k, &e), -1);
	CHECK_INT(e.kind, ERR_NO_NETNS);
	CHECK_INT(e.sys, EPERM);
}

TESTS_MAIN
