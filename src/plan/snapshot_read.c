/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a snapshot from JSON: one table per object (snapshot_field.h).
 *
 * Should:   accept every file that snapshot_write.c writes, and one that was edited.
 * Must not: accept an unknown key, another version, a path that is not absolute and normal, or a
 *           value out of its range: a typing error must not become a fact.
 * Fails:    closed, with a usage error. */
#include "plan/snapshot_field.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/snapshot_format.h"

#include <assert.h>
#include <stdio.h>

/* More are not in any process. */
#define VARIABLES_MAX 4096

/* ---- facts ---- */

#define AT(type, member) offsetof(struct type, member)

struct raw_cgroup {
	const char *kind, *why;
	bool memory, pids, cpu, scope;
};

static const struct field cgroup_fields[] = {
	{"kind", FIELD_TEXT, AT(raw_cgroup, kind), true},
	{"memory", FIELD_BOOL, AT(raw_cgroup, memory), false},
	{"pids", FIELD_BOOL, AT(raw_cgroup, pids), false},
	{"cpu", FIELD_BOOL, AT(raw_cgroup, cpu), false},
	{"scope", FIELD_BOOL, AT(raw_cgroup, scope), false},
	{"why", FIELD_TEXT, AT(raw_cgroup, why), false},
	{NULL, FIELD_BOOL, 0, false},
};

/* The index of a word; n when the list lacks it. */
static size_t index_of(const char *const *list, size_t n, const char *word) {
	size_t i = 0;
	while (i < n && (word == NULL || !streq(list[i], word))) {
		i++;
	}
	return i;
}

static int read_cgroup(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d, struct host_cgroup *ret) {
	struct raw_cgroup raw = {0};
	if (d == NULL) {
		*ret = (struct host_cgroup){.why = "the snapshot has no cgroups"};
		return 0;
	}
	if (snapshot_field_object(r, at, d, cgroup_fields, &raw) != 0) {
		return -1;
	}
	size_t kind = index_of(snapshot_cgroups, SNAPSHOT_CGROUPS, raw.kind);
	if (kind == SNAPSHOT_CGROUPS) {
		return snapshot_field_refuse(r, at, "the kind must be none, v1 or v2");
	}
	*ret = (struct host_cgroup){
		.kind = (enum cgroup_kind)kind,
		.memory = raw.memory,
		.pids = raw.pids,
		.cpu = raw.cpu,
		.scope = raw.scope,
		.why = raw.why,
	};
	return 0;
}

struct raw_kernel {
	struct host host;
	const char *release, *sampling_why;
	const struct doc *cgroup, *scope;
};

static const struct field kernel_fields[] = {
	{"release", FIELD_TEXT, AT(raw_kernel, release), false},
	{"landlock_abi", FIELD_INT, AT(raw_kernel, host.landlock_abi), true},
	{"seccomp", FIELD_BOOL, AT(raw_kernel, host.seccomp), true},
	{"seatbelt", FIELD_BOOL, AT(raw_kernel, host.seatbelt), false},
	{"user_namespaces", FIELD_BOOL, AT(raw_kernel, host.userns), true},
	{"user_namespaces_why", FIELD_TEXT, AT(raw_kernel, host.userns_why), false},
	{"proc_why", FIELD_TEXT, AT(raw_kernel, host.proc_why), false},
	{"notify", FIELD_BOOL, AT(raw_kernel, host.notify), true},
	{"notify_why", FIELD_TEXT, AT(raw_kernel, host.notify_why), false},
	{"sockets", FIELD_BOOL, AT(raw_kernel, host.sockets), true},
	{"cgroup", FIELD_DOC, AT(raw_kernel, cgroup), false},
	{"scope", FIELD_DOC, AT(raw_kernel, scope), false},
	{"sampling_why", FIELD_TEXT, AT(raw_kernel, sampling_why), false},
	{NULL, FIELD_BOOL, 0, false},
};

