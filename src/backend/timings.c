/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the time stamps of a run, takes them, and names the steps.
 *
 * Should:   be readable after every process of the run has ended.
 * Must not: make more than one call in the child; be mapped for a run without --timings.
 * Fails:    closed: without the mapping the run does not start. */
#include "backend/timings.h"

#include <sys/mman.h>
#include <time.h>

#define NS 1000000000

static const char *const names[STEP_COUNT] = {
	[STEP_PROBE] = "probe",     [STEP_POLICY] = "policy",   [STEP_PLAN] = "plan",
	[STEP_CHECK] = "check",     [STEP_RETRY] = "retry",     [STEP_RECORDS] = "records",
	[STEP_STREAMS] = "streams", [STEP_PREPARE] = "prepare", [STEP_CLONE] = "clone",
	[STEP_SIGNALS] = "signals", [STEP_WARDENS] = "wardens", [STEP_SERVER] = "server",
	[STEP_FORK] = "fork",       [STEP_EXECVE] = "execve",   [STEP_COMMAND] = "command",
	[STEP_END] = "end",         [STEP_REPORT] = "report",   [STEP_FINISH] = "finish",
	[STEP_RESULT] = "result",
};

int timings_new(struct timings **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct timings), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "spawn", "cannot map memory for the time stamps of the run");
	}
	*ret = place; /* anonymous memory is zeroed */
	timings_take(*ret, STEP_BEGIN);
	return 0;
}

void timings_free(struct timings *t) {
	if (t != NULL) {
		(void)munmap(t, sizeof *t); /* cannot fail for a mapping of this size */
	}
}

void timings_take(struct timings *t, size_t step) {
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails only for an unknown clock */
	if (step < STEP_COUNT) {
		t->at[step] = (int64_t)now.tv_sec * NS + now.tv_nsec;
	}
}

void timings_retry(struct timings *t) {
	if (t == NULL) {
		return;
	}
	for (size_t i = STEP_RETRY; i < STEP_COUNT; i++) {
		t->at[i] = 0;
	}
	timings_take(t, STEP_RETRY);
}

const char *timings_name(size_t step, const char **ret_word) {
	*ret_word = "";
	if (step >= STEP_ENTER && step < STEP_SERVER) {
		*ret_word = "enter ";
		return timings_layer(step - STEP_ENTER);
	}
	if (step >= STEP_START && step < STEP_EXECVE) {
		*ret_word = "start ";
		return timings_layer(step - STEP_START);
	}
	return step < STEP_COUNT && names[step] != NULL ? names[step] : "";
}
