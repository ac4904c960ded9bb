/* What is shown: system directories, workspace, home, grants, windows of our own.
 *
 * Should:   start from nothing and add what the policy's view names.
 * Must not: show /run, /dev, /proc or /sys of the host as a whole: they hold
 *           sockets, devices and kernel settings that a read-only mount does not
 *           close.
 * Fails:    closed: a granted path that is missing or of the wrong kind is an
 *           error that names its origin. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>

#define NO_HOME "/home/corral"
#define NO_HOME_IN_HOST_VIEW "/run/home" /* /home belongs to the host there */
#define AGENT_AT "/agent"

/* ---- entries of the new root ---- */

static void add_dir(struct builder *b, const char *path, uint32_t mode, enum reach reach) {
	struct mount m = {.kind = MOUNT_DIR,
			  .target = path,
			  .mode = mode,
			  .reach = reach,
			  .note = "skeleton"};
	wish_add(b, m, RANK_SYSTEM);
}

static void add_link(struct builder *b, const char *path, const char *text, const char *note) {
	struct mount m = {.kind = MOUNT_LINK, .target = path, .text = text, .note = note};
	wish_add(b, m, RANK_SYSTEM);
}

static void add_file(struct builder *b, const char *path, const char *text) {
	struct mount m = {
		.kind = MOUNT_FILE,
		.target = path,
		.text = text,
		.mode = 0444,
		.is_file = true,
		.note = "made up",
	};
	wish_add(b, m, RANK_SYSTEM);
}

static void add_private(struct builder *b, const char *path, uint32_t mode, enum rank rank,
			const char *note) {
	struct mount m = {
		.kind = MOUNT_PRIVATE,
		.target = path,
		.mode = mode,
		.reach = REACH_WRITE,
		.writable = true,
		.note = note,
	};
	wish_add(b, m, rank);
}

/* A file or directory of the host at its own place, read-only. */
static void show_system(struct builder *b, const char *path, struct look seen, enum reach reach,
			const char *note) {
	const char *full = fs_canonical(b, path, seen);
	if (full == NULL || (seen.kind != LOOK_DIR && seen.kind != LOOK_FILE)) {
		return;
	}
	struct show s = {
		.path = path,
		.canonical = full,
		.seen = streq(full, path) ? seen : fs_look(b, full),
		.reach = reach,
		.rank = RANK_SYSTEM,
		.note = note,
	};
	wish_show(b, &s);
}

/* A symlink keeps its text, so that programs see the host's layout; where it
 * leads is shown as well, unless a system root holds it already. */
static void show_link(struct builder *b, const char *path, enum reach reach, const char *note) {
	char text[PATH_MAX];
	if (!b->h->fs.readlink(b->h->fs.ctx, path, text, sizeof text)) {
		return;
	}
	const char *to = text[0] == '/' ? keep_join(b, "/", text)
					: keep_join(b, keep_join(b, path, ".."), text);
	add_link(b, path, keep_printf(b, "%s", text), note);
	if (path_within(to, "/usr") || path_within(to, "/nix/store")) {
		return;
	}
	const char *full = fs_resolve(b, path);
	if (full != NULL && reserved_reason(full) == NULL) {
		show_system(b, full, fs_look(b, full), reach, note);
	}
}

static void show_system_or_link(struct builder *b, const char *path, enum reach reach,
				const char *note) {
	struct look seen = fs_look(b, path);
	if (seen.kind == LOOK_LINK) {
		show_link(b, path, reach, note);
	} else if (seen.kind != LOOK_NOTHING) {
		show_system(b, path, seen, reach, note);
	}
}

/* ---- the three views ---- */

static void show_roots(struct builder *b, unsigned only) {
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		if ((row->flags & only) == only) {
			enum reach reach = row->flags & PATH_EXEC ? REACH_EXEC : REACH_READ;
			show_system_or_link(b, row->path, reach, "system");
		}
	}
}

/* Often a link into /run, which is not shown; the one file is. */
static void show_resolver(struct builder *b) {
	if (fs_look(b, "/etc/resolv.conf").kind != LOOK_LINK) {
		return;
	}
	const char *full = fs_resolve(b, "/etc/resolv.conf");
	struct look seen = {.kind = LOOK_NOTHING};
	if (full != NULL) {
		seen = fs_look(b, full);
	}
	if (seen.kind == LOOK_FILE) {
		show_system(b, full, seen, REACH_READ, "system");
	}
}

