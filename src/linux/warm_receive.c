/* SPDX-License-Identifier: Apache-2.0 */
/* Receives the request for one command, in a process of the sandbox: the zygote, or a parked
 * process (linux/parked.h); warm.h has its format.
 *
 * Should:   accept a request only whole and with all of its descriptors.
 * Must not: use errno or libc's wrappers (base/raw_call.h).
 * Fails:    closed: the descriptors of a malformed request are closed. */
#include "linux/warm.h"

#include "base/raw_call.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

union control {
	char space[CMSG_SPACE(sizeof(int) * WARM_PASSED_MAX)];
	struct cmsghdr align;
};

static size_t descriptors_of(struct msghdr *m, int fds[WARM_PASSED_MAX]) {
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
		return 0;
	}
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	n = n < WARM_PASSED_MAX ? n : WARM_PASSED_MAX;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

/* The number of descriptors that come with a request. */
static size_t expected(const struct warm_request *q) {
	size_t null = (q->null & 1) + (q->null >> 1 & 1) + (q->null >> 2 & 1);

	return q->nfds >= 3 && q->nfds <= WARM_FDS_MAX ? 1 + q->in_memory + q->nfds - null : 0;
}

long warm_receive(int socket, struct warm_inbox *in, int fds[WARM_PASSED_MAX]) {
	union control control;
	struct iovec body = {in, sizeof *in};
	struct msghdr m = {.msg_iov = &body,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof control};
	const struct warm_request *q = &in->request;
	long n;

	do {
		n = raw_call(SYS_recvmsg, socket, raw_pointer(&m), MSG_CMSG_CLOEXEC);
	} while (n == -EINTR);
	if (n <= 0) {
		return -1;
	}
	size_t nfds = descriptors_of(&m, fds);
	bool whole = n >= (long)sizeof *q && (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
	if (!whole || q->in_memory > 1 || q->nrlimits > WARM_RLIMITS_MAX || nfds != expected(q)) {
		for (size_t i = 0; i < nfds; i++) {
			(void)raw_call(SYS_close, fds[i]); /* the sender reads end-of-file */
		}
		return 0;
	}
	return (long)nfds;
}

long warm_map(struct warm_inbox *in, int memory, char **ret) {
	*ret = in->bytes;
	if (memory < 0) {
		return 0;
	}
	long at = raw_call(SYS_mmap, 0, in->request.size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			   memory, 0);
	if (at < 0 && at > -4096) {
		return at;
	}
	memcpy(ret, &at, sizeof at);
	return 0;
}

void warm_relocate(char *data) {
	uint64_t *at = (uint64_t *)(void *)data;

	for (int arrays = 0; arrays < 4; at++) {
		if (*at != 0) {
			*at += (uint64_t)(uintptr_t)data;
		} else {
			arrays++;
		}
	}
}
