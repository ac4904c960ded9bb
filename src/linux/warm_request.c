/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and sends the request for one command of a session; warm.h has its format.
 *
 * Should:   lay arrays and strings out so that the leader only adds an address to each offset.
 * Must not: send a part of a request: a message is whole, or a memfd has it.
 * Fails:    closed: nothing was sent. */
#include "linux/warm.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* The arrays of a request, in their order. */
enum { ARGV, CANDIDATES, SHELL, ENV, ARRAYS };

struct layout {
	uint64_t *slots; /* the arrays */
	size_t nslots;
	char *text; /* the strings behind them */
	size_t used, start;
};

static size_t count(const char *const *list, size_t *bytes) {
	size_t n = 0;

	for (; list[n] != NULL; n++) {
		*bytes += strlen(list[n]) + 1;
	}
	return n;
}

static const char *path_of(const char *const *env) {
	const char *path = "/usr/bin:/bin";

	for (; *env != NULL; env++) {
		if (str_starts(*env, "PATH=")) {
			path = *env + strlen("PATH=");
		}
	}
	return path;
}

static size_t directories(const char *path) {
	size_t n = 1;

	for (; *path != '\0'; path++) {
		n += *path == ':';
	}
	return n;
}

/* Adds bytes to the strings; returns their offset. */
static uint64_t add_bytes(struct layout *l, const char *bytes, size_t len) {
	size_t at = l->used;

	memcpy(l->text + at, bytes, len);
	l->used += len;
	return l->start + at;
}

static uint64_t add_text(struct layout *l, const char *text) {
	return add_bytes(l, text, strlen(text) + 1);
}

static void add_array(struct layout *l, const char *const *list) {
	for (; *list != NULL; list++) {
		l->slots[l->nslots++] = add_text(l, *list);
	}
	l->slots[l->nslots++] = 0;
}

/* Every path under which execvp(3) would look for the command. */
static void add_candidates(struct layout *l, const char *name, const char *path) {
	if (strchr(name, '/') != NULL) {
		l->slots[l->nslots++] = add_text(l, name);
		path = "";
	}
	while (*path != '\0') {
		size_t len = strcspn(path, ":");
		if (len > 0) {
			l->slots[l->nslots++] = add_bytes(l, path, len);
			(void)add_text(l, "/");
			l->used--; /* the name follows */
			(void)add_text(l, name);
		}
		path += len + (path[len] == ':');
	}
	l->slots[l->nslots++] = 0;
}

/* The second element is a place for the path. */
static void add_shell(struct layout *l, const uint64_t *argv, size_t argc) {
	l->slots[l->nslots] = add_text(l, "sh");
	l->slots[l->nslots + 1] = l->slots[l->nslots];
	for (size_t i = 1; i < argc; i++) {
		l->slots[l->nslots + 1 + i] = argv[i];
	}
	l->nslots += argc + 1;
	l->slots[l->nslots++] = 0;
}

static uint32_t offset_of(const struct layout *l) {
	return (uint32_t)(l->nslots * sizeof *l->slots);
}

static void fill(const struct warm_command *c, size_t argc, struct layout *l,
		 struct warm_request *q) {
	add_array(l, c->argv);
	q->candidates = offset_of(l);
	add_candidates(l, c->argv[0], path_of(c->env));
	q->shell = offset_of(l);
	add_shell(l, l->slots, argc);
	q->env = offset_of(l);
	add_array(l, c->env);
	q->directory = c->directory == NULL ? 0 : (uint32_t)add_text(l, c->directory);
	q->size = (uint32_t)(l->start + l->used);
}

/* The kernel's own bound for arguments and environment is a quarter of the stack's limit. */
#define REQUEST_MAX ((size_t)64 * 1024 * 1024)

int warm_message_new(const struct warm_command *c, struct warm_message *ret, struct err *e) {
	struct layout l = {0};
	size_t bytes = c->directory == NULL ? 0 : strlen(c->directory) + 1;
	size_t argc = count(c->argv, &bytes), envc = count(c->env, &bytes);
	const char *path = path_of(c->env);
	size_t dirs = directories(path);
	size_t slots = (argc + 1) + (dirs + 1) + (argc + 2) + (envc + 1);

	bytes += strlen(path) + dirs * (strlen(c->argv[0]) + 3) + sizeof "sh";
	l.start = slots * sizeof *l.slots;
	if (l.start + bytes > REQUEST_MAX) {
		return err_set(e, ERR_NO_EXEC, "exec",
			       "the arguments and the environment are too long");
	}
	*ret = (struct warm_message){.bytes = calloc(1, l.start + bytes)};
	if (ret->bytes == NULL) {
		return err_memory(e, "session");
	}
	l.slots = (uint64_t *)(void *)ret->bytes;
	l.text = ret->bytes + l.start;
	memcpy(ret->head.rlimits, c->rlimits, sizeof c->rlimits);
	ret->head.nrlimits = (uint32_t)c->nrlimits;
	ret->head.terminal = c->terminal;
	fill(c, argc, &l, &ret->head);
	return 0;
}

/* The environment may have secrets. */
void warm_message_done(struct warm_message *m) {
	if (m->bytes != NULL) {
		explicit_bzero(m->bytes, m->head.size);
	}
	free(take_ptr(m->bytes));
}

const char *warm_message_candidate(const struct warm_message *m, uint32_t n) {
	uint64_t at = 0;

	memcpy(&at, m->bytes + m->head.candidates + (size_t)n * sizeof at, sizeof at);
	return at == 0 || at >= m->head.size ? "" : m->bytes + at;
}

const char *warm_message_name(const struct warm_message *m) {
	uint64_t at = 0;

	memcpy(&at, m->bytes, sizeof at);
	return m->bytes + at;
}

static int memory_of(const struct warm_message *m) {
	auto_fd fd = memfd_create("corral", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < m->head.size) {
		ssize_t n = write(fd, m->bytes + done, m->head.size - done);
		if (n < 0 && errno != EINTR) {
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return take_fd(&fd);
}

union control {
	char space[CMSG_SPACE(sizeof(int) * (2 + WARM_FDS_MAX))];
	struct cmsghdr align;
};

static int send_all(struct warm_message *m, int socket, const int *fds, size_t n) {
	union control control = {.space = {0}};
	struct iovec body[2] = {
		{&m->head, sizeof m->head},
		{m->bytes, m->head.in_memory != 0 ? 0 : m->head.size},
	};
	struct msghdr msg = {
		.msg_iov = body,
		.msg_iovlen = 2,
		.msg_control = control.space,
		.msg_controllen = CMSG_SPACE(sizeof(int) * n),
	};
	struct cmsghdr *c = &control.align; /* CMSG_FIRSTHDR */
	ssize_t sent;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	do {
		sent = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

int warm_message_send(struct warm_message *m, int socket, const int *fds, size_t nfds, int status) {
	int passed[2 + WARM_FDS_MAX] = {status};
	size_t n = 1;
	bool large = m->head.size > WARM_INLINE;
	auto_fd memory = large ? memory_of(m) : -1;

	if (large && memory < 0) {
		return -1;
	}
	if (large) {
		m->head.in_memory = 1;
		passed[n++] = memory;
	}
	m->head.nfds = (uint32_t)nfds;
	m->head.null = 0;
	for (size_t i = 0; i < nfds; i++) {
		if (fds[i] < 0) {
			m->head.null |= 1U << i;
		} else {
			passed[n++] = fds[i];
		}
	}
	return send_all(m, socket, passed, n);
}
