/* What every root needs besides the host's trees: devices, processes, windows.
 *
 * Should:   show the sandbox's own kernel interfaces and scratch space.
 * Must not: show a device, a process or a setting of the host that is not in a
 *           table.
 * Fails:    closed: what has no row is not there. */
#include "plan/internal.h"

#include "base/buf.h"
#include "base/str.h"
#include "plan/git/config.h"

/* One Landlock rule on the directory serves every device in it. */
static void show_devices(struct builder *b) {
	struct mount dir = {.kind = MOUNT_DIR,
			    .target = "/dev",
			    .reach = REACH_DEVICE,
			    .mode = 0755,
			    .note = "devices"};
	mount_request_add(b, dir, RANK_SYSTEM);
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
		mount_request_add(b, m, RANK_SYSTEM);
	}
	struct mount queues = {.kind = MOUNT_QUEUES,
			       .target = "/dev/mqueue",
			       .reach = REACH_WRITE,
			       .writable = true,
			       .note = "message queues"};
	mount_request_add(b, queues, RANK_SYSTEM);
	struct mount pts = {
		.kind = MOUNT_PTS, .target = "/dev/pts", .writable = true, .note = "device"};
	mount_request_add(b, pts, RANK_SYSTEM);
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
	mount_request_add(b, m, RANK_SENSITIVE);
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
	mount_request_add(b, proc, RANK_SYSTEM);
	for (size_t i = 0; i < proc_readonly.count; i++) {
		const struct path_row *row = &proc_readonly.rows[i];
		if (root || (row->flags & PATH_ALWAYS) != 0) {
			struct mount m = {.kind = MOUNT_PIN,
					  .target = row->path,
					  .maybe = true,
					  .note = "kernel settings"};
			mount_request_add(b, m, RANK_SYSTEM);
		}
	}
	for (size_t i = 0; i < proc_hidden.count; i++) {
		const struct path_row *row = &proc_hidden.rows[i];
		if (root || (row->flags & PATH_ROOT_ONLY) == 0) {
			hide_in_proc(b, row);
		}
	}
}

/* How the caller signs commits, and other settings, for git inside. */
#define OWN_DIR "/.corral"
#define GIT_SETTINGS OWN_DIR "/git_config"
#define GIT_IGNORES OWN_DIR "/gitignore"

static void write_settings(const struct host *h, const char *ignores_at, struct buf *out) {
	identity_write(&h->git, out);
	if (h->git_settings != NULL) {
		buf_puts(out, h->git_settings);
	}
	if (h->git_ignores != NULL) {
		buf_puts(out, "[core]\n\texcludesFile = ");
		git_config_quote(ignores_at, strlen(ignores_at), out);
		buf_puts(out, "\n");
	}
}

void skeleton_show_git_settings(struct builder *b, const char *at, const char *ignores_at) {
	const struct host *h = b->h;
	enum reach reach = b->no_namespaces ? REACH_READ : REACH_NONE;
	bool any = h->git.name[0] != '\0' || h->git.email[0] != '\0' || h->git_settings != NULL ||
		   h->git_ignores != NULL;
	struct buf text;

	if (b->view == VIEW_MINIMAL || !any) {
		return;
	}
	buf_init(&text);
	write_settings(h, ignores_at, &text);
	if (buf_failed(&text)) {
		b->out_of_memory = true;
	} else {
		mount_request_file(b, at, plan_keep_printf(b, "%s", text.data), reach);
		b->identity_at = at;
	}
	if (h->git_ignores != NULL) {
		mount_request_file(b, ignores_at, h->git_ignores, reach);
	}
	buf_done(&text);
}

void skeleton_show(struct builder *b) {
	show_devices(b);
	show_proc(b);
	for (size_t i = 0; i < windows.count; i++) {
		mount_request_private(b, windows.rows[i].path, windows.rows[i].mode, RANK_WINDOW,
				      "private");
	}
	for (size_t i = 0; i < skeleton_links.count; i++) {
		mount_request_link(b, skeleton_links.rows[i].path, skeleton_links.rows[i].text,
				   "skeleton");
	}
	mount_request_dir(b, plan_keep_printf(b, "/run/user/%u", b->h->uid), 0700, REACH_NONE);
	skeleton_show_git_settings(b, GIT_SETTINGS, GIT_IGNORES);
	if (b->identity_at != NULL) {
		mount_request_dir(b, OWN_DIR, 0755, REACH_READ);
	}
}
