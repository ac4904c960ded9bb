/* SPDX-License-Identifier: Apache-2.0 */
/* The vault as a program uses it: set, list, give to a run, remove. */
#include <corral.h>

#include "test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/var/tmp/corral-secrets-XXXXXX";
static struct corral_error err;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void clean(void) {
	(void)nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A home and a workspace of our own, once. */
static void settle(void) {
	static bool settled;
	char path[128];
	if (settled) {
		return;
	}
	settled = true;
	if (mkdtemp(home) == NULL || setenv("HOME", home, 1) != 0 ||
	    unsetenv("XDG_STATE_HOME") != 0 || unsetenv("XDG_CONFIG_HOME") != 0) {
		abort();
	}
	(void)snprintf(path, sizeof path, "%s/ws", home);
	if (mkdir(path, 0755) != 0 || chdir(path) != 0 || atexit(clean) != 0) {
		abort();
	}
}

static struct corral_policy *policy_with(const char *key, const char *value) {
	struct corral_policy *policy = corral_policy_new();
	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "min_level", "minimal", &err) == 0);
	CHECK(corral_policy_set(policy, key, value, &err) == 0);
	/* These tests look at the values. */
	CHECK(corral_policy_set(policy, "scan.args", "off", &err) == 0);
	CHECK(corral_policy_set(policy, "scan.output", "off", &err) == 0);
	return policy;
}

/* What `echo` of the variable prints, by corral_run; "" when it does not run. */
static const char *seen(struct corral_policy *policy, const char *script) {
	static char text[256];
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct corral_result *result = NULL;
	text[0] = '\0';
	if (corral_run(policy, argv, NULL, &result, &err) == 0) {
		(void)snprintf(text, sizeof text, "%s", corral_result_stdout(result, NULL, NULL));
		corral_result_free(result);
	}
	return text;
}

TEST(a_secret_is_given_to_the_run_that_names_it) {
	struct corral_secret_options bot = CORRAL_SECRET_OPTIONS_INIT;
	bot.agent = "bot";
	settle();
	CHECK_INT(corral_secret_set("TOKEN", "shared value", 12, NULL, &err), 0);
	CHECK_INT(corral_secret_set("OWN", "of bot", 6, &bot, &err), 0);
	struct corral_policy *policy = policy_with("env.secrets", "TOKEN");
	CHECK_STR(seen(policy, "echo $TOKEN,$OWN"), "shared value,\n");
	CHECK_STR(seen(policy, "echo $TOKEN,$OWN"), "shared value,\n"); /* and again */
	corral_policy_free(policy);
	policy = policy_with("env.agent", "bot");
	CHECK_STR(seen(policy, "echo $TOKEN,$OWN"), ",of bot\n");
	corral_policy_free(policy);
	policy = policy_with("env.secrets", "NOPE");
	CHECK_STR(seen(policy, "echo ran"), "");
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(a_spawned_command_gets_it_as_well) {
	const char *argv[] = {"/bin/sh", "-c", "test \"$TOKEN\" = 'shared value'", NULL};
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	settle();
	CHECK_INT(corral_secret_set("TOKEN", "shared value", 12, NULL, &err), 0);
	struct corral_policy *policy = policy_with("env.secrets", "TOKEN");
	REQUIRE(corral_spawn(policy, argv, NULL, &process, &err) == 0);
	REQUIRE(corral_wait(process, &result, &err) == 0);
	CHECK_INT(corral_result_exit_code(result), 0);
	corral_result_free(result);
	corral_policy_free(policy);
}

/* corral_spawn() hands the caller's descriptors over: the output cannot be scanned. */
TEST(a_spawned_command_has_no_guarantee_about_leaks) {
	const char *argv[] = {"true", NULL};
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	settle();
	struct corral_policy *policy = policy_with("require", "leaks");
	CHECK(corral_policy_set(policy, "scan.output", "redact", &err) == 0);
	CHECK_INT(corral_spawn(policy, argv, NULL, &process, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_SETUP);
	CHECK(strstr(err.message, "leaks") != NULL);
	CHECK_INT(corral_run(policy, argv, NULL, &result, &err), 0); /* which can scan it */
	CHECK_INT(corral_result_leaks_scanned(result), 1);
	corral_result_free(result);
	corral_policy_free(policy);
}

TEST(a_spawned_command_cannot_have_its_requests_scanned) {
	const char *argv[] = {"true", NULL};
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	settle();
	struct corral_policy *policy = policy_with("scan.net", "block");
	CHECK(corral_policy_set(policy, "net.host_ports", "9", &err) == 0);
	CHECK_INT(corral_spawn(policy, argv, NULL, &process, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK(strstr(err.message, "scan.net") != NULL);
	CHECK_INT(corral_run(policy, argv, NULL, &result, &err), 0);
	corral_result_free(result);
	corral_policy_free(policy);
}

TEST(lists_have_names_and_exports_have_values) {
	char *text = NULL;
	size_t count = 9;
	settle();
	CHECK_INT(corral_secret_set("TOKEN", "shared value", 12, NULL, &err), 0);
	REQUIRE(corral_secret_list(NULL, CORRAL_JSON, &text, &err) == 0);
	CHECK(strstr(text, "\"TOKEN\"") != NULL && strstr(text, "shared value") == NULL);
	free(text);
	REQUIRE(corral_secret_export(NULL, CORRAL_TEXT, &text, &err) == 0);
	CHECK(strstr(text, "TOKEN='shared value'\n") != NULL);
	corral_secret_free(text);
	CHECK_INT(corral_secret_import("not-there.json", NULL, &count, &err), 0);
	CHECK_INT(count, 0);
	CHECK_INT(corral_secret_remove("TOKEN", NULL, &err), 0);
	CHECK_INT(corral_secret_remove("TOKEN", NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
}

static long words(void *arg, int fresh, char *out, size_t cap) {
	int *calls = arg;
	static const char word[] = "correct horse";
	*calls += 1 + 100 * fresh;
	memcpy(out, word, cap < sizeof word - 1 ? cap : sizeof word - 1);
	return sizeof word - 1;
}

TEST(a_passphrase_is_read_when_the_vault_is_opened) {
	int calls = 0;
	struct corral_passphrase source = {.read = words, .arg = &calls};
	struct corral_secret_options how = CORRAL_SECRET_OPTIONS_INIT;
	settle();
	how.key = "passphrase";
	how.passphrase = &source;
	CHECK_INT(corral_secret_set("TOKEN", "shared value", 12, NULL, &err), 0);
	CHECK_INT(corral_secret_rekey(&how, &err), 0);
	CHECK_INT(calls, 101);
	struct corral_policy *policy = policy_with("env.secrets", "TOKEN");
	CHECK_STR(seen(policy, "echo $TOKEN"), "");
	CHECK_INT(err.kind, CORRAL_E_SETUP);
	corral_policy_passphrase(policy, &source);
	CHECK_STR(seen(policy, "echo $TOKEN"), "shared value\n");
	CHECK_INT(calls, 102);
	corral_policy_free(policy);
	policy = policy_with("mode", "read-only");
	corral_policy_passphrase(policy, &source);
	CHECK_STR(seen(policy, "echo plain"), "plain\n");
	CHECK_INT(calls, 102); /* a run without secrets opens nothing */
	corral_policy_free(policy);
	how.key = "file";
	CHECK_INT(corral_secret_rekey(&how, &err), 0);
}

TESTS_MAIN
