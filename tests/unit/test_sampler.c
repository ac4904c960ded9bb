/* SPDX-License-Identifier: Apache-2.0 */
/* linux/sampler.c in a session: a sampler sleeps while no command runs. */
#include "linux/sampler.h"

#include "base/clock.h"
#include "linux/warm.h"

#include "test.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* It fails only then: a loaded machine is late. */
#define PATIENCE_MS 60000
/* Some of the longest intervals between two samples. */
#define QUIET_MS 600

/* In the place of pid 1: one process, and two after a byte has come. */
static _Noreturn void grow_on_order(int order) {
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(order, &byte, 1) == 1 && fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pause();
	}
	for (;;) {
		(void)pause();
	}
}

static void nap(void) {
	(void)poll(NULL, 0, 5);
}

static bool comes(_Atomic uint32_t *word, uint32_t value, int64_t within) {
	for (int64_t until = clock_ms() + within; clock_ms() < until; nap()) {
		if (atomic_load(word) == value) {
			return true;
		}
	}
	return false;
}

static bool has_child(pid_t pid) {
	char path[64];
	int child = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	FILE *file = fopen(path, "r");
	bool found = file != NULL && fscanf(file, "%d", &child) == 1;
	if (file != NULL) {
		(void)fclose(file);
	}
	return found;
}

TEST(a_session_without_a_command_is_not_measured_and_the_next_command_is) {
	struct plan plan = {.engine = ENGINE_NAMESPACES, .sampled = {.processes = 1}};
	struct samplers samplers = SAMPLERS_NONE;
	struct run_state *state = NULL;
	struct warm_state *warm = NULL;
	struct err e = {0};
	int order[2];

	REQUIRE(pipe(order) == 0 && run_state_new(&state, &e) == 0 &&
		warm_state_new(&warm, &e) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		grow_on_order(order[0]);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);
	const struct sampled_run run = {
		.plan = &plan, .run_state = state, .pidfd = pidfd, .pid = pid, .warm = warm};
	CHECK(samplers_start(&run, &samplers, &e) == 0);

	CHECK(comes(&warm->sleepers, 1, PATIENCE_MS));
	CHECK(write(order[1], "x", 1) == 1);
	for (int64_t until = clock_ms() + PATIENCE_MS; !has_child(pid) && clock_ms() < until;) {
		nap();
	}
	CHECK(has_child(pid));
	CHECK(!comes(&state->overrun, OVERRUN_PROCESSES, QUIET_MS));

	atomic_store(&warm->slots[0].exec, 1);
	warm_begin(warm);
	CHECK(comes(&state->overrun, OVERRUN_PROCESSES, PATIENCE_MS));
	CHECK(waitpid(pid, NULL, 0) == pid); /* the sampler has killed it */

	samplers_end(&samplers);
	(void)close(pidfd);
	(void)close(order[0]);
	(void)close(order[1]);
	warm_state_free(warm);
	run_state_free(state);
}

TESTS_MAIN
