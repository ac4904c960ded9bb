/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts about the host that the plan needs, from system calls, /proc and files.
 *
 * Should:   resolve paths and read files as the caller, for plan/host.h.
 * Must not: change anything, or start a process, except in probe_makes_namespaces().
 * Fails:    closed: for a deleted current directory, a missing procfs or mixed user ids; a
 *           missing feature is a fact with its reason, not a failure. */
#include "backend/probe.h"

#include "base/auto.h"
#include "base/credentials.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/program_output.h"
#include "linux/cgroup.h"
#include "linux/host_files.h"
#include "linux/kernel_api.h"
#include "linux/scope.h"
#include "linux/scratch.h"
#include "plan/git/config.h"
#include "plan/git/settings.h"

#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* /etc/passwd on a machine with many users; more is not read. */
#define PASSWD_MAX ((size_t)4 * 1024 * 1024)

/* ---- the caller ---- */

static const char *variable(const char *name) {
	const char *value = getenv(name);
	return value != NULL && value[0] == '/' ? value : NULL;
}

/* The line of /etc/passwd for this uid.  Not getpwuid(3), because it loads NSS plug-ins, which a
 * static program must not do. */
static char *passwd_line(char *text, uint32_t uid) {
	for (char *line = text; line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');
		if (end != NULL) {
			*end = '\0';
		}
		const char *p = strchr(line, ':');
		p = p == NULL ? NULL : strchr(p + 1, ':');
		/* Digits only: an empty uid field, as in "+::::::", is not root. */
		size_t digits = p == NULL ? 0 : strspn(p + 1, "0123456789");
		if (digits > 0 && p[1 + digits] == ':' && strtoul(p + 1, NULL, 10) == uid) {
			return line;
		}
		line = end == NULL ? NULL : end + 1;
	}
	return NULL;
}

static int who_is_it(struct arena *a, struct host *h, const char **ret_home, struct err *e) {
	struct buf text;
	buf_init(&text);
	*ret_home = NULL;
	char *line = fd_read_file("/etc/passwd", PASSWD_MAX, &text) == 0
			     ? passwd_line(text.data, h->uid)
			     : NULL;
	int bad = 0;
	if (line != NULL) {
		const char *field[7] = {line};
		for (size_t i = 1; i < ARRAY_LEN(field); i++) {
			char *colon = strchr(field[i - 1], ':');
			if (colon == NULL) {
				field[i] = "";
				continue;
			}
			*colon = '\0';
			field[i] = colon + 1;
		}
		h->user = arena_strdup(a, field[0]);
		*ret_home = arena_strdup(a, field[5]);
		bad = h->user == NULL || *ret_home == NULL;
	}
	buf_done(&text);
	return bad ? err_memory(e, "probe") : 0;
}

/* Whether the directory, or its nearest existing parent, is writable. */
static bool can_be_made(const char *path) {
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof part) {
		return false;
	}
	memcpy(part, path, len + 1);
	while (faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) != 0) {
		char *slash = strrchr(part, '/');
		if (errno != ENOENT || slash == part) {
			return false;
		}
		*slash = '\0';
	}
	return true;
}

static int find_home(struct arena *a, struct host *h, const char *from_passwd, struct err *e) {
	const char *home = variable("HOME");
	struct stat st;
	if (home == NULL) {
		home = from_passwd;
	}
	if (home == NULL || home[0] != '/' || stat(home, &st) != 0 || !S_ISDIR(st.st_mode)) {
		return 0; /* none: there is no directory for a private home */
	}
	char full[PATH_MAX];
	if (realpath(home, full) == NULL || streq(full, "/")) {
		return 0;
	}
	h->home = arena_strdup(a, full);
	const char *state = variable("XDG_STATE_HOME");
	h->state_dir = state != NULL ? path_join(a, state, "corral")
				     : path_join(a, full, ".local/state/corral");
	h->state_closed = h->state_dir != NULL && !can_be_made(h->state_dir);
	return h->home == NULL || h->state_dir == NULL ? err_memory(e, "probe") : 0;
}

