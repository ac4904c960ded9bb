/* SPDX-License-Identifier: Apache-2.0 */
/* A threaded program runs commands from many threads at once, while others hold
 * the locks of malloc and stdio: the child must need neither. */
#include <corral.h>

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define RUNNERS 8
#define RUNS 20
#define BUSY 4

static char workspace[] = "/tmp/corral-api-XXXXXX";
static atomic_bool stop;
static atomic_int good, failed;
static FILE *sink;

static void *keep_allocating(void *unused) {
	(void)unused;
	for (size_t n = 1; !stop; n = n * 7 % 65521 + 1) {
		char *p = malloc(n);
		if (p != NULL) {
			p[0] = (char)n;
		}
		free(p);
	}
	return NULL;
}

static void *keep_printing(void *unused) {
	(void)unused;
	for (int n = 0; !stop; n++) {
		(void)fprintf(sink, "%d %s\n", n, "still here");
	}
	return NULL;
}

/* Returns whether `true` ran and succeeded. */
static bool run_true(const struct corral_policy *policy) {
	const char *argv[] = {"true", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;

	if (corral_run(policy, argv, NULL, &result, &err) != 0) {
		fprintf(stderr, "# %s: %s\n", err.layer, err.message);
		return false;
	}
	bool ok = corral_result_status(result) == 0;
	corral_result_free(result);
	return ok;
}

static void *keep_running(void *unused) {
	struct corral_policy *policy = corral_policy_new();

	(void)unused;
	corral_policy_no_config(policy);
	if (corral_policy_set(policy, "workspace", workspace, NULL) != 0 ||
	    corral_policy_set(policy, "fs.home", "ephemeral", NULL) != 0) {
		failed++;
	}
	for (int i = 0; i < RUNS; i++) {
		atomic_fetch_add(run_true(policy) ? &good : &failed, 1);
	}
	corral_policy_free(policy);
	return NULL;
}

TEST(eight_threads_run_commands_while_others_allocate_and_print) {
	pthread_t runners[RUNNERS], busy[BUSY];

	REQUIRE(mkdtemp(workspace) != NULL);
	sink = fopen("/dev/null", "w");
	REQUIRE(sink != NULL);
	for (int i = 0; i < BUSY; i++) {
		REQUIRE(pthread_create(&busy[i], NULL, i % 2 ? keep_printing : keep_allocating,
				       NULL) == 0);
	}
	for (int i = 0; i < RUNNERS; i++) {
		REQUIRE(pthread_create(&runners[i], NULL, keep_running, NULL) == 0);
	}
	for (int i = 0; i < RUNNERS; i++) {
		(void)pthread_join(runners[i], NULL);
	}
	stop = true;
	for (int i = 0; i < BUSY; i++) {
		(void)pthread_join(busy[i], NULL);
	}
	fclose(sink);
	CHECK_INT(good, RUNNERS * RUNS);
	CHECK_INT(failed, 0);
	CHECK_INT(rmdir(workspace), 0);
}

TESTS_MAIN
