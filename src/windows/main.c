/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: run, status, cleanup.
 *
 * Should:   be the only file of this room that prints and chooses an exit status.
 * Must not: run a command after an argument that it does not understand.
 * Fails:    closed, with a message that names the rule, the reason and the remedy. */
#include "windows/api.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/other_builds.h"
#include "run/bare_result.h"
#include "windows/probe.h"
#include "windows/run.h"
#include "windows/undo.h"
#include "windows/wide.h"

#include <stdio.h>
#include <stdlib.h>

#define POLICY_BYTES_MAX ((DWORD)1 << 20)
#define STATUS_SETUP 125

static void put(DWORD stream, const char *bytes, size_t len) {
	HANDLE to = GetStdHandle(stream);
	DWORD done = 0;

	while (len > 0 && WriteFile(to, bytes, (DWORD)len, &done, NULL) && done > 0) {
		bytes += done;
		len -= done;
	}
}

static void print_error(const struct err *e) {
	char text[sizeof e->what + sizeof e->fix + 64];

	(void)snprintf(text, sizeof text, "corral: %s: %s\n%s%s%s", e->where, e->what,
		       e->fix[0] == '\0' ? "" : "corral: remedy: ", e->fix,
		       e->fix[0] == '\0' ? "" : "\n");
	str_hide_controls(text, true);
	put(STD_ERROR_HANDLE, text, strlen(text));
}

static int fail(const struct err *e) {
	print_error(e);
	return bare_result_failure_status(e);
}

/* ---- the file of --policy ---- */

static int read_policy(struct arena *a, const char *path, struct run_choices *c, struct err *e) {
	wchar_t *wide = wide_text(a, path);
	char *text = arena_alloc(a, POLICY_BYTES_MAX + 1);
	DWORD got = 0;

	if (wide == NULL || text == NULL) {
		return err_memory(e, "policy");
	}
	auto_handle h =
		CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
	if (h == INVALID_HANDLE_VALUE || !ReadFile(h, text, POLICY_BYTES_MAX + 1, &got, NULL)) {
		(void)wide_fail(e, "policy", "cannot read", path, GetLastError());
		e->kind = ERR_USAGE;
		return -1;
	}
	if (got > POLICY_BYTES_MAX) {
		return err_set(e, ERR_USAGE, "policy", "%s is larger than 1 MiB", path);
	}
	return choices_read_policy(a, path, text, got, c, e);
}

static int read_choices(struct arena *a, const char *const *words, size_t n, struct run_choices *c,
			struct err *e) {
	const char *policy = choices_policy_file(words, n);

	return (policy != NULL && read_policy(a, policy, c, e) != 0) ||
			       choices_read(a, words, n, c, e) != 0 || choices_default(a, c, e) != 0
		       ? -1
		       : 0;
}

/* ---- run ---- */

static int help(void) {
	struct buf out;

	buf_init(&out);
	buf_puts(&out, "usage: corral.exe run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
		       "       corral.exe status [--json]\n"
		       "       corral.exe cleanup\n\n"
		       "Experimental.  " NOT_RUN_WINDOWS "\n\n");
	choices_help(&out);
	if (!buf_failed(&out)) {
		put(STD_OUTPUT_HANDLE, out.data, out.len);
	}
	buf_done(&out);
	return 0;
}

static int print_report(const struct windows_report *r, const struct run_choices *c,
			const struct windows_enforcement *g, const struct err *failure) {
	struct buf out;
	int rc;

	buf_init(&out);
	rc = report_json(r, c, g, failure, &out);
	buf_puts(&out, "\n");
	if (rc == 0 && !buf_failed(&out)) {
		put(STD_OUTPUT_HANDLE, out.data, out.len);
	}
	buf_done(&out);
	return rc;
}

static void print_guarantees(DWORD stream, const struct windows_enforcement *g) {
	char line[400];

	(void)snprintf(line, sizeof line, "level %s, engine %s\n", g->level, g->engine);
	put(stream, line, strlen(line));
	for (size_t i = 0; i < g->count; i++) {
		const struct windows_guarantee *one = &g->list[i];
		(void)snprintf(line, sizeof line, "%-17s %-9s %s\n", one->name,
			       enforcement_state_name(one->state),
			       one->why == NULL ? "" : one->why);
		put(stream, line, strlen(line));
	}
}

/* Journals of runs that were killed.  A change that cannot be undone does not keep a new run from
 * its own grants, so it is a warning. */
static void undo_earlier(void) {
	struct undo_summary sum;
	struct err e = {0};

	if (undo_replay(&sum, &e) != 0) {
		print_error(&e);
	}
}