/* Reads one of git's configuration files.  settings NULL: only the paths that it names. */
static void read_git(struct arena *a, struct host *h, struct gitsettings *settings, size_t which) {
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	struct git_obeyed *o = &h->git_obeyed;
	struct buf text;

	auto_fd direct =
		sys_openat2(AT_FDCWD, o->files[which], flags | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	o->linked[which] = direct < 0 && errno != ENOENT && errno != EACCES;
	auto_fd led = o->linked[which] ? open(o->files[which], flags | O_CLOEXEC) : -1;
	int fd = o->linked[which] ? led : direct;
	buf_init(&text);
	if (fd >= 0 && fd_read_all(fd, GIT_CONFIG_MAX, &text) == 0 && text.data != NULL) {
		git_obeyed_read(o, a, h->home, o->files[which], text.data);
		if (settings != NULL) {
			identity_read(&h->git, text.data);
			git_settings_read(settings, text.data);
		}
	}
	buf_done(&text);
}

/* A regular file, without following symlinks: a command could have put one into the workspace
 * that points to any file of the caller. */
static const char *read_ignores(struct arena *a, const char *path) {
	struct stat st;
	struct buf text;
	const char *found = NULL;

	auto_fd fd = path == NULL ? -1
				  : sys_openat2(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC,
						RESOLVE_NO_SYMLINKS);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		return NULL;
	}
	buf_init(&text);
	if (fd_read_all(fd, GITIGNORE_MAX, &text) == 0 && text.data != NULL &&
	    strlen(text.data) == text.len) {
		found = arena_strdup(a, text.data);
	}
	buf_done(&text);
	return found;
}

/* Adds a file that a variable of the caller names for git. */
static void add_named(struct arena *a, struct host *h, const char *name) {
	const char *value = getenv(name);
	if (value != NULL && value[0] != '\0') {
		git_obeyed_add(&h->git_obeyed, path_join(a, h->cwd, value));
	}
}

/* The first two configuration files of git: the caller's own. */
#define OWN_SETTINGS 2

/* In git's order: the second file overrides the first. */
static void find_git(struct arena *a, struct host *h) {
	const char *config = variable("XDG_CONFIG_HOME");
	struct gitsettings settings = {.excludes = ""};
	struct git_obeyed *o = &h->git_obeyed;

	if (h->home == NULL) {
		return;
	}
	config = path_join(a, config != NULL ? config : path_join(a, h->home, ".config"), "git");
	buf_init(&settings.text);
	git_obeyed_add(o, path_join(a, config, "config"));
	git_obeyed_add(o, path_join(a, h->home, ".gitconfig"));
	git_obeyed_add(o, "/etc/gitconfig");
	add_named(a, h, "GIT_CONFIG_GLOBAL");
	add_named(a, h, "GIT_CONFIG_SYSTEM");
	for (size_t i = 0; i < o->nfiles; i++) {
		read_git(a, h, i < OWN_SETTINGS ? &settings : NULL, i); /* it may name others */
	}
	const char *ignores = settings.excludes;
	if (str_starts(ignores, "~/")) {
		ignores = path_join(a, h->home, ignores + 2);
	} else if (ignores[0] != '/') {
		ignores = ignores[0] == '\0' ? path_join(a, config, "ignore") : NULL;
	}
	h->git_ignores = read_ignores(a, ignores);
	if (settings.text.data != NULL && !buf_failed(&settings.text)) {
		h->git_settings = arena_strdup(a, settings.text.data);
	}
	buf_done(&settings.text);
}

/* ---- the kernel ---- */

static void probe_kernel(struct host *h) {
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
	h->landlock_abi = abi < 0 ? 0 : (int)abi;
	/* EFAULT: the kernel read the filter's address, so it supports the mode.  The highest
	 * address, and not NULL, which MMAP_PAGE_ZERO maps. */
	h->seccomp = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, UINTPTR_MAX, 0, 0) != 0 &&
		     errno == EFAULT;
	h->userns = true; /* the run itself is the probe: clone3(2) fails with the reason */
}

