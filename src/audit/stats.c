/* SPDX-License-Identifier: Apache-2.0 */
/* `corral audit stats`: runs over time, refusals by rule, hosts, the slowest runs.
 *
 * Should:   read the log once, in fixed memory: a few hundred names, and a histogram whose columns
 *           become wider when the range of time grows.
 * Must not: print a control character.
 * Fails:    with the error of a file that cannot be read. */
#include "audit/print.h"

#include "audit/bytes.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/emit.h"
#include "base/rfc3339.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS 24
#define NAMES 256  /* more different ones are counted together */
#define SLOTS 1024 /* of the hash table, a power of two: a quarter is used */
#define FINE 4096  /* columns of the histogram, before it is drawn with COLUMNS */
#define SHOWN 8
#define LATENCIES 24      /* runs that took less than 1, 2, 4, … ms; the last: longer */
#define LINES_PER_LOOK 64 /* at the clock */
#define DEFAULT_RANGE_MS ((int64_t)24 * 3600 * 1000)
#define BAR 40
#define HEIGHT 6

struct tally {
	char name[96];
	size_t len;
	uint64_t count;
};

struct tallies {
	struct tally items[NAMES];
	size_t n;
	uint64_t more;
	uint16_t slots[SLOTS]; /* the number of an item; 0: none */
};

/* Runs by time.  A column has 1 << shift milliseconds; the first begins at (base << shift). */
struct histogram {
	uint64_t counts[FINE];
	int64_t base;
	int shift;
	bool used;
};

struct slow {
	int64_t ms;
	char id[16];
	char command[80];
};

struct stats {
	struct audit_filter filter;
	struct tallies kinds, rules, hosts, verdicts;
	struct slow slowest[SHOWN];
	int64_t first_ms, last_ms;
	struct histogram times, refusals;
	uint64_t runs[COLUMNS], denials[COLUMNS];
	uint64_t latency[LATENCIES];
	int64_t until;
	uint64_t lines;
	bool bounded, cut;
	int64_t oldest_ms; /* of the records that were read; 0: none */
	struct audit_minute minute;
	uint64_t records, nruns;
};

static void copy_text(char *out, size_t cap, struct audit_field f) {
	size_t n = f.len < cap ? f.len : cap - 1;

	memcpy(out, f.len == 0 ? "" : f.text, n);
	out[n] = '\0';
}

/* The byte for an escape of JSON; letters of \\uXXXX stay as they are. */
static char unescaped(char c) {
	return (char)(c == 'n' || c == 't' || c == 'r' ? ' ' : c == 'u' ? '?' : c);
}

/* The words of an array of JSON, with a space between two of them; "..." ends one that is cut. */
static void copy_words(char *out, size_t cap, struct audit_field f) {
	static const char cut[] = "...";
	bool inside = false;
	size_t n = 0, i;

	for (i = 0; i < f.len && n + sizeof cut < cap; i++) {
		char c = f.text[i];
		if (c == '"') {
			inside = !inside;
			if (inside && n > 0) {
				out[n++] = ' ';
			}
		} else if (inside) {
			i += c == '\\' && i + 1 < f.len;
			out[n++] = (char)(c == '\\' ? unescaped(f.text[i]) : c);
		}
	}
	if (i < f.len && inside) {
		while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80) {
			n--; /* whole characters only */
		}
		n -= n > 0 && (unsigned char)out[n - 1] >= 0xc0;
		memcpy(out + n, cut, sizeof cut);
		return;
	}
	out[n] = '\0';
}

static size_t slot_of(const char *text, size_t len) {
	uint64_t hash = len;

	for (size_t i = 0; i < len; i += 16) {
		struct bytes_key key = bytes_key(text + i, len - i < 16 ? len - i : 16);
		hash = (hash ^ key.low) * 0x9e3779b97f4a7c15U;
		hash = (hash ^ hash >> 32 ^ key.high) * 0x9e3779b97f4a7c15U;
	}
	return (size_t)(hash >> 40) % SLOTS;
}

static void tally(struct tallies *t, struct audit_field text, uint64_t count) {
	size_t len = text.len < sizeof t->items[0].name ? text.len : sizeof t->items[0].name - 1;
	size_t slot = slot_of(text.text, len);

	for (; t->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
		struct tally *item = &t->items[t->slots[slot] - 1];
		if (item->len == len && bytes_equal(item->name, text.text, len)) {
			item->count += count;
			return;
		}
	}
	if (t->n == NAMES) {
		t->more += count;
		return;
	}
	t->slots[slot] = (uint16_t)(t->n + 1);
	t->items[t->n].len = len;
	t->items[t->n].count = count;
	copy_text(t->items[t->n++].name, sizeof t->items[0].name, text);
}

