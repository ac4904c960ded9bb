/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the self-test's checks, and the functions that detect on the host whether an
 * attempt succeeded.
 *
 * Should:   take every verdict from the host: the file, the listening socket, the
 *           process, the captured output.
 * Must not: trust the sandboxed program's own report.
 * Fails:    an attempt that cannot be verified counts as not made. */
#include "selftest/selftest.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/acts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* How long a killed process may take to disappear on a loaded machine; a verdict that is
 * right without waiting does not wait. */
#define GONE_MS 10000
#define LOOK_MS 5

/* ---- effects ---- */

static void pause_ms(long ms) {
	struct timespec t = {.tv_nsec = ms * 1000000};
	(void)nanosleep(&t, NULL); /* after EINTR the caller checks earlier, no harm */
}

static bool file_marked(struct bait *b, const char *target, const char *out) {
	struct buf text;
	(void)out;
	buf_init(&text);
	bool marked =
		fd_read_file(target, 4096, &text) == 0 && strstr(text.data, PROBE_MARK) != NULL;
	buf_done(&text);
	bait_reset(b, target);
	return marked;
}

static bool secret_out(struct bait *b, const char *target, const char *out) {
	(void)target;
	return strstr(out, b->token) != NULL;
}

static bool process_found(struct bait *b, const char *target, const char *out) {
	(void)b;
	(void)target;
	return strstr(out, PROBE_FOUND) != NULL;
}