/* ---- without namespaces ---- */

/* The guard, an ancestor of the command, reads its memory and descriptors; from ptrace_scope 2
 * on that needs CAP_SYS_PTRACE. */
static bool tracing_is_closed(void) {
	auto_fd fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char c = '0';
	return fd >= 0 && read(fd, &c, 1) == 1 && c >= '2';
}

/* Tests it on this process: an outer seccomp filter gives the same result.  The broker reads
 * /proc/TID/mem where the call is refused (broker/caller.c). */
static bool can_read_memory(void) {
	char from = 'x', to = '\0';
	struct iovec local = {&to, 1}, remote = {&from, 1};
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) {
		return to == 'x';
	}
	auto_fd fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, &to, 1, (off_t)(uintptr_t)&from) == 1 && to == 'x';
}

/* An outer seccomp filter refuses the calls whatever their arguments are; the kernel refuses
 * these two for their arguments. */
static bool can_take_descriptors(void) {
	return syscall(SYS_pidfd_open, -1, 0) < 0 && errno == EINVAL &&
	       syscall(SYS_pidfd_getfd, -1, -1, 0) < 0 && errno == EBADF;
}

/* Does not test the seccomp listener: that needs a loaded filter, which cannot be removed. */
void probe_broker(struct host *h) {
	struct seccomp_notif_sizes sizes;

	if (h->notify_refused) {
		return;
	}
	h->notify_why = NULL;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) {
		h->notify_why = "this kernel has no seccomp user notification";
	} else if (tracing_is_closed()) {
		h->notify_why = "kernel.yama.ptrace_scope is 2 or more";
	} else if (!can_read_memory()) {
		h->notify_why =
			"an outer seccomp filter or LSM refuses process_vm_readv and /proc/PID/mem";
	}
	h->notify = h->notify_why == NULL;
	h->sockets = h->notify && can_take_descriptors();
}

/* A short path, because programs put unix sockets into it, which have at most 107 bytes. */
static const char *find_run_dir(struct arena *a) {
	static const char digits[] = "0123456789abcdef";
	const char *base = variable("TMPDIR");
	unsigned char random[8];
	char name[64];
	int at = snprintf(name, sizeof name, SCRATCH_PREFIX "%u-", (unsigned)geteuid());

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		return NULL;
	}
	for (size_t i = 0; i < sizeof random; i++) {
		name[at++] = digits[random[i] >> 4];
		name[at++] = digits[random[i] & 15];
	}
	name[at] = '\0';
	char full[PATH_MAX];
	/* In another run without a mount namespace /tmp is not writable. */
	bool inside = base != NULL && getenv("CORRAL_LEVEL") != NULL;
	if (!inside && realpath("/tmp", full) != NULL && access(full, W_OK) == 0) {
		return path_join(a, full, name);
	}
	if (base == NULL || realpath(base, full) == NULL || streq(full, "/")) {
		return NULL;
	}
	return path_join(a, full, name);
}

int probe_without_namespaces(struct arena *a, struct host *h, struct err *e) {
	h->run_dir = find_run_dir(a);
	if (h->run_dir == NULL) {
		err_set(e, ERR_SETUP, "probe",
			"no directory for temporary files: /tmp is not writable, and TMPDIR is not "
			"set to a writable directory");
		return err_fix(e, "set TMPDIR to a writable directory");
	}
	return 0;
}

bool probe_makes_namespaces(struct err *ret_why) {
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			 CLONE_NEWUTS,
	};
	long pid = sys_clone3(&args);
	if (pid == 0) {
		_exit(0);
	}
	if (pid < 0) {
		(void)err_host(ret_why, ERR_NO_CLONE, "namespaces",
			       "the kernel refused to create the sandbox's namespaces");
		return false;
	}
	(void)waitpid((pid_t)pid, NULL, __WALL); /* it exits by itself */
	return true;
}

