/* SPDX-License-Identifier: Apache-2.0 */
/* Removes secrets from texts of a run that are recorded: names of hosts, and the command line.
 *
 * A name of a host is recorded in lower case, and its dots split a long value into labels.  So the
 * values of the run's secrets are looked for in lower case too, in the name without its dots.
 *
 * Should:   leave a text without a secret as it is.
 * Must not: keep a value in memory that a child or a core dump has.
 * Fails:    closed: a text that cannot be scanned is not recorded. */
#include "lib/leaks.h"

#include "base/hostname.h"
#include "run/leak_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of hosts ---- */

static char lower(char c) {
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

struct leak_scanner *leak_names_scanner(const struct leak_value *values, size_t n,
					struct secrets *memory, struct err *e) {
	bool *no_kinds = calloc(leak_kind_count, sizeof *no_kinds);
	struct leak_value *lowered = no_kinds == NULL ? NULL : calloc(n, sizeof *lowered);
	struct leak_rules rules = {
		.kinds = no_kinds, .values = lowered, .nvalues = n, .borrow = true};

	for (size_t i = 0; lowered != NULL && i < n; i++) {
		char *bytes = secrets_take(memory, values[i].len);
		for (size_t at = 0; at < values[i].len; at++) {
			bytes[at] = lower(((const char *)values[i].data)[at]);
		}
		lowered[i] = values[i];
		lowered[i].data = bytes;
	}
	struct leak_scanner *scanner = lowered == NULL ? NULL : leak_scanner_new(&rules, e);
	free(lowered);
	free(no_kinds);
	return scanner;
}

static void note_kind(void *arg, const struct leak_finding *f) {
	(void)snprintf(arg, LEAK_KIND_MAX, "%s", f->kind); /* may be cut */
}

bool leak_names_clean(void *arg, const char *name, char *ret, size_t cap) {
	struct run_leaks *r = arg;
	char joined[HOSTNAME_MAX + 1], kind[LEAK_KIND_MAX] = "";
	size_t len = 0;

	if (leak_text_clean(r->source.scanner(r), name, ret, cap)) {
		return true;
	}
	for (const char *p = name; r->names != NULL && *p != '\0' && len < sizeof joined; p++) {
		joined[len] = *p;
		len += *p != '.';
	}
	if (len == 0) {
		return false;
	}
	if (leak_scan(r->names, joined, len, note_kind, kind) != 0) {
		(void)snprintf(ret, cap, "[not scanned]"); /* may be cut */
		return true;
	}
	if (kind[0] != '\0') {
		(void)snprintf(ret, cap, "[redacted:%s]", kind); /* likewise */
	}
	return kind[0] != '\0';
}

/* ---- the command line ---- */

/* More than one secret of an argument may be replaced by a longer text; the rest is cut. */
#define LONGER 256

char **leak_names_clean_argv(struct arena *a, const struct leak_scanner *scanner,
			     const char *const *argv) {
	size_t n = 0;

	while (argv[n] != NULL) {
		n++;
	}
	char **clean = arena_array(a, n + 1, sizeof *clean);
	for (size_t i = 0; clean != NULL && i < n; i++) {
		size_t cap = strlen(argv[i]) + LONGER;
		clean[i] = arena_alloc(a, cap);
		if (clean[i] == NULL) {
			return NULL;
		}
		(void)leak_text_clean(scanner, argv[i], clean[i], cap); /* most have no secret */
	}
	return clean;
}