/* One of the bait sockets has a connection or a datagram. */
static bool listener_reached(struct bait *b, const char *target, const char *out) {
	bool reached = false;
	char byte;
	(void)target;
	(void)out;
	for (size_t i = 0; i < LISTENERS; i++) {
		if (i == LISTEN_UDP) {
			reached |= recv(b->listeners[i], &byte, 1, MSG_DONTWAIT) >= 0;
			continue;
		}
		auto_fd fd = accept4(b->listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		reached |= fd >= 0;
	}
	return reached;
}

/* After a successful kill() the process takes some time to end. */
static bool sleeper_dead(struct bait *b, const char *target, const char *out) {
	struct err unused;
	int looks = strstr(out, PROBE_DONE) != NULL ? GONE_MS / LOOK_MS : 1;
	(void)target;
	for (int i = 0; i < looks; i++) {
		if (waitpid(b->sleeper, NULL, WNOHANG) == b->sleeper) {
			b->sleeper = 0;
			(void)bait_sleeper(b, &unused); /* without one the next control fails */
			return true;
		}
		pause_ms(LOOK_MS);
	}
	return false;
}

/* ---- checks of more than one act ---- */

static int count_lines(const char *text, const char *line) {
	int n = 0;
	for (const char *p = text; p != NULL && (p = strstr(p, line)) != NULL; p++) {
		n++;
	}
	return n;
}

/* A killed process stays in /proc until it is reaped. */
static size_t survivors(const char *token) {
	size_t n = outside_count(token);
	for (int i = 0; n > 0 && i < GONE_MS / LOOK_MS; i++) {
		pause_ms(LOOK_MS);
		n = outside_count(token);
	}
	return n;
}

/* The act starts `processes` that stay.  Outside at least one outlives its parent; in the sandbox
 * none may. */
static void try_outliving(struct selftest *t, struct finding *f, int processes,
			  const char *const settings[][2]) {
	struct seen *in = &f->inside, *out = &f->outside;
	char token[64];
	struct buf text;

	(void)snprintf(token, sizeof token, "%s-%s", t->bait.token, f->check->name);
	char *words[] = {arena_strdup(&t->arena, t->bait.program),
			 arena_strdup(&t->arena, PROBE_WORD),
			 arena_strdup(&t->arena, f->check->act[0]), token, NULL};
	buf_init(&text);
	(void)outside_run(&t->bait, words, processes, &text); /* outside_count() decides */
	out->happened = count_lines(text.data, PROBE_STAYING) == processes;
	out->effect = outside_count(token) > 0;
	(void)snprintf(out->detail, sizeof out->detail, "a process outlived its parent");
	outside_kill(token);
	buf_done(&text);

	struct corral_result *result = selftest_run(t, f, words, settings);
	if (result == NULL) {
		return;
	}
	const char *captured = corral_result_stdout(result, NULL, NULL);
	in->happened = count_lines(captured, PROBE_STAYING) == processes;
	size_t left = survivors(token);
	in->effect = left > 0;
	(void)snprintf(in->detail, sizeof in->detail, "%s after %lld ms, %zu processes left",
		       corral_result_reason(result), (long long)corral_result_duration_ms(result),
		       left);
	if (settings != NULL && !streq(corral_result_reason(result), "timeout")) {
		in->effect = true;
	}
	outside_kill(token);
	corral_result_free(result);
}

static void try_time_out(struct selftest *t, struct finding *f) {
	/* Again with more time where the processes had not begun to stay when it was over. */
	static const char *const settings[][3][2] = {
		{{"limits.timeout", "500ms"}, {"limits.grace", "100ms"}, {NULL, NULL}},
		{{"limits.timeout", "8s"}, {"limits.grace", "100ms"}, {NULL, NULL}}};

	for (size_t i = 0; i < ARRAY_LEN(settings) && !f->inside.happened; i++) {
		try_outliving(t, f, 2, settings[i]);
	}
}

static void try_lifetime(struct selftest *t, struct finding *f) {
	try_outliving(t, f, 1, NULL);
}

#define OUTPUT_LIMIT 4096
#define OUTPUT_SPILT 65536

static void try_output(struct selftest *t, struct finding *f) {
	static const char *const settings[][2] = {{"limits.output", "4096"}, {NULL, NULL}};
	char *words[] = {arena_strdup(&t->arena, t->bait.program),
			 arena_strdup(&t->arena, PROBE_WORD), arena_strdup(&t->arena, ACT_SPILL),
			 arena_strdup(&t->arena, "65536"), NULL};
	struct buf text;
	size_t len = 0;
	uint64_t dropped = 0;

	buf_init(&text);
	f->outside.happened = outside_run(&t->bait, words, 0, &text) == 0;
	f->outside.effect = text.len >= OUTPUT_SPILT;
	(void)snprintf(f->outside.detail, sizeof f->outside.detail, "%zu bytes printed", text.len);
	buf_done(&text);
	struct corral_result *result = selftest_run(t, f, words, settings);
	if (result != NULL) {
		(void)corral_result_stdout(result, &len, &dropped);
		f->inside.happened = len + dropped >= OUTPUT_SPILT;
		f->inside.effect = len > OUTPUT_LIMIT;
		(void)snprintf(f->inside.detail, sizeof f->inside.detail,
			       "%zu bytes kept, %llu dropped", len, (unsigned long long)dropped);
		corral_result_free(result);
	}
}

static bool can_write(struct bait *b) {
	struct bait_path path = bait_path(b, "hidden/file");
	auto_fd fd = open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC);
	return fd >= 0 && fd_write_all(fd, PROBE_MARK, strlen(PROBE_MARK)) == 0 &&
	       file_marked(b, path.text, "");
}

static bool can_connect(struct bait *b) {
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)b->port[LISTEN_TCP]),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
	       listener_reached(b, NULL, "");
}

/* Checks this process itself after all runs; it has no outside control. */
static void try_parent(struct selftest *t, struct finding *f) {
	struct restraint now = outside_restraint();
	bool writes = can_write(&t->bait), connects = can_connect(&t->bait);
	bool same = now.seccomp == t->before.seccomp && now.no_new_privs == t->before.no_new_privs;

	f->outside = (struct seen){.happened = true, .effect = true, .detail = "not applicable"};
	f->inside.happened = true;
	f->inside.effect = !writes || !connects || !same;
	(void)snprintf(f->inside.detail, sizeof f->inside.detail,
		       "it %s, it %s, seccomp mode %ld and no_new_privs %ld%s",
		       writes ? "writes" : "cannot write", connects ? "connects" : "cannot connect",
		       now.seccomp, now.no_new_privs, same ? " as before" : ", which has changed");
}

