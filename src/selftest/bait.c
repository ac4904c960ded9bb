/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the bait of the self-test (files, sockets, a process, variables), restores it after
 * each check, and removes it.
 *
 * Should:   keep everything in one new directory with mode 0700, named by a random token.
 * Must not: use or change a file, process or variable of the caller.
 * Fails:    with the error of the first bait that cannot be created; bait_remove() removes
 *           the rest. */
#include "selftest/selftest.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/unix_address.h"
#include "data/acts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define WHERE "test"

/* sun_path has room for 107 bytes, and the bait's names need 45. */
#define TMPDIR_MAX 60

/* The id of nobody, which root may use; and how many groups of a user are looked at: one of them
 * is enough. */
#define NOBODY 65534
#define NGROUPS_LISTED 64
#define COPY_MAX ((size_t)1024 * 1024)

static const char *const dirs[] = {"ws",   "ws/dir",    "readable", "hidden",
				   "home", "home/.ssh", "state",    "other"};

static const struct {
	const char *name;
	bool secret; /* contains the token */
} files[] = {
	{"ws/inside", false},       {"ws/denied", true},     {"ws/kept", false},
	{"readable/file", false},   {"hidden/secret", true}, {"hidden/file", false},
	{"home/.ssh/id_rsa", true}, {"other/secret", true},  {"other/file", false},
};

/* A name without a meaning, and one that is known for a secret. */
static const char *const variables[] = {"BAIT_OF_CORRAL_TEST", "AWS_SECRET_ACCESS_KEY"};

struct bait_path bait_path(const struct bait *b, const char *name) {
	struct bait_path path;
	/* It fits: dir has 256 bytes, and the names of this file are short. */
	(void)snprintf(path.text, sizeof path.text, "%s/%s", b->dir, name);
	return path;
}

static int make_token(struct bait *b, struct err *e) {
	unsigned char bytes[(sizeof b->token - 1) / 2];
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
		return err_sys(e, WHERE, "cannot get random bytes");
	}
	for (size_t i = 0; i < sizeof bytes; i++) {
		(void)snprintf(b->token + 2 * i, 3, "%02x", bytes[i]);
	}
	return 0;
}

static int make_dir(struct bait *b, struct err *e) {
	const char *named = getenv("TMPDIR");
	bool usable = named != NULL && named[0] == '/' && strlen(named) <= TMPDIR_MAX;
	char made[sizeof b->dir], full[PATH_MAX];

	int len = snprintf(made, sizeof made, "%s/corral-selftest-XXXXXX", usable ? named : "/tmp");
	if (len < 0 || (size_t)len >= sizeof made || mkdtemp(made) == NULL) {
		(void)err_sys_at(e, WHERE, "cannot create a directory for the bait", made);
		return err_fix(e, "set TMPDIR to a writable directory");
	}
	memcpy(b->dir, made, strlen(made) + 1);
	/* With a symlink in TMPDIR the directory would have two names. */
	if (realpath(made, full) != NULL && strlen(full) < sizeof b->dir) {
		memcpy(b->dir, full, strlen(full) + 1);
	}
	return 0;
}

static int write_file(const char *path, const char *text) {
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

void bait_reset(const struct bait *b, const char *path) {
	/* If a file cannot be restored, the next control fails and is reported. */
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (streq(bait_path(b, files[i].name).text, path)) {
			(void)write_file(path, files[i].secret ? b->token : "planted\n");
			return;
		}
	}
	(void)unlink(path); /* it need not be there */
}

static int plant_files(const struct bait *b, struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (mkdir(bait_path(b, dirs[i]).text, 0700) != 0) {
			return err_sys_at(e, WHERE, "cannot create the bait directory", dirs[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (write_file(bait_path(b, files[i].name).text,
			       files[i].secret ? b->token : "planted\n") != 0) {
			return err_sys_at(e, WHERE, "cannot create the bait file", files[i].name);
		}
	}
	return 0;
}

/* Another id that this caller may give a file to: root that of nobody, others a group of theirs.
 * A caller without one has a program that is set-user-id for itself. */
static void choose_identity(uid_t *ret_uid, gid_t *ret_gid, mode_t *ret_bits) {
	gid_t groups[NGROUPS_LISTED];
	int n = getgroups(NGROUPS_LISTED, groups);

	*ret_uid = geteuid() == 0 ? NOBODY : (uid_t)-1;
	*ret_gid = (gid_t)-1;
	*ret_bits = S_ISUID;
	for (int i = 0; geteuid() != 0 && i < n; i++) {
		if (groups[i] != getegid()) {
			*ret_gid = groups[i];
			*ret_bits = S_ISGID;
		}
	}
}

static int copy_all(int from, int to) {
	ssize_t n = 1;
	while (n > 0) {
		n = sendfile(to, from, NULL, COPY_MAX);
	}
	return n < 0 ? -1 : 0;
}

/* A program that cannot be planted is no error: its check says that it has no control. */
static void plant_set_id(const struct bait *b) {
	uid_t uid;
	gid_t gid;
	mode_t bits;
	auto_fd from = open(b->program, O_RDONLY | O_CLOEXEC);
	auto_fd to =
		open(bait_path(b, "ws/set-id").text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	choose_identity(&uid, &gid, &bits);
	/* The bits last: chown(2) clears them. */
	if (from >= 0 && to >= 0 && copy_all(from, to) == 0 && fchown(to, uid, gid) == 0) {
		(void)fchmod(to, bits | 0755); /* else it has no control */
	}
}

static int listen_at(const struct sockaddr *address, socklen_t len, int type) {
	auto_fd fd = socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, address, len) != 0 || (type == SOCK_STREAM && listen(fd, 8) != 0)) {
		return -1;
	}
	return take_fd(&fd);
}

static int listen_unix(const char *name, bool abstract) {
	struct sockaddr_un address;
	socklen_t size = unix_address_set(&address, name, abstract);

	return size == 0 ? -1 : listen_at((const struct sockaddr *)&address, size, SOCK_STREAM);
}

static int listen_port(int type, unsigned *ret_port) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof address;
	int fd = listen_at((const struct sockaddr *)&address, sizeof address, type);
	if (fd >= 0 && getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
		*ret_port = ntohs(address.sin_port);
	}
	return fd;
}