static const char *passwd_text(struct builder *b, const char *name) {
	const char *home = b->plan->home_at;
	if (b->h->uid == 0) {
		return keep_printf(b,
				   "root:x:0:0:root:%s:/bin/sh\n"
				   "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
				   home);
	}
	return keep_printf(b,
			   "root:x:0:0:root:/root:/bin/sh\n"
			   "%s:x:%u:%u::%s:/bin/sh\n"
			   "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
			   name, b->h->uid, b->h->gid, home);
}

static const char *group_text(struct builder *b, const char *name) {
	if (b->h->gid == 0) {
		return "root:x:0:\nnogroup:x:65534:\n";
	}
	return keep_printf(b, "root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", name, b->h->gid);
}

static void minimal_view(struct builder *b) {
	const char *name =
		b->h->user != NULL && strpbrk(b->h->user, ":\n") == NULL ? b->h->user : "corral";
	show_roots(b, PATH_MINIMAL);
	add_dir(b, "/etc", 0755, REACH_READ);
	add_file(b, "/etc/passwd", passwd_text(b, name));
	add_file(b, "/etc/group", group_text(b, name));
	add_file(b, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
	add_file(b, "/etc/hostname", "localhost\n");
	add_file(b, "/etc/nsswitch.conf",
		 "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n");
	for (size_t i = 0; i < minimal_etc.count; i++) {
		show_system_or_link(b, minimal_etc.rows[i].path, REACH_READ, "system");
	}
	if (policy_num(b->p, KEY_NET_MODE) == NET_FULL) {
		show_system_or_link(b, "/etc/resolv.conf", REACH_READ, "system");
	}
}

static void host_entry(void *arg, const char *name) {
	struct builder *b = arg;
	if (path_table_find(&host_skipped, name) == NULL) {
		show_system_or_link(b, keep_join(b, "/", name), REACH_EXEC, "host");
	}
}

static int host_view(struct builder *b, struct err *e) {
	if (!b->h->fs.list(b->h->fs.ctx, "/", host_entry, b)) {
		return err_set(e, ERR_SETUP, WHERE,
			       "the root directory of this host cannot be listed");
	}
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		if (str_starts(row->path, "/sys/") || str_starts(row->path, "/run/")) {
			enum reach reach = row->flags & PATH_EXEC ? REACH_EXEC : REACH_READ;
			show_system_or_link(b, row->path, reach, "system");
		}
	}
	show_resolver(b);
	return 0;
}

static int show_view(struct builder *b, struct err *e) {
	switch (b->view) {
	case VIEW_MINIMAL:
		minimal_view(b);
		return 0;
	case VIEW_SYSTEM:
		show_roots(b, 0);
		show_resolver(b);
		return 0;
	case VIEW_HOST:
		return host_view(b, e);
	}
	return err_set(e, ERR_USAGE, WHERE, "fs.view has a value that is not implemented");
}

/* ---- skeleton ---- */

/* One Landlock rule on the directory serves every device in it. */
static void show_devices(struct builder *b) {
	struct mount dir = {.kind = MOUNT_DIR,
			    .target = "/dev",
			    .reach = REACH_DEVICE,
			    .mode = 0755,
			    .note = "devices"};
	wish_add(b, dir, RANK_SYSTEM);
	for (size_t i = 0; i < devices.count; i++) {
		struct mount m = {
			.kind = MOUNT_DEVICE,
			.target = devices.rows[i].path,
			.source = devices.rows[i].path,
			.writable = true,
			.is_file = true,
			.maybe = true,
			.note = "device",
		};
		wish_add(b, m, RANK_SYSTEM);
	}
	struct mount queues = {.kind = MOUNT_QUEUES,
			       .target = "/dev/mqueue",
			       .reach = REACH_WRITE,
			       .writable = true,
			       .note = "message queues"};
	wish_add(b, queues, RANK_SYSTEM);
	struct mount pts = {
		.kind = MOUNT_PTS, .target = "/dev/pts", .writable = true, .note = "device"};
	wish_add(b, pts, RANK_SYSTEM);
}

