/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge of a session: a command that is kept running, with a socket that host and sandbox
 * share.
 *
 * The socket is in a directory of its own below the runtime directory, which the sandbox may
 * write; the bridge creates it there, and programs of the user connect to it.  A bridge that ends
 * is started again, after a pause that grows; one that keeps ending is given up, and the session
 * goes on.  Each end is in the session's activity.
 *
 * Should:   report every end.
 * Must not: start one after the session began to end.
 * Fails:    by giving up, with a report. */
#include "session/supervisor.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* A bridge that ran for this long begins with the first pause again. */
#define STEADY_MS 60000
#define PAUSE_FIRST_MS 200
#define PAUSE_MAX_MS 30000
#define ENDS_MAX 6 /* without a steady run in between */

struct bridge {
	struct supervisor *owner;
	const char *command;
};

static void report(const struct bridge *b, const char *text) {
	supervisor_send(b->owner->channel, WIRE_ACTIVITY, 0,
			json_pack("{s:s, s:s}", "kind", "bridge", "text", text));
}

/* Runs the bridge to its end, and says in `ret` how it ended. */
static void run_once(const struct bridge *b, char *ret, size_t cap) {
	const char *argv[] = {"/bin/sh", "-c", b->command, NULL};
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err = {0};

	how.out = how.err = CORRAL_NULL;
	how.unlimited_time = 1;
	how.key = BRIDGE_KEY;
	if (corral_session_run(b->owner->session, argv, &how, &result, &err) != 0) {
		(void)snprintf(ret, cap, "did not start: %s", err.message);
		return;
	}
	(void)snprintf(ret, cap, "ended with status %d (%s)", corral_result_status(result),
		       corral_result_reason(result));
	corral_result_free(result);
}

static void pause_for(int64_t ms) {
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&t, NULL); /* a signal only shortens it */
}

/* Whether the bridge has ended by itself, in a session that goes on.  bridge_busy is set first, so
 * that the end of the session waits, or `ending` is seen here. */
static bool run_in_session(const struct bridge *b, char *ret, size_t cap) {
	struct supervisor *s = b->owner;
	bool goes_on = false;

	atomic_store(&s->bridge_busy, true);
	if (!atomic_load(&s->ending)) {
		run_once(b, ret, cap);
		goes_on = !atomic_load(&s->ending) && corral_session_alive(s->session);
	}
	atomic_store(&s->bridge_busy, false);
	return goes_on;
}

static void *keep(void *arg) {
	struct bridge *b = arg;
	int64_t pause = PAUSE_FIRST_MS, began = clock_ms();
	char how[400], text[480];

	for (int ends = 1; run_in_session(b, how, sizeof how) && ends <= ENDS_MAX; ends++) {
		if (clock_ms() - began >= STEADY_MS) {
			ends = 1;
			pause = PAUSE_FIRST_MS;
		}
		(void)snprintf(text, sizeof text, "%s; %s", how,
			       ends == ENDS_MAX ? "given up" : "it is started again");
		report(b, text);
		if (ends == ENDS_MAX) {
			break;
		}
		pause_for(pause);
		pause = pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause * 2;
		began = clock_ms();
	}
	free(b);
	return NULL;
}

int bridge_directory(const struct supervised *with, char ret[PATH_MAX]) {
	const char *end = strrchr(with->socket, '.'); /* …/s/ID.sock */

	if (end == NULL || snprintf(ret, PATH_MAX, "%.*s.d", (int)(end - with->socket),
				    with->socket) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return mkdir(ret, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

int bridge_start(struct supervisor *s, const char *command) {
	struct bridge *b = malloc(sizeof *b);
	pthread_attr_t attributes;
	pthread_t thread;

	if (b == NULL) {
		return -1;
	}
	*b = (struct bridge){.owner = s, .command = command};
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attributes, keep, b);
	(void)pthread_attr_destroy(&attributes);
	if (rc != 0) {
		free(b);
	}
	return rc == 0 ? 0 : -1;
}
