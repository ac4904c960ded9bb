/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner between a stream of the command and the caller.
 *
 * Invariants, cited by tests:
 *  T1  with redact, block or kill no byte of a secret that the scanner found is released,
 *      unless leak_tap_flush() had released its beginning before its end was written;
 *  T2  with warn every byte passes unchanged, when it came;
 *  T3  a run that reads and prints nothing creates no scanner;
 *  T4  with block or kill for scan.net no byte of a secret that the scanner finds in a request
 *      leaves the gate (net_tap.c, gate/relay/scan.c). */
#ifndef CORRAL_RUN_LEAK_TAP_H
#define CORRAL_RUN_LEAK_TAP_H

#include "base/buf.h"
#include "run/leak_log.h"

/* How long bytes that may begin a secret are held back from a reader outside. */
#define LEAK_FLUSH_MS 50

/* Gives the scanner of a run, with the first byte of a stream; NULL: there is none.  The scanner
 * stays the source's and outlives the run. */
struct leak_source {
	const struct leak_scanner *(*scanner)(void *arg);
	/* Copies a name of a host without secrets; true: it had one.  NULL: names are kept. */
	bool (*clean)(void *arg, const char *name, char *ret, size_t cap);
	void *arg;
};

/* The state that the taps of one direction share. */
struct leak_watch {
	const struct leak_source *source; /* NULL: not scanned */
	enum leak_action action;
	bool terminal; /* scans only streams that go to a terminal */
	const struct leak_scanner *scanner;
	struct leak_log *log;
	bool kill;   /* LEAK_KILL, and a secret was found */
	bool failed; /* no scanner, or no memory: nothing more is released */
};

/* One stream. */
struct leak_tap {
	struct leak_watch *watch; /* NULL: not scanned */
	enum leak_place place;
	struct leak_stream *stream;
	struct buf clean; /* bytes that may pass */
	int64_t held_at;  /* since when bytes are held back; -1: none are */
	bool ended;
};

#define LEAK_TAP_NONE ((struct leak_tap){.held_at = -1})
void leak_tap_done(struct leak_tap *t);

/* True when the bytes that pass are those in `clean`, and not those that were fed. */
bool leak_tap_replaces(const struct leak_tap *t);

void leak_tap_feed(struct leak_tap *t, const char *data, size_t len, int64_t now);
void leak_tap_flush(struct leak_tap *t);
void leak_tap_end(struct leak_tap *t);

/* When leak_tap_flush() is due; -1: never. */
int64_t leak_tap_due(const struct leak_tap *t);

/* Bytes that were fed and neither released nor dropped. */
size_t leak_tap_held(const struct leak_tap *t);

#endif
