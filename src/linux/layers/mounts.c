/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the new root from the plan's mounts.
 *
 * Theory.  The new root is a tmpfs of our own.  Every source is opened by its
 * canonical path with symlinks forbidden, compared with the device and inode in the
 * plan, cloned as a detached tree (open_tree), made read-only, nosuid and nodev
 * down to its last submount (mount_setattr), and only then attached
 * (move_mount) to a target that is again opened beneath the new root with
 * symlinks forbidden, or is a name that was just created in a directory that is
 * held open.  A path is never resolved twice, and no symlink that a command
 * planted in the workspace or the private home is ever followed.
 *
 * Should:   build exactly plan->mounts, in that order; end with a read-only root, which
 *           pivot.c enters.
 * Must not: create files outside our own tmpfs and the private home (mount.create); leave a
 *           submount of a source writable or shared.
 * Fails:    closed: a source that changed since it was planned stops the run. */
#include "linux/layer.h"

#include "backend/secrets.h"
#include "base/auto.h"
#include "linux/layers/mount_cow.h"
#include "linux/layers/mount_exec.h"
#include "linux/layers/mount_proc.h"
#include "linux/mount_api.h"
#include "linux/view_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The unreadable file that covers each MASK_FILE; unlinked before the command runs. */
#define MASK_NAME ".mask"

/* The source of a MOUNT_TEXT, until it is mounted. */
#define TEXT_NAME ".text"

/* nr_inodes: enough for the mount points and private directories.  Without it a command
 * could exhaust memory with empty files, which `size` does not count. */
#define TMPFS_INODES "1048576"

/* ---- child: file systems and trees ---- */

static int fail(struct err *e, const char *what, const struct mount *m) {
	return err_sys_at(e, "mounts", what, m->target);
}

/* A new file system, detached; -1 with errno. */
static int new_tree(const struct kit *k, const char *type, const struct fs_option *options,
		    size_t n, unsigned attributes) {
	int fs = fs_new(type, options, n);
	int tree = fs < 0 ? -1 : fs_mount(fs, attributes);
	kit_leave_fd(k, fs);
	return tree;
}

/* `maybe` marks built-in paths that a kernel or host may lack, and toolchains whose path in
 * the private home is occupied.  A path that the policy names never has it: it stops the
 * run. */
static int fail_unless_maybe(struct err *e, const char *what, const struct mount *m) {
	bool in_the_way = errno == ENOENT || errno == EISDIR || errno == ENOTDIR;
	return m->maybe && in_the_way ? 0 : fail(e, what, m);
}

/* ---- child: targets ---- */

/* The new root, and the last parent directory: the plan is sorted, so most targets have the
 * same parent as the one before. */
struct ground {
	int root; /* also the parent of "/x" */
	int mask; /* MASK_NAME, or the last mount of it */
	bool masked;
	struct kit *kit;
	int last_fd;
	const char *last; /* the path of last_fd: last_len bytes of a target */
	size_t last_len;
};

/* Opens one directory, and creates it where it is missing.  A file or symlink of that name
 * is removed: the file system is our own, and the mount would hide it. */
static int step(int dir, const char *name, mode_t mode) {
	for (int tries = 0; tries < 3; tries++) {
		if (mkdirat(dir, name, mode) != 0 && errno != EEXIST) {
			return -1;
		}
		int fd = sys_openat2(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, BENEATH);
		if (fd >= 0) {
			return fd;
		}
		if ((errno != ENOTDIR && errno != ELOOP) || unlinkat(dir, name, 0) != 0) {
			return -1;
		}
	}
	errno = ELOOP;
	return -1;
}

static void leave_parent(const struct ground *g, int fd) {
	if (fd != g->root) {
		kit_leave_fd(g->kit, fd);
	}
}

/* Opens a directory that mostly exists already. */
static int enter_dir(int dir, const char *name) {
	int fd = sys_openat2(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, BENEATH);
	return fd >= 0 ? fd : step(dir, name, 0755);
}

