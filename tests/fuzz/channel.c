/* SPDX-License-Identifier: Apache-2.0 */
/* What a hostile first process can write on the status channel.
 *
 * An input is a list of messages: whole reports with any fields, bytes of any
 * length, descriptors that nobody asked for, and moments at which the supervisor
 * reads.  What it believes must be what a plain reading of the messages says; it
 * ends when the channel does, keeps no descriptor, and calls a run a success
 * only when it was told an exit with status 0 and nothing else before. */
#include "run/run.c"

#include "fuzz.h"
#include "lib/internal.h"
#include "linux/spawn.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/socket.h>

/* Fewer than a socket's queue takes, so that nothing here waits. */
#define MESSAGES_MAX 100
#define FDS_MAX 5
#define RAW_MAX (sizeof(struct report) + 64)

/* What the messages say. */
struct model {
	bool over, failed, begun, ended, timed_out;
	int status;
};

static void model_read(struct model *m, const struct report *r, size_t len, size_t fds) {
	if (m->over) {
		return;
	}
	if (len != sizeof *r ||
	    fds != (r->kind == REPORT_PTY || r->kind == REPORT_PEER || r->kind == REPORT_VIEW)) {
		m->over = true;
		return;
	}
	m->failed = r->kind == REPORT_ERROR;
	m->ended = r->kind == REPORT_EXIT;
	m->begun = m->begun || m->ended || r->kind == REPORT_STARTED;
	m->over = m->failed || m->ended;
	if (m->ended) {
		m->status = r->status;
		m->timed_out = r->timed_out != 0;
	}
}

/* ---- the child's end ---- */

static void send_message(int channel, const void *body, size_t len, size_t fds) {
	union {
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)body, .iov_len = len};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	int some[FDS_MAX];

	for (size_t i = 0; i < FDS_MAX; i++) {
		some[i] = STDERR_FILENO; /* anything but the channel, whose end would never come */
	}
	if (fds > 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(c), some, fds * sizeof(int));
	}
	HOLDS(sendmsg(channel, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len);
}

static struct report make_report(struct input *in) {
	struct report r;
	uint8_t shape = input_byte(in);
	/* The text has no end unless the receiver makes one. */
	memset(&r, shape & 0x40 ? 'x' : 0, sizeof r);
	r.kind = shape & 0x80 ? input_word(in) : shape % 8;
	r.status = shape & 0x20 ? (int32_t)input_word(in) : input_byte(in);
	r.timed_out = shape & 0x10 ? input_byte(in) : 0;
	r.err.kind = (enum err_kind)(shape & 8 ? input_word(in) : input_byte(in) % 8u);
	r.err.sys = (int)input_word(in);
	return r;
}

static void send_report(struct input *in, int channel, size_t fds, struct model *m) {
	struct report r = make_report(in);
	send_message(channel, &r, sizeof r, fds);
	model_read(m, &r, sizeof r, fds);
}

static void send_bytes(struct input *in, int channel, size_t fds, struct model *m) {
	union {
		struct report r;
		uint8_t bytes[RAW_MAX];
	} raw;
	size_t len = (input_byte(in) * 7u) % (sizeof raw + 1);
	memset(&raw, input_byte(in), sizeof raw);
	send_message(channel, &raw, len, fds);
	model_read(m, &raw.r, len, fds);
}

/* ---- the supervisor's end ---- */

/* Descriptors from this one on: a run opens fewer than these. */
static size_t open_descriptors(int first) {
	size_t n = 0;
	for (int fd = first; fd < first + 2 * FDS_MAX; fd++) {
		n += fcntl(fd, F_GETFD) >= 0;
	}
	return n;
}

static void error_is_told(const struct err *e) {
	struct corral_error public;
	char *text = NULL;
	HOLDS(lib_fail(e, &public) == -1);
	HOLDS(public.kind > CORRAL_E_NONE && public.kind <= CORRAL_E_FILE);
	HOLDS(memchr(e->where, 0, sizeof e->where) && memchr(e->what, 0, sizeof e->what) &&
	      memchr(e->fix, 0, sizeof e->fix));
	HOLDS(corral_error_json(&public, &text) == 0);
	json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(tree != NULL);
	json_decref(tree);
	free(text);
}

static void outcome_is_told(const struct reports *s, const struct model *m) {
	static const struct plan plan = {.timeout_ms = LIMIT_NONE};
	const struct usage usage = {.cpu_ms = -1, .max_rss_kb = -1, .processes_peak = -1};
	struct corral_result result = {0};
	char *text = NULL;
	outcome_fill(&result.outcome, &s->end, &usage, &plan);
	result_complete(&result);
	bool success =
		m->ended && WIFEXITED(m->status) && WEXITSTATUS(m->status) == 0 && !m->timed_out;
	HOLDS((corral_result_status(&result) == 0) == success);
	HOLDS(corral_result_status(&result) >= 0 && corral_result_status(&result) <= 255);
	result.enforcement.level = result.enforcement.engine = "";
	HOLDS(corral_result_json(&result, &text, NULL) == 0);
	json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(tree != NULL);
	json_decref(tree);
	free(text);
}

static void judge(const struct reports *s, const struct model *m) {
	struct err e = {0};
	HOLDS(s->over && s->failed == m->failed && s->begun == m->begun && s->ended == m->ended);
	if (reports_check(s, &e) != 0) {
		HOLDS(m->failed || !m->begun);
		error_is_told(&e);
	} else {
		HOLDS(!m->failed && m->begun);
		outcome_is_told(s, m);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	struct model m = {0};
	struct reports story;
	int ends[2];

	HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	size_t before = open_descriptors(ends[0]);
	const struct child child = {.backend = &backend_linux, .pidfd = -1, .channel = ends[0]};
	reports_init(&story);
	for (size_t n = 0; in.left > 0 && n < MESSAGES_MAX; n++) {
		uint8_t what = input_byte(&in);
		size_t fds = what & 4 ? (what >> 4) % (FDS_MAX + 1) : 0;
		if ((what & 3) == 0) {
			reports_read(&story, &child);
		} else {
			((what & 3) == 1 ? send_bytes : send_report)(&in, ends[1], fds, &m);
		}
	}
	(void)close(ends[1]);
	reports_read(&story, &child);
	judge(&story, &m);
	reports_done(&story);
	HOLDS(open_descriptors(ends[0]) == before - 1); /* the child's end is closed */
	(void)close(ends[0]);
	return 0;
}