static int read_kernel(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d) {
	struct host *h = &r->s->host;
	struct raw_kernel raw = {0};
	struct field_place cgroup = {at, "cgroup"}, scope = {at, "scope"};
	if (snapshot_field_object(r, at, d, kernel_fields, &raw) != 0 ||
	    read_cgroup(r, &cgroup, raw.cgroup, &r->s->cgroup) != 0 ||
	    read_cgroup(r, &scope, raw.scope, &r->s->scope) != 0) {
		return -1;
	}
	h->landlock_abi = raw.host.landlock_abi;
	h->seccomp = raw.host.seccomp;
	h->seatbelt = raw.host.seatbelt;
	h->userns = raw.host.userns;
	h->userns_why = raw.host.userns ? NULL : raw.host.userns_why;
	h->proc_why = raw.host.userns ? raw.host.proc_why : NULL;
	h->notify = raw.host.notify;
	h->notify_why = raw.host.notify ? NULL : raw.host.notify_why;
	if (!h->notify && h->notify_why == NULL) {
		h->notify_why = "seccomp user notification is not available";
	}
	h->sockets = raw.host.notify && raw.host.sockets;
	r->s->sampling_why = raw.sampling_why;
	r->s->kernel = raw.release;
	return 0;
}

struct raw_caller {
	struct host host;
	const struct doc *environ;
};

static const struct field caller_fields[] = {
	{"uid", FIELD_ID, AT(raw_caller, host.uid), true},
	{"gid", FIELD_ID, AT(raw_caller, host.gid), true},
	{"user", FIELD_TEXT, AT(raw_caller, host.user), false},
	{"home", FIELD_PATH, AT(raw_caller, host.home), false},
	{"cwd", FIELD_PATH, AT(raw_caller, host.cwd), true},
	{"state_dir", FIELD_PATH, AT(raw_caller, host.state_dir), false},
	{"state_closed", FIELD_BOOL, AT(raw_caller, host.state_closed), false},
	{"run_dir", FIELD_PATH, AT(raw_caller, host.run_dir), false},
	{"environ", FIELD_DOC, AT(raw_caller, environ), false},
	{NULL, FIELD_BOOL, 0, false},
};

struct variables {
	const char **list;
	size_t n, cap;
};

static int add_variable(const struct field_reader *r, struct variables *v, const char *entry) {
	if (arena_grow(r->s->a, &v->list, v->n, &v->cap, sizeof *v->list) != 0) {
		return err_memory(r->e, "snapshot");
	}
	v->list[v->n++] = entry;
	return 0;
}

static int read_variable(const struct field_reader *r, const struct field_place *at,
			 const struct doc *d, void *arg) {
	struct variables *v = arg;
	const char *value = NULL;
	if (d->key[0] == '\0' || strchr(d->key, '=') != NULL || v->n >= VARIABLES_MAX) {
		return snapshot_field_refuse(r, at, "the name of a variable is expected");
	}
	if (snapshot_field_string(r, at, d, &value) != 0) {
		return -1;
	}
	const char *entry = arena_printf(r->s->a, "%s=%s", d->key, value);
	return entry == NULL ? err_memory(r->e, "snapshot") : add_variable(r, v, entry);
}

static int read_environ(const struct field_reader *r, const struct field_place *at,
			const struct doc *object) {
	struct variables v = {0};
	if (snapshot_field_members(r, at, object, read_variable, &v) != 0 ||
	    add_variable(r, &v, NULL) != 0) {
		return -1;
	}
	r->s->host.environ = v.list;
	return 0;
}

static int read_caller(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d) {
	struct raw_caller raw = {0};
	struct field_place variables = {at, "environ"};
	struct host *h = &r->s->host;
	if (snapshot_field_object(r, at, d, caller_fields, &raw) != 0) {
		return -1;
	}
	h->uid = raw.host.uid;
	h->gid = raw.host.gid;
	h->privileged = h->uid == 0;
	h->user = raw.host.user;
	h->home = raw.host.home;
	h->cwd = raw.host.cwd;
	h->state_dir = raw.host.state_dir;
	h->state_closed = raw.host.state_closed;
	h->run_dir = raw.host.run_dir;
	return h->cwd == NULL ? snapshot_field_refuse(r, at, "cwd must be a path")
			      : read_environ(r, &variables, raw.environ);
}