/* A socket that cannot be created is no error: the control of its check fails. */
static void plant_listeners(struct bait *b) {
	b->listeners[LISTEN_HIDDEN] = listen_unix(bait_path(b, "hidden/sock").text, false);
	b->listeners[LISTEN_WORKSPACE] = listen_unix(bait_path(b, "ws/sock").text, false);
	b->listeners[LISTEN_ABSTRACT] = listen_unix(b->token, true);
	b->listeners[LISTEN_TCP] = listen_port(SOCK_STREAM, &b->port[LISTEN_TCP]);
	b->listeners[LISTEN_UDP] = listen_port(SOCK_DGRAM, &b->port[LISTEN_UDP]);
}

static int plant_variables(struct arena *a, struct bait *b, struct err *e) {
	size_t n = 0, kept = 0;
	while (environ[n] != NULL) {
		n++;
	}
	b->environ = arena_array(a, n + ARRAY_LEN(variables) + 1, sizeof *b->environ);
	for (size_t i = 0; b->environ != NULL && i < ARRAY_LEN(variables); i++) {
		b->environ[kept] = arena_printf(a, "%s=%s", variables[i], b->token);
		if (b->environ[kept++] == NULL) {
			return err_memory(e, WHERE);
		}
	}
	for (size_t i = 0; b->environ != NULL && i < n; i++) {
		if (!str_starts(environ[i], "AWS_SECRET_ACCESS_KEY=")) {
			b->environ[kept++] = environ[i];
		}
	}
	return b->environ == NULL ? err_memory(e, WHERE) : 0;
}

static int spawn_quietly(struct bait *b, char *const *argv) {
	posix_spawn_file_actions_t quiet;

	posix_spawn_file_actions_init(&quiet);
	int failed =
		posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (failed == 0) {
		failed = posix_spawn(&b->sleeper, b->program, &quiet, NULL, argv, b->environ);
	}
	posix_spawn_file_actions_destroy(&quiet);
	return failed;
}

int bait_sleeper(struct bait *b, struct err *e) {
	if (b->sleeper > 0) {
		return 0;
	}
	char first[] = "corral", word[] = PROBE_WORD, act[] = ACT_SLEEP, name[64];
	(void)snprintf(name, sizeof name, "%s-sleeper", b->token);
	int failed = spawn_quietly(b, (char *[]){first, word, act, name, NULL});
	if (failed != 0) {
		b->sleeper = 0;
		errno = failed;
		return err_sys_at(e, WHERE, "cannot start the test program", b->program);
	}
	return 0;
}

int bait_plant(struct arena *a, const char *program, struct bait *b, struct err *e) {
	*b = (struct bait){.program = program};
	for (size_t i = 0; i < LISTENERS; i++) {
		b->listeners[i] = -1;
	}
	if (make_token(b, e) != 0 || make_dir(b, e) != 0 || plant_files(b, e) != 0 ||
	    plant_variables(a, b, e) != 0) {
		return -1;
	}
	plant_listeners(b);
	plant_set_id(b);
	return bait_sleeper(b, e);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	(void)st;
	(void)kind;
	(void)at;
	(void)remove(path); /* if it fails, its directory stays, and bait_remove() returns false */
	return 0;
}

bool bait_remove(struct bait *b) {
	if (b->sleeper > 0) {
		(void)kill(b->sleeper, SIGKILL); /* a zombie is reaped by waitpid() below */
		while (waitpid(b->sleeper, NULL, 0) < 0 && errno == EINTR) {
		}
		b->sleeper = 0;
	}
	if (b->token[0] != '\0') {
		outside_kill(b->token);
	}
	for (size_t i = 0; i < LISTENERS; i++) {
		drop_fd(&b->listeners[i]);
	}
	if (b->dir[0] == '\0') {
		return true;
	}
	pending_remove_all(bait_path(b, "state").text);
	(void)nftw(b->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	return access(b->dir, F_OK) != 0;
}
