/* SPDX-License-Identifier: Apache-2.0 */
/* Processes under limits, for tests of control groups and of the layers. */
#ifndef CORRAL_TESTS_UNIT_LIMITS_WORLD_H
#define CORRAL_TESTS_UNIT_LIMITS_WORLD_H

#include "test.h"

#include "linux/cgroup.h"
#include "linux/layer.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline struct plan plan_without_limits(void) {
	return (struct plan){.engine = ENGINE_NAMESPACES,
			     .memory_bytes = LIMIT_NONE,
			     .cpu_millis = LIMIT_NONE,
			     .max_processes = LIMIT_NONE};
}

/* Runs body in a child that went through the limits layer first; the wait
 * status, or -1.  flags are further clone3 flags. */
static inline int run_limited(const struct plan *plan, const struct cgroup *c, uint64_t flags,
			      void (*body)(void)) {
	struct kit kit = {.plan = plan};
	struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
	struct err e = {0};
	int status = -1;

	kit.njoin_fds = cgroup_join_fds(c, false, &kit.join_fds);
	if (cgroup_fd(c) >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd(c);
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0) {
		if (layer_cgroup.enter(&kit, &e) != 0 || layer_limits.enter(&kit, &e) != 0 ||
		    layer_limits.start(&kit, &e) != 0) {
			_exit(99);
		}
		body();
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static inline int run_forked(void (*body)(void)) {
	const struct plan plan = plan_without_limits();
	return run_limited(&plan, NULL, 0, body);
}

static inline bool exited_with(int status, int code) {
	return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == code;
}

#define FORKS 20

/* Exits with the number of children that could be made. */
static inline void fork_many(void) {
	pid_t pids[FORKS];
	int made = 0;
	while (made < FORKS && (pids[made] = fork()) >= 0) {
		if (pids[made] == 0) {
			(void)pause();
			_exit(0);
		}
		made++;
	}
	for (int i = 0; i < made; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	_exit(made);
}

#endif
