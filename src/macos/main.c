/* SPDX-License-Identifier: Apache-2.0 */
/* corral for macOS: `run` one command under a Seatbelt profile, or print the profile.
 *
 * Should:   print the same JSON object as corral(1) on Linux, with the state of every guarantee.
 * Must not: run anything without a profile, or report a guarantee as enforced.
 * Fails:    closed, with 125.
 *
 * It has not been run: see docs/macos.md. */
#include "base/auto.h"
#include "base/emit.h"
#include "base/rfc3339.h"
#include "base/run_id.h"
#include "base/str.h"
#include "data/other_builds.h"
#include "macos/choices.h"
#include "macos/probe.h"
#include "macos/spawn.h"
#include "macos/watch.h"
#include "plan/seatbelt/seatbelt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS_USAGE 2
#define STATUS_TIMED_OUT 124
#define STATUS_SETUP 125
#define STATUS_REFUSED 126

static int64_t since_1970_ms(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t); /* it cannot fail for this clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the result ---- */

static const char *const endings[] = {
	[ENDING_EXITED] = "exit",   [ENDING_TIMEOUT] = "timeout",     [ENDING_IDLE] = "idle",
	[ENDING_MEMORY] = "memory", [ENDING_PROCESSES] = "processes", [ENDING_UNMEASURED] = "lost",
};

static void put_stream(struct emit *j, const char *key, struct capture *c) {
	size_t len = 0;
	char *bytes = capture_take(c, &len);
	emit_bytes(j, key, bytes == NULL ? "" : bytes, bytes == NULL ? 0 : len);
	free(bytes);
}

struct result {
	const struct plan *plan;
	const struct policy *policy;
	const struct macos_outcome *outcome;
	struct capture *captures;
	int64_t started_ms;
};

static void put_ending(struct emit *j, const struct result *r) {
	int status = r->outcome->status;
	bool exited = r->outcome->ending == ENDING_EXITED && WIFEXITED(status);
	emit_int(j, "version", 1);
	emit_string(j, "reason",
		    r->outcome->ending == ENDING_EXITED && !exited ? "signal"
								   : endings[r->outcome->ending]);
	if (exited) {
		emit_int(j, "exit_code", WEXITSTATUS(status));
		emit_null(j, "signal");
	} else {
		emit_null(j, "exit_code");
		emit_int(j, "signal", WTERMSIG(status));
	}
	emit_int(j, "duration_ms", r->outcome->duration_ms);
	put_stream(j, "stdout", &r->captures[0]);
	put_stream(j, "stderr", &r->captures[1]);
	emit_object(j, "truncated");
	emit_int(j, "stdout", (int64_t)r->captures[0].dropped);
	emit_int(j, "stderr", (int64_t)r->captures[1].dropped);
	emit_end_object(j);
}

static void put_result(const struct result *r, struct buf *out) {
	char started[RFC3339_LENGTH + 1], id[RUN_ID_LENGTH + 1];
	const char *notes[] = {NOT_RUN_MACOS, r->outcome->survivors
						? "processes of the command could not be killed"
						: NULL};
	uint32_t chance;
	struct emit j;
	arc4random_buf(&chance, sizeof chance);
	rfc3339_text(r->started_ms, started);
	run_id_text(r->started_ms, chance, id);
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	put_ending(&j, r);
	emit_string(&j, "id", id);
	emit_string(&j, "started", started);
	emit_string(&j, "workspace", r->plan->workspace);
	emit_string(&j, "mode", keys[KEY_MODE].choices[policy_num(r->policy, KEY_MODE)]);
	emit_string(&j, "net", keys[KEY_NET_MODE].choices[policy_num(r->policy, KEY_NET_MODE)]);
	emit_string(&j, "level", plan_level_name(r->plan->level));
	emit_string(&j, "engine", plan_engine_name(r->plan->engine));
	emit_int(&j, "depth", r->plan->depth);
	guarantees_emit(&j, r->plan->guarantees);
	emit_strings(&j, "notes", notes, notes[1] == NULL ? 1 : 2);
	emit_object(&j, "usage");
	emit_int(&j, "cpu_ms", r->outcome->cpu_ms);
	emit_int(&j, "max_rss_kb", r->outcome->max_memory / 1024);
	emit_end_object(&j);
	emit_end_object(&j);
	buf_puts(out, "\n");
}