/* Whether this kernel has the entry is seen when the fresh procfs is there. */
static void hide_in_proc(struct builder *b, const struct path_row *row) {
	bool directory = (row->flags & PATH_DIRECTORY) != 0;
	struct mount m = {
		.kind = directory ? MOUNT_MASK_DIR : MOUNT_MASK_FILE,
		.target = row->path,
		.is_file = !directory,
		.maybe = true,
		.note = "kernel",
	};
	wish_add(b, m, RANK_SENSITIVE);
}

/* kuid 0 passes the permission checks of procfs; then Landlock is the second
 * wall.  Others write only what belongs to their own processes, and need to. */
static void show_proc(struct builder *b) {
	bool root = b->h->privileged;
	struct mount proc = {
		.kind = MOUNT_PROC,
		.target = "/proc",
		.source = "/proc",
		.reach = root ? REACH_READ : REACH_WRITE,
		.writable = true,
		.note = "processes inside",
	};
	wish_add(b, proc, RANK_SYSTEM);
	for (size_t i = 0; i < proc_readonly.count; i++) {
		const struct path_row *row = &proc_readonly.rows[i];
		if (root || (row->flags & PATH_ALWAYS) != 0) {
			struct mount m = {.kind = MOUNT_PIN,
					  .target = row->path,
					  .maybe = true,
					  .note = "kernel settings"};
			wish_add(b, m, RANK_SYSTEM);
		}
	}
	for (size_t i = 0; i < proc_hidden.count; i++) {
		const struct path_row *row = &proc_hidden.rows[i];
		if (root || (row->flags & PATH_ROOT_ONLY) == 0) {
			hide_in_proc(b, row);
		}
	}
}

static void show_identity(struct builder *b) {
	struct buf text;

	buf_init(&text);
	identity_write(&b->h->git, &text);
	if (buf_failed(&text)) {
		b->out_of_memory = true;
	} else {
		add_dir(b, IDENTITY_DIR, 0755, REACH_READ);
		add_file(b, IDENTITY_FILE, keep_printf(b, "%s", text.data));
	}
	buf_done(&text);
}

static void show_skeleton(struct builder *b) {
	show_devices(b);
	show_proc(b);
	for (size_t i = 0; i < windows.count; i++) {
		add_private(b, windows.rows[i].path, windows.rows[i].mode, RANK_WINDOW, "private");
	}
	for (size_t i = 0; i < skeleton_links.count; i++) {
		add_link(b, skeleton_links.rows[i].path, skeleton_links.rows[i].text, "skeleton");
	}
	add_dir(b, keep_printf(b, "/run/user/%u", b->h->uid), 0700, REACH_NONE);
	if (identity_shown(b)) {
		show_identity(b);
	}
}

/* ---- workspace and grants ---- */

static const char *wrong_kind(enum look_kind kind) {
	switch (kind) {
	case LOOK_SOCKET:
		return "it is a socket, and passing sockets in is a later capability (--socket)";
	case LOOK_DIR:
	case LOOK_FILE:
		return NULL;
	default:
		return "it is neither a file nor a directory";
	}
}

static int cannot_grant(const char *key, const char *path, const struct origin *o, const char *why,
			struct err *e) {
	char origin[128];
	return err_set(e, ERR_USAGE, WHERE, "%s cannot hold %s (%s): %s", key, path,
		       origin_text(o, origin, sizeof origin), why);
}

/* Whether the way of `path` goes through the tree and ends outside it. */
static bool leaves(struct builder *b, const char *path, const char *full, const char *tree) {
	if (tree == NULL || path_within(full, tree)) {
		return false;
	}
	for (const char *dir = keep_join(b, path, ".."); dir[1] != '\0';
	     dir = keep_join(b, dir, "..")) {
		const char *real = fs_resolve(b, dir);
		if (real != NULL && path_within(real, tree)) {
			return true;
		}
	}
	return false;
}

/* In a tree that commands can write, an earlier one may have put a link where
 * the rule names a path: the rule would open whatever that link leads to. */