/* A mount of the bait's directory is left. */
static bool mounts_left(const struct bait *b) {
	struct buf text;
	buf_init(&text);
	bool left = fd_read_file("/proc/self/mountinfo", (size_t)4 * 1024 * 1024, &text) != 0 ||
		    strstr(text.data, b->dir) != NULL;
	buf_done(&text);
	return left;
}

static bool groups_left(const struct selftest *t) {
	const struct host_cgroup *g = &t->planned.host.cgroup;
	char prefix[32];
	bool left = false;

	(void)snprintf(prefix, sizeof prefix, "corral-%d-", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(g->dir); i++) {
		auto_dir dir = g->dir[i][0] == '\0' ? NULL : opendir(g->dir[i]);
		const struct dirent *entry;
		while (dir != NULL && (entry = readdir(dir)) != NULL) {
			left |= str_starts(entry->d_name, prefix);
		}
	}
	return left;
}

/* The workspace has a file that is no bait. */
static bool files_left(const struct bait *b) {
	static const char *const planted[] = {".",    "..",   "inside", "denied",
					      "kept", "sock", "dir",    "set-id"};
	auto_dir dir = opendir(bait_path(b, "ws").text);
	const struct dirent *entry;
	size_t known = 0, all = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		all++;
		for (size_t i = 0; i < ARRAY_LEN(planted); i++) {
			known += streq(entry->d_name, planted[i]);
		}
	}
	return dir == NULL || all != known;
}

/* The scratch directory of a run without a private /tmp is left. */
static bool scratch_left(struct selftest *t, struct finding *f) {
	char *words[] = {
		arena_strdup(&t->arena, t->bait.program), arena_strdup(&t->arena, PROBE_WORD),
		arena_strdup(&t->arena, ACT_ENVIRONMENT), arena_strdup(&t->arena, "self"), NULL};
	struct corral_result *result = selftest_run(t, f, words, NULL);
	const char *out = result == NULL ? NULL : corral_result_stdout(result, NULL, NULL);
	const char *named = out == NULL ? NULL : strstr(out, "TMPDIR=");
	bool left = false;

	if (named != NULL) {
		named += strlen("TMPDIR=");
		char *path = arena_strndup(&t->arena, named, strcspn(named, "\n"));
		left = path != NULL && strstr(path, "/corral-") != NULL && access(path, F_OK) == 0;
	}
	corral_result_free(result);
	return left;
}

static void try_leftovers(struct selftest *t, struct finding *f) {
	bool scratch = scratch_left(t, f);
	bool mounts = mounts_left(&t->bait), groups = groups_left(t), files = files_left(&t->bait);
	bool bait = !bait_remove(&t->bait);
	size_t processes = survivors(t->bait.token);

	f->outside = (struct seen){.happened = true, .effect = true, .detail = "not applicable"};
	f->inside.happened = true;
	f->inside.effect = scratch || mounts || groups || files || bait || processes > 0;
	(void)snprintf(f->inside.detail, sizeof f->inside.detail, "%s%s%s%s%s%zu processes",
		       scratch ? "a scratch directory, " : "", mounts ? "a mount, " : "",
		       groups ? "a control group, " : "", files ? "files in the workspace, " : "",
		       bait ? "the bait's directory, " : "", processes);
}

/* ---- the rows ---- */

#define NO_MOUNT "this host lets the caller mount nothing, also not in a user namespace"
#define NO_TRACE "this host lets the caller trace no process that is not its child"
#define KNOWN_NAMESPACES "user namespaces can be created"

#define WRITE_OUTSIDE                                                                              \
	{ ACT_WRITE, "dir:readable/file" }
