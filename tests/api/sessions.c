/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: one sandbox for many commands, at both levels. */
#include <corral.h>

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char workspace[] = "/tmp/corral-sessions-XXXXXX";

static struct corral_policy *policy_of(const char *level) {
	struct corral_policy *policy = corral_policy_new();

	corral_policy_no_config(policy);
	(void)corral_policy_set(policy, "workspace", workspace, NULL);
	(void)corral_policy_set(policy, "fs.home", "ephemeral", NULL);
	(void)corral_policy_set(policy, "level", level, NULL);
	(void)corral_policy_set(policy, "limits.grace", "200ms", NULL);
	(void)corral_policy_set(policy, "audit.enabled", "false", NULL);
	return policy;
}

/* NULL: this host has no such level. */
static struct corral_session *open_with(struct corral_policy *policy) {
	struct corral_session *s = NULL;
	struct corral_error err = {0};

	if (corral_session_open(policy, NULL, &s, &err) != 0) {
		printf("# %s: %s: %s\n", err.layer, err.message, err.remedy);
	}
	return s;
}

/* Runs a shell command; its exit status, or -1. */
static int sh(struct corral_session *s, const char *script, char *out, size_t cap) {
	const char *argv[] = {"sh", "-c", script, NULL};
	struct corral_result *r = NULL;
	struct corral_error err = {0};

	if (corral_session_run(s, argv, NULL, &r, &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
		return -1;
	}
	if (out != NULL) {
		(void)snprintf(out, cap, "%s", corral_result_stdout(r, NULL, NULL));
	}
	if (corral_result_stderr(r, NULL, NULL)[0] != '\0') {
		printf("# stderr: %s\n", corral_result_stderr(r, NULL, NULL));
	}
	int status = corral_result_status(r);
	corral_result_free(r);
	return status;
}

static void check_plain(struct corral_session *s) {
	char out[256];

	CHECK_INT(sh(s, "echo one", out, sizeof out), 0);
	CHECK_STR(out, "one\n");
	CHECK_INT(sh(s, "exit 7", NULL, 0), 7);
	CHECK_INT(sh(s, "kill -9 $$", NULL, 0), 128 + 9);
}

static void each_level(void (*check)(struct corral_session *s)) {
	static const char *const levels[] = {"full", "standard"};

	for (size_t i = 0; i < 2; i++) {
		struct corral_policy *policy = policy_of(levels[i]);
		struct corral_session *s = open_with(policy);
		if (s == NULL) {
			printf("# this host has no level %s\n", levels[i]);
		} else {
			printf("# level %s\n", corral_session_level(s));
			check(s);
			corral_session_close(s);
		}
		corral_policy_free(policy);
	}
}

TEST(commands_run_one_after_another_and_report_their_end) {
	REQUIRE(mkdtemp(workspace) != NULL);
	each_level(check_plain);
}

TESTS_MAIN
