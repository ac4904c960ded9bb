/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives the packets of gate/scan.h.
 *
 * Should:   check each question before the supervisor uses it.
 * Must not: allocate or lock: the gate calls it (G5).
 * Fails:    closed: without an answer no byte leaves. */
#include "gate/scan.h"

#include "base/auto.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

static bool send_packet(int line, struct iovec *parts, size_t n, int flags) {
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t sent;

	do {
		sent = sendmsg(line, &message, MSG_NOSIGNAL | flags);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

bool scan_ask(int line, struct scan_question *q, uint8_t *data, size_t len) {
	struct iovec parts[] = {{q, sizeof *q}, {data, len}};

	return send_packet(line, parts, ARRAY_LEN(parts), 0);
}

void scan_answer_send(int line, struct scan_answer *a) {
	struct iovec part = {a, sizeof *a};

	/* The gate has at most SCAN_SLOTS questions without an answer, so there is room; if the
	 * gate has ended, the next receive returns EOF. */
	(void)send_packet(line, &part, 1, MSG_DONTWAIT);
}

static int receive(int line, struct iovec *parts, size_t n, size_t *ret_len) {
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t got = recvmsg(line, &message, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	if (got <= 0 || (size_t)got < parts[0].iov_len || (message.msg_flags & MSG_TRUNC) != 0) {
		return -1;
	}
	*ret_len = (size_t)got - parts[0].iov_len;
	return 1;
}

int scan_answer_receive(int line, struct scan_answer *ret) {
	struct iovec part = {ret, sizeof *ret};
	size_t more;

	return receive(line, &part, 1, &more);
}

int scan_question_receive(int line, struct scan_question *ret, void *data, size_t *ret_len) {
	struct iovec parts[] = {{ret, sizeof *ret}, {data, SCAN_BYTES}};
	int got = receive(line, parts, ARRAY_LEN(parts), ret_len);

	if (got == 1 && (ret->slot >= SCAN_SLOTS || ret->part >= SCAN_PARTS)) {
		return -1;
	}
	ret->name[sizeof ret->name - 1] = '\0';
	return got;
}
