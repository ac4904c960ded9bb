/* SPDX-License-Identifier: Apache-2.0 */
/* Requests a transient scope from the user's systemd with StartTransientUnit.
 *
 * Should:   connect to /run/user/UID/systemd/private, send one call, wait for JobRemoved, and end
 *           the keeper with the run.
 * Must not: follow an environment variable to the socket, or use a systemd of another user.
 * Fails:    open: ERR_NO_SCOPE, and the run is planned again with sampled limits. */
#include "linux/scope.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/signal_mask.h"
#include "base/str.h"
#include "linux/cgroup_files.h"
#include "linux/dbus.h"
#include "linux/kernel_api.h"
#include "linux/signals_reset.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define WHERE "scope"

/* Time-out of connection, call and job together: the command starts only after them. */
#define TIMEOUT_MS 1000
#define SERIAL 1
/* The cgroup of the systemd process itself, beneath the cgroup that was delegated to it. */
#define MANAGER_GROUP "/init.scope"
#define FIRST_GROUP "first"

#define WHY_NO_SYSTEMD                                                                             \
	"this user cannot change any cgroup above this process, and no systemd of this user runs " \
	"that could create one; to start it, run as root: loginctl enable-linger USER"
#define WHY_NO_ANSWER                                                                              \
	"this user cannot change any cgroup above this process, and this user's systemd does not " \
	"answer"
#define WHY_LIMITED                                                                                \
	"the cgroup of this process limits memory or processor time; a run in a scope of this "    \
	"user's systemd would not be under that limit"
#define WHY_CONTROLLERS                                                                            \
	"this user's systemd has not all cgroup controllers; to delegate them, run as root: "      \
	"systemctl edit user@.service, and add the lines [Service] and Delegate=cpu memory pids"

struct manager {
	int fd;
	pid_t pid;
	int64_t until; /* on clock_ms() */
};

/* ---- the connection ---- */

static int failed(struct err *e, const char *what) {
	(void)err_sys(e, WHERE, what);
	e->kind = ERR_NO_SCOPE;
	return -1;
}

static bool wait_for(const struct manager *m, short events) {
	struct pollfd slot = {.fd = m->fd, .events = events};
	for (int64_t left; (left = m->until - clock_ms()) > 0;) {
		int n = poll(&slot, 1, (int)left);
		if (n > 0 || (n < 0 && errno != EINTR)) {
			return n > 0;
		}
	}
	errno = ETIMEDOUT;
	return false;
}