void probe_cgroups(struct host *h) {
	cgroup_probe(&h->cgroup);
}

void probe_scope(struct host *h) {
	if (h->cgroup.kind == CGROUP_NONE && h->scope_why != NULL) {
		h->cgroup.why = h->scope_why;
	} else if (h->cgroup.kind == CGROUP_NONE) {
		scope_probe(&h->cgroup);
	}
}

void probe_try_cgroups(struct arena *a, struct host *h) {
	struct scope scope = SCOPE_NONE;
	char dir[HOST_CGROUP_PATH];
	struct err e = {0};

	probe_cgroups(h);
	probe_scope(h);
	if (h->cgroup.scope && scope_begin(0, dir, &scope, &e) != 0) {
		h->cgroup = (struct host_cgroup){.kind = CGROUP_NONE};
		h->cgroup.why = h->scope_why = arena_strdup(a, e.what);
	}
	scope_end(&scope);
}

/* With hidepid /proc hides processes that are not dumpable from their own user: pid 1 of the
 * sandbox is one, and a command can create others. */
static bool proc_hides(const char *mounts) {
	for (const char *at = mounts; (at = strstr(at, " /proc ")) != NULL; at++) {
		const char *end = strchr(at, '\n');
		const char *hide = strstr(at, "hidepid=");
		if (hide != NULL && (end == NULL || hide < end)) {
			hide += strlen("hidepid=");
			return *hide != '0' && !str_starts(hide, "off");
		}
	}
	return false;
}

void probe_sampling(struct host *h) {
	struct buf mounts;

	buf_init(&mounts);
	bool hides = fd_read_file("/proc/self/mountinfo", (size_t)4 * 1024 * 1024, &mounts) != 0 ||
		     proc_hides(mounts.data);
	h->sampling_why = !hides || h->privileged
				  ? NULL
				  : "/proc is mounted with hidepid, so that the processes of a run "
				    "cannot be measured, and no cgroup is available";
	buf_done(&mounts);
}

/* Relative paths of options and policies start there, and so does the command. */
static int find_cwd(char cwd[PATH_MAX], struct err *e) {
	if (getcwd(cwd, PATH_MAX) != NULL && cwd[0] == '/') {
		return 0;
	}
	(void)err_sys(e, "probe",
		      errno == ENOENT ? "the current directory was deleted"
				      : "cannot read the current directory");
	return err_fix(e, "change to a directory that exists: cd DIR");
}

/* The set-up needs procfs in many places; each would fail with a bare ENOENT. */
static int check_proc(struct err *e) {
	if (faccessat(AT_FDCWD, "/proc/self/ns", F_OK, 0) == 0) {
		return 0;
	}
	(void)err_sys(e, "probe", "procfs is not mounted at /proc");
	return err_fix(e, "mount it (as root): mount -t proc proc /proc");
}

int probe_host(struct arena *a, struct host *ret, struct err *e) {
	struct host h = {
		.environ = (const char *const *)environ,
		.cgroup = {.why = HOST_CGROUP_UNCHECKED},
	};
	char cwd[PATH_MAX];
	const char *home;

	/* First: HOME and the environment are not trusted if the user ids differ. */
	if (credentials_read(&h.uid, &h.gid, e) != 0 || host_files(a, h.uid, &h.fs, e) != 0) {
		return -1;
	}
	h.privileged = h.uid == 0;
	if (find_cwd(cwd, e) != 0 || check_proc(e) != 0) {
		return -1;
	}
	h.cwd = arena_strdup(a, cwd);
	if (h.cwd == NULL) {
		return err_memory(e, "probe");
	}
	if (who_is_it(a, &h, &home, e) != 0 || find_home(a, &h, home, e) != 0) {
		return -1;
	}
	h.ask = program_output;
	h.ask_ctx = h.state_closed ? NULL : h.state_dir;
	find_git(a, &h);
	probe_kernel(&h);
	*ret = h;
	return 0;
}
