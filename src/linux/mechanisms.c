/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the kernel's mechanisms for `corral status`: Landlock, seccomp, LSMs, sysctls.
 *
 * Should:   report the errno of a mechanism that does not work.
 * Must not: leave a filter or a process behind: a separate process tests the listener.
 * Fails:    never: an unknown value is MECHANISM_UNKNOWN. */
#include "backend/mechanisms.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* ---- small files ---- */

#define STATUS_MAX ((size_t)8192)
#define MOUNTS_MAX ((size_t)4 * 1024 * 1024)

/* The first line of a file of /proc or /sys; false when it cannot be read. */
static bool first_line(const char *path, char *out, size_t cap) {
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);
	if (n <= 0) {
		return false;
	}
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static int number_in(const char *path) {
	char text[32], *end;
	if (!first_line(path, text, sizeof text)) {
		return MECHANISM_UNKNOWN;
	}
	long n = strtol(text, &end, 10);
	return end == text || n < 0 || n > INT32_MAX ? MECHANISM_UNKNOWN : (int)n;
}

/* ---- Landlock ---- */

#define LL_CREATE_ERRATA (1U << 1)

static void probe_landlock(struct mechanisms *m) {
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
	m->landlock_abi = abi < 0 ? 0 : (int)abi;
	m->landlock_errno = abi < 0 ? errno : 0;
	long errata = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_ERRATA);
	m->landlock_errata = errata < 0 ? MECHANISM_UNKNOWN : (int)errata;
}

/* ---- seccomp ---- */

static bool action_available(uint32_t action) {
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* The call of the notification test: no other code there makes it. */
#define TRIAL_CALL SYS_getpgid
#define TRIAL_ANSWER 4711
#define TRIAL_WAIT_MS 1000

static _Noreturn void ask(void) {
	_exit(syscall(TRIAL_CALL, 0) == TRIAL_ANSWER ? 0 : EPROTO);
}

/* Answers one notification; 0 or the errno of a failure.  By system call, because libcs differ
 * in the type of ioctl's request. */
static int answer(int listener) {
	struct seccomp_notif asked = {0};
	struct seccomp_notif_resp reply = {.val = TRIAL_ANSWER};
	struct pollfd ready = {.fd = listener, .events = POLLIN};

	if (poll(&ready, 1, TRIAL_WAIT_MS) != 1) {
		return ETIMEDOUT;
	}
	if (syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
		return errno;
	}
	reply.id = asked.id;
	return syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) == 0 ? 0 : errno;
}

/* A process without an exit signal: the caller's own wait(2) never returns it. */
static pid_t quiet_fork(void) {
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static int exit_of(pid_t pid) {
	int status = 0;
	while (waitpid(pid, &status, __WALL) < 0) {
		if (errno != EINTR) {
			return errno;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* In a separate process, because a filter cannot be removed: system calls only. */
static _Noreturn void try_listener(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRIAL_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		_exit(errno);
	}
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0) {
		_exit(errno);
	}
	pid_t asker = quiet_fork();
	if (asker < 0) {
		_exit(errno);
	}
	if (asker == 0) {
		ask();
	}
	int failed = answer(listener);
	if (failed != 0) {
		(void)kill(asker, SIGKILL); /* it waits for an answer that is never sent */
	}
	int asked = exit_of(asker);
	_exit(failed != 0 ? failed : asked);
}

static void probe_seccomp(struct mechanisms *m) {
	/* EFAULT: the kernel read the filter's address, so it supports the mode. */
	m->seccomp = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, UINTPTR_MAX, 0, 0) != 0 &&
		     errno == EFAULT;
	m->kill_process = action_available(SECCOMP_RET_KILL_PROCESS);
	m->refuse = action_available(SECCOMP_RET_ERRNO);
	m->notify = action_available(SECCOMP_RET_USER_NOTIF);
	pid_t child = quiet_fork();
	if (child == 0) {
		try_listener();
	}
	m->listener_errno = child < 0 ? errno : exit_of(child);
	m->listener = m->listener_errno == 0;
}

/* ---- the environment ---- */

static void probe_apparmor(struct mechanisms *m) {
	char text[8];
	m->apparmor = first_line("/sys/module/apparmor/parameters/enabled", text, sizeof text) &&
		      text[0] == 'Y';
	m->apparmor_restricts_userns =
		number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	/* The older file belongs to the first LSM, whichever it is, so it is read second. */
	if (m->apparmor &&
	    !first_line("/proc/self/attr/apparmor/current", m->apparmor_label,
			sizeof m->apparmor_label) &&
	    !first_line("/proc/self/attr/current", m->apparmor_label, sizeof m->apparmor_label)) {
		m->apparmor_label[0] = '\0';
	}
}

/* The number behind a name of /proc/self/status; 0: there is none. */
static unsigned long long status_number(const char *status, const char *name, int base) {
	const char *at = strstr(status, name);
	return at == NULL ? 0 : strtoull(at + strlen(name), NULL, base);
}

static void probe_restrictions(struct mechanisms *m) {
	struct buf text;

	buf_init(&text);
	if (fd_read_file("/proc/self/status", STATUS_MAX, &text) == 0 && text.data != NULL) {
		m->filtered = status_number(text.data, "\nSeccomp:\t", 10) == SECCOMP_MODE_FILTER;
		m->lacks_setfcap =
			(status_number(text.data, "\nCapEff:\t", 16) & 1ULL << CAP_SETFCAP) == 0;
	}
	buf_done(&text);
}

/* Another root than that of pid 1 in the same mount namespace, as far as this user may see it; or
 * no mount at "/". */
static bool in_chroot(void) {
	char own[64] = "", first[64] = "";
	struct stat here, there;
	struct buf text;

	if (readlink("/proc/self/ns/mnt", own, sizeof own - 1) > 0 &&
	    readlink("/proc/1/ns/mnt", first, sizeof first - 1) > 0 && streq(own, first) &&
	    stat("/", &here) == 0 && stat("/proc/1/root/", &there) == 0) {
		return here.st_dev != there.st_dev || here.st_ino != there.st_ino;
	}
	buf_init(&text);
	bool none = fd_read_file("/proc/self/mountinfo", MOUNTS_MAX, &text) == 0 &&
		    text.data != NULL && strstr(text.data, " / rw") == NULL &&
		    strstr(text.data, " / ro") == NULL;
	buf_done(&text);
	return none;
}

static const char *core_destination(void) {
	char pattern[16];

	if (!first_line("/proc/sys/kernel/core_pattern", pattern, sizeof pattern)) {
		return NULL;
	}
	return pattern[0] == '@' ? "socket" : pattern[0] == '|' ? "pipe" : "file";
}

void mechanisms_probe(struct mechanisms *ret) {
	struct utsname name;

	*ret = (struct mechanisms){0};
	if (uname(&name) == 0) {
		(void)snprintf(ret->kernel, sizeof ret->kernel, "%s", name.release);
	}
	probe_landlock(ret);
	probe_seccomp(ret);
	probe_apparmor(ret);
	probe_restrictions(ret);
	ret->chrooted = in_chroot();
	ret->ptrace_scope = number_in("/proc/sys/kernel/yama/ptrace_scope");
	ret->max_user_namespaces = number_in("/proc/sys/user/max_user_namespaces");
	ret->unprivileged_userns_clone = number_in("/proc/sys/kernel/unprivileged_userns_clone");
	ret->core_dumps = core_destination();
	ret->container = container_find("", (const char *const *)environ);
	ret->inside_corral = getenv("CORRAL_LEVEL") != NULL && getenv("CORRAL_WORKSPACE") != NULL;
}
