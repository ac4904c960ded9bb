/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a file tool: its plan, its rights, its refusal in the audit log.
 *
 * Should:   plan anew for every call, as a run at that time would.
 * Must not: keep a capability that a command in the sandbox would not have.
 * Fails:    closed: without a plan no file is opened. */
#include "lib/file_task.h"

#include "backend/home.h"
#include "base/path.h"

/* A path in the private home: a write creates the home, as a run would; a read checks its
 * record first. */
static int enter_home(const struct file_task *t, const char *path, bool write, struct err *e) {
	struct arena a;

	if (t->plan.home_source == NULL) {
		return 0;
	}
	arena_init(&a);
	const char *whole = path_join(&a, t->plan.cwd, path);
	bool there = whole != NULL && path_within(whole, t->plan.home_at) &&
		     plan_visibility(&t->plan, whole) == VISIBILITY_PRIVATE;
	int rc = !there ? 0 : write ? home_make(&t->plan, e) : home_check(&t->plan, e);
	arena_done(&a);
	return rc;
}

/* `at`: the path that the call reads or may create. */
static int begin(const struct corral_files *files, const char *at, bool write, struct file_task *t,
		 struct err *e) {
	*t = (struct file_task){.view = {.plan = &t->plan}};
	arena_init(&t->arena);
	t->files = files;
	t->at = at;
	t->write = write;
	if (files == NULL || at == NULL) {
		return err_set(e, ERR_USAGE, "library", "the handle or the path is NULL");
	}
	t->view.policy = &files->base.policy;
	t->view.fast = !files->slow;
	t->view.reject_links = files->reject_links;
	if (plan_build(&t->arena, &files->base.policy, &files->base.host, &t->plan, e) != 0 ||
	    rights_drop(&t->rights, e) != 0) {
		return -1;
	}
	return enter_home(t, at, write, e);
}

int file_task_to_read(const struct corral_files *files, const char *at, struct file_task *t,
		      struct err *e) {
	return begin(files, at, false, t, e);
}

int file_task_to_write(const struct corral_files *files, const char *at, struct file_task *t,
		       struct err *e) {
	return begin(files, at, true, t, e);
}

int file_task_also_write(struct file_task *t, const char *at, struct err *e) {
	return enter_home(t, at, true, e);
}

/* A path that a rule refuses, for the audit log; not one that does not exist. */
static void record_refusal(const struct file_task *t, const struct err *e) {
	if (e->kind != ERR_OUTSIDE && e->kind != ERR_SENSITIVE && e->kind != ERR_PROTECTED) {
		return;
	}
	const struct audit_denial d = {
		.what = AUDIT_DENIED_PATH,
		.op = t->write ? "write" : "read",
		.object = t->at,
		.access = t->write ? "write" : "read",
		.why = e->what,
		.allow_with = e->fix[0] == '\0' ? NULL : e->fix,
		.count = 1,
	};
	audit_denied(&t->files->base, &d);
}

int file_task_end(struct file_task *t, int rc, const struct err *e, struct corral_error *err) {
	rights_restore(&t->rights);
	if (rc != 0 && t->files != NULL) {
		record_refusal(t, e);
	}
	arena_done(&t->arena);
	return rc == 0 ? 0 : lib_fail(e, err);
}
