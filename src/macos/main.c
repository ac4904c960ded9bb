/* SPDX-License-Identifier: Apache-2.0 */
/* corral for macOS: `run` one command under a Seatbelt profile or print the profile, `status`.
 *
 * Should:   print the same JSON object as corral(1) on Linux, with the state of every guarantee.
 * Must not: run anything without a profile, or report a guarantee as enforced.
 * Fails:    closed, with 125.
 *
 * It has not been run: see docs/macos.md. */
#include "base/auto.h"
#include "base/emit.h"
#include "base/run_id.h"
#include "base/str.h"
#include "data/other_builds.h"
#include "macos/choices.h"
#include "macos/probe.h"
#include "macos/result.h"
#include "macos/run_files.h"
#include "macos/spawn.h"
#include "macos/watch.h"
#include "plan/seatbelt/seatbelt.h"
#include "run/bare_result.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t since_1970_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t); /* it cannot fail for this clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- output ---- */

static int print(struct buf *out, struct err *e) {
	if (buf_failed(out)) {
		return err_memory(e, "result");
	}
	fputs(out->data, stdout);
	buf_done(out);
	return 0;
}

static int print_profile(const struct seatbelt_profile *profile, struct err *e) {
	struct buf out;
	buf_init(&out);
	buf_puts(&out, "; " NOT_RUN_MACOS "\n");
	seatbelt_profile_print(profile, &out);
	return print(&out, e);
}

static int print_help(struct err *e) {
	struct buf out;
	buf_init(&out);
	buf_puts(&out, "usage: corral run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
		       "       corral status [--json]\n\n" NOT_RUN_MACOS "\n\n");
	choices_help(&out);
	return print(&out, e);
}

static void print_error(const struct err *e) {
	fprintf(stderr, "corral: %s: %s%s%s\n", e->where, e->what, e->sys == 0 ? "" : ": ",
		e->sys == 0 ? "" : strerror(e->sys));
	if (e->fix[0] != '\0') {
		fprintf(stderr, "  remedy: %s\n", e->fix);
	}
}

/* ---- one run ---- */

struct streams {
	int read[2], write[2]; /* of stdout and stderr; -1 where they are inherited */
	int input;
};

/* The child's copies are closed by POSIX_SPAWN_CLOEXEC_DEFAULT. */
static int open_streams(bool capture, struct streams *s, struct err *e) {
	*s = (struct streams){{-1, -1}, {-1, -1}, -1};
	s->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; capture && i < 2; i++) {
		int pair[2];
		/* macOS has no pipe2(2): close-on-exec is that of the spawn. */
		if (pipe(pair) != 0) {
			return err_sys(e, "streams", "pipe failed");
		}
		s->read[i] = pair[0];
		s->write[i] = pair[1];
	}
	return s->input >= 0 ? 0 : err_sys(e, "streams", "cannot open /dev/null");
}

/* One run: its choices, its plan and its end. */
struct one_run {
	struct arena *a;
	struct host host;
	struct choices choices;
	struct plan plan;
	struct seatbelt_profile profile;
	struct capture captures[2];
	struct macos_outcome outcome;
	char id[RUN_ID_LENGTH + 1];
	int64_t started_ms; /* -1: nothing was started */
	bool planned, ended;
};

static int start_and_watch(struct one_run *r, struct err *e) {
	bool json = r->choices.run.json;
	struct streams s;
	if (open_streams(json, &s, e) != 0) {
		return -1;
	}
	const struct macos_command command = {
		.plan = &r->plan,
		.profile = &r->profile,
		.argv = (char *const *)r->choices.run.argv,
		.fds = {json ? s.input : 0, json ? s.write[0] : 1, json ? s.write[1] : 2}};
	r->started_ms = since_1970_ms();
	pid_t pid = macos_spawn(r->a, &command, e);
	for (int i = 0; i < 2 && s.write[i] >= 0; i++) {
		(void)close(s.write[i]); /* the child has its own copy */
	}
	if (pid < 0 || macos_watch(&r->plan, pid, s.read, r->captures, &r->outcome, e) != 0) {
		return -1;
	}
	r->ended = true;
	return 0;
}

static int make_plan(struct one_run *r, struct err *e) {
	r->host.command = r->choices.run.argc == 0 ? NULL : r->choices.run.argv[0];
	if (plan_build(r->a, &r->choices.policy, &r->host, &r->plan, e) != 0 ||
	    seatbelt_profile_make(r->a, &r->plan, (struct seatbelt_ports){0}, &r->profile, e) !=
		    0) {
		return -1;
	}
	r->planned = true;
	return 0;
}

