/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces the plan's file rules with Landlock, and confines signals and abstract unix sockets.
 *
 * With namespaces the mount namespace contains only the plan's files already; this layer
 * repeats the grants as rules on the inodes, so that a mistake in one of the two is not an
 * escape.  Without namespaces Landlock is the boundary, and its domains are nested:
 *
 *   circle_fd (signals only)   outer warden and everything below it
 *   ruleset_fd (file rules)    inner warden, guard, command
 *   scope_fd                   guard, command
 *   scope_fd again             command
 *
 * A process can signal its own and inner domains, and no outer one.  So the outer warden,
 * the inner warden and the guard can each kill everything below with one kill(-1).
 *
 * Should:   turn the plan's grants into one ruleset and enforce it here.
 * Must not: run before mounts.c (a landlocked thread can no longer mount or
 *           pivot_root), or without no_new_privs (the kernel returns EPERM).
 * Fails:    closed.  A rule whose path cannot be opened stops the run; it is
 *           never skipped. */
#include "linux/layer.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define RIGHTS_LIST LL_FS_READ_DIR
#define RIGHTS_READ (LL_FS_READ_DIR | LL_FS_READ_FILE)
#define RIGHTS_EXEC (RIGHTS_READ | LL_FS_EXECUTE)
#define RIGHTS_WRITE                                                                               \
	(RIGHTS_EXEC | LL_FS_WRITE_FILE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | LL_FS_MAKE_DIR |  \
	 LL_FS_MAKE_REG | LL_FS_MAKE_SOCK | LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM | LL_FS_REFER |       \
	 LL_FS_TRUNCATE)
#define RIGHTS_DEVICE (LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_READ_DIR | LL_FS_IOCTL_DEV)

/* Rights that the kernel accepts on something that is not a directory. */
#define RIGHTS_OF_FILES                                                                            \
	(LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV |   \
	 LL_FS_RESOLVE_UNIX)

static const uint64_t rights_of[] = {
	[REACH_NONE] = 0,           [REACH_LIST] = RIGHTS_LIST,   [REACH_READ] = RIGHTS_READ,
	[REACH_EXEC] = RIGHTS_EXEC, [REACH_WRITE] = RIGHTS_WRITE, [REACH_DEVICE] = RIGHTS_DEVICE,
};

/* Access rights by the ABI that added them; a kernel refuses unknown bits.  UDP rights
 * (ABI 10) are not used: the network namespace or the seccomp filter covers UDP. */
static const struct {
	int abi;
	uint64_t fs, scoped;
} additions[] = {
	{1, (LL_FS_MAKE_SYM << 1) - 1, 0},
	{2, LL_FS_REFER, 0},
	{3, LL_FS_TRUNCATE, 0},
	{5, LL_FS_IOCTL_DEV, 0},
	{6, 0, LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL},
	{9, LL_FS_RESOLVE_UNIX, 0}, /* sockets bound in the same domain need no rule */
};

static struct ll_ruleset_attr rights_of_abi(int abi) {
	struct ll_ruleset_attr attr = {0};
	for (size_t i = 0; i < ARRAY_LEN(additions); i++) {
		if (additions[i].abi <= abi) {
			attr.fs |= additions[i].fs;
			attr.scoped |= additions[i].scoped;
		}
	}
	return attr;
}

/* Older kernels take a shorter structure. */
static size_t attr_size(int abi) {
	return abi < 4   ? sizeof(uint64_t)
	       : abi < 6 ? 2 * sizeof(uint64_t)
			 : sizeof(struct ll_ruleset_attr);
}

static int add_rule(int ruleset, int fd, uint64_t rights) {
	struct ll_path_beneath rule = {.allowed = rights, .parent_fd = fd};

	return (int)syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, &rule, 0);
}

static int allow(const struct kit *k, int fd, uint64_t rights, bool is_file) {
	return add_rule(k->ruleset_fd, fd,
			rights & rights_of_abi(k->plan->landlock_abi).fs &
				(is_file ? RIGHTS_OF_FILES : ~0ULL));
}

/* The scope ruleset handles REMOVE_DIR, so it needs the same grants of it. */
static int allow_removal(const struct kit *k, int fd, enum reach reach) {
	if (k->scope_fd < 0 || (rights_of[reach] & LL_FS_REMOVE_DIR) == 0) {
		return 0;
	}
	return add_rule(k->scope_fd, fd, LL_FS_REMOVE_DIR);
}

static const char *place_of(const struct mount *m) {
	return m->source != NULL ? m->source : m->target;
}