/* ---- git ---- */

struct raw_git {
	bool name, email, settings, ignores, more;
	const struct doc *hooks, *files;
};

static const struct field git_fields[] = {
	{"name", FIELD_BOOL, AT(raw_git, name), false},
	{"email", FIELD_BOOL, AT(raw_git, email), false},
	{"settings", FIELD_BOOL, AT(raw_git, settings), false},
	{"ignores", FIELD_BOOL, AT(raw_git, ignores), false},
	{"more", FIELD_BOOL, AT(raw_git, more), false},
	{"hooks", FIELD_DOC, AT(raw_git, hooks), false},
	{"files", FIELD_DOC, AT(raw_git, files), false},
	{NULL, FIELD_BOOL, 0, false},
};

struct raw_git_file {
	const char *path;
	bool linked;
};

static const struct field git_file_fields[] = {
	{"path", FIELD_PATH, AT(raw_git_file, path), true},
	{"linked", FIELD_BOOL, AT(raw_git_file, linked), false},
	{NULL, FIELD_BOOL, 0, false},
};

static int read_hook(const struct field_reader *r, const struct field_place *at,
		     const struct doc *d, void *arg) {
	struct git_obeyed *o = arg;
	if (o->nhooks == GITOBEYED_MAX) {
		return snapshot_field_refuse(r, at->outer, "too many elements");
	}
	return snapshot_field_string(r, at, d, &o->hooks[o->nhooks++]);
}

static int read_git_file(const struct field_reader *r, const struct field_place *at,
			 const struct doc *d, void *arg) {
	struct git_obeyed *o = arg;
	struct raw_git_file raw = {0};
	if (snapshot_field_object(r, at, d, git_file_fields, &raw) != 0) {
		return -1;
	}
	if (o->nfiles == GITOBEYED_MAX || raw.path == NULL) {
		return snapshot_field_refuse(r, at->outer,
					     "too many elements, or one without a path");
	}
	o->files[o->nfiles] = raw.path;
	o->linked[o->nfiles++] = raw.linked;
	return 0;
}

static int read_git(const struct field_reader *r, const struct field_place *at,
		    const struct doc *d) {
	struct host *h = &r->s->host;
	struct raw_git raw = {0};
	struct field_place hooks = {at, "hooks"}, files = {at, "files"};
	if (d == NULL) {
		return 0;
	}
	if (snapshot_field_object(r, at, d, git_fields, &raw) != 0 ||
	    snapshot_field_elements(r, &hooks, raw.hooks, read_hook, &h->git_obeyed) != 0 ||
	    snapshot_field_elements(r, &files, raw.files, read_git_file, &h->git_obeyed) != 0) {
		return -1;
	}
	/* The snapshot has no name and no address; any text gives the same plan. */
	h->git.name[0] = raw.name ? 'x' : '\0';
	h->git.email[0] = raw.email ? 'x' : '\0';
	h->git_settings = raw.settings ? "" : NULL;
	h->git_ignores = raw.ignores ? "" : NULL;
	h->git_obeyed.more = raw.more;
	return 0;
}

/* ---- programs ---- */

static int read_output(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d, void *arg) {
	struct snapshot *s = arg;
	struct snapshot_output o = {.name = d->key};
	if (snapshot_field_pointer(r, at, d, false, &o.text) != 0) {
		return -1;
	}
	if (arena_grow(s->a, &s->outputs, s->noutputs, &s->outputs_cap, sizeof *s->outputs) != 0) {
		return err_memory(r->e, "snapshot");
	}
	s->outputs[s->noutputs++] = o;
	return 0;
}

/* ---- files ---- */

struct raw_entry {
	const char *kind, *to;
	uint32_t mode, uid, id;
	uint64_t names;
	bool reachable, unreadable, unlistable, folds;
	const struct doc *text, *entries;
};