static int status_of(const struct macos_outcome *o) {
	if (o->ending == ENDING_TIMEOUT || o->ending == ENDING_IDLE) {
		return STATUS_TIMED_OUT;
	}
	if (o->ending == ENDING_UNMEASURED) {
		return STATUS_SETUP;
	}
	return WIFEXITED(o->status) ? WEXITSTATUS(o->status) : 128 + WTERMSIG(o->status);
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

static int run(struct arena *a, const struct plan *plan, const struct seatbelt_profile *profile,
	       const struct choices *c, int *ret_status, struct err *e) {
	struct capture captures[2];
	struct macos_outcome outcome;
	struct streams s;
	if (open_streams(c->json, &s, e) != 0) {
		return -1;
	}
	const struct macos_command command = {
		.plan = plan,
		.profile = profile,
		.argv = c->argv,
		.fds = {c->json ? s.input : 0, c->json ? s.write[0] : 1, c->json ? s.write[1] : 2}};
	capture_init(&captures[0], plan->output_bytes);
	capture_init(&captures[1], plan->output_bytes);
	int64_t started = since_1970_ms();
	pid_t pid = macos_spawn(a, &command, e);
	for (int i = 0; i < 2 && s.write[i] >= 0; i++) {
		(void)close(s.write[i]); /* the child has its own copy */
	}
	if (pid < 0 || macos_watch(plan, pid, s.read, captures, &outcome, e) != 0) {
		return -1;
	}
	const struct result r = {plan, &c->policy, &outcome, captures, started};
	if (c->json) {
		struct buf out;
		buf_init(&out);
		put_result(&r, &out);
		if (buf_failed(&out)) {
			return err_memory(e, "result");
		}
		fputs(out.data, stdout);
		buf_done(&out);
	}
	*ret_status = status_of(&outcome);
	return 0;
}

static int print_profile(const struct seatbelt_profile *profile, struct err *e) {
	struct buf out;
	buf_init(&out);
	buf_puts(&out, "; " NOT_RUN_MACOS "\n");
	seatbelt_profile_print(profile, &out);
	if (buf_failed(&out)) {
		return err_memory(e, "profile");
	}
	fputs(out.data, stdout);
	buf_done(&out);
	return 0;
}

static int work(struct arena *a, char **words, int *ret_status, struct err *e) {
	struct seatbelt_profile profile;
	struct choices c;
	struct plan plan;
	struct host h;
	if (words[0] == NULL || !streq(words[0], "run")) {
		return err_set(e, ERR_USAGE, "usage",
			       "corral run [OPTIONS] -- COMMAND; on macOS there is no other verb");
	}
	if (macos_probe(a, &h, e) != 0 || choices_read(a, &h, words + 1, &c, e) != 0) {
		return -1;
	}
	h.command = c.argv[0];
	if (plan_build(a, &c.policy, &h, &plan, e) != 0 ||
	    seatbelt_profile_make(a, &plan, (struct seatbelt_ports){0}, &profile, e) != 0) {
		return -1;
	}
	if (c.profile) {
		return print_profile(&profile, e);
	}
	if (!c.json) {
		fputs("corral: " NOT_RUN_MACOS "; no guarantee is enforced\n", stderr);
	}
	int rc = macos_prepare(&plan, e) != 0 ? -1 : run(a, &plan, &profile, &c, ret_status, e);
	macos_clean(&plan);
	return rc;
}

int main(int argc, char **argv) {
	struct arena a;
	struct err e = {0};
	int status = 0;
	(void)argc;
	(void)signal(SIGPIPE, SIG_IGN);
	arena_init(&a);
	if (work(&a, argv + 1, &status, &e) != 0) {
		fprintf(stderr, "corral: %s: %s%s%s\n", e.where, e.what, e.sys == 0 ? "" : ": ",
			e.sys == 0 ? "" : strerror(e.sys));
		if (e.fix[0] != '\0') {
			fprintf(stderr, "  remedy: %s\n", e.fix);
		}
		status = e.kind == ERR_USAGE     ? STATUS_USAGE
			 : e.kind == ERR_REFUSED ? STATUS_REFUSED
						 : STATUS_SETUP;
	}
	arena_done(&a);
	return status;
}
