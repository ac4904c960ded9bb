/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command in another workspace of the bait, in a thread, while a check attacks that
 * workspace.
 *
 * Should:   be a run as any other, with the policy under test and its own workspace.
 * Must not: outlive other_run_stop().
 * Fails:    NULL when the command has not started in time; the check is then skipped. */
#include "selftest/selftest.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "data/acts.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* On a loaded machine a run takes seconds to start. */
#define START_MS 30000
#define LOOK_MS 5

struct other_run {
	struct corral_policy policy;
	const char *words[5];
	char token[64]; /* in the command line of its process, and of no other */
	int cancel[2];
	pthread_t thread;
	bool started;
	_Atomic bool ended; /* the thread's run is over: it does not start any more */
};

static void *run(void *arg) {
	struct other_run *o = arg;
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err;

	how.cancel_fd = o->cancel[0];
	/* If it fails, no process with the token starts. */
	(void)corral_run(&o->policy, o->words, &how, &result, &err);
	corral_result_free(result);
	o->ended = true;
	return NULL;
}

static bool begin(struct selftest *t, struct other_run *o) {
	const struct bait_path place = bait_path(&t->bait, "other");
	struct corral_error err;

	(void)snprintf(o->token, sizeof o->token, "%s-other", t->bait.token);
	o->words[0] = t->bait.program;
	o->words[1] = PROBE_WORD;
	o->words[2] = ACT_SLEEP;
	o->words[3] = o->token;
	policy_derive(&t->policy, &o->policy);
	if (corral_policy_set_from(&o->policy, "workspace", place.text, "corral test", &err) != 0 ||
	    corral_policy_set_from(&o->policy, "limits.timeout", "60s", "corral test", &err) != 0 ||
	    pipe2(o->cancel, O_CLOEXEC) != 0) {
		return false;
	}
	o->started = pthread_create(&o->thread, NULL, run, o) == 0;
	return o->started;
}

struct other_run *other_run_start(struct selftest *t) {
	struct other_run *o = calloc(1, sizeof *o);
	struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

	if (o == NULL) {
		return NULL;
	}
	o->cancel[0] = o->cancel[1] = -1;
	int64_t end = clock_ms() + START_MS;
	bool runs = false;
	for (bool goes = begin(t, o); goes && !runs && !o->ended && clock_ms() < end;) {
		(void)nanosleep(&pause, NULL); /* after EINTR it looks earlier, no harm */
		runs = outside_count(o->token) > 0;
	}
	if (!runs) {
		other_run_stop(o);
		return NULL;
	}
	return o;
}

void other_run_stop(struct other_run *o) {
	if (o == NULL) {
		return;
	}
	drop_fd(&o->cancel[1]);
	if (o->started) {
		(void)pthread_join(o->thread, NULL); /* it fails for no thread of ours */
	}
	drop_fd(&o->cancel[0]);
	arena_done(&o->policy.arena);
	free(o);
}