static int send_all(const struct manager *m, const void *data, size_t len) {
	for (const char *at = data; len > 0;) {
		ssize_t n = send(m->fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR && (errno != EAGAIN || !wait_for(m, POLLOUT))) {
			return -1;
		}
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int receive_all(const struct manager *m, uint8_t *out, size_t len) {
	while (len > 0) {
		ssize_t n = recv(m->fd, out, len, 0);
		if (n == 0) {
			errno = ECONNRESET;
			return -1;
		}
		if (n < 0 && errno != EINTR && (errno != EAGAIN || !wait_for(m, POLLIN))) {
			return -1;
		}
		out += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* SASL EXTERNAL: the identity is the uid, in decimal, each digit hex-encoded.  The server compares
 * it with SO_PEERCRED. */
static int authenticate(const struct manager *m) {
	static const char begin[] = "BEGIN\r\n";
	char number[16], line[64] = "", answer[2] = "";
	size_t at = 1; /* the protocol starts with a NUL byte */

	(void)snprintf(number, sizeof number, "%u", (unsigned)geteuid());
	at += (size_t)snprintf(line + at, sizeof line - at, "AUTH EXTERNAL ");
	for (const char *digit = number; *digit != '\0'; digit++) {
		at += (size_t)snprintf(line + at, sizeof line - at, "%02x", (unsigned)*digit);
	}
	at += (size_t)snprintf(line + at, sizeof line - at, "\r\n");
	if (send_all(m, line, at) != 0 || receive_all(m, (uint8_t *)answer, 2) != 0) {
		return -1;
	}
	if (memcmp(answer, "OK", 2) != 0) {
		errno = EACCES;
		return -1;
	}
	for (uint8_t byte = 0;
	     byte != '\n';) { /* skips the server's id; m->until bounds the loop */
		if (receive_all(m, &byte, 1) != 0) {
			return -1;
		}
	}
	return send_all(m, begin, strlen(begin));
}

/* The path is fixed by systemd.  XDG_RUNTIME_DIR is not used: its value could select a server that
 * another user controls. */
static bool private_socket(struct sockaddr_un *ret) {
	char dir[32];
	struct stat st;

	(void)snprintf(dir, sizeof dir, "/run/user/%u", (unsigned)geteuid());
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s/systemd/private", dir);
	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static void manager_done(struct manager *m) {
	drop_fd(&m->fd);
}

/* On failure errno has the reason; ENOENT and ECONNREFUSED: no systemd of this user runs. */
static int manager_init(struct manager *m) {
	struct sockaddr_un at;
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof peer;

	*m = (struct manager){.fd = -1, .until = clock_ms() + TIMEOUT_MS};
	if (!private_socket(&at)) {
		errno = ENOENT;
		return -1;
	}
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0) {
		return -1;
	}
	if (peer.uid != geteuid()) {
		errno = EACCES;
		return -1;
	}
	m->fd = fd;
	m->pid = peer.pid;
	if (authenticate(m) != 0) {
		return -1;
	}
	(void)take_fd(&fd);
	return 0;
}

/* ---- the probe ---- */

static bool group_of(pid_t pid, char out[HOST_CGROUP_PATH]) {
	char path[32], text[4096];

	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
	return read_head(AT_FDCWD, path, text, sizeof text) &&
	       own_group(text, NULL, out, HOST_CGROUP_PATH);
}

static bool is_limited(const char *group) {
	static const char *const files[] = {"memory.max", "cpu.max"};
	char path[HOST_CGROUP_PATH + 32], text[32];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, CGROUP_MOUNT "%s/%s", group, files[i]);
		if (read_head(AT_FDCWD, path, text, sizeof text) && !str_starts(text, "max")) {
			return true; /* without the controller there is no file, and no limit */
		}
	}
	return false;
}

/* Whether a cgroup limits the caller and would not limit the run: one between our cgroup and the
 * first that is also an ancestor of systemd's.  pids.max is ignored: systemd sets it for every
 * service, and the run has its own. */
static bool leaves_limit(const char *manager) {
	char own[HOST_CGROUP_PATH];

	if (!group_of(getpid(), own)) {
		return true;
	}
	while (own[0] != '\0' && !path_within(manager, own)) {
		if (is_limited(own)) {
			return true;
		}
		*strrchr(own, '/') = '\0';
	}
	return false;
}

static void take_controllers(const char *group, struct host_cgroup *ret) {
	char path[HOST_CGROUP_PATH + 32], text[256];

	(void)snprintf(path, sizeof path, CGROUP_MOUNT "%s/cgroup.controllers", group);
	if (!read_head(AT_FDCWD, path, text, sizeof text)) {
		return;
	}
	ret->memory = has_word(text, controller_names[MEMORY]);
	ret->pids = has_word(text, controller_names[PIDS]);
	ret->cpu = has_word(text, controller_names[CPU]);
}

void scope_probe(struct host_cgroup *ret) {
	struct manager m;
	char group[HOST_CGROUP_PATH];

	if (!mounted(CGROUP_MOUNT, CGROUP2_SUPER_MAGIC)) {
		return;
	}
	if (manager_init(&m) != 0) {
		ret->why =
			errno == ENOENT || errno == ECONNREFUSED ? WHY_NO_SYSTEMD : WHY_NO_ANSWER;
		return;
	}
	manager_done(&m);
	if (!group_of(m.pid, group)) {
		ret->why = WHY_NO_ANSWER;
		return;
	}
	size_t len = strlen(group), tail = strlen(MANAGER_GROUP);
	if (len >= tail && streq(group + len - tail, MANAGER_GROUP)) {
		group[len - tail] = '\0';
	}
	if (leaves_limit(group)) {
		ret->why = WHY_LIMITED;
		return;
	}
	take_controllers(group, ret);
	ret->scope = ret->memory || ret->pids || ret->cpu;
	ret->kind = ret->scope ? CGROUP_V2 : CGROUP_NONE;
	ret->why = ret->memory && ret->pids && ret->cpu ? NULL : WHY_CONTROLLERS;
}

/* ---- the call ---- */

static void put_property(struct dbus_out *o, const char *name, const char *type) {
	dbus_put_struct(o);
	dbus_put_string(o, name);
	dbus_put_signature(o, type);
}

static void put_properties(struct dbus_out *o, const pid_t pids[2]) {
	put_property(o, "Description", "s");
	dbus_put_string(o, "Command in a Corral sandbox");
	put_property(o, "Delegate", "b");
	dbus_put_u32(o, 1);
	put_property(o, "CollectMode", "s"); /* systemd also unloads a failed scope */
	dbus_put_string(o, "inactive-or-failed");
	put_property(o, "PIDs", "au");
	size_t list = dbus_open_array(o, 4);
	for (int i = 0; i < 2; i++) {
		if (pids[i] != 0) {
			dbus_put_u32(o, (uint32_t)pids[i]);
		}
	}
	dbus_close_array(o, list, 4);
}

static int call_start(const struct manager *m, const char *unit, const pid_t pids[2]) {
	static const struct dbus_method method = {
		.destination = "org.freedesktop.systemd1",
		.path = "/org/freedesktop/systemd1",
		.interface = "org.freedesktop.systemd1.Manager",
		.member = "StartTransientUnit",
		.signature = "ssa(sv)a(sa(sv))",
	};
	struct dbus_out o;

	dbus_begin(&o, &method, SERIAL);
	dbus_put_string(&o, unit);
	dbus_put_string(&o, "fail"); /* mode: an existing unit of this name is an error */
	size_t properties = dbus_open_array(&o, 8);
	put_properties(&o, pids);
	dbus_close_array(&o, properties, 8);
	size_t others = dbus_open_array(&o, 8);
	dbus_close_array(&o, others, 8);
	dbus_end(&o);
	if (o.full) {
		errno = E2BIG;
		return -1;
	}
	return send_all(m, o.bytes, o.len);
}

/* 1: the unit's job is done; 0: an unrelated message; -1: the job failed. */
static int judge_message(struct dbus_message *m, const char *unit, struct err *e) {
	if (m->type == DBUS_ERROR && m->reply_to == SERIAL) {
		const char *text = m->signature[0] == 's' ? dbus_take_string(&m->body) : "";
		(void)err_set(e, ERR_NO_SCOPE, WHERE, "this user's systemd refused a scope: %s: %s",
			      m->error, text);
		str_hide_controls(e->what, false);
		return -1;
	}
	if (m->type != DBUS_SIGNAL || !streq(m->member, "JobRemoved") ||
	    !streq(m->signature, "uoss")) {
		return 0;
	}
	(void)dbus_take_u32(&m->body);    /* id of the job */
	(void)dbus_take_string(&m->body); /* object path of the job */
	if (!streq(dbus_take_string(&m->body), unit)) {
		return 0;
	}
	const char *result = dbus_take_string(&m->body);
	if (!m->body.bad && streq(result, "done")) {
		return 1;
	}
	(void)err_set(e, ERR_NO_SCOPE, WHERE, "this user's systemd could not start a scope: %s",
		      result);
	str_hide_controls(e->what, false);
	return -1;
}

/* Without Subscribe: systemd sends its signals to every peer-to-peer connection. */
static int await_job(const struct manager *m, const char *unit, struct err *e) {
	auto_free uint8_t *bytes = malloc(DBUS_MESSAGE_MAX);

	if (bytes == NULL) {
		return err_memory(e, WHERE);
	}
	for (int done = 0; done == 0;) {
		struct dbus_message message;
		if (receive_all(m, bytes, DBUS_HEAD) != 0) {
			return failed(e, "this user's systemd did not answer");
		}
		size_t len = dbus_length(bytes);
		if (len != 0 && receive_all(m, bytes + DBUS_HEAD, len - DBUS_HEAD) != 0) {
			return failed(e, "this user's systemd did not answer");
		}
		if (len == 0 || !dbus_read(bytes, len, &message)) {
			errno = EBADMSG;
			return failed(e, "cannot read the answer of this user's systemd");
		}
		done = judge_message(&message, unit, e);
		if (done < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- the groups ---- */

static int join_first(const char *dir, const pid_t pids[2], struct err *e) {
	char path[HOST_CGROUP_PATH + 32], text[16];

	(void)snprintf(path, sizeof path, "%s/" FIRST_GROUP, dir);
	if (mkdir(path, 0755) != 0) {
		return failed(e, "cannot create a cgroup in the scope");
	}
	(void)snprintf(path, sizeof path, "%s/" FIRST_GROUP "/cgroup.procs", dir);
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(text, sizeof text, "%d", (int)pids[i]);
		if (pids[i] != 0 && (fd < 0 || fd_write_all(fd, text, strlen(text)) != 0)) {
			return failed(e, "cannot move a process within the scope");
		}
	}
	return 0;
}

/* A cgroup that has processes cannot enable controllers for its children (the "no internal
 * processes" rule), so the processes move into a child cgroup. */
static int take_scope(const char *unit, const pid_t pids[2], char dir[HOST_CGROUP_PATH],
		      struct err *e) {
	char group[HOST_CGROUP_PATH], other[HOST_CGROUP_PATH];

	errno = 0;
	if (!group_of(pids[0], group) || strrchr(group, '/') == NULL ||
	    !streq(strrchr(group, '/') + 1, unit) ||
	    (pids[1] != 0 && (!group_of(pids[1], other) || !streq(group, other)))) {
		return failed(e, "this user's systemd did not move the run into its scope");
	}
	int len = snprintf(dir, HOST_CGROUP_PATH, CGROUP_MOUNT "%s", group);
	if (len < 0 || len >= HOST_CGROUP_PATH) {
		errno = ENAMETOOLONG;
		return failed(e, "cannot use the scope of this user's systemd");
	}
	return join_first(dir, pids, e);
}

/* ---- the keeper ---- */

static _Noreturn void keep(int supervisor) {
	struct pollfd end = {.fd = supervisor, .events = POLLIN};
	sigset_t none;

	signals_reset();
	(void)setsid(); /* so that a signal to the caller's process group does not reach the keeper
			 */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0,
		    0); /* no ptrace: its memory is a copy of the caller's */
	fd_close_all_but(&supervisor, 1);
	sigemptyset(&none);
	signal_mask(SIG_SETMASK, &none, NULL); /* systemd stops a scope with SIGTERM */
	while (poll(&end, 1, -1) < 0 && errno == EINTR) {
	}
	_exit(0);
}

static int keeper_start(struct scope *ret, pid_t *ret_pid, struct err *e) {
	int pidfd = -1;
	sigset_t all, before;
	auto_fd self = (int)syscall(SYS_pidfd_open, getpid(), 0U);

	if (self < 0) {
		return failed(e, "cannot open a pidfd of this process");
	}
	/* Signals stay blocked: the child has the caller's handlers at first. */
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before);
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		keep(self);
	}
	int error = errno;
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return failed(e, "cannot create the process that keeps the scope alive");
	}
	ret->keeper = pidfd;
	*ret_pid = (pid_t)pid;
	return 0;
}