/* Opens the directory `path`, len bytes; creates missing components.  Begins at the last parent
 * where that is above: a mount on it was made before something was created in it (L1). */
static int walk(const struct ground *g, const char *path, size_t len) {
	bool below = g->last_fd >= 0 && g->last_len < len && path[g->last_len] == '/' &&
		     memcmp(g->last, path, g->last_len) == 0;
	int dir = below ? g->last_fd : g->root;
	for (size_t at = below ? g->last_len + 1 : 1; dir >= 0 && at < len;) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(path + at, "/");
		if (n > NAME_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, path + at, n);
		name[n] = '\0';
		int next = enter_dir(dir, name);
		if (dir != g->last_fd) {
			leave_parent(g, dir);
		}
		dir = next;
		at += n + 1;
	}
	return dir;
}

/* The parent directory of the target; g keeps the descriptor. */
static int parent_of(struct ground *g, const char *target, const char **ret_name) {
	size_t len = (size_t)(strrchr(target, '/') - target);

	*ret_name = target + len + 1;
	if (g->last_fd >= 0 && g->last_len == len && memcmp(g->last, target, len) == 0) {
		return g->last_fd;
	}
	int parent = walk(g, target, len);
	leave_parent(g, g->last_fd);
	g->last_fd = parent;
	g->last = target;
	g->last_len = len;
	return g->last_fd;
}

/* Opens an existing target without following symlinks. */
static int open_target(const struct ground *g, const struct mount *m, bool directory) {
	return sys_openat2(g->root, m->target + 1,
			   O_PATH | O_NOFOLLOW | (directory ? O_DIRECTORY : 0), BENEATH);
}

static int create_dir(struct ground *g, const struct mount *m) {
	const char *name;
	int dir = parent_of(g, m->target, &name);
	return dir < 0 ? -1 : step(dir, name, m->mode == 0 ? 0755 : m->mode);
}

/* A mount point.  One that was just created is not opened: it is a single name in its parent
 * directory, and the mount API does not follow a symlink there (E3). */
struct spot {
	int dir;          /* -1: there is none; errno */
	const char *name; /* "": dir itself is the mount point */
};

static struct spot spot_of(int fd) {
	return (struct spot){fd, ""};
}

/* Only a spot with a descriptor of its own: the parent directory is the ground's. */
static void leave_spot(const struct ground *g, struct spot at) {
	kit_leave_fd(g->kit, at.name[0] == '\0' ? at.dir : -1);
}

/* Creates a file to write into or to mount on.  In the private home it may exist already,
 * and another run may have a mount on it: then it is used as it is, because removing it
 * would detach that mount. */
static int create_file(struct ground *g, const char *target, int access, mode_t mode) {
	const char *name;
	int dir = parent_of(g, target, &name);
	for (int tries = 0; dir >= 0 && tries < 3; tries++) {
		int fd =
			openat(dir, name, O_CREAT | O_EXCL | access | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST) {
			return fd;
		}
		struct stat st;
		fd = sys_openat2(dir, name, O_PATH | O_NOFOLLOW, BENEATH);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
			return fd;
		}
		drop_fd(&fd);
		if (unlinkat(dir, name, 0) != 0 && errno != ENOENT) {
			return -1;
		}
	}
	return -1;
}

/* Finds the mount point of m; creates it only on our own file systems. */
static struct spot target_for(struct ground *g, const struct mount *m) {
	if (!m->create) {
		return spot_of(open_target(g, m, !m->is_file));
	}
	struct spot at;
	at.dir = parent_of(g, m->target, &at.name);
	mode_t mode = m->mode == 0 ? 0755 : m->mode;
	if (at.dir >= 0 && (m->is_file ? mknodat(at.dir, at.name, S_IFREG | 0600, 0)
				       : mkdirat(at.dir, at.name, mode)) == 0) {
		return at;
	}
	return spot_of(m->is_file ? create_file(g, m->target, O_RDONLY, 0600) : create_dir(g, m));
}