/* ---- runs over time ---- */

/* Columns of twice the width. */
static void widen(struct histogram *h) {
	uint64_t old[FINE];
	int64_t base = h->base / 2;

	memcpy(old, h->counts, sizeof old);
	memset(h->counts, 0, sizeof h->counts);
	for (int64_t i = 0; i < FINE; i++) {
		h->counts[(h->base + i) / 2 - base] += old[i];
	}
	h->base = base;
	h->shift++;
}

/* Time went back, or the clock was set: the first column moves as far as the last is empty. */
static bool move_back(struct histogram *h, int64_t column) {
	int64_t by = h->base - column, used = FINE;

	while (used > 0 && h->counts[used - 1] == 0) {
		used--;
	}
	if (by + used > FINE) {
		return false;
	}
	memmove(h->counts + by, h->counts, (size_t)used * sizeof h->counts[0]);
	memset(h->counts, 0, (size_t)by * sizeof h->counts[0]);
	h->base = column;
	return true;
}

static void add_time(struct histogram *h, int64_t ms) {
	if (!h->used) {
		h->used = true;
		h->base = ms;
	}
	while ((ms >> h->shift) >= h->base + FINE ||
	       ((ms >> h->shift) < h->base && !move_back(h, ms >> h->shift))) {
		widen(h);
	}
	h->counts[(ms >> h->shift) - h->base]++;
}

/* A fine column belongs to the column in which it begins, so a run may be counted one column too
 * early, if it is at the border by less than a two-thousandth of the range. */
static void draw_columns(const struct stats *s, const struct histogram *h, uint64_t ret[COLUMNS]) {
	int64_t range = s->last_ms - s->first_ms + 1;

	range = range < 1 ? 1 : range; /* the first is in the future */
	for (int64_t i = 0; i < FINE; i++) {
		int64_t ms = (h->base + i) << h->shift;
		int64_t at = ms <= s->first_ms ? 0 : (ms - s->first_ms) * COLUMNS / range;
		ret[at >= COLUMNS ? COLUMNS - 1 : at] += h->counts[i];
	}
}

static void keep_slow(struct stats *s, const struct audit_fields *f) {
	int64_t ms = audit_number(f->at[AUDIT_DURATION], 0);
	size_t at = SHOWN;

	while (at > 0 && s->slowest[at - 1].ms < ms) {
		at--;
	}
	if (at == SHOWN) {
		return;
	}
	memmove(&s->slowest[at + 1], &s->slowest[at], (SHOWN - at - 1) * sizeof s->slowest[0]);
	s->slowest[at].ms = ms;
	copy_text(s->slowest[at].id, sizeof s->slowest[at].id, audit_unquote(f->at[AUDIT_ID]));
	copy_words(s->slowest[at].command, sizeof s->slowest[at].command, f->at[AUDIT_COMMAND]);
}

static void count_latency(struct stats *s, const struct audit_fields *f) {
	int64_t ms = audit_number(f->at[AUDIT_DURATION], 0);
	size_t at = 0;

	while (at < LATENCIES - 1 && ms >= (int64_t)1 << at) {
		at++;
	}
	s->latency[at]++;
}

static struct audit_field first_of(struct audit_field a, struct audit_field b) {
	static const char none[] = "no rule";
	struct audit_field text = audit_unquote(a);

	text = text.len > 0 ? text : audit_unquote(b);
	return text.len > 0 ? text : (struct audit_field){none, sizeof none - 1};
}