static const struct field entry_fields[] = {
	{"kind", FIELD_TEXT, AT(raw_entry, kind), true},
	{"mode", FIELD_MODE, AT(raw_entry, mode), false},
	{"uid", FIELD_ID, AT(raw_entry, uid), false},
	{"names", FIELD_LONG, AT(raw_entry, names), false},
	{"id", FIELD_ID, AT(raw_entry, id), false},
	{"reachable", FIELD_BOOL, AT(raw_entry, reachable), false},
	{"to", FIELD_TEXT, AT(raw_entry, to), false},
	{"text", FIELD_DOC, AT(raw_entry, text), false},
	{"unreadable", FIELD_BOOL, AT(raw_entry, unreadable), false},
	{"folds", FIELD_BOOL, AT(raw_entry, folds), false},
	{"unlistable", FIELD_BOOL, AT(raw_entry, unlistable), false},
	{"entries", FIELD_DOC, AT(raw_entry, entries), false},
	{NULL, FIELD_BOOL, 0, false},
};

static int read_name(const struct field_reader *r, const struct field_place *at,
		     const struct doc *d, void *arg) {
	const char *name = NULL;
	if (snapshot_field_string(r, at, d, &name) != 0) {
		return -1;
	}
	if (name[0] == '\0' || strchr(name, '/') != NULL || path_is_dots(name, strlen(name))) {
		return snapshot_field_refuse(r, at->outer, "the name of an entry is expected");
	}
	snapshot_add_name(r->s, arg, name);
	return 0;
}

static int read_content(const struct field_reader *r, const struct field_place *at,
			const struct raw_entry *raw, struct snapshot_entry *n) {
	struct field_place text = {at, "text"}, entries = {at, "entries"};
	bool fits = (raw->text == NULL && !raw->unreadable) || n->seen.kind == LOOK_FILE;
	bool dir = raw->entries == NULL && !raw->unlistable && !raw->folds;
	if (!fits || (!dir && n->seen.kind != LOOK_DIR) ||
	    (raw->to != NULL && n->seen.kind != LOOK_LINK)) {
		return snapshot_field_refuse(r, at, "a key does not apply to this kind of file");
	}
	n->text_known = raw->unreadable ? KNOWN_NO : raw->text != NULL ? KNOWN_YES : KNOWN_NOT;
	n->text_limit = SIZE_MAX;
	n->list_known = raw->unlistable ? KNOWN_NO : KNOWN_NOT;
	n->folds = raw->folds ? KNOWN_YES : KNOWN_NO;
	if (raw->text != NULL &&
	    snapshot_field_text(r, &text, raw->text, &n->text, &n->text_len) != 0) {
		return -1;
	}
	n->list_known = raw->entries == NULL ? n->list_known : KNOWN_YES;
	return snapshot_field_elements(r, &entries, raw->entries, read_name, n);
}

/* A path that is not in the snapshot yet. */
static int new_entry(const struct field_reader *r, const struct field_place *at, const char *path,
		     struct snapshot_entry **ret) {
	size_t before = r->s->nentries;
	if (snapshot_field_path(r, at, path) != 0) {
		return -1;
	}
	*ret = snapshot_add(r->s, path);
	if (*ret == NULL) {
		return err_memory(r->e, "snapshot");
	}
	return r->s->nentries > before ? 0
				       : snapshot_field_refuse(r, at, "the path is listed twice");
}

static int read_entry(const struct field_reader *r, const struct field_place *at,
		      const struct doc *d, void *arg) {
	(void)arg; /* the reader has the snapshot */
	struct raw_entry raw = {.mode = UINT32_MAX, .names = 1, .reachable = true};
	struct snapshot_entry *n = NULL;
	size_t len = 0;
	const char *path = snapshot_field_unescaped(r, d->key, strlen(d->key), &len);
	if (path == NULL || strlen(path) != len) {
		return snapshot_field_refuse(r, at, "an escape is wrong: use \\\\ or \\xNN");
	}
	if (new_entry(r, at, path, &n) != 0 ||
	    snapshot_field_object(r, at, d, entry_fields, &raw) != 0) {
		return -1;
	}
	size_t kind = index_of(snapshot_kinds, SNAPSHOT_KINDS, raw.kind);
	if (kind == SNAPSHOT_KINDS || kind == LOOK_NOTHING) {
		return snapshot_field_refuse(r, at,
					     "the kind must be file, dir, link, socket or other");
	}
	if (path[1] == '\0' && kind != LOOK_DIR) {
		return snapshot_field_refuse(r, at, "the root must be a directory");
	}
	n->seen = (struct look){
		.kind = (enum look_kind)kind,
		.dev = raw.id == 0 ? 1 : 2, /* an inode of its own, unless it has an id */
		.ino = raw.id == 0 ? r->s->nentries : raw.id,
		.uid = raw.uid,
		.mode = raw.mode == UINT32_MAX ? snapshot_modes[kind] : raw.mode,
		.names = raw.names,
		.reachable = raw.reachable,
	};
	n->to = raw.to;
	return read_content(r, at, &raw, n);
}

