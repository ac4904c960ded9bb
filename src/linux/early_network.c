/* SPDX-License-Identifier: Apache-2.0 */
/* Clones the network process, runs it, and receives its namespace (early_network.h has the theory).
 *
 * Should:   send a namespace whose loopback interface is up.
 * Must not: touch memory of the supervisor, but its own stack; leave a process or a descriptor
 *           behind.
 * Fails:    open where the kernel refuses: the first process makes the namespace, later.  Closed
 *           where the process was killed. */
#include "linux/early_network.h"

#include "base/auto.h"
#include "base/fdpass.h"
#include "base/raw_call.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the network process: system calls only (E8) ---- */

static void close_raw(long fd) {
	if (fd >= 0) {
		(void)raw_call(SYS_close, fd); /* nothing useful can be done about a failure */
	}
}

/* The descriptor of the new namespace, by a socket that belongs to it: without a procfs. */
static long make_namespace(void) {
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	long r = raw_call(SYS_unshare, CLONE_NEWNET);
	long fd = r < 0 ? r : raw_call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	r = fd < 0 ? fd : raw_call(SYS_ioctl, fd, SIOCSIFFLAGS, raw_pointer(&up));
	r = r < 0 ? r : raw_call(SYS_ioctl, fd, SIOCGSKNS, 0);
	close_raw(fd);
	return r;
}

/* The result of make_namespace(), with the descriptor if it is one. */
static void send_namespace(const struct early_network *n, long made) {
	int fd = (int)made;
	struct iovec bytes = {&made, sizeof made};
	union {
		char space[CMSG_SPACE(sizeof fd)];
		struct cmsghdr head;
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
		message.msg_control = control.space;
		message.msg_controllen = sizeof control.space;
	}
	long r = raw_call(SYS_sendmsg, n->up, raw_pointer(&message), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (r < 0 && fd >= 0) { /* the user has too many descriptors in flight: -errno goes alone */
		struct iovec failed = {&r, sizeof r};
		message.msg_iov = &failed;
		message.msg_control = NULL;
		message.msg_controllen = 0;
		/* Fails when there is no first process. */
		(void)raw_call(SYS_sendmsg, n->up, raw_pointer(&message),
			       MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

static void network_main(void *arg) {
	const struct early_network *n = arg;

	if (raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && /* E8 */
	    raw_call(SYS_getppid, 0) == n->parent) {
		long made = make_namespace();
		send_namespace(n, made);
		close_raw(made); /* the table is the supervisor's, too */
	}
	for (;;) {
		(void)raw_call(SYS_exit_group, 0);
	}
}

/* ---- the early process ---- */

long early_network_clone(struct early_network *n, void *stack_end) {
	const long flags = CLONE_VM | CLONE_FILES | CLONE_PARENT | CLONE_PARENT_SETTID;
	long pid = raw_clone(flags, stack_end, raw_pointer(&n->pid), network_main, n);
	return pid < 0 ? pid : 0;
}

/* ---- the first process ---- */

/* Waits for the message, or for the end of the supervisor.  0, or -errno. */
static int receive(int channel, int supervisor, long *ret_made, int *ret_fd) {
	long made = 0;
	struct iovec bytes = {&made, sizeof made};
	struct pollfd events[] = {{.fd = channel, .events = POLLIN},
				  {.fd = supervisor, .events = POLLIN}};
	int fds[FDPASS_MAX], r;
	size_t n = 0;

	while ((r = fdpass_receive(channel, bytes, fds, &n)) == -EAGAIN && events[1].revents == 0) {
		(void)poll(events, ARRAY_LEN(events), -1); /* receive decides */
	}
	r = r == -EAGAIN ? -EPIPE : r;
	if (r == 0) {
		*ret_made = made;
		*ret_fd = n == 1 ? fds[0] : -1;
	}
	return r == -EBADMSG ? -EPIPE : r;
}

long early_network_join(const struct early_network *n, int supervisor) {
	auto_fd namespace = -1;
	long made = 0;

	(void)close(n->up); /* our copy, so that there is an end-of-file */
	int r = receive(n->down, supervisor, &made, &namespace);
	if (r != 0 || made < 0) {
		return r != 0 ? r : made;
	}
	return setns(namespace, CLONE_NEWNET) == 0 ? 0 : -errno;
}

/* ---- the supervisor ---- */

int early_network_open(struct early_network *n) {
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		return -1;
	}
	*n = (struct early_network){.parent = getpid(), .up = pair[0], .down = pair[1]};
	return 0;
}

bool early_reap(pid_t pid) {
	for (;;) {
		siginfo_t info = {.si_code = 0};
		long r = syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WSTOPPED | __WALL, NULL);
		if (r == 0 && info.si_code == CLD_STOPPED) {
			(void)kill(pid, SIGCONT); /* not reaped: the pid is its own */
		} else if (r == 0 || errno != EINTR) {
			return info.si_code != CLD_EXITED;
		}
	}
}

bool early_network_end(struct early_network *n, bool end) {
	bool killed = false;

	if (n->pid > 0 && end) {
		(void)kill(n->pid, SIGKILL); /* not reaped: the pid is its own */
	}
	if (n->pid > 0) {
		killed = early_reap(n->pid);
	}
	drop_fd(&n->up);
	drop_fd(&n->down);
	return killed;
}
