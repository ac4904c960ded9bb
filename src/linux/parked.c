/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox that waits for its command; parked.h has the theory.
 *
 * Should:   execute the one command that it receives, with the caller's descriptors (J2).
 * Must not: use errno or libc's wrappers while it waits: it shares the memory of pid 1; make a
 *           system call that the filter sends to the broker, which does not run yet.
 * Fails:    closed: a malformed request, or none, ends the sandbox. */
#include "linux/parked.h"

#include "base/auto.h"
#include "base/raw_call.h"
#include "backend/journal.h"
#include "linux/layer.h"
#include "linux/run_state.h"
#include "linux/warm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Descriptors of a parked process and of a request have numbers below this one. */
#define FDS_NEEDED 64

/* ---- which plans ---- */

const char *parked_refuses(const struct plan *plan) {
	const struct {
		bool is;
		const char *why;
	} rows[] = {
		{plan_lacks_namespaces(plan), "the run has no namespaces"},
		{plan->net.gate || plan->net.nsockets > 0 || !plan->own_net,
		 "the run has a network"},
		{plan->nsecrets > 0, "the run has secrets"},
		{plan->cow_dir != NULL, "the changes are kept apart (--cow)"},
		{plan->sampled.memory != 0 || plan->sampled.processes != 0 ||
			 plan->sampled.disk != 0,
		 "a limit is sampled"},
		{plan->run_dir != NULL || plan->standby != NULL,
		 "the run has a directory of its own"},
		{plan->denied != NULL, "seccomp.extra_deny is set"},
		{plan_rlimit(plan, RLIMIT_NOFILE) < FDS_NEEDED, "limits.open_files is too small"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].is) {
			return rows[i].why;
		}
	}
	return NULL;
}

/* ---- memory ---- */

#define PAGE ((size_t)4096)
#define STATE_BYTES ((sizeof(struct run_state) + PAGE - 1) / PAGE * PAGE)

int parked_memory_map(int fd, struct run_state **ret_state, struct journal **ret_journal) {
	void *state = mmap(NULL, STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *journal = mmap(NULL, sizeof(struct journal), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     (off_t)STATE_BYTES);

	if (state != MAP_FAILED && journal != MAP_FAILED) {
		*ret_state = state;
		*ret_journal = journal;
		return 0;
	}
	if (state != MAP_FAILED) {
		(void)munmap(state, STATE_BYTES); /* cannot fail for a mapping of this size */
	}
	return -1;
}

int parked_memory_new(int *ret_fd, struct run_state **ret_state, struct journal **ret_journal,
		      struct err *e) {
	auto_fd fd = memfd_create("corral", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* Its size is fixed, so that no access beyond the end can kill the caller. */
	if (fd < 0 || ftruncate(fd, (off_t)(STATE_BYTES + sizeof(struct journal))) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    parked_memory_map(fd, ret_state, ret_journal) != 0) {
		return err_sys(e, "pool", "cannot map memory that the run's processes share");
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- the parked process ---- */

/* The command's streams to 0, 1 and 2; null ones are the sandbox's /dev/null already. */
static bool place_streams(const struct warm_request *q, const int *fds) {
	size_t next = 0;

	for (long i = 0; i < 3; i++) {
		if ((q->null >> i & 1) == 0 && raw_call(SYS_dup3, fds[next++], i, 0) < 0) {
			return false;
		}
	}
	return true;
}

/* Pid 1 watches the caller from now on (J5); the table of descriptors is shared with it. */
static bool watch_caller(struct kit *k, int pidfd) {
	if (k->warden_fd < 0) {
		k->warden_fd = pidfd;
		return true;
	}
	bool done = raw_call(SYS_dup3, pidfd, k->warden_fd, O_CLOEXEC) >= 0;
	(void)raw_call(SYS_close, pidfd); /* ours */
	return done;
}

int parked_wait(struct kit *k, int socket) {
	long place = raw_call(SYS_mmap, 0, sizeof(struct warm_inbox), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct warm_inbox *inbox;
	int fds[WARM_PASSED_MAX];
	char *data;

	if (place < 0 && place > -4096) {
		return -1;
	}
	memcpy(&inbox, &place, sizeof inbox);
	const struct warm_request *q = &inbox->request;
	/* The sandbox is ready; if it fails, there is no keeper, and the next call fails too. */
	(void)raw_call(SYS_sendto, socket, raw_pointer(""), 1, MSG_NOSIGNAL, 0, 0);
	long n = warm_receive(socket, inbox, fds);
	size_t first = n <= 0 ? 0 : 1 + q->in_memory;
	if (n <= 0 || q->nfds != 3 || q->nrlimits != 0 || q->directory != 0 ||
	    warm_map(inbox, q->in_memory != 0 ? fds[1] : -1, &data) != 0 ||
	    !place_streams(q, fds + first) || !watch_caller(k, fds[0])) {
		return -1;
	}
	/* Pid 1 would keep copies; its first ones, 0 to 3, it closes itself. */
	for (long i = 1; i < n; i++) {
		(void)raw_call(SYS_close, fds[i]); /* ours */
	}
	(void)raw_call(SYS_fcntl, socket, F_SETFD, FD_CLOEXEC); /* ours (E5) */
	warm_relocate(data);
	k->argv = (char *const *)(void *)data;
	k->candidates = (char *const *)(void *)(data + q->candidates);
	k->shell_argv = (char **)(void *)(data + q->shell);
	k->envp = (char *const *)(void *)(data + q->env);
	return 0;
}
