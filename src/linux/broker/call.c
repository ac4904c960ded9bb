/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to a seccomp user notification: an errno, a descriptor, or "continue".
 *
 * Should:   send one answer to each notification.
 * Must not: allocate or lock: this runs in pid 1 or the guard.
 * Fails:    silently where the caller was killed: its notification is gone, and so is its call. */
#include "linux/broker/call.h"

#include "base/auto.h"
#include "linux/broker/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

static void send_answer(const struct call *c, long result) {
	struct seccomp_notif_resp answer = {
		.id = c->id,
		.val = result < 0 ? 0 : result,
		.error = result < 0 ? (int)result : 0,
	};
	(void)call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* ENOENT: caller killed */
}

void call_answer(const struct call *c, long result) {
	if (result < 0) {
		refused_record(c, (int)-result);
	}
	send_answer(c, result);
}

long call_missing(const struct call *c) {
	send_answer(c, -ENOENT);
	return CALL_ANSWERED;
}

long call_let_pass(const struct call *c) {
	struct seccomp_notif_resp answer = {.id = c->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	(void)call_ioctl(c->b, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* ENOENT: caller killed */
	return CALL_ANSWERED;
}

static int add_fd(const struct call *c, int fd, bool cloexec, unsigned flags) {
	struct seccomp_notif_addfd add = {
		.id = c->id,
		.flags = flags,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int got = handover_add(c, &add);

	if (got < 0 && errno == EMFILE) {
		refused_open_files(c);
		return -EMFILE;
	}
	return got < 0 ? -errno : got;
}

int call_add(const struct call *c, int fd, bool cloexec) {
	return add_fd(c, fd, cloexec, 0);
}

long call_give(const struct call *c, int fd, bool cloexec, bool executable) {
	auto_fd ours = fd;
	int got = executable ? -EINVAL : add_fd(c, ours, cloexec, SECCOMP_ADDFD_FLAG_SEND);

	if (got != -EINVAL) {
		return got < 0 ? got : CALL_ANSWERED;
	}
	/* In two steps, also on kernels before 5.14, which lack SECCOMP_ADDFD_FLAG_SEND. */
	got = add_fd(c, ours, cloexec, 0);
	drop_fd(&ours);
	call_answer(c, got);
	return CALL_ANSWERED;
}
