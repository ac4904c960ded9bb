/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose ids differ cannot run a command: the command could take any of them. */
#include <corral.h>

#include "test.h"

#include <stddef.h>
#include <sys/fsuid.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65534
#define GROUP 65534

static int as_root(void) {
	return 0;
}

static int effective_user(void) {
	return setresuid(0, USER, 0);
}

static int saved_user(void) {
	return setresuid(USER, USER, 0);
}

static int real_user(void) {
	return setresuid(USER, 0, 0);
}

static int effective_group(void) {
	return setresgid(0, GROUP, 0);
}

static int saved_group(void) {
	return setresgid(GROUP, GROUP, 0);
}

static int file_user(void) {
	(void)setfsuid(USER);
	return setfsuid(USER) == USER ? 0 : -1;
}

static int file_group(void) {
	(void)setfsgid(GROUP);
	return setfsgid(GROUP) == GROUP ? 0 : -1;
}

static const struct {
	const char *what;
	int (*become)(void);
	const char *message; /* a part of the refusal; NULL: the command runs */
} rows[] = {
	{"one identity", as_root, NULL},
	{"effective user", effective_user, "more than one user id"},
	{"saved user", saved_user, "more than one user id"},
	{"real user", real_user, "more than one user id"},
	{"effective group", effective_group, "more than one group id"},
	{"saved group", saved_group, "more than one group id"},
	{"file-system user", file_user, "more than one user id"},
	{"file-system group", file_group, "more than one group id"},
};

/* What every public call that plans or reads says: 0 when all behave as the row says. */
static int ask(const char *message, const char *level) {
	static const char *const argv[] = {"true", NULL};
	struct corral_policy *policy = corral_policy_new();
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_process *process = NULL;

	if (corral_policy_set(policy, "level", level, &err) != 0 ||
	    corral_policy_set(policy, "any_workspace", "true", &err) != 0 ||
	    corral_policy_set(policy, "workspace", "/usr/share", &err) != 0) {
		return 2;
	}
	int rc = corral_run(policy, argv, NULL, &result, &err);
	if (message == NULL) {
		return rc == 0 ? 0 : 3;
	}
	if (rc == 0 || err.kind != CORRAL_E_SETUP || strstr(err.message, message) == NULL) {
		return 4;
	}
	if (corral_spawn(policy, argv, NULL, &process, &err) == 0 ||
	    strstr(err.message, message) == NULL) {
		return 5;
	}
	if (corral_policy_check("/etc/shadow", &err) == 0 || strstr(err.message, message) == NULL) {
		return 6;
	}
	corral_policy_free(policy);
	return 0;
}

static int outcome_of(size_t row, const char *level) {
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		_exit(rows[row].become() != 0 ? 1 : ask(rows[row].message, level));
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(differing_ids_are_refused_at_both_levels) {
	static const char *const levels[] = {"full", "standard"};

	if (geteuid() != 0) {
		SKIP("only root can give itself two identities");
	}
	for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			int got = outcome_of(i, levels[l]);
			if (got != 0) {
				printf("# %s at %s: step %d\n", rows[i].what, levels[l], got);
			}
			CHECK_INT(got, 0);
		}
	}
}

TESTS_MAIN
