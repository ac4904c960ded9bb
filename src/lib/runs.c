/* SPDX-License-Identifier: Apache-2.0 */
/* corral_runs(): lists the user's live runs.
 *
 * Should:   list id, pid of the supervisor, level, start time, workspace and command of each run.
 * Must not: print control characters of a command.
 * Fails:    with an error when the state directory is not the caller's. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>

static struct timespec started(const struct run_entry *r) {
	return (struct timespec){.tv_sec = (time_t)(r->since_ms / 1000)};
}

static void run_json(struct emit *j, const struct run_entry *r) {
	char when[24];
	cow_time_text(started(r), when);
	emit_object(j, NULL);
	emit_string(j, "id", r->id);
	emit_int(j, "pid", r->pid);
	emit_string(j, "level", r->level);
	emit_string(j, "net", r->net);
	emit_string(j, "workspace", r->workspace);
	emit_strings(j, "command", r->argv, r->argc);
	emit_bool(j, "command_complete", !r->cut);
	emit_string(j, "since", when);
	emit_end_object(j);
}

/* An argument; quoted if it is empty or contains a space or a quote. */
static void put_word(struct buf *out, const char *word) {
	if (word[0] == '\0' || strpbrk(word, " '") != NULL) {
		buf_printf(out, " '%s'", word);
	} else {
		buf_printf(out, " %s", word);
	}
}

static void run_text(struct buf *out, const struct run_entry *r) {
	struct buf line;
	char when[24];
	cow_time_text(started(r), when);
	buf_init(&line);
	buf_printf(&line, "%7d  %s  %-8s  %s  %s ", (int)r->pid, r->id, r->level, when,
		   r->workspace);
	for (size_t i = 0; i < r->argc; i++) {
		put_word(&line, r->argv[i]);
	}
	buf_puts(&line, r->cut ? " ..." : "");
	if (!buf_failed(&line)) {
		str_hide_controls(line.data, false);
		buf_printf(out, "%s\n", line.data);
	}
	out->failed = out->failed || buf_failed(&line);
	buf_done(&line);
}

static void print_runs(const struct run_entry *runs, size_t n, enum corral_format format,
		       struct buf *out) {
	struct emit j;
	if (format != CORRAL_JSON) {
		buf_puts(out, n == 0 ? "no run is alive\n"
				     : "    PID  ID            LEVEL     SINCE                 "
				       "WORKSPACE  "
				       "COMMAND\n");
	}
	emit_init(&j, out, false);
	if (format == CORRAL_JSON) {
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_array(&j, "runs");
	}
	for (size_t i = 0; i < n; i++) {
		if (format == CORRAL_JSON) {
			run_json(&j, &runs[i]);
		} else {
			run_text(out, &runs[i]);
		}
	}
	if (format == CORRAL_JSON) {
		emit_end_array(&j);
		emit_end_object(&j);
	}
}

int corral_runs(enum corral_format format, char **text, struct corral_error *err) {
	struct arena a;
	struct host host = {0};
	struct run_entry *runs = NULL;
	struct err e = {0};
	struct buf out;
	size_t n = 0;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	arena_init(&a);
	buf_init(&out);
	int rc = probe_host(&a, &host, &e);
	if (rc == 0 && host.state_dir != NULL) {
		rc = owner_check(host.state_dir, &e);
	}
	if (rc == 0) {
		rc = runs_list(&a, host.state_dir, &runs, &n, &e);
	}
	if (rc == 0) {
		print_runs(runs, n, format, &out);
		rc = lib_give(&out, text, &e);
	}
	buf_done(&out);
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