static int run(struct one_run *r, struct err *e) {
	uint32_t chance;
	arc4random_buf(&chance, sizeof chance);
	run_id_text(since_1970_ms(), chance, r->id);
	if (make_plan(r, e) != 0) {
		return -1;
	}
	capture_init(&r->captures[0], r->plan.output_bytes);
	capture_init(&r->captures[1], r->plan.output_bytes);
	int rc = macos_prepare(&r->plan, e) != 0 ? -1 : start_and_watch(r, e);
	macos_clean(&r->plan);
	return rc;
}

/* A failure has an object, too, unless it is one of the command line. */
static int print_result(struct one_run *r, const struct err *failure, struct err *e) {
	struct buf out;
	const struct macos_result result = {.plan = r->planned ? &r->plan : NULL,
					    .policy = &r->choices.policy,
					    .outcome = r->ended ? &r->outcome : NULL,
					    .failure = failure,
					    .captures = r->ended ? r->captures : NULL,
					    .id = r->id,
					    .started_ms = r->started_ms};
	buf_init(&out);
	if (macos_result_json(&result, &out) != 0) {
		return err_memory(e, "result");
	}
	buf_puts(&out, "\n");
	return print(&out, e);
}

static int verb_run(struct arena *a, const char *const *words, size_t n, int *ret_status,
		    struct err *e) {
	auto_free struct one_run *r = calloc(1, sizeof *r);
	if (r == NULL) {
		return err_memory(e, "run");
	}
	r->a = a;
	r->started_ms = -1;
	if (macos_probe(a, &r->host, e) != 0 ||
	    choices_read(a, &r->host, words, n, &r->choices, e) != 0) {
		return -1;
	}
	if (r->choices.run.help) {
		return print_help(e);
	}
	if (r->choices.run.seatbelt) {
		return make_plan(r, e) != 0 ? -1 : print_profile(&r->profile, e);
	}
	if (!r->choices.run.json) {
		fputs("corral: " NOT_RUN_MACOS "; no guarantee is enforced\n", stderr);
	}
	int rc = run(r, e);
	if (r->choices.run.json && (rc == 0 || e->kind != ERR_USAGE)) {
		const struct err failure = *e;
		struct err unused;
		if (print_result(r, rc == 0 ? NULL : &failure, rc == 0 ? e : &unused) != 0) {
			return -1;
		}
	}
	*ret_status = rc == 0 ? macos_status(&r->outcome) : 0;
	return rc;
}

/* ---- status ---- */

/* The guarantees of a run with the defaults. */
static int verb_status(struct arena *a, const char *const *words, size_t n, int *ret_status,
		       struct err *e) {
	static const char *const command[] = {"true"};
	auto_free struct one_run *r = calloc(1, sizeof *r);
	bool json = n == 1 && streq(words[0], "--json");
	struct buf out;
	if (r == NULL) {
		return err_memory(e, "status");
	}
	if (n > 0 && !json) {
		return err_set(e, ERR_USAGE, "usage", "status takes only --json");
	}
	r->a = a;
	if (macos_probe(a, &r->host, e) != 0 ||
	    choices_read(a, &r->host, command, 1, &r->choices, e) != 0 || make_plan(r, e) != 0) {
		return -1;
	}
	buf_init(&out);
	macos_status_print(&r->plan, json, &out);
	*ret_status = 0;
	return print(&out, e);
}

static const struct {
	const char *name;
	int (*run)(struct arena *a, const char *const *words, size_t n, int *ret_status,
		   struct err *e);
} verbs[] = {
	{"run", verb_run},
	{"status", verb_status},
};

static int work(struct arena *a, const char *const *words, size_t n, int *ret_status,
		struct err *e) {
	if (n > 0 && (streq(words[0], "--help") || streq(words[0], "-h"))) {
		return print_help(e);
	}
	for (size_t i = 0; n > 0 && i < ARRAY_LEN(verbs); i++) {
		if (streq(verbs[i].name, words[0])) {
			return verbs[i].run(a, words + 1, n - 1, ret_status, e);
		}
	}
	(void)err_set(e, ERR_USAGE, "usage", "%s: not a verb of corral for macOS",
		      n == 0 ? "nothing" : words[0]);
	return err_fix(e, "the verbs are run and status");
}

int main(int argc, char **argv) {
	struct arena a;
	struct err e = {0};
	int status = 0;
	(void)signal(SIGPIPE, SIG_IGN);
	arena_init(&a);
	if (work(&a, (const char *const *)argv + 1, argc < 1 ? 0 : (size_t)argc - 1, &status, &e) !=
	    0) {
		print_error(&e);
		status = bare_result_failure_status(&e);
	}
	arena_done(&a);
	return status;
}
