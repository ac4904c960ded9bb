/* SPDX-License-Identifier: Apache-2.0 */
/* Requests the mounts that every new root needs besides the host's trees: /dev, /proc, /tmp.
 *
 * Should:   mount a fresh procfs, devpts and mqueue, the devices of a table, and private
 *           writable directories.
 * Must not: show a device, a process or a kernel setting of the host that is not in a
 *           table.
 * Fails:    closed: a path without a row does not exist inside. */
#include "plan/internal.h"

#include "base/buf.h"
#include "base/str.h"
#include "plan/git/config.h"
#include "plan/git/submodules.h"

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

/* maybe: only the fresh procfs shows whether this kernel has the entry. */
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

/* kuid 0 passes the permission checks of procfs, so Landlock makes it read-only.  Other users
 * write only to files of their own processes, and need to.  In a procfs of the pid namespace above
 * they could also write to those of other processes of the user, so that all of it is read-only. */
static void show_proc(struct builder *b) {
	bool root = b->h->privileged, shared = b->plan->shares_proc;
	struct mount proc = {
		.kind = MOUNT_PROC,
		.target = "/proc",
		.source = "/proc",
		.reach = root || shared ? REACH_READ : REACH_WRITE,
		.writable = !shared,
		.note = shared ? "processes of the container" : "processes inside",
	};
	mount_request_add(b, proc, RANK_SYSTEM);
	for (size_t i = 0; !shared && i < proc_readonly.count; i++) {
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

/* ---- git's settings ---- */

/* How the caller signs commits, and other settings, for git inside. */
struct git_files {
	const char *settings, *ignores, *modules;
};

static bool files_at(struct builder *b, bool modules, struct git_files *ret) {
	const char *dir = b->no_namespaces ? b->plan->own_dirs[0] : OWN_DIR, *of = "";

	if (b->no_namespaces && (dir == NULL || b->h->state_closed)) {
		return false;
	}
	/* Kept from run to run: making and removing a file costs more than the rest.  What is
	 * about one workspace has files of its own: others run at the same time. */
	if (b->no_namespaces && modules) {
		char hash[65];
		trust_sha256_hex(b->plan->workspace, strlen(b->plan->workspace), hash);
		of = plan_keep_printf(b, "-%.12s", hash);
	}
	*ret = (struct git_files){
		.settings = plan_keep_printf(b, "%s/" SHARED_IDENTITY "%s", dir, of),
		.ignores = plan_keep_printf(b, "%s/" SHARED_IGNORES, dir),
		.modules = plan_keep_printf(b, "%s/" SHARED_MODULES "%s", dir, of),
	};
	return true;
}

static void write_path(const char *head, const char *path, struct buf *out) {
	buf_puts(out, head);
	git_config_quote(path, strlen(path), out);
}

static void write_settings(const struct host *h, const struct git_files *at,
			   const struct submodule_settings *modules, struct buf *out) {
	identity_write(&h->git, out);
	if (h->git_settings != NULL) {
		buf_puts(out, h->git_settings);
	}
	if (h->git_ignores != NULL) {
		write_path("[core]\n\texcludesFile = ", at->ignores, out);
		buf_puts(out, "\n");
	}
	if (modules->text != NULL) {
		struct buf condition;
		buf_init(&condition);
		buf_printf(&condition, "gitdir:%s", modules->dir);
		write_path("[includeIf ", buf_failed(&condition) ? "" : condition.data, out);
		write_path("]\n\tpath = ", at->modules, out);
		buf_puts(out, "\n");
		buf_done(&condition);
	}
}

void skeleton_show_git_settings(struct builder *b) {
	const struct host *h = b->h;
	enum reach reach = b->no_namespaces ? REACH_READ : REACH_NONE;
	struct submodule_settings modules = {0};
	bool any = submodules_settings(b, &modules) || h->git.name[0] != '\0' ||
		   h->git.email[0] != '\0' || h->git_settings != NULL || h->git_ignores != NULL;
	struct git_files at;
	struct buf text;

	if (b->view == VIEW_MINIMAL || b->plan->full_access || !any ||
	    !files_at(b, modules.text != NULL, &at)) {
		return;
	}
	buf_init(&text);
	write_settings(h, &at, &modules, &text);
	if (buf_failed(&text)) {
		b->out_of_memory = true;
	} else {
		mount_request_file(b, at.settings, plan_keep_printf(b, "%s", text.data), reach);
		b->identity_at = at.settings;
	}
	if (h->git_ignores != NULL) {
		mount_request_file(b, at.ignores, h->git_ignores, reach);
	}
	if (modules.text != NULL) {
		mount_request_file(b, at.modules, modules.text, reach);
	}
	if (!b->no_namespaces) {
		mount_request_dir(b, OWN_DIR, 0755, REACH_READ);
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
				   "system");
	}
	mount_request_dir(b, plan_keep_printf(b, "/run/user/%u", b->plan->uid), 0700, REACH_NONE);
}