/* Without namespaces: host trees exist before the clone, so the parent adds their rules; the
 * child creates the run's directory. */
static bool exists_before_clone(const struct kit *k, const struct mount *m) {
	return k->plan->run_dir == NULL || !path_within(place_of(m), k->plan->run_dir);
}

static bool is_host_tree(const struct mount *m) {
	return m->kind == MOUNT_BIND || m->kind == MOUNT_DEVICE;
}

static bool is_file(const struct mount *m) {
	return m->is_file || m->kind == MOUNT_FILE || m->kind == MOUNT_TEXT;
}

static bool has_rule(const struct mount *m) {
	return m->reach != REACH_NONE && m->kind != MOUNT_LINK;
}

/* Compares device and inode with the plan; with namespaces mounts.c does that. */
static int open_planned(const struct kit *k, const struct mount *m, struct err *e) {
	const char *path = place_of(m);
	auto_fd fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return err_sys_at(e, "landlock", "cannot open", path);
	}
	struct stat st;
	if (plan_lacks_namespaces(k->plan) && m->ino != 0 &&
	    (fstat(fd, &st) != 0 || st.st_dev != m->dev || st.st_ino != m->ino)) {
		errno = ESTALE;
		return err_sys_at(e, "landlock",
				  "was replaced while the sandbox was being set up:", path);
	}
	return take_fd(&fd);
}

/* The rights of a mount, without EXECUTE where the plan lists the executables. */
static uint64_t rights_for(const struct kit *k, const struct mount *m) {
	return rights_of[m->reach] & ~(k->plan->exec_limited ? LL_FS_EXECUTE : 0);
}

/* EXECUTE for the programs that the plan lists. */
static int rules_for_exec(const struct kit *k, struct err *e) {
	const struct plan *plan = k->plan;

	for (size_t i = 0; i < plan->nexecs; i++) {
		const struct exec_file *f = &plan->execs[i];
		if (f->kind != EXEC_PROGRAM && f->kind != EXEC_TREE) {
			continue;
		}
		auto_fd fd = open(f->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 || add_rule(k->ruleset_fd, fd, LL_FS_EXECUTE) != 0) {
			return err_sys_at(e, "landlock", "the kernel refused the rule for",
					  f->path);
		}
	}
	return 0;
}

static int rule_for(struct kit *k, const struct mount *m, struct err *e) {
	auto_fd fd = open_planned(k, m, e);
	if (fd < 0) {
		return m->maybe && e->sys == ENOENT ? 0 : -1;
	}
	if (allow(k, fd, rights_for(k, m), is_file(m)) != 0 ||
	    (!is_file(m) && allow_removal(k, fd, m->reach) != 0)) {
		return err_sys_at(e, "landlock", "the kernel refused the rule for", m->target);
	}
	return 0;
}

/* The host's unix sockets that net.sockets allows. */
static int rules_for_sockets(struct kit *k, struct err *e) {
	const struct net_plan *net = &k->plan->net;

	for (size_t i = 0; k->plan->landlock_abi >= LANDLOCK_ABI_UNIX && i < net->nsockets; i++) {
		const char *path = net->sockets[i].source;
		auto_fd fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 || allow(k, fd, LL_FS_RESOLVE_UNIX, true) != 0) {
			return err_sys_at(e, "landlock", "the kernel refused the rule for", path);
		}
	}
	return 0;
}

/* The ruleset that the guard and later the command enter for its scopes.  It handles no
 * right that open(2) checks, so that opening files costs no more.  Every ruleset denies
 * REFER unless a rule allows it, so "/" gets it.  It handles REMOVE_DIR because the inner
 * warden has that right beyond the plan's, to remove the run's directory. */
static int prepare_scope(struct kit *k, const struct ll_ruleset_attr *attr, struct err *e) {
	uint64_t move = attr->fs & LL_FS_REFER;
	struct ll_ruleset_attr scope = {.fs = move | LL_FS_REMOVE_DIR, .scoped = attr->scoped};
	if (!plan_lacks_namespaces(k->plan)) {
		return 0;
	}
	k->scope_fd = (int)syscall(SYS_landlock_create_ruleset, &scope,
				   attr_size(k->plan->landlock_abi), 0);
	auto_fd root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0 || k->scope_fd < 0 || (move != 0 && add_rule(k->scope_fd, root, move) != 0)) {
		return err_sys(e, "landlock", "the kernel refused to create the inner ruleset");
	}
	return 0;
}

/* For the outer warden: it can signal only processes below it.  The ruleset restricts no
 * file, because the outer warden removes the run's directory. */