#define READ_SECRET                                                                                \
	{ ACT_READ, "dir:home/.ssh/id_rsa" }

/* clang-format off */
const struct check checks[] = {
	{"write-inside", "write to a file in the workspace", GUARANTEE_FS_WRITE,
	 {ACT_WRITE, "ws:inside"}, .by_policy = true, .effect = file_marked},
	{"write-read-only", "write to a file in a read-only directory", GUARANTEE_FS_WRITE,
	 WRITE_OUTSIDE, .effect = file_marked},
	{"write-outside", "write to a file that is not granted", GUARANTEE_FS_WRITE,
	 {ACT_WRITE, "dir:hidden/file"}, .effect = file_marked},
	{"write-protected", "write to a protected file in the workspace", GUARANTEE_FS_DENY,
	 {ACT_WRITE, "ws:kept"}, .effect = file_marked},
	{"read-secret", "read ~/.ssh/id_rsa of a planted home", GUARANTEE_FS_READ,
	 READ_SECRET, .effect = secret_out},
	{"read-outside", "read a file that is not granted", GUARANTEE_FS_READ,
	 {ACT_READ, "dir:hidden/secret"}, .by_policy = true, .effect = secret_out},
	{"read-denied", "read a denied file in the workspace", GUARANTEE_FS_DENY,
	 {ACT_READ, "ws:denied"}, .effect = secret_out},
	{"tcp", "connect to a TCP port of the host on 127.0.0.1", GUARANTEE_NET,
	 {ACT_TCP, "tcp:"}, .effect = listener_reached},
	{"udp", "send a datagram to a UDP port of the host on 127.0.0.1", GUARANTEE_NET,
	 {ACT_UDP, "udp:"}, .effect = listener_reached},
	{"unix-socket", "connect to a unix socket of the host that is not granted", GUARANTEE_IPC,
	 {ACT_UNIX, "dir:hidden/sock"}, .effect = listener_reached},
	{"workspace-socket", "connect to a unix socket of the host in the workspace", GUARANTEE_IPC,
	 {ACT_UNIX, "ws:sock"}, .effect = listener_reached, .known_by = "lies in the workspace"},
	{"abstract-socket", "connect to an abstract socket of the host", GUARANTEE_IPC,
	 {ACT_ABSTRACT, "abstract:"}, .effect = listener_reached,
	 .known_by = "abstract sockets of the host can be reached"},
	{"see-process", "find a process of the host in /proc", GUARANTEE_PID,
	 {ACT_FIND, "head:", "tail:"}, .effect = process_found, .known_by = "can be seen"},
	{"signal-process", "kill a process of the host", GUARANTEE_PID,
	 {ACT_SIGNAL, "pid:"}, .effect = sleeper_dead, .known_by = "seen and signalled"},
	{"trace-process", "trace a process of the host and kill it by that", GUARANTEE_PID,
	 {ACT_TRACE, "pid:"}, .effect = sleeper_dead, .alone = NO_TRACE},
	{"read-memory", "read the memory of a process of the host", GUARANTEE_PID,
	 {ACT_MEMORY, "pid:", "arguments:"}, .effect = secret_out, .alone = NO_TRACE},
	{"read-other-run", "read a file in the workspace of another run", GUARANTEE_FS_READ,
	 {ACT_READ, "dir:other/secret"}, .by_policy = true, .beside = true, .effect = secret_out},
	{"write-other-run", "write to a file in the workspace of another run", GUARANTEE_FS_WRITE,
	 {ACT_WRITE, "dir:other/file"}, .beside = true, .effect = file_marked},
	{"open-device", "open a device of the host: a disk, its memory, or another one", GUARANTEE_FS_READ,
	 {ACT_DEVICE, "device:"}, .effect = effect_gained,
	 .alone = "this host has no such device that the caller may open"},
	{"device-node", "make the node of a block device in the workspace", GUARANTEE_PRIVILEGES,
	 {ACT_NODE, "ws:node"}, .effect = effect_node, .alone = "the caller may not make device nodes"},
	{"mount", "mount a tmpfs with mount(2)", GUARANTEE_PRIVILEGES,
	 {ACT_MOUNT, "ws:dir", "token:"}, .effect = effect_mounted, .known_by = KNOWN_NAMESPACES,
	 .alone = NO_MOUNT},
	{"mount-api", "mount a tmpfs with fsopen(2) and move_mount(2)", GUARANTEE_PRIVILEGES,
	 {ACT_FSMOUNT, "ws:dir", "token:"}, .effect = effect_mounted, .known_by = KNOWN_NAMESPACES,
	 .alone = NO_MOUNT},
	{"user-namespace", "create a user namespace with unshare(2) or clone(2)", GUARANTEE_PRIVILEGES,
	 {ACT_USERNS}, .effect = effect_gained, .known_by = KNOWN_NAMESPACES,
	 .alone = "this host gives the caller no user namespace"},
	{"no-new-privs", "run without no_new_privs", GUARANTEE_PRIVILEGES,
	 {ACT_READ, "/proc/self/status"}, .effect = effect_new_privs,
	 .alone = "no_new_privs is set for the caller as well"},
	{"capabilities", "have a capability in any set", GUARANTEE_PRIVILEGES,
	 {ACT_READ, "/proc/self/status"}, .effect = effect_capabilities,
	 .alone = "the caller has no capability"},
	{"set-id-bit", "set the set-user-id bit of a file in the workspace", GUARANTEE_PRIVILEGES,
	 {ACT_SET_ID, "ws:inside"}, .effect = effect_set_id,
	 .known_by = "set-user-id bits can be set",
	 .alone = "this host lets the caller set no such bit"},
	{"set-id-program", "execute a set-user-id or set-group-id program", GUARANTEE_PRIVILEGES,
	 {ACT_EXECUTE, "ws:set-id"}, .effect = effect_gained,
	 .alone = "the caller has no other user or group to give a program to, or TMPDIR is nosuid"},
	{"environment", "read an environment variable of the caller, also in /proc", GUARANTEE_ENV,
	 {ACT_ENVIRONMENT, "pid:"}, .effect = secret_out, .known_by = "can be read in /proc"},
	{"child-write", "write-read-only, in a grandchild with its own session", GUARANTEE_FS_WRITE,
	 WRITE_OUTSIDE, .child = true, .effect = file_marked},
	{"child-read", "read-secret, in a grandchild with its own session", GUARANTEE_FS_READ,
	 READ_SECRET, .child = true, .effect = secret_out},
	{"child-tcp", "tcp, in a grandchild with its own session", GUARANTEE_NET,
	 {ACT_TCP, "tcp:"}, .child = true, .effect = listener_reached},
	{"child-socket", "unix-socket, in a grandchild with its own session", GUARANTEE_IPC,
	 {ACT_UNIX, "dir:hidden/sock"}, .child = true, .effect = listener_reached},
	{"child-signal", "signal-process, in a grandchild with its own session", GUARANTEE_PID,
	 {ACT_SIGNAL, "pid:"}, .child = true, .effect = sleeper_dead, .known_by = "seen and signalled"},
	{"time-out", "survive a time-out by ignoring SIGTERM and by a new session", GUARANTEE_LIMITS_TIME,
	 {ACT_STAY}, .own = try_time_out},
	{"lifetime", "leave a process in a new session behind", GUARANTEE_LIFETIME,
	 {ACT_LEAVE}, .own = try_lifetime},
	{"output", "print more than the output limit", GUARANTEE_LIMITS_OUTPUT,
	 {ACT_SPILL}, .own = try_output},
	{"parent", "the caller is not restricted after the runs", GUARANTEE_COUNT, .own = try_parent},
	{"nothing-left", "no process, mount, control group or file remains", GUARANTEE_COUNT,
	 .own = try_leftovers},
};
/* clang-format on */

const size_t checks_count = ARRAY_LEN(checks);
