/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as lines of JSON on a socket (`--ask-fd`).  man/corral.1 has the protocol.
 *
 * Should:   write each question as one line, at once; read one answer a line.
 * Must not: block, raise SIGPIPE, or change the flags of the caller's socket.
 * Fails:    closed (Y1): an end of file, a line that is not an answer, or a reader that does not
 *           read ends the front end, and everything is denied from then on. */
#include "run/ask.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"

#include <errno.h>
#include <sys/socket.h>

/* Of an answer. */
#define LINE_MAX_BYTES 1024
/* Questions that wait for a slow reader: all that can be open, with names of full length. */
#define OUT_MAX ((size_t)ASK_WAITING * 3 * PATH_MAX)

/* ---- answers ---- */

struct scan {
	const char *p, *end;
};

static void skip_space(struct scan *s) {
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r')) {
		s->p++;
	}
}

static bool take(struct scan *s, char c) {
	skip_space(s);
	if (s->p == s->end || *s->p != c) {
		return false;
	}
	s->p++;
	return true;
}

/* A string without escapes: no key and no answer has one. */
static bool take_word(struct scan *s, char out[16]) {
	size_t n = 0;

	if (!take(s, '"')) {
		return false;
	}
	while (s->p < s->end && *s->p != '"' && *s->p != '\\' && n < 15) {
		out[n++] = *s->p++;
	}
	out[n] = '\0';
	return take(s, '"');
}

static bool take_number(struct scan *s, uint64_t *ret) {
	uint64_t n = 0;
	size_t digits = 0;

	skip_space(s);
	while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && digits < 10) {
		n = n * 10 + (uint64_t)(*s->p++ - '0');
		digits++;
	}
	*ret = n;
	return digits > 0 && s->p[-(ptrdiff_t)digits] != '0'; /* an id begins at 1 */
}

static enum ask_reply reply_of(const char *word) {
	for (enum ask_reply r = ASK_REPLY_DENY; r <= ASK_REPLY_ALWAYS; r++) {
		if (streq(word, ask_reply_name(r))) {
			return r;
		}
	}
	return ASK_REPLY_NONE;
}

static bool take_member(struct scan *s, struct asked_answer *ret) {
	char key[16], word[16];

	if (!take_word(s, key) || !take(s, ':')) {
		return false;
	}
	if (streq(key, "id") && ret->id == 0) {
		return take_number(s, &ret->id) && ret->id != 0;
	}
	if (streq(key, "answer") && ret->reply == ASK_REPLY_NONE && take_word(s, word)) {
		ret->reply = reply_of(word);
		return ret->reply != ASK_REPLY_NONE;
	}
	return false;
}

bool ask_line_parse(const char *line, size_t len, struct asked_answer *ret) {
	struct scan s = {line, line + len};

	*ret = (struct asked_answer){0};
	if (!take(&s, '{')) {
		return false;
	}
	do {
		if (!take_member(&s, ret)) {
			return false;
		}
	} while (take(&s, ','));
	bool closed = take(&s, '}');
	skip_space(&s);
	return closed && s.p == s.end && ret->id != 0 && ret->reply != ASK_REPLY_NONE;
}

/* ---- questions ---- */

static void put_question(struct buf *out, const struct question *q, int64_t timeout_ms) {
	static const char *const answers[] = {"once", "run", "always", "deny"};
	const struct ask_object *o = &q->object;
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "type", "ask");
	emit_int(&j, "id", (int64_t)q->id);
	emit_string(&j, "op", o->op);
	emit_string(&j, o->host ? "host" : "path", o->name);
	emit_string(&j, "grant", o->options);
	emit_string(&j, "why", o->why);
	emit_int(&j, "timeout_ms", timeout_ms);
	emit_strings(&j, "answers", answers, ARRAY_LEN(answers));
	emit_end_object(&j);
	buf_puts(out, "\n");
}

/* False: the reader is gone, or does not read. */
static bool flush(struct ask_front *f) {
	while (f->out.len > 0 && !buf_failed(&f->out)) {
		ssize_t n = send(f->fd, f->out.data, f->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return errno == EAGAIN && f->out.len <= OUT_MAX;
		}
		f->out.len -= (size_t)n;
		memmove(f->out.data, f->out.data + n, f->out.len);
	}
	return !buf_failed(&f->out);
}