static int prepare_circle(struct kit *k, const struct ll_ruleset_attr *attr, struct err *e) {
	struct ll_ruleset_attr circle = {.fs = LL_FS_REFER, .scoped = LL_SCOPE_SIGNAL};
	if (!plan_lacks_namespaces(k->plan) || (attr->scoped & LL_SCOPE_SIGNAL) == 0) {
		return 0;
	}
	k->circle_fd = (int)syscall(SYS_landlock_create_ruleset, &circle,
				    attr_size(k->plan->landlock_abi), 0);
	auto_fd root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0 || k->circle_fd < 0 || add_rule(k->circle_fd, root, LL_FS_REFER) != 0) {
		return err_sys(e, "landlock", "the kernel refused to create the outer ruleset");
	}
	return 0;
}

/* For the inner warden, which removes the run's directory from its parent. */
static int rule_for_parent(struct kit *k, struct err *e) {
	char dir[PATH_MAX];
	if (!plan_lacks_namespaces(k->plan) || k->plan->run_dir == NULL) {
		return 0;
	}
	auto_fd fd = path_parent(k->plan->run_dir, dir)
			     ? open(dir, O_PATH | O_CLOEXEC | O_DIRECTORY)
			     : -1;
	if (fd < 0 || add_rule(k->ruleset_fd, fd, LL_FS_REMOVE_DIR) != 0) {
		return err_sys_at(e, "landlock", "the kernel refused the rule for the parent of",
				  k->plan->run_dir);
	}
	return 0;
}

/* TCP rights to deny: without a network namespace, where neither the broker nor the command
 * uses TCP.  The seccomp filter denies it, too. */
static uint64_t denied_tcp_rights(const struct plan *plan) {
	bool closed =
		plan_lacks_namespaces(plan) && plan->own_net && (plan->traits & TRAIT_SOCKETS) == 0;
	return closed && plan->landlock_abi >= 4 ? LL_NET_BIND_TCP | LL_NET_CONNECT_TCP : 0;
}

static int rules_before_clone(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->plan->nmounts; i++) {
		const struct mount *m = &k->plan->mounts[i];
		if (exists_before_clone(k, m) && has_rule(m) && rule_for(k, m, e) != 0) {
			return -1;
		}
	}
	return rules_for_exec(k, e);
}

static int prepare_rule_fds(struct kit *k, struct err *e) {
	k->rule_fds = arena_array(k->arena, k->plan->nmounts + 1, sizeof *k->rule_fds);
	if (k->rule_fds == NULL) {
		return err_memory(e, "landlock");
	}
	for (size_t i = 0; i < k->plan->nmounts; i++) {
		k->rule_fds[i] = -1;
	}
	return 0;
}

static int landlock_prepare(struct kit *k, struct err *e) {
	if (k->plan->landlock_abi == 0) {
		return 0;
	}
	struct ll_ruleset_attr attr = rights_of_abi(k->plan->landlock_abi);
	attr.net = denied_tcp_rights(k->plan);
	k->ruleset_fd = (int)syscall(SYS_landlock_create_ruleset, &attr,
				     attr_size(k->plan->landlock_abi), 0);
	if (k->ruleset_fd < 0) {
		return err_sys(e, "landlock", "the kernel refused to create a ruleset");
	}
	if (prepare_scope(k, &attr, e) != 0 || prepare_circle(k, &attr, e) != 0 ||
	    rule_for_parent(k, e) != 0) {
		return -1;
	}
	if (plan_lacks_namespaces(k->plan) ? rules_before_clone(k, e) != 0
					   : prepare_rule_fds(k, e) != 0) {
		return -1;
	}
	return rules_for_sockets(k, e);
}

/* A file that replaces this one later (plan/follow.c) has no rule of its own, so the
 * directory of the mount point in our root gets one. */
static int rule_for_followed(const struct kit *k, const struct mount *m, struct err *e) {
	char dir[PATH_MAX];
	if (!path_parent(m->target, dir)) {
		errno = ENAMETOOLONG;
		return err_sys_at(e, "landlock", "cannot open the directory of", m->target);
	}
	auto_fd fd = open(dir, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0 && errno == EACCES) {
		return 0; /* without capabilities the command cannot reach the file either */
	}
	if (fd < 0 || allow(k, fd, rights_for(k, m) & RIGHTS_OF_FILES, false) != 0) {
		return err_sys_at(e, "landlock", "the kernel refused the rule for", dir);
	}
	return 0;
}

/* The descriptor that layer mounts had of the source or of the mount's root; where it has left
 * none, the mount point, if the host's file with the planned inode is there. */