static void count(struct stats *s, const struct audit_fields *f) {
	uint64_t times = (uint64_t)audit_number(f->at[AUDIT_COUNT], 1);
	struct audit_field kind = audit_unquote(f->at[AUDIT_KIND]);
	struct audit_field host = audit_unquote(f->at[AUDIT_HOST]);
	int64_t ms = audit_time_next(&s->minute, f);

	s->records++;
	s->oldest_ms = ms > 0 && (s->oldest_ms == 0 || ms < s->oldest_ms) ? ms : s->oldest_ms;
	if (ms > 0 && !s->bounded) {
		s->first_ms = s->first_ms == 0 || ms < s->first_ms ? ms : s->first_ms;
		s->last_ms = ms > s->last_ms ? ms : s->last_ms;
	}
	tally(&s->kinds, kind, 1);
	tally(&s->verdicts, audit_unquote(f->at[AUDIT_VERDICT]), 1);
	if (f->at[AUDIT_COMMAND].len > 0) {
		s->nruns++;
		keep_slow(s, f);
		count_latency(s, f);
	}
	if (f->at[AUDIT_COMMAND].len > 0 && ms > 0) {
		add_time(&s->times, ms);
	}
	if (kind.len > 5 && memcmp(kind.text, "deny.", 5) == 0) {
		tally(&s->rules, first_of(f->at[AUDIT_RULE], f->at[AUDIT_WHY]), times);
		if (ms > 0) {
			add_time(&s->refusals, ms);
		}
	}
	if (host.len > 0) {
		tally(&s->hosts, host, times);
	}
}

static int on_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	struct stats *s = arg;
	struct audit_fields f;

	(void)where;
	if (s->until != 0 && ++s->lines % LINES_PER_LOOK == 0 && clock_ms() >= s->until) {
		s->cut = true;
		return 1;
	}
	if (audit_filter_line(&s->filter, l, AUDIT_COMMAND, &f)) {
		count(s, &f);
	} else if (s->bounded && audit_filter_ends(&s->filter, &f)) {
		return 1;
	}
	return 0;
}

static int by_count(const void *left, const void *right) {
	const struct tally *a = left, *b = right;
	return a->count > b->count ? -1 : a->count < b->count;
}

/* ---- output ---- */

static uint64_t highest(const uint64_t *numbers, size_t n) {
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		most = numbers[i] > most ? numbers[i] : most;
	}
	return most;
}

static void draw_time(const struct stats *s, struct buf *out) {
	char first[RFC3339_LENGTH + 1], last[RFC3339_LENGTH + 1];
	uint64_t most = highest(s->runs, COLUMNS);

	buf_printf(out, "runs over time (most in a column: %" PRIu64 ")\n", most);
	for (int row = HEIGHT; row > 0 && most > 0; row--) {
		buf_puts(out, "  |");
		for (size_t i = 0; i < COLUMNS; i++) {
			bool full = s->runs[i] * HEIGHT >= most * (uint64_t)row;
			bool some = row == 1 && s->runs[i] > 0;
			buf_puts(out, full ? " ##" : some ? " --" : "   ");
		}
		buf_puts(out, "\n");
	}
	rfc3339_text(s->first_ms, first);
	rfc3339_text(s->last_ms, last);
	buf_printf(out, "   %-.19sZ%*s%.19sZ\n", first, COLUMNS * 3 - 40, "", last);
}

static void draw_tallies(const char *title, const struct tallies *t, struct buf *out) {
	if (t->n == 0) {
		return;
	}
	uint64_t most = t->items[0].count == 0 ? 1 : t->items[0].count; /* of an edited log */
	buf_printf(out, "\n%s\n", title);
	for (size_t i = 0; i < t->n && i < SHOWN; i++) {
		int len = (int)(t->items[i].count * BAR / most);
		buf_printf(out, "  %-40.40s %8" PRIu64 " ", t->items[i].name, t->items[i].count);
		for (int k = 0; k < (len == 0 ? 1 : len) && k < BAR; k++) {
			buf_puts(out, "#");
		}
		buf_puts(out, "\n");
	}
	if (t->n > SHOWN) {
		buf_printf(out, "  and %zu more\n", t->n - SHOWN);
	}
}

/* Names come from records: a control character is only in an edited log. */
static void clean_lines(struct buf *out) {
	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];
		if ((c < 0x20 && c != '\n') || c == 0x7f) {
			out->data[i] = '?';
		}
	}
}

static void put_text(const struct stats *s, struct buf *out) {
	buf_printf(out, "%" PRIu64 " records, %" PRIu64 " runs\n", s->records, s->nruns);
	if (s->records == 0) {
		return;
	}
	buf_puts(out, "\n");
	draw_time(s, out);
	draw_tallies("records by kind", &s->kinds, out);
	draw_tallies("denials by rule", &s->rules, out);
	draw_tallies("top hosts", &s->hosts, out);
	buf_puts(out, s->nruns > 0 ? "\nslowest runs\n" : "");
	for (size_t i = 0; i < SHOWN && s->slowest[i].id[0] != '\0'; i++) {
		buf_printf(out, "  %10" PRId64 " ms  %s  %s\n", s->slowest[i].ms, s->slowest[i].id,
			   s->slowest[i].command);
	}
	if (!buf_failed(out)) {
		clean_lines(out);
	}
}

