/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out from /proc/PID/status whether a signal is pending for a caller that waits in a
 * notification.
 *
 * Should:   distinguish a signal that the calling thread will certainly take from one that
 *           another thread of its process may take.
 * Must not: return SIGNAL_SURE for a signal that another thread may take: the caller would see
 *           errno 512.
 * Fails:    open: a status that cannot be read means no signal, and the call continues to wait. */
#include "linux/broker/call.h"

#include "base/auto.h"
#include "base/dirent64.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than /proc/PID/status has, except for a caller with hundreds of groups. */
#define STATUS_MAX 4096

/* A hexadecimal signal set in /proc/PID/status; 0 when the field is missing. */
static uint64_t signal_set(const char *text, const char *field) {
	static const char digits[] = "0123456789abcdef";
	const char *at = strstr(text, field), *digit;
	uint64_t set = 0;

	for (at = at == NULL ? "" : at + strlen(field);
	     *at != '\0' && (digit = strchr(digits, *at)) != NULL; at++) {
		set = set << 4 | (uint64_t)(digit - digits);
	}
	return set;
}

/* All of /proc/PID/status: the signal sets come after the groups.  Empty: the process is gone. */
static void read_status(const struct call *c, pid_t pid, char *text, size_t cap) {
	struct text path = {.len = 0};

	caller_text_number(&path, (uint64_t)pid);
	caller_text_add(&path, "/status");
	auto_fd fd = openat(c->b->proc, path.s, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, cap - 1);
	text[n < 0 ? 0 : n] = '\0';
}

static uint64_t signal_bit(int number) {
	return (uint64_t)1 << (number - 1);
}

/* Signals of terminals and job control. */
static uint64_t job_signals(void) {
	return signal_bit(SIGHUP) | signal_bit(SIGINT) | signal_bit(SIGQUIT) | signal_bit(SIGTERM) |
	       signal_bit(SIGCONT) | signal_bit(SIGSTOP) | signal_bit(SIGTSTP) |
	       signal_bit(SIGTTIN) | signal_bit(SIGTTOU) | signal_bit(SIGWINCH);
}

/* Whether the kernel may have chosen this thread for one of the signals: then it is running, or
 * waits unkillably like our caller (state D).  A sleeping thread (state S) was not chosen. */
static bool may_take(const struct call *c, const char *name, uint64_t signals) {
	char text[STATUS_MAX];
	pid_t tid = 0;

	for (; *name >= '0' && *name <= '9' && tid < INT_MAX / 10; name++) {
		tid = tid * 10 + (*name - '0');
	}
	if (*name != '\0' || tid == 0 || tid == caller_entry(c)) {
		return false; /* "." and "..", and the caller */
	}
	read_status(c, tid, text, sizeof text);
	bool out = text[0] == '\0' || strstr(text, "\nState:\tS") != NULL ||
		   strstr(text, "\nState:\tZ") != NULL || strstr(text, "\nState:\tX") != NULL;
	return !out && (signals & ~signal_set(text, "\nSigBlk:\t")) != 0;
}

static bool others_may_take(const struct call *c, uint64_t signals) {
	char buf[1024];
	struct text path = {.len = 0};
	long n = -1;

	caller_text_number(&path, (uint64_t)caller_entry(c));
	caller_text_add(&path, "/task");
	auto_fd dir = openat(c->b->proc, path.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(buf + at)) {
			if (may_take(c, dirent64_name(buf + at), signals)) {
				return true;
			}
		}
	}
	return n != 0;
}

/* A job control signal goes to the thread group leader, unless kill(2) named another thread or a
 * timer sent it: then that thread takes it.  It is certainly the leader's when it is still pending
 * after all other threads were checked. */
static bool job_signal_is_ours(const struct call *c, uint64_t signals) {
	char text[STATUS_MAX];

	if (signals == 0 || others_may_take(c, signals)) {
		return false;
	}
	read_status(c, caller_entry(c), text, sizeof text);
	return (signal_set(text, "\nShdPnd:\t") & signals) == signals;
}

/* The kernel wakes one thread for a process-directed signal: the leader, if it does not block it.
 * Exceptions are SIGCHLD, which goes to the thread that forked, and timer signals, which go to a
 * running thread; neither is a job control signal. */
enum pending_signal_of_caller pending_signal_of_caller(const struct call *c, uint64_t *ret_shared) {
	char text[STATUS_MAX];

	read_status(c, caller_entry(c), text, sizeof text);
	uint64_t unblocked = ~signal_set(text, "\nSigBlk:\t");
	uint64_t shared = signal_set(text, "\nShdPnd:\t") & unblocked;
	uint64_t likely = shared & ~signal_bit(SIGCHLD);
	long process = caller_status_number(text, "Tgid:", 10);
	bool alone = caller_status_number(text, "Threads:", 10) == 1,
	     first = process == caller_entry(c);

	if ((signal_set(text, "\nSigPnd:\t") & unblocked) != 0 || (alone && shared != 0) ||
	    (first && job_signal_is_ours(c, shared & job_signals()))) {
		return SIGNAL_SURE;
	}
	if (!first && process > 0) {
		read_status(c, (pid_t)process, text, sizeof text);
		if (strstr(text, "\nState:\tT") != NULL) {
			return SIGNAL_SURE; /* the leader has stopped, so all threads must */
		}
		likely = shared & (signal_set(text, "\nSigBlk:\t") | signal_bit(SIGCHLD));
	}
	*ret_shared = likely != 0 ? likely : shared;
	return likely != 0 ? SIGNAL_LIKELY : shared != 0 ? SIGNAL_DOUBTFUL : SIGNAL_NONE;
}
