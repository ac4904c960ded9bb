/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives messages of session/wire.h.
 *
 * Should:   need one system call for a short message.
 * Must not: wait; accept a text above TEXT_MAX.
 * Fails:    with an errno, and no descriptor is kept. */
#include "session/wire.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define INLINE_SIZE 4072 /* a usual result; the frame is a page */
/* Fits the queue of a client (QUEUE_MAX_BYTES). */
#define TEXT_MAX ((size_t)15 * 1024 * 1024)

struct frame {
	uint32_t kind, call, nfds, in_memory;
	uint64_t len;
	char text[INLINE_SIZE];
};

static int text_in_memory(const char *text, size_t len) {
	auto_fd fd = memfd_create("corral-message", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fd_write_all(fd, text, len) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

int session_wire_send(int channel, const struct wire_message *m) {
	struct frame f = {.kind = m->kind, .call = m->call, .len = m->len};
	int fds[WIRE_FDS + 1];
	size_t n = m->nfds;

	if (m->len > TEXT_MAX) {
		return -EMSGSIZE;
	}
	f.nfds = (uint32_t)m->nfds;
	if (n > 0) {
		memcpy(fds, m->fds, n * sizeof *fds);
	}
	bool large = m->len > sizeof f.text;
	auto_fd memory = large ? text_in_memory(m->text, m->len) : -1;
	if (large && memory < 0) {
		return -errno;
	}
	if (!large && m->len > 0) {
		memcpy(f.text, m->text, m->len);
	}
	if (large) {
		f.in_memory = 1;
		fds[n++] = memory;
	}
	struct iovec body = {&f, sizeof f};
	return fdpass_send(channel, body, fds, n, MSG_DONTWAIT);
}

static int take_text(struct wire_message *ret, const struct frame *f, int memory) {
	ret->text = malloc(ret->len + 1);
	if (ret->text == NULL) {
		return -ENOMEM;
	}
	ret->text[ret->len] = '\0';
	if (!f->in_memory) {
		memcpy(ret->text, f->text, ret->len);
		return 0;
	}
	for (size_t at = 0; at < ret->len;) {
		ssize_t n = pread(memory, ret->text + at, ret->len - at, (off_t)at);
		if (n <= 0) {
			return -EBADMSG;
		}
		at += (size_t)n;
	}
	return 0;
}

int session_wire_receive(int channel, struct wire_message *ret) {
	struct frame f;
	struct iovec body = {&f, sizeof f};
	int fds[FDPASS_MAX];
	size_t n = 0;
	int rc = fdpass_receive(channel, body, fds, &n);

	if (rc != 0) {
		return rc;
	}
	*ret = (struct wire_message){.kind = f.kind, .call = f.call, .len = f.len, .nfds = n};
	bool sound = f.in_memory <= 1 && f.nfds <= WIRE_FDS && n == f.nfds + f.in_memory &&
		     f.len <= TEXT_MAX && (f.in_memory || f.len <= sizeof f.text);
	auto_fd memory = sound && f.in_memory ? fds[n - 1] : -1;
	ret->nfds = sound ? f.nfds : 0;
	for (size_t i = 0; i < n; i++) {
		if (i < ret->nfds) {
			ret->fds[i] = fds[i];
		} else if (fds[i] != memory) {
			drop_fd(&fds[i]);
		}
	}
	rc = sound ? take_text(ret, &f, memory) : -EBADMSG;
	if (rc != 0) {
		session_wire_done(ret);
	}
	return rc;
}

void session_wire_set_text(struct wire_message *m, const char *text) {
	m->text = strdup(text);
	m->len = m->text == NULL ? 0 : strlen(m->text);
}

void session_wire_done(struct wire_message *m) {
	for (size_t i = 0; i < m->nfds; i++) {
		drop_fd(&m->fds[i]);
	}
	m->nfds = 0;
	free(m->text);
	m->text = NULL;
}
