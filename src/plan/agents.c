/* SPDX-License-Identifier: Apache-2.0 */
/* Protects the executable settings of an agent in its directory, such as ~/.codex, when that is
 * granted for writing.
 *
 * An agent writes its sessions and histories there.  The same directory has its hooks, servers,
 * plug-ins and instructions, which the agent on the host runs or obeys after the run.
 *
 * Should:   protect those names as part of "@agents", in a granted directory of an agent and in
 *           one above it; warn, whether they are protected or not.
 * Must not: override a grant of such a file or directory itself.
 * Fails:    open: a directory that is not in the table is writable as granted. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"
#include "data/agent_homes.h"

static bool ends_with_dir(const char *path, const char *dir) {
	size_t len = strlen(path), n = strlen(dir);
	return len > n && path[len - n - 1] == '/' && streq(path + len - n, dir);
}

/* The agent's directory, where the request makes it writable; NULL.  A workspace is compared by
 * its path only: a plain run needs no look-up. */
static const char *directory_of(struct builder *b, const struct mount_request *w, const char *dir) {
	const char *source = w->root != NULL ? w->root : w->m.source;
	if (ends_with_dir(source, dir)) {
		return source;
	}
	const char *path = b->h->home == NULL ? NULL : plan_keep_join(b, b->h->home, dir);
	if (path == NULL || (w->rank == RANK_WORKSPACE && !path_within(path, source))) {
		return NULL;
	}
	const char *full = host_fs_resolve(b, path);
	return full != NULL && path_within(full, source) ? full : NULL;
}

/* A directory, and the names in it that are protected. */
struct agent {
	const char *dir;
	const struct agent_row *rows;
	size_t n;
};

typedef void agent_each(struct builder *b, const struct mount_request *w, const struct agent *a,
			void *arg);

static void each_of_request(struct builder *b, const struct mount_request *w, agent_each *each,
			    void *arg) {
	for (size_t k = 0, n; k < agent_rows_count; k += n) {
		const struct agent_row *rows = &agent_rows[k];
		for (n = 1; k + n < agent_rows_count && streq(rows[n].dir, rows->dir); n++) {
		}
		struct agent a = {directory_of(b, w, rows->dir), rows, n};
		if (a.dir != NULL) {
			each(b, w, &a, arg);
		}
	}
}

/* Calls `each` for each directory of an agent that a request makes writable.  Few requests do: the
 * table is not searched for the others. */
static void each_directory(struct builder *b, agent_each *each, void *arg) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (w->m.writable && !w->m.is_file && pattern_ground_is(w)) {
			each_of_request(b, w, each, arg);
		}
	}
}

static void protect_rows(struct builder *b, const struct mount_request *w, const struct agent *a,
			 void *arg) {
	struct rule r = *(const struct rule *)arg;
	(void)w;

	for (size_t i = 0; i < a->n; i++) {
		r.written = plan_keep_printf(b, "%s/%s", a->rows[i].dir, a->rows[i].name);
		r.reason = a->rows[i].reason;
		pattern_beneath(b, r, a->dir, a->rows[i].name);
	}
}

void agents_keep(struct builder *b, struct rule r) {
	each_directory(b, protect_rows, &r);
}

static void warn_about(struct builder *b, const struct mount_request *w, const struct agent *a,
		       void *arg) {
	/* A pattern is checked as if it were a name. */
	const char *dir = w->root != NULL ? a->dir : compose_inside(b, w, a->dir);
	const char *path = plan_keep_join(b, dir, a->rows->name);
	bool kept = rules_judge(&b->plan->rules, path).protect != NULL;
	const char *names = a->rows->name;
	(void)arg;

	for (size_t i = 1; i < a->n; i++) {
		names = plan_keep_printf(b, "%s, %s", names, a->rows[i].name);
	}
	plan_warn(b, plan_keep_printf(
			     b, "%s is the directory of an agent: %s (%s)%s", a->dir,
			     kept ? "files that the agent runs on this host are read-only"
				  : "the command can change files that the agent runs on this host",
			     names, kept ? "; to allow changes: --protect '!@agents'" : ""));
}

void agents_warn(struct builder *b) {
	each_directory(b, warn_about, NULL);
}