static void put_tallies(struct emit *j, const char *key, const struct tallies *t) {
	emit_array(j, key);
	for (size_t i = 0; i < t->n; i++) {
		emit_object(j, NULL);
		emit_string(j, "name", t->items[i].name);
		emit_int(j, "count", (int64_t)t->items[i].count);
		emit_end_object(j);
	}
	emit_end_array(j);
}

static void put_numbers(struct emit *j, const char *key, const uint64_t *numbers, size_t n) {
	emit_array(j, key);
	for (size_t i = 0; i < n; i++) {
		emit_int(j, NULL, (int64_t)numbers[i]);
	}
	emit_end_array(j);
}

static void put_json(const struct stats *s, struct buf *out) {
	char first[RFC3339_LENGTH + 1], last[RFC3339_LENGTH + 1];
	struct emit j;

	rfc3339_text(s->first_ms, first);
	rfc3339_text(s->last_ms, last);
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_int(&j, "records", (int64_t)s->records);
	emit_int(&j, "runs", (int64_t)s->nruns);
	emit_string(&j, "first", s->records == 0 ? NULL : first);
	emit_string(&j, "last", s->records == 0 ? NULL : last);
	put_numbers(&j, "runs_over_time", s->runs, COLUMNS);
	put_numbers(&j, "denials_over_time", s->denials, COLUMNS);
	put_numbers(&j, "latency", s->latency, LATENCIES);
	emit_bool(&j, "complete", !s->cut);
	rfc3339_text(s->oldest_ms, first);
	emit_string(&j, "read_since", s->oldest_ms == 0 ? NULL : first);
	put_tallies(&j, "kinds", &s->kinds);
	put_tallies(&j, "verdicts", &s->verdicts);
	put_tallies(&j, "denials_by_rule", &s->rules);
	put_tallies(&j, "hosts", &s->hosts);
	emit_array(&j, "slowest");
	for (size_t i = 0; i < SHOWN && s->slowest[i].id[0] != '\0'; i++) {
		emit_object(&j, NULL);
		emit_string(&j, "id", s->slowest[i].id);
		emit_string(&j, "command", s->slowest[i].command);
		emit_int(&j, "duration_ms", s->slowest[i].ms);
		emit_end_object(&j);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}

static int64_t now_ms(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_REALTIME, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The columns cover the whole range, also if only a part of it is read. */
static void set_range(struct stats *s, const struct audit_query *q) {
	s->last_ms = q->until_ms > 0 ? q->until_ms : now_ms();
	s->first_ms = q->since_ms;
	s->times.used = s->refusals.used = true;
	while ((s->last_ms - s->first_ms) >> s->times.shift >= FINE - 1) {
		s->times.shift++;
	}
	s->times.base = s->first_ms >> s->times.shift;
	s->refusals.shift = s->times.shift;
	s->refusals.base = s->times.base;
}

static int collect(struct stats *s, const char *dir, struct err *e) {
	struct audit_cursor from = {0};
	int rc = (s->bounded ? audit_each_line_back : audit_each_line)(dir, &from, on_line, s, e);

	if (rc < 0) {
		return -1;
	}
	draw_columns(s, &s->times, s->runs);
	draw_columns(s, &s->refusals, s->denials);
	struct tallies *const all[] = {&s->kinds, &s->verdicts, &s->rules, &s->hosts};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		qsort(all[i]->items, all[i]->n, sizeof all[i]->items[0], by_count);
	}
	return 0;
}

int audit_stats(const struct audit_print *p, const struct audit_query *q, struct buf *out,
		struct err *e) {
	auto_free struct stats *s = calloc(1, sizeof *s);

	if (s == NULL) {
		return err_memory(e, AUDIT_WHERE);
	}
	struct audit_query own = *q;
	s->until = p->until;
	s->bounded = p->until != 0;
	if (s->bounded && own.since_ms == 0) {
		own.since_ms = now_ms() - DEFAULT_RANGE_MS;
	}
	if (s->bounded) {
		set_range(s, &own);
	}
	if (audit_filter_init(&s->filter, &own, e) != 0) {
		return -1;
	}
	int rc = collect(s, p->dir, e);
	if (rc == 0) {
		(p->form == AUDIT_AS_JSON ? put_json : put_text)(s, out);
	}
	audit_filter_done(&s->filter);
	return rc;
}