/* ---- child: one function per kind of mount ---- */

static int do_dir(struct ground *g, const struct mount *m, struct err *e) {
	const char *name;
	int dir = parent_of(g, m->target, &name);
	if (dir >= 0 && mkdirat(dir, name, m->mode == 0 ? 0755 : m->mode) == 0) {
		return 0; /* not opened */
	}
	auto_fd fd = create_dir(g, m);
	return fd < 0 ? fail(e, "cannot create the directory", m) : 0;
}

static int do_link(struct ground *g, const struct mount *m, struct err *e) {
	const char *name;
	int dir = parent_of(g, m->target, &name);
	if (dir < 0 || (symlinkat(m->text, dir, name) != 0 && errno != EEXIST)) {
		return fail(e, "cannot create the symlink", m);
	}
	return 0;
}

static int do_file(struct ground *g, const struct mount *m, struct err *e) {
	auto_fd fd = create_file(g, m->target, O_WRONLY, m->mode == 0 ? 0444 : m->mode);
	const char *text = m->text;
	size_t len = strlen(m->text);
	const struct secret_bytes *secret =
		m->secret == NULL ? NULL : secrets_find(g->kit->secrets, m->secret);
	if (secret != NULL) {
		text = secret->bytes;
		len = secret->len;
	}
	if (fd < 0 || (len > 0 && write(fd, text, len) != (ssize_t)len)) {
		return fail(e, "cannot create the file", m);
	}
	return 0;
}

/* Opens the source, if it still has the device and inode of the plan. */
static int open_source(const struct mount *m, struct err *e) {
	int fd = sys_openat2(AT_FDCWD, m->source, O_PATH,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS); /* E3 */
	if (fd < 0) {
		return err_sys_at(e, "mounts", "cannot open", m->source);
	}
	struct stat st;
	if (fstat(fd, &st) != 0 || (m->ino != 0 && (st.st_dev != m->dev || st.st_ino != m->ino))) {
		drop_fd(&fd);
		errno = ESTALE;
		return err_sys_at(e, "mounts",
				  "was replaced while the sandbox was being set up:", m->source);
	}
	return fd;
}

/* For layer landlock, which then need not open it by its name. */
static void keep_for_rule(const struct ground *g, const struct mount *m, int fd) {
	const struct kit *k = g->kit;
	if (k->rule_fds != NULL && fd < k->leave_below) {
		k->rule_fds[m - k->plan->mounts] = fd;
	}
}

/* Takes all three; from: -1 for a new file system, and for `to` itself. */
static int attach(const struct ground *g, const struct mount *m, int from, int tree,
		  struct spot to) {
	int rc = tree < 0 || to.dir < 0 ? -1 : mount_tree_attach_at(tree, to.dir, to.name);
	keep_for_rule(g, m, from >= 0 ? from : tree);
	kit_leave_fd(g->kit, from);
	kit_leave_fd(g->kit, tree);
	leave_spot(g, to);
	return rc;
}

/* Takes both. */
static int bind_tree(const struct ground *g, const struct mount *m, int from, struct spot to,
		     uint64_t attributes) {
	return attach(g, m, from, mount_tree_clone(from, attributes), to);
}

/* Mounts the spot, which it takes, on itself. */
static int bind_on_itself(const struct ground *g, const struct mount *m, struct spot at,
			  uint64_t attributes) {
	int tree = mount_tree_clone_at(at.dir, at.name, attributes);
	return attach(g, m, -1, tree, at);
}

/* Where a mount in the private home is left out, a bind mount of what is there: another run may
 * have the mount, and this one must not rename its mount point (plan/home_set.c). */
