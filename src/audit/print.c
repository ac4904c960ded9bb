/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the records that pass a filter, in one of the forms.
 *
 * Should:   write in large pieces; with `last` find the first of them before, so that memory is
 *           bounded.
 * Must not: fail when the reader closes its end, as `head` does.
 * Fails:    with the error of a file that cannot be read, or of the output. */
#include "audit/print.h"

#include "audit/bytes.h"
#include "base/fd.h"
#include "base/rfc3339.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)256 * 1024)
#define FOLLOW_NS 200000000L

static int64_t time_of(const char text[RFC3339_LENGTH]) {
	char copy[RFC3339_LENGTH + 1] = "";
	int64_t ms = 0;

	memcpy(copy, text, RFC3339_LENGTH);
	return rfc3339_read(copy, &ms) == 0 ? ms : 0;
}

int64_t audit_time(const struct audit_fields *f) {
	struct audit_field text = audit_unquote(f->at[AUDIT_TIME]);
	return text.len == RFC3339_LENGTH ? time_of(text.text) : 0;
}

/* ":SS.mmmZ" in milliseconds; -1 when it is not of this form. */
static int64_t seconds_of(const char *t) {
	static const char digits[] = {1, 2, 4, 5, 6};
	int64_t n = 0;

	for (size_t i = 0; i < sizeof digits; i++) {
		unsigned digit = (unsigned char)t[(int)digits[i]] - (unsigned)'0';
		if (digit > 9) {
			return -1;
		}
		n = n * 10 + digit;
	}
	return t[0] == ':' && t[3] == '.' && t[7] == 'Z' && n < 60000 ? n : -1;
}

int64_t audit_time_next(struct audit_minute *m, const struct audit_fields *f) {
	struct audit_field text = audit_unquote(f->at[AUDIT_TIME]);

	if (text.len != RFC3339_LENGTH) {
		return 0;
	}
	int64_t rest = seconds_of(text.text + AUDIT_MINUTE);
	if (rest >= 0 && m->ms > 0 && bytes_equal(m->text, text.text, AUDIT_MINUTE)) {
		return m->ms + rest;
	}
	int64_t ms = time_of(text.text);
	m->ms = rest >= 0 && ms > 0 ? ms - rest : 0;
	memcpy(m->text, text.text, AUDIT_MINUTE);
	return ms;
}

struct printing {
	const struct audit_print *p;
	struct audit_filter filter;
	enum audit_member needs;
	struct buf out;
	uint64_t seen, skip, printed;
	bool counting;                 /* the first of two passes */
	struct audit_cursor starts[2]; /* of the last two groups of p->last records */
	bool closed;                   /* the reader is gone */
	int error;                     /* errno of the output */
};

static int flush(struct printing *s) {
	if (s->out.len > 0 && fd_write_all(s->p->fd, s->out.data, s->out.len) != 0) {
		s->closed = errno == EPIPE;
		s->error = errno;
		return 1;
	}
	s->out.len = 0;
	return buf_failed(&s->out) ? 1 : 0;
}

static void put_record(struct printing *s, const struct audit_line *l,
		       const struct audit_fields *f) {
	switch (s->p->form) {
	case AUDIT_AS_TEXT:
		audit_text_line(l, f, s->p->colour, &s->out);
		break;
	case AUDIT_AS_DETAIL:
		audit_detail(l, &s->out);
		break;
	case AUDIT_AS_JSON:
		buf_add(&s->out, l->text, l->len);
		if (!buf_failed(&s->out)) {
			audit_clean(&s->out, s->out.len - l->len);
		}
		buf_puts(&s->out, "\n");
		break;
	case AUDIT_AS_OTLP:
		audit_otlp_record(l, f, s->printed == 0, &s->out);
		break;
	case AUDIT_AS_OCSF:
		audit_ocsf_event(s->p, l, f, &s->out);
		break;
	case AUDIT_AS_TRACES:
		audit_trace_span(l, f, s->printed == 0, &s->out);
		break;
	}
}

static int on_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	struct printing *s = arg;
	struct audit_fields f;

	/* A line that is no record is not printed; `verify` reports it. */
	if (!audit_filter_line(&s->filter, l, s->counting ? AUDIT_TIME : s->needs, &f)) {
		return 0;
	}
	if (s->p->form == AUDIT_AS_TRACES && !audit_trace_has(&f)) {
		return 0;
	}
	if (s->counting && s->seen % s->p->last == 0) {
		s->starts[s->seen / s->p->last % 2] = *where;
	}
	s->seen++;
	if (s->counting || s->seen <= s->skip) {
		return 0;
	}
	put_record(s, l, &f);
	s->printed++;
	return s->out.len >= PIECE ? flush(s) : 0;
}

static int pass(struct printing *s, struct audit_cursor *cursor, struct err *e) {
	int rc = audit_each_line(s->p->dir, cursor, on_line, s, e);
	return rc < 0 ? -1 : 0;
}

static int follow(struct printing *s, struct audit_cursor *cursor, struct err *e) {
	const struct timespec wait = {.tv_nsec = FOLLOW_NS};

	while (flush(s) == 0) {
		(void)nanosleep(&wait, NULL); /* a signal only shortens the wait */
		if (pass(s, cursor, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Where the last records begin: in the group before the last one, or in the last. */
static int find_last(struct printing *s, struct audit_cursor *cursor, struct err *e) {
	const size_t last = s->p->last;

	s->counting = true;
	if (pass(s, cursor, e) != 0) {
		return -1;
	}
	uint64_t skip = s->seen > last ? s->seen - last : 0;
	*cursor = s->starts[skip / last % 2];
	s->skip = skip % last;
	s->counting = false;
	s->seen = 0;
	return 0;
}

static int print_all(struct printing *s, struct err *e) {
	struct audit_cursor cursor = {0};

	if (s->p->last > 0 && find_last(s, &cursor, e) != 0) {
		return -1;
	}
	if (s->p->form == AUDIT_AS_OTLP) {
		audit_otlp_begin(s->p, &s->out);
	} else if (s->p->form == AUDIT_AS_TRACES) {
		audit_trace_begin(s->p, &s->out);
	}
	if (pass(s, &cursor, e) != 0 || (s->p->follow && follow(s, &cursor, e) != 0)) {
		return -1;
	}
	if (s->p->form == AUDIT_AS_OTLP || s->p->form == AUDIT_AS_TRACES) {
		audit_otlp_end(&s->out);
	}
	return 0;
}

int audit_print(const struct audit_print *p, const struct audit_query *q, uint64_t *ret_count,
		struct err *e) {
	struct printing s = {.p = p};

	if (audit_filter_init(&s.filter, q, e) != 0) {
		return -1;
	}
	buf_init(&s.out);
	s.needs = p->form == AUDIT_AS_TEXT   ? AUDIT_COMMAND
		  : p->form == AUDIT_AS_JSON ? AUDIT_TIME /* as much as the filter needs */
					     : AUDIT_MEMBERS;
	int rc = print_all(&s, e);
	if (rc == 0 && s.error == 0) {
		(void)flush(&s); /* checked below */
	}
	if (rc == 0 && buf_failed(&s.out)) {
		rc = err_memory(e, AUDIT_WHERE);
	} else if (rc == 0 && s.error != 0 && !s.closed) {
		errno = s.error;
		rc = err_sys(e, AUDIT_WHERE, "cannot write the output");
	}
	*ret_count = s.printed;
	buf_done(&s.out);
	audit_filter_done(&s.filter);
	return rc;
}