static int verb_run(struct arena *a, const char *const *words, size_t n) {
	struct run_choices c = {0};
	struct windows_enforcement g = {0};
	struct facts facts;
	struct windows_report r = {.reason = REASON_SETUP_FAILED, .started_ms = -1, .cpu_ms = -1};
	struct err e = {0};

	if (read_choices(a, words, n, &c, &e) != 0) {
		return fail(&e); /* as on Linux, a usage error has no JSON */
	}
	if (c.help) {
		return help();
	}
	if (c.argc == 0) {
		(void)err_set(&e, ERR_USAGE, "usage", "there is no command");
		(void)err_fix(&e, "example: corral.exe run -- cmd.exe /d /c dir");
		return fail(&e);
	}
	undo_earlier();
	probe_facts(a, &facts);
	if (run_command(a, &c, &facts, &g, &r, &e) != 0) {
		static char empty[] = "";
		r.reason = e.kind == ERR_REFUSED ? REASON_REFUSED : REASON_SETUP_FAILED;
		r.out = r.out == NULL ? empty : r.out;
		r.err = r.err == NULL ? empty : r.err;
		if (c.json && e.kind != ERR_USAGE) {
			(void)print_report(&r, &c, &g, &e); /* the exit status has it, too */
		}
		return fail(&e);
	}
	if (c.verbose) {
		print_guarantees(STD_ERROR_HANDLE, &g);
	}
	if (c.json && print_report(&r, &c, &g, NULL) != 0) {
		return STATUS_SETUP;
	}
	return (int)report_status(&r);
}

/* ---- status, cleanup ---- */

static void status_json(const struct facts *facts, const struct windows_enforcement *g) {
	struct buf out;
	struct emit j;

	buf_init(&out);
	emit_init(&j, &out, true);
	emit_object(&j, NULL);
	emit_string(&j, "system", facts->version);
	emit_string(&j, "note", NOT_RUN_WINDOWS);
	emit_bool(&j, "wine", facts->wine);
	emit_bool(&j, "appcontainer", facts->appcontainer);
	emit_bool(&j, "restricted_token", facts->token);
	emit_bool(&j, "low_integrity", facts->integrity);
	emit_bool(&j, "job", facts->job);
	emit_bool(&j, "job_memory", facts->job_memory);
	emit_bool(&j, "job_processes", facts->job_processes);
	emit_bool(&j, "job_cpu", facts->job_cpu);
	emit_bool(&j, "job_ui", facts->job_ui);
	emit_string(&j, "level", g->level);
	enforcement_put(&j, g);
	emit_end_object(&j);
	buf_puts(&out, "\n");
	if (!buf_failed(&out)) {
		put(STD_OUTPUT_HANDLE, out.data, out.len);
	}
	buf_done(&out);
}

static int verb_status(struct arena *a, const char *const *words, size_t n) {
	struct run_choices c = {0};
	struct windows_enforcement g;
	struct facts facts;
	struct err e = {0};
	bool json = n == 1 && streq(words[0], "--json");

	if (n > 0 && !json) {
		(void)err_set(&e, ERR_USAGE, "usage", "status takes only --json");
		return fail(&e);
	}
	if (choices_default(a, &c, &e) != 0) {
		return fail(&e);
	}
	probe_facts(a, &facts);
	enforcement_make(&facts, &c, &g);
	if (json) {
		status_json(&facts, &g);
		return 0;
	}
	char line[200];
	(void)snprintf(line, sizeof line, "%s\n" NOT_RUN_WINDOWS "\n", facts.version);
	put(STD_OUTPUT_HANDLE, line, strlen(line));
	print_guarantees(STD_OUTPUT_HANDLE, &g);
	return 0;
}

static int verb_cleanup(struct arena *a, const char *const *words, size_t n) {
	struct undo_summary sum;
	struct err e = {0};
	char line[200];

	(void)a;
	(void)words;
	if (n > 0) {
		(void)err_set(&e, ERR_USAGE, "usage", "cleanup takes no argument");
		return fail(&e);
	}
	int rc = undo_replay(&sum, &e);
	(void)snprintf(line, sizeof line,
		       "%u runs undone, %u running, %u DACLs changed meanwhile\n",
		       (unsigned)sum.replayed, (unsigned)sum.alive, (unsigned)sum.changed);
	put(STD_OUTPUT_HANDLE, line, strlen(line));
	return rc != 0 ? fail(&e) : 0;
}

static const struct {
	const char *name;
	int (*run)(struct arena *a, const char *const *words, size_t n);
} verbs[] = {
	{"cleanup", verb_cleanup},
	{"run", verb_run},
	{"status", verb_status},
};

static int dispatch(struct arena *a, const char *const *words, size_t n) {
	struct err e;

	if (n == 0 || streq(words[0], "--help") || streq(words[0], "-h") ||
	    streq(words[0], "help")) {
		return help();
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (streq(verbs[i].name, words[0])) {
			return verbs[i].run(a, words + 1, n - 1);
		}
	}
	(void)err_set(&e, ERR_USAGE, "usage", "%s: not a verb of corral.exe", words[0]);
	(void)err_fix(&e, "the verbs are run, status and cleanup");
	return fail(&e);
}

int wmain(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv) {
	struct arena a;

	arena_init(&a);
	const char **words = arena_array(&a, (size_t)argc + 1, sizeof *words);
	for (int i = 1; words != NULL && i < argc; i++) {
		words[i - 1] = wide_narrow(&a, argv[i]);
		if (words[i - 1] == NULL) {
			struct err e;
			(void)err_set(&e, ERR_USAGE, "usage", "argument %d is not Unicode", i);
			return fail(&e);
		}
	}
	/* The thread of stdin may still read: the process ends without waiting for it. */
	int status =
		words == NULL ? STATUS_SETUP : dispatch(&a, words, argc < 1 ? 0 : (size_t)argc - 1);
	ExitProcess((UINT)status);
}