static const char *led_astray(struct builder *b, const char *path, const char *full) {
	const struct value *writable = &b->p->values[KEY_FS_WRITE];
	bool astray = leaves(b, path, full, b->plan->workspace);
	for (size_t i = 0; !astray && i < writable->count; i++) {
		astray = leaves(b, path, full, fs_resolve(b, writable->items[i].str));
	}
	return astray ? keep_printf(b,
				    "a link in a tree that commands can write leads it to %s; "
				    "name that path itself if it is meant",
				    full)
		      : NULL;
}

/* Everything that may be wrong with a path that a rule wants to show. */
static int check_grant(struct builder *b, const struct show *s, struct err *e) {
	const char *why = reserved_reason(s->path);
	if (why == NULL) {
		why = reserved_reason(s->canonical);
	}
	if (why == NULL && own_dir_of(b, s->canonical) != NULL) {
		why = "it belongs to Corral itself";
	}
	if (why == NULL) {
		why = wrong_kind(s->seen.kind);
	}
	if (why == NULL) {
		why = led_astray(b, s->path, s->canonical);
	}
	return why == NULL ? 0 : cannot_grant(s->note, s->path, &s->origin, why, e);
}

static int grant(struct builder *b, const struct item *it, bool write, struct err *e) {
	const char *key = write ? "fs.write" : "fs.read";
	const char *full = fs_resolve(b, it->str);
	char origin[128];
	if (full == NULL && it->optional) {
		origin_text(&it->origin, origin, sizeof origin);
		note_add(b, keep_printf(b, "skipped, does not exist: %s (%s)", it->str, origin));
		return 0;
	}
	if (full == NULL) {
		cannot_grant(key, it->str, &it->origin, "it does not exist", e);
		return err_fix(e, "create it, or write %s? to skip it when it is missing", it->str);
	}
	struct show s = {
		.path = it->str,
		.canonical = full,
		.seen = fs_look(b, full),
		.writable = write && !b->read_only,
		.reach = write && !b->read_only ? REACH_WRITE : REACH_EXEC,
		.rank = write ? RANK_WRITE : RANK_READ,
		.origin = it->origin,
		.note = key,
	};
	if (check_grant(b, &s, e) != 0) {
		return -1;
	}
	wish_show(b, &s);
	return 0;
}

