/* SPDX-License-Identifier: Apache-2.0 */
#include "run/leak_tap.h"

#include "test.h"

#include <stdlib.h>

/* Synthetic: the form of a key, and none. */
#define SECRET "correct-horse-battery-staple"
#define TEXT "before " SECRET " after\n"

static unsigned created;
static struct leak_scanner *scanner;

static const struct leak_scanner *give(void *arg) {
	const struct leak_value value = {"PASSWORD", SECRET, strlen(SECRET)};
	const struct leak_rules rules = {.values = &value, .nvalues = 1};
	struct err e = {0};

	created++;
	scanner = arg != NULL ? NULL : leak_scanner_new(&rules, &e);
	return scanner;
}

struct world {
	struct leak_source source;
	struct leak_log log;
	struct leak_watch watch;
	struct leak_tap tap;
};

static void begin(struct world *w, enum leak_action action) {
	*w = (struct world){.source = {.scanner = give}, .tap = LEAK_TAP_NONE};
	w->watch = (struct leak_watch){.source = &w->source, .action = action, .log = &w->log};
	w->tap.watch = &w->watch;
	w->tap.place = LEAK_IN_STDOUT;
}

static void end(struct world *w) {
	leak_tap_done(&w->tap);
	leak_scanner_free(scanner);
	scanner = NULL;
	leak_log_done(&w->log);
}

static const char *clean(const struct world *w) {
	return w->tap.clean.data == NULL ? "" : w->tap.clean.data;
}

TEST(T3_a_stream_without_bytes_creates_no_scanner) {
	struct world w;

	created = 0;
	begin(&w, LEAK_REDACT);
	leak_tap_end(&w.tap);
	CHECK_INT(created, 0);
	end(&w);
}

TEST(T2_warn_records_and_replaces_nothing) {
	struct world w;

	begin(&w, LEAK_WARN);
	leak_tap_feed(&w.tap, TEXT, strlen(TEXT), 0);
	leak_tap_end(&w.tap);
	CHECK(!leak_tap_replaces(&w.tap));
	CHECK_STR(clean(&w), "");
	CHECK_INT(leak_tap_due(&w.tap), -1);
	CHECK_INT(w.log.n, 1);
	CHECK_STR(w.log.records[0].kind, "PASSWORD");
	CHECK_INT(w.log.records[0].offset, strlen("before "));
	CHECK(!w.watch.kill);
	end(&w);
}

TEST(T1_a_secret_in_two_pieces_is_not_released_wherever_it_is_split) {
	static const struct {
		enum leak_action action;
		const char *out;
	} rows[] = {
		{LEAK_REDACT, "before [redacted:PASSWORD] after\n"},
		{LEAK_BLOCK, "before "},
		{LEAK_KILL, "before "},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (size_t at = 0; at <= strlen(TEXT); at++) {
			struct world w;
			begin(&w, rows[i].action);
			leak_tap_feed(&w.tap, TEXT, at, 0);
			leak_tap_feed(&w.tap, TEXT + at, strlen(TEXT) - at, 0);
			leak_tap_end(&w.tap);
			CHECK_STR(clean(&w), rows[i].out);
			CHECK_INT(w.watch.kill, rows[i].action == LEAK_KILL);
			CHECK_INT(w.log.n, 1);
			end(&w);
		}
	}
}

TEST(bytes_that_may_begin_a_secret_are_due_after_50_ms) {
	struct world w;

	begin(&w, LEAK_REDACT);
	leak_tap_feed(&w.tap, "prompt: ", 8, 1000);
	CHECK_STR(clean(&w), "prompt: ");
	CHECK_INT(leak_tap_due(&w.tap), -1);
	leak_tap_feed(&w.tap, "correct-h", 9, 2000);
	CHECK_STR(clean(&w), "prompt: ");
	CHECK_INT(leak_tap_due(&w.tap), 2000 + LEAK_FLUSH_MS);
	leak_tap_flush(&w.tap);
	CHECK_STR(clean(&w), "prompt: correct-h");
	CHECK_INT(leak_tap_due(&w.tap), -1);
	end(&w);
}

TEST(without_a_scanner_nothing_is_released) {
	struct world w;

	begin(&w, LEAK_REDACT);
	w.source.arg = &w;
	leak_tap_feed(&w.tap, TEXT, strlen(TEXT), 0);
	leak_tap_end(&w.tap);
	CHECK_STR(clean(&w), "");
	CHECK(w.watch.failed);
	end(&w);
}

TEST(a_secret_that_is_printed_for_ever_has_one_record) {
	struct world w;

	begin(&w, LEAK_WARN);
	for (int i = 0; i < 1000; i++) {
		leak_tap_feed(&w.tap, TEXT, strlen(TEXT), 0);
	}
	leak_tap_end(&w.tap);
	CHECK_INT(w.log.n, 1);
	CHECK_INT(w.log.records[0].count, 1000);
	CHECK_INT(w.log.more, 0);
	end(&w);
}

TESTS_MAIN
