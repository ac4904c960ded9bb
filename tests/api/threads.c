/* SPDX-License-Identifier: Apache-2.0 */
/* A threaded program runs commands from many threads at once, while others hold
 * the locks of malloc and stdio: the child must need neither. */
#include <corral.h>

#include "test.h"

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- the first calls of a program, all at once: they create the private home ---- */

#define ROUNDS 40

static char top[] = "/tmp/corral-api-home-XXXXXX";
static pthread_barrier_t together;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void *write_in_home(void *unused) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_files *files = NULL;
	struct corral_error err = {0};
	char path[sizeof top + 64];

	(void)unused;
	corral_policy_no_config(policy);
	(void)snprintf(path, sizeof path, "%s/home/x", top);
	bool ready = corral_policy_set(policy, "workspace", workspace, NULL) == 0 &&
		     corral_files_new(policy, &files, &err) == 0;
	(void)pthread_barrier_wait(&together);
	if (ready && corral_files_write(files, path, "x", 1, 0, &err) == 0) {
		good++;
	} else {
		failed++;
		fprintf(stderr, "# %s: %s\n", err.layer, err.message);
	}
	corral_files_free(files);
	corral_policy_free(policy);
	return NULL;
}

TEST(first_calls_at_once_create_one_private_home) {
	pthread_t writers[RUNNERS];
	char path[sizeof top + 64];

	good = failed = 0;
	memcpy(workspace + sizeof workspace - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
	REQUIRE(mkdtemp(top) != NULL && mkdtemp(workspace) != NULL);
	REQUIRE(pthread_barrier_init(&together, NULL, RUNNERS) == 0);
	(void)snprintf(path, sizeof path, "%s/home", top);
	REQUIRE(mkdir(path, 0700) == 0 && setenv("HOME", path, 1) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		(void)snprintf(path, sizeof path, "%s/state%d", top, round);
		REQUIRE(setenv("XDG_STATE_HOME", path, 1) == 0);
		for (int i = 0; i < RUNNERS; i++) {
			REQUIRE(pthread_create(&writers[i], NULL, write_in_home, NULL) == 0);
		}
		for (int i = 0; i < RUNNERS; i++) {
			(void)pthread_join(writers[i], NULL);
		}
	}
	CHECK_INT(good, RUNNERS * ROUNDS);
	CHECK_INT(failed, 0);
	(void)pthread_barrier_destroy(&together);
	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	CHECK_INT(rmdir(workspace), 0);
}

TESTS_MAIN