static int show_grants(struct builder *b, enum key_id key, struct err *e) {
	const struct value *list = &b->p->values[key];
	for (size_t i = 0; i < list->count; i++) {
		if (grant(b, &list->items[i], key == KEY_FS_WRITE, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int show_mapped(struct builder *b, enum key_id key, const char *at, bool writable,
		       enum rank rank, struct err *e) {
	const struct value *value = &b->p->values[key];
	const char *name = key == KEY_WORKSPACE ? "workspace" : "fs.agent";
	bool known = key == KEY_WORKSPACE; /* its canonical path stands in the plan already */
	const char *full = known ? b->plan->workspace : fs_resolve(b, value->str);
	struct look seen = {.kind = LOOK_NOTHING};
	if (full != NULL) {
		seen = fs_look(b, full);
	}
	if (seen.kind != LOOK_DIR) {
		return cannot_grant(name, value->str, &value->origin, "it is not a directory", e);
	}
	struct show s = {
		.path = value->str,
		.canonical = full,
		.seen = seen,
		.origin = value->origin,
		.note = name,
	};
	if (check_grant(b, &s, e) != 0) {
		return -1;
	}
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = at,
		.source = full,
		.reach = writable ? REACH_WRITE : REACH_EXEC,
		.writable = writable,
		.dev = seen.dev,
		.ino = seen.ino,
		.origin = value->origin,
		.note = name,
	};
	wish_add(b, m, rank);
	return 0;
}

static int show_workspace(struct builder *b, struct err *e) {
	struct plan *plan = b->plan;
	const char *given = policy_str(b->p, KEY_WORKSPACE);
	if (given == NULL) {
		return err_set(e, ERR_USAGE, WHERE, "there is no workspace");
	}
	const char *full = fs_resolve(b, given);
	const char *at = policy_str(b->p, KEY_FS_WORKSPACE_AT);
	plan->workspace = full == NULL ? given : full;
	plan->workspace_at = at == NULL ? plan->workspace : keep_join(b, "/", at);
	const char *why = reserved_reason(plan->workspace_at);
	if (why != NULL) {
		return cannot_grant("fs.workspace_at", plan->workspace_at,
				    &b->p->values[KEY_FS_WORKSPACE_AT].origin, why, e);
	}
	return show_mapped(b, KEY_WORKSPACE, plan->workspace_at, !b->read_only, RANK_WORKSPACE, e);
}

/* ---- home ---- */

/* A stable name for the home that belongs to a workspace. */
static const char *home_name(struct builder *b) {
	uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a, 64 bits */
	for (const char *p = b->plan->workspace; *p != '\0'; p++) {
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
	}
	char name[41];
	size_t n = 0;
	for (const char *p = strrchr(b->plan->workspace, '/') + 1;
	     *p != '\0' && n < sizeof name - 1; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("._-", *p) != NULL;
		name[n++] = (char)(plain ? *p : '_');
	}
	name[n] = '\0';
	return keep_printf(b, "%016llx-%s", (unsigned long long)hash, name);
}

/* True when the home can be kept between runs; notes why not when asked for. */
static bool home_is_kept(struct builder *b) {
	const struct value *home = &b->p->values[KEY_FS_HOME];
	if (home->num != HOME_PERSISTENT) {
		return false;
	}
	if (b->read_only) {
		if (home->origin.kind != ORIGIN_BUILTIN) {
			note_add(b, "the home is not kept: mode is read-only");
		}
		return false;
	}
	if (b->h->state_dir == NULL) {
		note_add(b, "the home is not kept: there is no state directory to keep it in");
		return false;
	}
	/* Who asked for it gets the error of making it; the default does without. */
	if (b->h->state_closed && home->origin.kind == ORIGIN_BUILTIN) {
		note_add(b, keep_printf(b, "the home is not kept: %s cannot be written",
					b->h->state_dir));
		return false;
	}
	return true;
}

static void show_private_home(struct builder *b) {
	struct plan *plan = b->plan;
	if (!home_is_kept(b)) {
		add_private(b, plan->home_at, 0700, RANK_HOME, "private home");
		return;
	}
	plan->home_source = keep_join(b, keep_join(b, b->own_dirs[0], "homes"), home_name(b));
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = plan->home_at,
		.source = plan->home_source,
		.reach = REACH_WRITE,
		.writable = true,
		.note = "private home",
	};
	wish_add(b, m, RANK_HOME)->own = true;
}

/* The host view takes the home over as it is, unless it lies where that view
 * does not look. */
static bool host_shows_home(const struct builder *b) {
	const char *home = b->h->home;
	if (b->view != VIEW_HOST || home == NULL) {
		return false;
	}
	for (size_t i = 0; i < host_skipped.count; i++) {
		size_t n = strlen(host_skipped.rows[i].path);
		if (strncmp(home + 1, host_skipped.rows[i].path, n) == 0 &&
		    (home[n + 1] == '/' || home[n + 1] == '\0')) {
			return false;
		}
	}
	return true;
}

static void choose_home(struct builder *b) {
	const char *home = b->view == VIEW_MINIMAL ? NULL : b->h->home;
	if (home != NULL && reserved_reason(home) != NULL) {
		home = NULL;
	}
	const char *none = b->view == VIEW_HOST ? NO_HOME_IN_HOST_VIEW : NO_HOME;
	b->plan->home_at = home == NULL ? none : home;
}

static void show_home(struct builder *b) {
	if (path_within(b->plan->home_at, b->plan->workspace_at) || host_shows_home(b)) {
		return;
	}
	show_private_home(b);
}

int view_build(struct builder *b, struct err *e) {
	choose_home(b); /* the minimal view writes it into passwd */
	if (show_view(b, e) != 0) {
		return -1;
	}
	show_skeleton(b);
	if (show_workspace(b, e) != 0) {
		return -1;
	}
	show_home(b);
	if (policy_str(b->p, KEY_FS_AGENT) != NULL &&
	    show_mapped(b, KEY_FS_AGENT, AGENT_AT, false, RANK_READ, e) != 0) {
		return -1;
	}
	if (show_grants(b, KEY_FS_READ, e) != 0 || show_grants(b, KEY_FS_WRITE, e) != 0) {
		return -1;
	}
	return b->out_of_memory ? err_memory(e, WHERE) : 0;
}