static enum ask_shown line_show(struct ask_front *f, const struct question *q, int64_t timeout_ms) {
	put_question(&f->out, q, timeout_ms);
	return flush(f) ? ASK_SHOWN : ASK_SHOWN_NEVER;
}

static void line_withdraw(struct ask_front *f, const struct question *q, const char *reason) {
	struct emit j;

	if (reason == NULL) {
		return;
	}
	emit_init(&j, &f->out, false);
	emit_object(&j, NULL);
	emit_string(&j, "type", "withdrawn");
	emit_int(&j, "id", (int64_t)q->id);
	emit_string(&j, "reason", reason);
	emit_end_object(&j);
	buf_puts(&f->out, "\n");
	(void)flush(f); /* the next step finds a reader that is gone */
}

static void line_poll(const struct ask_front *f, struct pollfd *slot) {
	short events = POLLIN | (f->out.len > 0 ? POLLOUT : 0);

	*slot = (struct pollfd){.fd = f->fd, .events = events};
}

/* 1: a line was taken from the input; 0: there is none; -1: malformed. */
static int take_line(struct ask_front *f, struct asked_answer *ret) {
	char *end = f->in.len == 0 ? NULL : memchr(f->in.data, '\n', f->in.len);

	if (end == NULL) {
		return f->in.len >= LINE_MAX_BYTES ? -1 : 0;
	}
	size_t len = (size_t)(end - f->in.data);
	bool valid = ask_line_parse(f->in.data, len, ret);
	f->in.len -= len + 1;
	memmove(f->in.data, end + 1, f->in.len);
	return valid ? 1 : -1;
}

/* 1: bytes were read; 0: there are none; -1: end of file. */
static int fill(struct ask_front *f) {
	char bytes[LINE_MAX_BYTES];
	ssize_t n;

	do {
		n = recv(f->fd, bytes, sizeof bytes, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		return 0;
	}
	if (n > 0) {
		buf_add(&f->in, bytes, (size_t)n);
	}
	return n <= 0 || buf_failed(&f->in) ? -1 : 1;
}

enum failure { UNWRITTEN, NO_ANSWER, CLOSED };

static const char *failure_text(const struct ask_front *f, enum failure why) {
	static const char *const texts[][2] = {
		[UNWRITTEN] = {"the descriptor of --ask-fd could not be written",
			       "the daemon did not read the questions"},
		[NO_ANSWER] = {"a line from the descriptor of --ask-fd was not an answer",
			       "a line from the daemon was not an answer"},
		[CLOSED] = {"the descriptor of --ask-fd was closed", "the daemon ended"},
	};
	return texts[why][f->daemon];
}

static int line_step(struct ask_front *f, const struct pollfd *slot, struct asked_answer *ret,
		     const char **ret_why) {
	(void)slot;
	if (!flush(f)) {
		*ret_why = failure_text(f, UNWRITTEN);
		return -1;
	}
	for (;;) {
		int got = take_line(f, ret);
		if (got < 0) {
			*ret_why = failure_text(f, NO_ANSWER);
		}
		if (got != 0) {
			return got;
		}
		got = fill(f);
		if (got < 0) {
			*ret_why = failure_text(f, CLOSED);
		}
		if (got <= 0) {
			return got;
		}
	}
}

static void line_done(struct ask_front *f) {
	buf_done(&f->in);
	buf_done(&f->out);
}

static const struct ask_front_calls calls = {
	.show = line_show,
	.withdraw = line_withdraw,
	.poll = line_poll,
	.step = line_step,
	.done = line_done,
};

int ask_line_open(struct ask_front *f, int fd, struct err *e) {
	int type = 0;
	socklen_t len = sizeof type;

	*f = (struct ask_front){.calls = &calls, .fd = fd};
	buf_init(&f->in);
	buf_init(&f->out);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "ask", "descriptor %d for --ask-fd is not a stream socket", fd);
	return err_fix(e, "pass one end of socketpair(AF_UNIX, SOCK_STREAM): questions and "
			  "answers use the same descriptor");
}
