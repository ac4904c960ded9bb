/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, reads and unmaps the shared record of a run's progress.
 *
 * Should:   be readable after every process of the run was killed.
 * Must not: need more than atomic stores to write: pid 1 and the wardens must not lock.
 * Fails:    closed: without the mapping the run does not start. */
#include "linux/run_state.h"

#include "base/auto.h"

#include <sys/mman.h>
#include <sys/resource.h>

int run_state_new(struct run_state **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct run_state), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "spawn", "cannot map memory that the run's processes share");
	}
	*ret = place; /* anonymous memory is zeroed */
	return 0;
}

struct run_state_copy run_state_read(const struct run_state *f) {
	struct run_state_copy copy = {0};

	if (f != NULL) {
		copy.begun = f->begun != 0;
		copy.ended = f->ended != 0;
		copy.finished = f->finished != 0;
		copy.timed_out = f->timed_out != 0;
		copy.status = f->status;
		copy.counted = f->counted != 0;
		copy.cpu_us = f->cpu_us;
		copy.max_rss_kb = f->max_rss_kb;
		copy.overrun = (enum overrun)f->overrun;
		copy.overrun_value = f->overrun_value;
	}
	return copy;
}

static int64_t microseconds(struct timeval t) {
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

void run_state_count(struct run_state *s) {
	static const int of[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	int64_t cpu = 0, rss = 0;

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct rusage u;
		if (getrusage(of[i], &u) != 0) {
			return; /* not counted: the supervisor reaps this process instead */
		}
		cpu += microseconds(u.ru_utime) + microseconds(u.ru_stime);
		rss = u.ru_maxrss > rss ? u.ru_maxrss : rss;
	}
	s->cpu_us = cpu;
	s->max_rss_kb = rss;
	s->counted = 1;
}

void run_state_free(struct run_state *f) {
	if (f != NULL) {
		(void)munmap(f, sizeof *f); /* cannot fail for a mapping of this size */
	}
}
