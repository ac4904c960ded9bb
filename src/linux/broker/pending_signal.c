/* Whether a signal is pending for a caller that waits in a notification, by /proc/PID/status.
 *
 * Should:   tell a signal that the calling thread will take for certain from one that another
 * thread of its process may take. Must not: call a signal certain that another thread may take: the
 * caller would see errno 512. Fails:    open: a status that cannot be read is no signal, and the
 * call goes on waiting. */
#include "linux/broker/call.h"

#include "base/auto.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than /proc/PID/status has, but for a caller with hundreds of groups. */
#define STATUS_MAX 4096

/* A set of signals in /proc/PID/status; none when it is not told. */
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

/* /proc/PID/status as a whole: the sets stand behind the groups.  Empty when it is gone. */
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

/* Those of a terminal and its jobs. */
static uint64_t job_signals(void) {
	return signal_bit(SIGHUP) | signal_bit(SIGINT) | signal_bit(SIGQUIT) | signal_bit(SIGTERM) |
	       signal_bit(SIGCONT) | signal_bit(SIGSTOP) | signal_bit(SIGTSTP) |
	       signal_bit(SIGTTIN) | signal_bit(SIGTTOU) | signal_bit(SIGWINCH);
}

/* Where linux_dirent64 has the length of an entry, and its name. */
#define ENTRY_LENGTH 16
#define ENTRY_NAME 19

/* Whether this thread may have been chosen for one of the signals: it is on its way then, or waits
 * in a call as ours does (D).  One that sleeps (S) was not. */
static bool may_take(const struct call *c, const char *name, uint64_t signals) {
	char text[STATUS_MAX];
	pid_t tid = 0;

	for (; *name >= '0' && *name <= '9' && tid < INT_MAX / 10; name++) {
		tid = tid * 10 + (*name - '0');
	}
	if (*name != '\0' || tid == 0 || tid == c->tid) {
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
	uint16_t len;
	long n = -1;

	caller_text_number(&path, (uint64_t)c->tid);
	caller_text_add(&path, "/task");
	auto_fd dir = openat(c->b->proc, path.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof buf)) > 0) {
		for (long at = 0; at < n; at += len) {
			memcpy(&len, buf + at + ENTRY_LENGTH, sizeof len);
			if (may_take(c, buf + at + ENTRY_NAME, signals)) {
				return true;
			}
		}
	}
	return n != 0;
}

/* A job's signal is the first thread's, unless kill(2) named another one, or a timer has it: then
 * that one takes it.  It is ours for certain when it still waits after a look at all others. */
static bool job_is_ours(const struct call *c, uint64_t signals) {
	char text[STATUS_MAX];

	if (signals == 0 || others_may_take(c, signals)) {
		return false;
	}
	read_status(c, c->tid, text, sizeof text);
	return (signal_set(text, "\nShdPnd:\t") & signals) == signals;
}

/* The kernel wakes one thread for a signal of the whole process.  That is the first one where it
 * does not block it, but for those of a child, which are its maker's, and those of timers, which
 * are of whoever runs; neither is a job's. */
enum pending_signal_of_caller pending_signal_of_caller(const struct call *c, uint64_t *ret_shared) {
	char text[STATUS_MAX];

	read_status(c, c->tid, text, sizeof text);
	uint64_t heard = ~signal_set(text, "\nSigBlk:\t");
	uint64_t shared = signal_set(text, "\nShdPnd:\t") & heard;
	uint64_t likely = shared & ~signal_bit(SIGCHLD);
	long process = caller_status_number(text, "Tgid:", 10);
	bool alone = caller_status_number(text, "Threads:", 10) == 1, first = process == c->tid;

	if ((signal_set(text, "\nSigPnd:\t") & heard) != 0 || (alone && shared != 0) ||
	    (first && job_is_ours(c, shared & job_signals()))) {
		return SIGNAL_SURE;
	}
	if (!first && process > 0) {
		read_status(c, (pid_t)process, text, sizeof text);
		if (strstr(text, "\nState:\tT") != NULL) {
			return SIGNAL_SURE; /* it has stopped, which is for all threads */
		}
		likely = shared & (signal_set(text, "\nSigBlk:\t") | signal_bit(SIGCHLD));
	}
	*ret_shared = likely != 0 ? likely : shared;
	return likely != 0 ? SIGNAL_LIKELY : shared != 0 ? SIGNAL_DOUBTFUL : SIGNAL_NONE;
}