static int leave_out(struct ground *g, const struct mount *m, struct err *e) {
	const char *home = g->kit->plan->home_at;
	size_t len = home == NULL ? 0 : strlen(home);
	if (len == 0 || strncmp(m->target, home, len) != 0 || m->target[len] != '/') {
		return 0;
	}
	struct spot at = target_for(g, m);
	at = at.dir < 0 ? spot_of(open_target(g, m, false)) : at;
	bool done =
		at.dir >= 0 && bind_on_itself(g, m, at, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) == 0;
	return done ? 0 : fail_unless_maybe(e, "cannot protect the mount point", m);
}

static int do_bind(struct ground *g, const struct mount *m, struct err *e) {
	int from = open_source(m, e);
	if (from < 0) {
		return m->maybe && e->sys == ENOENT ? leave_out(g, m, e) : -1;
	}
	struct spot to = target_for(g, m);
	if (to.dir < 0) {
		int rc = fail_unless_maybe(e, "cannot open the mount point", m);
		kit_leave_fd(g->kit, from);
		return rc == 0 ? leave_out(g, m, e) : rc;
	}
	return bind_tree(g, m, from, to, tree_attributes(m)) == 0 ? 0 : fail(e, "cannot mount", m);
}

/* Takes the descriptor of the tree. */
static int attach_new(struct ground *g, const struct mount *m, int tree, struct err *e) {
	if (tree < 0) {
		return fail(e, "cannot create a file system for", m);
	}
	struct spot to = target_for(g, m);
	if (to.dir < 0) {
		kit_leave_fd(g->kit, tree);
		return fail_unless_maybe(e, "cannot open the mount point", m);
	}
	return attach(g, m, -1, tree, to) == 0 ? 0 : fail(e, "cannot mount", m);
}

static int do_cow(struct ground *g, const struct mount *m, struct err *e) {
	auto_fd from = open_source(m, e);
	int tree = from < 0 ? -1 : mount_cow_new(g->kit, m, from, e);
	return tree < 0 ? -1 : attach_new(g, m, tree, e);
}

/* On the root tmpfs: a bind mount of a directory onto itself, which needs no new file system.
 * Inside a host tree: a tmpfs of its own. */
