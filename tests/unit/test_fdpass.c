/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fdpass.h"

#include "base/auto.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BODY(a) ((struct iovec){.iov_base = (a), .iov_len = sizeof(a)})

static size_t open_descriptors(void) {
	size_t n = 0;
	for (int fd = 0; fd < 64; fd++) {
		n += fcntl(fd, F_GETFD) >= 0;
	}
	return n;
}

static bool same_file(int a, int b) {
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

TEST(a_message_arrives_with_its_descriptors) {
	int pair[2], fds[FDPASS_MAX];
	char sent[4] = "abc", got[4];
	size_t n = 9;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	const int given[FDPASS_MAX] = {0, 1, pair[0]};

	for (size_t some = 0; some <= FDPASS_MAX; some++) {
		CHECK_INT(fdpass_send(pair[0], BODY(sent), given, some, 0), 0);
		CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), 0);
		REQUIRE(n == some);
		CHECK_STR(got, "abc");
		for (size_t i = 0; i < n; i++) {
			CHECK(same_file(fds[i], given[i]));
			CHECK_INT(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
			drop_fd(&fds[i]);
		}
	}
	drop_fd(&pair[0]);
	drop_fd(&pair[1]);
}

TEST(what_is_no_whole_message_leaves_no_descriptor) {
	int pair[2], fds[FDPASS_MAX];
	char shorter[3] = {0}, longer[5] = {0}, got[4];
	const int given[] = {0, 1};
	size_t n = 9;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	size_t before = open_descriptors();

	CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EAGAIN);
	CHECK_INT(fdpass_send(pair[0], BODY(shorter), given, 2, 0), 0);
	CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EBADMSG);
	CHECK_INT(fdpass_send(pair[0], BODY(longer), given, 2, 0), 0);
	CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EBADMSG);
	CHECK_INT(open_descriptors(), before);
	drop_fd(&pair[0]);
	CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EBADMSG); /* the end */
	CHECK_INT(fdpass_send(pair[1], BODY(got), given, 1, 0), -EPIPE);
	CHECK_INT(n, 9);
	drop_fd(&pair[1]);
}

/* As somebody sends who does not use this: one more than there should be, which the
 * padding has room for, and two more. */
static bool send_many(int channel, char body[4], size_t n) {
	union {
		char space[CMSG_SPACE(sizeof(int) * (FDPASS_MAX + 2))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = body, .iov_len = 4};
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = control.space,
			     .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
	control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS,
					 .cmsg_len = CMSG_LEN(sizeof(int) * n)}; /* all are 0 */
	return sendmsg(channel, &msg, MSG_NOSIGNAL) == 4;
}

TEST(more_descriptors_than_have_room_are_none) {
	int pair[2], fds[FDPASS_MAX];
	char sent[4] = "abc", got[4];
	const int given[FDPASS_MAX + 1] = {0};
	size_t n = 9;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	size_t before = open_descriptors();

	CHECK_INT(fdpass_send(pair[0], BODY(sent), given, FDPASS_MAX + 1, 0), -EINVAL);
	for (size_t more = 1; more <= 2; more++) {
		REQUIRE(send_many(pair[0], sent, FDPASS_MAX + more));
		CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EMFILE);
		CHECK_STR(got, "abc");
		CHECK_INT(open_descriptors(), before);
	}
	CHECK_INT(n, 9);
	drop_fd(&pair[0]);
	drop_fd(&pair[1]);
}

TEST(a_full_table_of_descriptors_keeps_the_message) {
	int pair[2], fds[FDPASS_MAX];
	char sent[4] = "abc", got[4];
	const int given[] = {0, 1};
	struct rlimit was, none;
	size_t n = 9;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &was) == 0);
	none = (struct rlimit){.rlim_cur = (rlim_t)pair[1] + 2, .rlim_max = was.rlim_max};
	size_t before = open_descriptors();

	CHECK_INT(fdpass_send(pair[0], BODY(sent), given, 2, 0), 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0); /* room for one of the two */
	CHECK_INT(fdpass_receive(pair[1], BODY(got), fds, &n), -EMFILE);
	CHECK(setrlimit(RLIMIT_NOFILE, &was) == 0);
	CHECK_STR(got, "abc");
	CHECK_INT(open_descriptors(), before);
	CHECK_INT(n, 9);
	drop_fd(&pair[0]);
	drop_fd(&pair[1]);
}

TESTS_MAIN