void scope_end(struct scope *s) {
	siginfo_t info;

	if (s->keeper < 0) {
		return;
	}
	(void)syscall(SYS_pidfd_send_signal, s->keeper, SIGKILL, NULL,
		      0U); /* fails only if the keeper has exited */
	while (syscall(SYS_waitid, WAIT_PIDFD, s->keeper, &info, WEXITED | __WALL, NULL) != 0 &&
	       errno == EINTR) {
	}
	drop_fd(&s->keeper);
}

int scope_begin(pid_t first, char dir[HOST_CGROUP_PATH], struct scope *ret, struct err *e) {
	struct scope scope = SCOPE_NONE;
	struct manager m;
	pid_t pids[2] = {0, first};
	char unit[64];
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
		return failed(e, "cannot get random bytes for the name of a scope");
	}
	(void)snprintf(unit, sizeof unit, "corral-%d-%016" PRIx64 ".scope", (int)getpid(), random);
	if (manager_init(&m) != 0) {
		return failed(e, "this user's systemd did not answer");
	}
	int rc = keeper_start(&scope, &pids[0], e);
	if (rc == 0 && call_start(&m, unit, pids) != 0) {
		rc = failed(e, "cannot request a scope from this user's systemd");
	}
	if (rc == 0) {
		rc = await_job(&m, unit, e) != 0 || take_scope(unit, pids, dir, e) != 0 ? -1 : 0;
	}
	manager_done(&m);
	if (rc != 0) {
		scope_end(&scope);
		return -1;
	}
	*ret = scope;
	return 0;
}