static int do_private(struct ground *g, const struct mount *m, struct err *e) {
	if (m->create) {
		struct spot at = target_for(g, m);
		/* It is a clone of our own root, which is nosuid, nodev and private. */
		if (at.dir < 0 || bind_on_itself(g, m, at, 0) != 0) {
			return fail(e, "cannot create the private directory", m);
		}
		return 0;
	}
	const struct fs_option options[] = {
		{"mode", "1777"}, {"size", "64m"}, {"nr_inodes", TMPFS_INODES}};
	int tree = new_tree(g->kit, "tmpfs", options, ARRAY_LEN(options),
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return attach_new(g, m, tree, e);
}

/* hidepid=ptraceable hides pid 1: its memory and command line are the caller's. */
static int do_proc(struct ground *g, const struct mount *m, struct err *e) {
	const struct fs_option options[] = {{"hidepid", "ptraceable"}};
	bool shared = g->kit->plan->shares_proc;
	int tree = shared ? mount_proc_callers(tree_attributes(m))
			  : new_tree(g->kit, "proc", options, ARRAY_LEN(options),
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (tree < 0) {
		return err_host(e, shared ? ERR_NO_NAMESPACES : ERR_NO_PROC, "mounts",
				"cannot make a procfs");
	}
	if (g->kit->plan->inner && mount_proc_whole(g->root) != 0) {
		return err_host(e, ERR_NO_NAMESPACES, "mounts", "cannot make a second procfs");
	}
	return attach_new(g, m, tree, e);
}

static int do_pts(struct ground *g, const struct mount *m, struct err *e) {
	const struct fs_option options[] = {{"mode", "0620"}, {"ptmxmode", "0666"}};
	unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	return attach_new(g, m, new_tree(g->kit, "devpts", options, 2, attributes), e);
}

/* Landlock checks mq_open(3) by the mqueue mount, even where no program uses the directory. */
static int do_queues(struct ground *g, const struct mount *m, struct err *e) {
	unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	return attach_new(g, m, new_tree(g->kit, "mqueue", NULL, 0, attributes), e);
}

static int do_mask_file(struct ground *g, const struct mount *m, struct err *e) {
	int to = open_target(g, m, false);
	if (to < 0) {
		return fail_unless_maybe(e, "cannot open the path to hide", m);
	}
	/* A clone has the attributes of its origin: the second one, of the first one. */
	uint64_t attributes =
		g->masked ? 0 : MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int tree = mount_tree_clone(g->mask, attributes);
	if (tree < 0 || mount_tree_attach(tree, to) != 0) {
		bool hidden = tree >= 0 && errno == ENOENT && g->kit->plan->shares_proc &&
			      !mount_proc_has(to);
		return hidden ? 0 : fail(e, "cannot hide", m);
	}
	kit_leave_fd(g->kit, to);
	kit_leave_fd(g->kit, g->mask);
	g->mask = tree;
	g->masked = true;
	return 0;
}

/* The source file is unlinked once it is mounted. */
static int do_text(struct ground *g, const struct mount *m, struct err *e) {
	auto_fd from = openat(g->root, TEXT_NAME, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, m->mode);
	size_t len = strlen(m->text);
	if (from < 0 || write(from, m->text, len) != (ssize_t)len) {
		return fail(e, "cannot create the copy of", m);
	}
	int to = open_target(g, m, false);
	if (to < 0) {
		return fail(e, "cannot open the file to cover", m);
	}
	int tree = mount_tree_clone(from, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (attach(g, m, -1, tree, spot_of(to)) != 0 || unlinkat(g->root, TEXT_NAME, 0) != 0) {
		return fail(e, "cannot cover", m);
	}
	return 0;
}

/* A mask has mode 0111: searchable, for a more specific grant beneath it, but not listable. */
static int do_empty(struct ground *g, const struct mount *m, struct err *e) {
	const char *mode = m->kind == MOUNT_MASK_DIR ? "0111" : "0755";
	const struct fs_option options[] = {{"mode", mode}, {"size", "64k"}};
	/* First: some do not exist, and an unused file system costs a grace period of RCU. */
	struct spot to = target_for(g, m);
	if (to.dir < 0) {
		return fail_unless_maybe(e, "cannot open the mount point", m);
	}
	int tree = new_tree(g->kit, "tmpfs", options, ARRAY_LEN(options),
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree >= 0 && attach(g, m, -1, tree, to) == 0 ? 0 : fail(e, "cannot mount", m);
}

/* seal() makes these read-only, after mount points were created beneath them. */
static bool is_sealed_later(const struct mount *m) {
	return m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_COVER ||
	       (m->kind == MOUNT_PIN && m->create && !m->writable);
}

/* The repository of the workspace. */
static bool is_repository(const struct plan *plan, const char *path) {
	size_t n = strlen(plan->workspace_at);
	return strncmp(path, plan->workspace_at, n) == 0 && strcmp(path + n, "/.git") == 0;
}

/* Binds a path onto itself: a mount point cannot be renamed or removed.  The broker keeps the
 * repository beneath its mount: only there a hard link to an object can leave .git.  Not with an
 * overlay: it copies a linked file, and git refuses a link that is another inode. */
static int do_pin(struct ground *g, const struct mount *m, struct err *e) {
	int at = m->create ? create_dir(g, m) : open_target(g, m, false);
	if (at < 0) {
		return fail_unless_maybe(e, "cannot open the path to protect", m);
	}
	bool closed = !m->writable && !is_sealed_later(m);
	uint64_t attributes =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (closed ? MOUNT_ATTR_RDONLY : 0);
	int tree = mount_tree_clone(at, attributes);
	if (tree < 0 || mount_tree_attach(tree, at) != 0) {
		return fail(e, "cannot protect", m);
	}
	keep_for_rule(g, m, tree);
	kit_leave_fd(g->kit, tree);
	const struct plan *plan = g->kit->plan;
	if (m->writable && plan->broker && plan->cow_dir == NULL &&
	    is_repository(plan, m->target)) {
		g->kit->beneath_fd = at;
	} else {
		kit_leave_fd(g->kit, at);
	}
	return 0;
}

static int (*const makers[])(struct ground *g, const struct mount *m, struct err *e) = {
	[MOUNT_DIR] = do_dir,         [MOUNT_LINK] = do_link,
	[MOUNT_FILE] = do_file,       [MOUNT_BIND] = do_bind,
	[MOUNT_PRIVATE] = do_private, [MOUNT_PROC] = do_proc,
	[MOUNT_DEVICE] = do_bind,     [MOUNT_PTS] = do_pts,
	[MOUNT_QUEUES] = do_queues,   [MOUNT_MASK_FILE] = do_mask_file,
	[MOUNT_MASK_DIR] = do_empty,  [MOUNT_TEXT] = do_text,
	[MOUNT_PIN] = do_pin,         [MOUNT_COW] = do_cow,
	[MOUNT_COVER] = do_empty,
};

/* ---- child: the root ---- */

static int new_root(const struct kit *k, int *ret_mask, struct err *e) {
	char digits[24];
	const struct fs_option options[] = {{"mode", "0755"},
					    {"size", decimal(k->plan->tmp_size, digits)},
					    {"nr_inodes", TMPFS_INODES}};
	auto_fd root = new_tree(k, "tmpfs", options, ARRAY_LEN(options),
				MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	/* Attached on top of the old root, so that cloned trees of it belong to this
	 * mount namespace; absolute paths still resolve in the old one. */
	if (root < 0 ||
	    syscall(SYS_move_mount, root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0) {
		return err_host(e, ERR_NO_NAMESPACES, "mounts", "cannot mount the new root");
	}
	*ret_mask = openat(root, MASK_NAME, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0);
	if (*ret_mask < 0) {
		return err_sys(e, "mounts", "cannot create the file that covers hidden files");
	}
	return take_fd(&root);
}

/* Makes directories read-only that were writable while mount points were created in them. */
static int seal(const struct plan *plan, const struct ground *g, struct err *e) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (!is_sealed_later(m)) {
			continue;
		}
		auto_fd fd = open_target(g, m, true);
		if (fd < 0 && m->maybe && errno == ENOENT) {
			continue;
		}
		if (fd < 0 || mount_tree_restrict(fd, MOUNT_ATTR_RDONLY, 0) != 0) {
			return fail(e, "cannot make read-only", m);
		}
	}
	if (unlinkat(g->root, MASK_NAME, 0) != 0 ||
	    mount_tree_restrict(g->root, MOUNT_ATTR_RDONLY, 0) != 0) {
		return err_sys(e, "mounts", "cannot make the new root read-only");
	}
	return 0;
}

static int build(struct ground *g, const struct plan *plan, struct err *e) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (makers[m->kind](g, m, e) != 0) {
			return -1;
		}
	}
	return seal(plan, g, e) != 0 ? -1 : mount_exec_limit(plan, g->root, e);
}

static int mounts_enter(struct kit *k, struct err *e) {
	/* Files are created with exact modes; layer directory sets the final umask. */
	k->umask = umask(0);
	if (view_report_open(k, e) != 0) {
		return -1;
	}
	int mask = -1;
	int root = new_root(k, &mask, e);
	if (root < 0) {
		return -1;
	}
	struct ground g = {.root = root, .mask = mask, .kit = k, .last_fd = -1};
	if (build(&g, k->plan, e) != 0) {
		return -1;
	}
	leave_parent(&g, g.last_fd);
	kit_leave_fd(k, g.mask);
	k->root_fd = root;
	return 0;
}

const struct layer layer_mounts = {.name = "mounts", .namespaces = true, .enter = mounts_enter};