static int read_absent(const struct field_reader *r, const struct field_place *at,
		       const struct doc *d, void *arg) {
	struct snapshot_entry **n = arg; /* zeroed: LOOK_NOTHING */
	const char *path = NULL;
	return snapshot_field_string(r, at, d, &path) != 0 ? -1 : new_entry(r, at, path, n);
}

/* ---- the whole ---- */

struct raw_snapshot {
	int version;
	const struct doc *kernel, *caller, *git, *outputs, *absent, *files;
};

static const struct field snapshot_fields[] = {
	{"corral_snapshot", FIELD_INT, AT(raw_snapshot, version), true},
	{"kernel", FIELD_DOC, AT(raw_snapshot, kernel), true},
	{"caller", FIELD_DOC, AT(raw_snapshot, caller), true},
	{"git", FIELD_DOC, AT(raw_snapshot, git), false},
	{"outputs", FIELD_DOC, AT(raw_snapshot, outputs), false},
	{"absent", FIELD_DOC, AT(raw_snapshot, absent), false},
	{"files", FIELD_DOC, AT(raw_snapshot, files), true},
	{NULL, FIELD_BOOL, 0, false},
};

static int check_version(const struct field_reader *r, const struct doc *top) {
	for (const struct doc *d = top->first; d != NULL; d = d->next) {
		struct field_place at = {NULL, "corral_snapshot"};
		if (streq(d->key, at.key) && (d->type != DOC_INT || d->num != SNAPSHOT_VERSION)) {
			return snapshot_field_refuse(r, &at,
						     "this version of Corral reads version 1");
		}
	}
	return 0;
}

int snapshot_read(struct snapshot *s, struct arena *a, const char *name, const struct buf *text,
		  struct err *e) {
	struct field_reader r = {.s = s, .file = name, .e = e};
	struct raw_snapshot raw = {0};
	struct doc *top = NULL;
	struct snapshot_entry *gone = NULL;
	struct field_place at = {NULL, "the snapshot"}, kernel = {NULL, "kernel"},
			   git = {NULL, "git"};
	struct field_place caller = {NULL, "caller"}, outputs = {NULL, "outputs"};
	struct field_place absent = {NULL, "absent"}, files = {NULL, "files"};

	snapshot_init(s, a);
	if (doc_parse_json(a, name, text->len == 0 ? "" : text->data, text->len, &top, e) != 0) {
		(void)snprintf(e->where, sizeof e->where, "snapshot"); /* not "policy" */
		return -1;
	}
	/* The version first: another one may have other keys. */
	if (check_version(&r, top) != 0 ||
	    snapshot_field_object(&r, &at, top, snapshot_fields, &raw) != 0) {
		return -1;
	}
	assert(raw.version == SNAPSHOT_VERSION); /* check_version(), and the key is required */
	if (read_kernel(&r, &kernel, raw.kernel) != 0 ||
	    read_caller(&r, &caller, raw.caller) != 0 || read_git(&r, &git, raw.git) != 0 ||
	    snapshot_field_members(&r, &outputs, raw.outputs, read_output, s) != 0 ||
	    snapshot_field_elements(&r, &absent, raw.absent, read_absent, &gone) != 0 ||
	    snapshot_field_members(&r, &files, raw.files, read_entry, NULL) != 0) {
		return -1;
	}
	s->host.cgroup.why = HOST_CGROUP_UNCHECKED;
	return s->out_of_memory ? err_memory(e, "snapshot") : 0;
}
