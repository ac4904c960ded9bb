/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the live line of a long run; live.h has the theory.
 *
 * Should:   draw at most once a second, and only while the command is quiet.
 * Must not: block; leave a trace; move the cursor out of its line; print a byte of the command.
 * Fails:    open: without /proc the line has no figures, and a full terminal gets none. */
#include "run/live.h"

#include "base/auto.h"
#include "base/clock.h"
#include "gate/ledger.h"
#include "backend/journal.h"
#include "run/terminal.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SHORT_MS 2000 /* a shorter run has no line */
#define QUIET_MS 1000 /* since the last output, and between two lines */

#define ERASE "\r\033[K"

void live_init(struct live *l, int fd, bool pty) {
	*l = (struct live){.fd = fd, .pty = pty, .due = -1, .line_start = true};
}

void live_begin(struct live *l, const struct child *child, int64_t now) {
	if (l->fd >= 0) {
		l->child = child;
		l->began = now;
		l->due = now + SHORT_MS;
	}
}

int64_t live_wake(const struct live *l) {
	return l->due;
}

/* A terminal with room for the text takes it at once. */
static bool put(const struct live *l, const char *text, size_t len) {
	struct pollfd slot = {.fd = l->fd, .events = POLLOUT};
	return poll(&slot, 1, 0) == 1 && (slot.revents & POLLOUT) != 0 &&
	       write(l->fd, text, len) == (ssize_t)len;
}

void live_erase(struct live *l) {
	if (l->drawn) {
		l->drawn = !put(l, ERASE, sizeof ERASE - 1);
	}
}

void live_end(struct live *l) {
	live_erase(l);
	meter_free(l->meter);
	*l = (struct live){.fd = -1, .due = -1};
}

/* ---- the command's output ---- */

static void saw_text(struct live *l, char c) {
	unsigned char byte = (unsigned char)c;

	if (c == '\033') {
		l->escape = LIVE_ESCAPE;
	} else if (c == '\n') {
		l->line_start = !l->pty || l->before == '\r';
	} else if (byte < 0x20 && strchr("\r\t\a\b", c) == NULL) {
		l->foreign = true;
	} else {
		l->line_start = false;
	}
}

/* ESC [ … m sets colours; any other sequence is foreign. */
static void saw_sequence(struct live *l, char c) {
	if (l->escape == LIVE_ESCAPE) {
		l->foreign = c != '[';
		l->escape = LIVE_SEQUENCE;
		l->plain_sgr = true;
	} else if (c == 'm') {
		l->coloured = !l->plain_sgr;
		l->escape = LIVE_TEXT;
	} else if ((c >= '0' && c <= '9') || c == ';' || c == ':') {
		l->plain_sgr = l->plain_sgr && c == '0';
	} else {
		l->foreign = true;
	}
}

void live_output(struct live *l, const char *data, size_t len) {
	if (l == NULL || l->fd < 0) {
		return;
	}
	live_erase(l);
	for (size_t i = 0; i < len && !l->foreign; i++) {
		(l->escape == LIVE_TEXT ? saw_text : saw_sequence)(l, data[i]);
		l->before = data[i];
	}
	bool drawable = !l->foreign && l->line_start && !l->coloured && l->escape == LIVE_TEXT;
	int64_t soon = clock_ms() + QUIET_MS, first = l->began + SHORT_MS;
	l->due = !drawable || l->child == NULL ? -1 : soon > first ? soon : first;
}

/* ---- the line ---- */

/* Of broker and gate; what the command was refused, and what it would not have been able to do
 * outside either, is found out after the run. */
static uint64_t refused(const struct child *child) {
	const struct records c = child_records(child);
	struct journal_refusal r;
	struct ledger_entry entry;
	uint64_t n = c.journal == NULL ? 0 : journal_refusals_lost(c.journal);

	for (size_t at = 0; c.journal != NULL && journal_next_refusal(c.journal, &at, &r);) {
		n += r.count;
	}
	for (size_t at = 0; c.ledger != NULL && ledger_next(c.ledger, &at, &entry);) {
		n += entry.outcome == NET_DENIED ? entry.count : 0;
	}
	return n;
}

/* "12 s", "3 min 5 s", "2 h 7 min" */
static int put_time(char *out, size_t cap, int64_t ms) {
	int64_t s = ms / 1000;
	return s < 60 ? snprintf(out, cap, "%" PRId64 " s", s)
	       : s < 3600
		       ? snprintf(out, cap, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60)
		       : snprintf(out, cap, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
}

/* Processes and memory; -1: they are not known. */
static int put_use(struct live *l, char *out, size_t cap) {
	uint64_t processes, bytes;

	if (!l->metered) {
		l->metered = true; /* once, also if it fails */
		l->meter = meter_new(l->child);
	}
	if (!meter_read(l->meter, &processes, &bytes)) {
		return 0;
	}
	return snprintf(out, cap, ", %" PRIu64 " process%s, %" PRIu64 " MB", processes,
			processes == 1 ? "" : "es", bytes / 1000000);
}

static int put_refused(const struct live *l, char *out, size_t cap) {
	uint64_t n = refused(l->child);
	return n == 0 ? 0
		      : snprintf(out, cap, ", %" PRIu64 " call%s refused", n, n == 1 ? "" : "s");
}

static void draw(struct live *l, int64_t now) {
	struct winsize size = {0};
	char line[160] = "\rcorral: ", text[160];
	size_t at = 1, cap = sizeof line - sizeof ERASE - 1;

	int n = snprintf(text, sizeof text, "corral: "); /* each part is short */
	n += put_time(text + n, sizeof text - (size_t)n, now - l->began);
	n += put_use(l, text + n, sizeof text - (size_t)n);
	n += put_refused(l, text + n, sizeof text - (size_t)n);
	/* The last column stays free: the cursor would wrap. */
	bool sized = ioctl(l->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
	size_t width = sized ? (size_t)size.ws_col - 1 : 79;
	size_t len = (size_t)n < width ? (size_t)n : width;
	len = len < cap ? len : cap;
	memcpy(line + at, text, len);
	at += len;
	memcpy(line + at, "\033[K\r", sizeof "\033[K\r"); /* cap leaves room for it */
	l->drawn = put(l, line, at + 4) || l->drawn;
}

void live_tick(struct live *l, int64_t now) {
	if (l->due < 0 || now < l->due) {
		return;
	}
	l->due = now + QUIET_MS;
	if (!tty_background(l->fd)) {
		draw(l, now);
	}
}
