/* SPDX-License-Identifier: Apache-2.0 */
/* The program `corral` with its runs in sessions: the linker lets its calls of corral_run() arrive
 * here (--wrap).  So each row of the suite makes its attempt in a warm sandbox.
 *
 * Each run opens a session, runs one command before the attempt, so that the attempt is not the
 * zygote's first, and closes the session.  A pty and --ask, which sessions do not have, stay cold.
 */
#include <corral.h>

int __real_corral_run(const struct corral_policy *policy, const char *const *argv,
		      const struct corral_options *options, struct corral_result **result,
		      struct corral_error *err);
int __wrap_corral_run(const struct corral_policy *policy, const char *const *argv,
		      const struct corral_options *options, struct corral_result **result,
		      struct corral_error *err);

static struct corral_session *open_session(const struct corral_policy *policy,
					   const struct corral_options *o,
					   struct corral_error *err) {
	struct corral_session_options how = CORRAL_SESSION_OPTIONS_INIT;
	struct corral_session *s = NULL;

	how.warn = o->warn;
	how.warn_arg = o->warn_arg;
	how.id = o->id;
	how.failure = o->failure;
	return corral_session_open(policy, &how, &s, err) == 0 ? s : NULL;
}

static void run_first(struct corral_session *s) {
	const char *const argv[] = {"/bin/true", NULL};
	struct corral_result *r = NULL;

	if (corral_session_run(s, argv, NULL, &r, NULL) == 0) { /* or it is not there */
		corral_result_free(r);
	}
}

int __wrap_corral_run(const struct corral_policy *policy, const char *const *argv,
		      const struct corral_options *options, struct corral_result **result,
		      struct corral_error *err) {
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_options o = CORRAL_OPTIONS_INIT;

	if (options != NULL) {
		o = *options;
	}
	if (o.terminal || o.ask != CORRAL_ASK_NO) {
		return __real_corral_run(policy, argv, options, result, err);
	}
	struct corral_session *s = open_session(policy, &o, err);
	if (s == NULL) {
		return -1;
	}
	run_first(s);
	how.in = o.in;
	how.out = o.out;
	how.err = o.err;
	how.fds = o.fds;
	how.nfds = o.nfds;
	how.id = o.id;
	how.failure = o.failure;
	int rc = corral_session_run(s, argv, &how, result, err);
	corral_session_close(s);
	return rc;
}