static int open_mounted(const struct kit *k, const struct mount *m) {
	struct stat st;
	int fd = k->rule_fds[m - k->plan->mounts];
	if (fd >= 0) {
		return fd;
	}
	auto_fd at = open(m->target, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (at >= 0 && is_host_tree(m) && m->ino != 0 &&
	    (fstat(at, &st) != 0 || st.st_dev != m->dev || st.st_ino != m->ino)) {
		errno = ESTALE;
		return -1;
	}
	return take_fd(&at);
}

/* Layer mounts leaves out a tree that is gone, or whose mount point in the private home is
 * occupied; the file that is there instead has the rule of the home. */
static bool was_left_out(const struct mount *m, int error) {
	return m->maybe && is_host_tree(m) &&
	       (error == ENOENT || error == ENOTDIR || error == ESTALE);
}

static int rule_for_mounted(const struct kit *k, const struct mount *m, struct err *e) {
	int fd = open_mounted(k, m);
	if (fd < 0 && was_left_out(m, errno)) {
		return 0;
	}
	if (fd < 0 || allow(k, fd, rights_for(k, m), is_file(m)) != 0) {
		return err_sys_at(e, "landlock", "the kernel refused the rule for", m->target);
	}
	kit_leave_fd(k, fd);
	return 0;
}

/* For the mounts, and for the root: an overlay's inodes differ from those of its lower directory,
 * and the child created private directories and procfs. */
static int rules_of_own_root(struct kit *k, struct err *e) {
	/* Directories above the mount points can be listed; each mount has its own rule. */
	int root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0 || allow(k, root, RIGHTS_LIST, false) != 0) {
		return err_sys(e, "landlock", "the kernel refused the rule for the new root");
	}
	for (size_t i = 0; i < k->plan->nmounts; i++) {
		const struct mount *m = &k->plan->mounts[i];
		if (m->door && rule_for_followed(k, m, e) != 0) {
			return -1;
		}
		if (has_rule(m) && rule_for_mounted(k, m, e) != 0) {
			return -1;
		}
	}
	kit_leave_fd(k, root);
	return rules_for_exec(k, e);
}

/* For files that the child created in the run's directory. */
static int rules_of_run_dir(struct kit *k, struct err *e) {
	for (size_t i = 0; i < k->plan->nmounts; i++) {
		const struct mount *m = &k->plan->mounts[i];
		if (!exists_before_clone(k, m) && has_rule(m) && rule_for(k, m, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* For the command's own pty, which is in the host's devpts. */
static int rule_for_pty(struct kit *k, struct err *e) {
	if (k->want_pty && allow(k, k->fds[0], RIGHTS_DEVICE, true) != 0) {
		return err_sys(e, "landlock", "the kernel refused the rule for the terminal");
	}
	return 0;
}

static int enter_circle(struct kit *k, struct err *e) {
	auto_fd circle = take_fd(&k->circle_fd);

	if (circle < 0) {
		return 0; /* Landlock ABI < 6: children are killed one by one */
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_landlock_restrict_self, circle, 0) != 0) {
		return err_sys(e, "landlock", "the kernel refused the outer ruleset");
	}
	return 0;
}

static int landlock_enter(struct kit *k, struct err *e) {
	if (k->ruleset_fd < 0) {
		return 0; /* the kernel has no Landlock; the plan reports that */
	}
	if (plan_lacks_namespaces(k->plan) ? rules_of_run_dir(k, e) != 0 || rule_for_pty(k, e) != 0
					   : rules_of_own_root(k, e) != 0) {
		return -1;
	}
	if (syscall(SYS_landlock_restrict_self, k->ruleset_fd, 0) != 0) {
		return err_sys(e, "landlock", "the kernel refused the ruleset");
	}
	return 0;
}

/* Called by the guard, and again by the command's process. */
static int enter_scope(struct kit *k, struct err *e) {
	if (k->scope_fd >= 0 && syscall(SYS_landlock_restrict_self, k->scope_fd, 0) != 0) {
		return err_sys(e, "landlock", "the kernel refused the inner ruleset");
	}
	return 0;
}

static void landlock_done(struct kit *k) {
	drop_fd(&k->ruleset_fd);
	drop_fd(&k->scope_fd);
	drop_fd(&k->circle_fd);
}

const struct layer layer_landlock = {
	.name = "landlock",
	.prepare = landlock_prepare,
	.warden = enter_circle,
	.enter = landlock_enter,
	.guard = enter_scope,
	.start = enter_scope,
	.done = landlock_done,
};
