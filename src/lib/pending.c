/* SPDX-License-Identifier: Apache-2.0 */
/* The pending changes of runs with fs.cow: corral_cow_list(), _diff(), _apply(), _discard().
 *
 * Should:   check protected names by the policy that a run in that workspace would
 *           have now.
 * Must not: keep a lock longer than a call.
 * Fails:    closed: an entry that cannot be read can only be discarded. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "lib/sized.h"

#include <limits.h>
#include <stdio.h>

/* One call on this host. */
struct pending {
	struct arena arena;
	struct host host;
	struct cow cow;
};

static int pending_init(struct pending *p, struct err *e) {
	*p = (struct pending){.cow = {.parent = -1, .dir = -1, .upper = -1, .lower = -1}};
	arena_init(&p->arena);
	if (probe_host(&p->arena, &p->host, e) != 0) {
		return -1;
	}
	return p->host.state_dir == NULL ? 0 : owner_check(p->host.state_dir, e);
}

static void pending_done(struct pending *p) {
	cow_close(&p->cow);
	arena_done(&p->arena);
}

/* The common frame of all calls; `work` writes the text for the caller, if any. */
typedef int pending_work(struct pending *p, const void *arg, struct buf *out, struct err *e);

static int pending_call(pending_work *work, const void *arg, char **text,
			struct corral_error *err) {
	struct pending p;
	struct err e = {0};
	struct buf out;

	buf_init(&out);
	int rc = pending_init(&p, &e);
	if (rc == 0) {
		rc = work(&p, arg, &out, &e);
	}
	if (rc == 0 && text != NULL) {
		rc = lib_give(&out, text, &e);
	}
	buf_done(&out);
	pending_done(&p);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

static int pending_open(struct pending *p, const char *id, struct err *e) {
	if (id == NULL) {
		return err_set(e, ERR_USAGE, "library", "the id is NULL");
	}
	return cow_open(&p->arena, p->host.state_dir, id, &p->cow, e);
}

/* ---- paths from the command line ---- */

/* The path relative to the workspace, "" for the workspace itself. */
static const char *path_in(struct pending *p, const char *path, struct err *e) {
	const char *workspace = p->cow.workspace, *cwd = p->host.cwd;
	bool here = cwd != NULL && path_within(cwd, workspace);
	const char *full = path_join(&p->arena, here ? cwd : workspace, path);
	if (full == NULL) {
		(void)err_memory(e, "library");
		return NULL;
	}
	if (*path == '\0' || !path_within(full, workspace)) {
		(void)err_set(e, ERR_USAGE, COW_WHERE, "\"%s\" is not in the workspace %s", path,
			      workspace);
		return NULL;
	}
	size_t skip = streq(workspace, "/") ? 0 : strlen(workspace);
	return full[skip] == '/' ? full + skip + 1 : full + skip;
}

static int paths_in(struct pending *p, const char *const *paths, const char *const **ret,
		    size_t *ret_n, struct err *e) {
	size_t n = 0;
	while (paths != NULL && paths[n] != NULL) {
		n++;
	}
	const char **list = arena_array(&p->arena, n + 1, sizeof *list);
	if (list == NULL) {
		return err_memory(e, "library");
	}
	for (size_t i = 0; i < n; i++) {
		list[i] = path_in(p, paths[i], e);
		if (list[i] == NULL) {
			return -1;
		}
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

/* ---- list ---- */

struct listing {
	struct pending *p;
	enum corral_format format;
	struct buf *out;
	struct emit j;
	size_t n;
};

/* One line of the list; fault is the error of an entry that cannot be read. */
struct line {
	const char *id, *fault;
	const struct cow *cow;
	size_t changes;
};

static void list_json(struct listing *l, const struct line *line) {
	struct emit *j = &l->j;
	char when[24];
	bool known = line->fault == NULL;
	if (known) {
		cow_time_text(line->cow->started, when);
	}
	emit_object(j, NULL);
	emit_string(j, "id", line->id);
	emit_string(j, "workspace", known ? line->cow->workspace : NULL);
	emit_string(j, "started", known ? when : NULL);
	if (known) {
		emit_int(j, "changes", (int64_t)line->changes);
	} else {
		emit_null(j, "changes");
	}
	emit_string(j, "fault", line->fault);
	emit_end_object(j);
}

static void list_text(struct listing *l, const struct line *line) {
	char when[24];
	if (line->fault != NULL) {
		buf_printf(l->out, "%-8s %s\n", line->id, line->fault);
		return;
	}
	cow_time_text(line->cow->started, when);
	buf_printf(l->out, "%-8s %6zu change%s  %s  ", line->id, line->changes,
		   line->changes == 1 ? " " : "s", when);
	cow_quote(l->out, "", line->cow->workspace);
	buf_puts(l->out, "\n");
}

/* Removes an empty entry that a killed run left; lists an entry that cannot be read, because
 * it can be discarded. */
static void list_one(struct listing *l, const char *id) {
	struct pending *p = l->p;
	struct cow_changes changes = {0};
	struct err e = {0};
	struct line line = {.id = id, .cow = &p->cow};
	int rc = cow_open(&p->arena, p->host.state_dir, id, &p->cow, &e);

	if (rc == 0) {
		rc = cow_walk(&p->cow, &changes, &e);
	}
	bool gone = rc != 0 && e.kind == ERR_USAGE;
	bool empty = rc == 0 ? changes.n == 0 : cow_is_abandoned(&p->cow);
	if (!gone && !(empty && cow_remove(&p->cow, &e) == 0)) {
		line.changes = changes.n;
		line.fault = rc == 0 ? NULL : arena_strdup(&p->arena, e.what);
		(l->format == CORRAL_JSON ? list_json : list_text)(l, &line);
		l->n++;
	}
	cow_close(&p->cow);
}

static int list_all(struct pending *p, const void *arg, struct buf *out, struct err *e) {
	enum corral_format format = *(const enum corral_format *)arg;
	const char **ids;
	size_t n;
	struct listing l = {.p = p, .format = format, .out = out};
	int rc = cow_ids(&p->arena, p->host.state_dir, &ids, &n, e);

	emit_init(&l.j, out, false);
	if (format == CORRAL_JSON) {
		emit_object(&l.j, NULL);
		emit_int(&l.j, "version", 1);
		emit_array(&l.j, "pending");
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		list_one(&l, ids[i]);
	}
	if (format == CORRAL_JSON) {
		emit_end_array(&l.j);
		emit_end_object(&l.j);
	} else if (l.n == 0) {
		buf_puts(out, "no changes are pending\n");
	}
	buf_puts(out, "");
	return rc;
}

int corral_cow_list(enum corral_format format, char **text, struct corral_error *err) {
	return lib_need(text, "text", err) != 0 ? -1 : pending_call(list_all, &format, text, err);
}

/* ---- diff ---- */

struct diffing {
	const char *id;
	const char *const *paths;
	enum corral_format format;
};

static int diff(struct pending *p, const void *arg, struct buf *out, struct err *e) {
	const struct diffing *d = arg;
	struct cow_view view = {.json = d->format == CORRAL_JSON};
	struct cow_changes changes;
	if (pending_open(p, d->id, e) != 0 ||
	    paths_in(p, d->paths, &view.paths, &view.npaths, e) != 0 ||
	    cow_walk(&p->cow, &changes, e) != 0) {
		return -1;
	}
	return cow_show(&p->cow, &changes, &view, out, e);
}

int corral_cow_diff(const char *id, const char *const *paths, enum corral_format format,
		    char **text, struct corral_error *err) {
	const struct diffing d = {.id = id, .paths = paths, .format = format};
	return lib_need(text, "text", err) != 0 ? -1 : pending_call(diff, &d, text, err);
}

/* ---- apply ---- */

/* True for a path with less access than the workspace itself. */
static bool is_protected(void *arg, const char *path) {
	struct prepared *p = arg;
	const char *at = path_join(&p->arena, p->plan.workspace_at, path);
	return at == NULL ||
	       plan_visibility(&p->plan, at) < plan_visibility(&p->plan, p->plan.workspace_at);
}

static int plan_for(const struct corral_policy *policy, const char *workspace, struct prepared *ret,
		    struct err *e) {
	struct corral_policy own;
	struct corral_error unsettable = {0};

	if (policy == NULL) {
		return err_set(e, ERR_USAGE, "library", "the policy is NULL");
	}
	policy_derive(policy, &own);
	int rc = corral_policy_set_from(&own, "workspace", workspace, "the pending changes",
					&unsettable);
	if (rc != 0) {
		(void)err_set(e, ERR_USAGE, unsettable.layer, "%s", unsettable.message);
	} else {
		rc = prepared_plan(&own, true, ret, e);
	}
	arena_done(&own.arena);
	return rc;
}

static void put_list(struct emit *j, const char *key, const struct cow_change **items, size_t n) {
	emit_array(j, key);
	for (size_t i = 0; i < n; i++) {
		emit_object(j, NULL);
		emit_string(j, "kind", cow_kind_name(items[i]->kind));
		emit_string(j, "path", items[i]->path);
		emit_string(j, "from", items[i]->from);
		emit_string(j, "why", items[i]->cannot);
		emit_end_object(j);
	}
	emit_end_array(j);
}

static void print_applied_json(const struct cow *c, const struct cow_applied *done,
			       struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "id", c->id);
	emit_string(&j, "workspace", c->workspace);
	put_list(&j, "applied", done->items, done->n);
	put_list(&j, "skipped", done->skipped, done->nskipped);
	emit_int(&j, "left", (int64_t)done->left);
	emit_end_object(&j);
}

static void print_applied_text(const struct cow *c, const struct cow_applied *done,
			       struct buf *out) {
	for (size_t i = 0; i < done->nskipped; i++) {
		buf_printf(out, "not applied, %s: ", done->skipped[i]->cannot);
		cow_quote(out, "", done->skipped[i]->path);
		buf_puts(out, "\n");
	}
	buf_printf(out, "applied %zu change%s to ", done->n, done->n == 1 ? "" : "s");
	cow_quote(out, "", c->workspace);
	if (done->left > 0) {
		buf_printf(out, "; %zu still pending in %s", done->left, c->id);
	}
	buf_puts(out, "\n");
}

/* ret holds the defaults, which stay when options is NULL. */
static int take_options(const struct corral_cow_options *options, struct corral_cow_options *ret,
			struct err *e) {
	return sized_in(&sized_cow_options, options, ret, e) != 0
		       ? -1
		       : sized_reserved(&sized_cow_options, ret->reserved, e);
}

struct applying {
	const struct corral_policy *policy;
	const char *id;
	const struct corral_cow_options *options;
	enum corral_format format;
};

static int apply(struct pending *p, const void *arg, struct buf *out, struct err *e) {
	const struct applying *a = arg;
	struct corral_cow_options o = {.size = sizeof o};
	struct prepared prepared = {0};
	struct cow_applied done;
	struct cow_apply how = {.is_protected = is_protected, .arg = &prepared};

	if (take_options(a->options, &o, e) != 0 || pending_open(p, a->id, e) != 0 ||
	    paths_in(p, o.paths, &how.paths, &how.npaths, e) != 0) {
		return -1;
	}
	how.force = o.force != 0;
	int rc = how.force ? 0 : plan_for(a->policy, p->cow.workspace, &prepared, e);
	if (rc == 0) {
		rc = cow_apply(&p->cow, &how, &done, e);
	}
	if (rc == 0) {
		(a->format == CORRAL_JSON ? print_applied_json : print_applied_text)(&p->cow, &done,
										     out);
	}
	arena_done(&prepared.arena);
	return rc;
}

int corral_cow_apply(const struct corral_policy *policy, const char *id,
		     const struct corral_cow_options *options, enum corral_format format,
		     char **text, struct corral_error *err) {
	const struct applying a = {
		.policy = policy, .id = id, .options = options, .format = format};
	/* Before anything is applied. */
	return lib_need(text, "text", err) != 0 || lib_need(id, "the id", err) != 0
		       ? -1
		       : pending_call(apply, &a, text, err);
}

/* ---- discard ---- */

static int discard(struct pending *p, const char *id, struct err *e) {
	int rc = cow_open(&p->arena, p->host.state_dir, id, &p->cow, e);
	/* An entry that cannot be read is discarded, too. */
	if (rc == 0 || (e->kind != ERR_REFUSED && e->kind != ERR_USAGE && p->cow.dir >= 0)) {
		rc = cow_remove(&p->cow, e);
	}
	cow_close(&p->cow);
	return rc;
}

static int discard_all(struct pending *p, struct err *e) {
	const char **ids;
	size_t n;
	if (cow_ids(&p->arena, p->host.state_dir, &ids, &n, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		/* ERR_REFUSED: its run is alive; ERR_USAGE: it is already removed. */
		if (discard(p, ids[i], e) != 0 && e->kind != ERR_REFUSED && e->kind != ERR_USAGE) {
			return -1;
		}
	}
	return 0;
}

void pending_remove_all(const char *state_dir) {
	struct pending p = {.host = {.state_dir = state_dir},
			    .cow = {.parent = -1, .dir = -1, .upper = -1, .lower = -1}};
	struct err e = {0};
	arena_init(&p.arena);
	(void)discard_all(&p, &e); /* the removal of the state directory reports leftovers */
	pending_done(&p);
}

static int discard_work(struct pending *p, const void *id, struct buf *out, struct err *e) {
	(void)out; /* prints nothing */
	return id == NULL ? discard_all(p, e) : discard(p, id, e);
}

int corral_cow_discard(const char *id, struct corral_error *err) {
	return pending_call(discard_work, id, NULL, err);
}
