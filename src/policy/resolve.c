/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all policy files and merges the layers, in their order, into one checked policy.
 *
 * The order: built-in < profile < system < user (~/.config, then XDG_CONFIG_HOME) < project <
 * campaign < --policy < settings; then the tables of the run's agent and its skill narrow the
 * result (narrow.c), and the floor of the system's file is applied to it. The workspace and the
 * profile are determined first: the workspace is the directory of the project's file and the base
 * of relative paths, the profile is the layer beneath the files.
 *
 * Should:   read each file once, from a descriptor, so that the hashed and the parsed
 *           content are the same.
 * Must not: follow a link in the workspace to a policy, or let the project's
 *           file choose workspace or floor.
 * Fails:    closed.  A missing configuration file is no layer; one that exists and
 *           cannot be read or parsed stops the run. */
#include "policy/resolver.h"

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/foreign.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

static const enum origin_kind source_origins[SOURCE_COUNT] = {
	[SOURCE_SYSTEM] = ORIGIN_SYSTEM,    [SOURCE_USER] = ORIGIN_USER,
	[SOURCE_XDG] = ORIGIN_USER,         [SOURCE_PROJECT] = ORIGIN_PROJECT,
	[SOURCE_CAMPAIGN] = ORIGIN_PROJECT, [SOURCE_FILE] = ORIGIN_FILE,
};

/* Whether the path, as written or resolved, is in the project directory `dir`, and so under the
 * project's control.  A directory that contains HOME is not only the project's. */
static bool is_controlled(const struct resolver *r, const char *dir, const char *written,
			  const char *real) {
	char home[PATH_MAX];
	if (!path_within(written, dir) && !path_within(real, dir)) {
		return false;
	}
	return r->in->home == NULL || realpath(r->in->home, home) == NULL ||
	       !path_within(home, dir);
}

/* The directory of the project that the file lies in; NULL.  A variable that a tool such as direnv
 * sets for the project must not name a policy or a trust list that the user did not write. */
static const char *project_place(const struct resolver *r, const char *path) {
	char real[PATH_MAX], cwd[PATH_MAX];
	const char *written = path_normal(r->a, path);
	if (realpath(path, real) == NULL) {
		return NULL; /* it does not exist, so it is not read */
	}
	if (written == NULL || is_controlled(r, r->workspace, written, real)) {
		return "the workspace";
	}
	bool here = is_controlled(r, r->in->cwd, written, real) ||
		    (realpath(r->in->cwd, cwd) != NULL && is_controlled(r, cwd, written, real));
	return here ? "the current directory" : NULL;
}

static int find_trust(const struct resolver *r, const char *name, const char *sha256, bool *ret,
		      struct err *e) {
	const char *list = r->in->trust_file;
	const char *place = list == NULL ? NULL : project_place(r, list);
	if (place != NULL) {
		(void)err_set(e, ERR_REFUSED, "policy",
			      "%s lies in %s: a project must not control the trust list", list,
			      place);
		return err_fix(e, "unset XDG_STATE_HOME, or set it to a directory outside %s",
			       place);
	}
	return trust_lookup(list, name, sha256, ret, e);
}

/* The file of --policy may be another product's; the standing files are Corral's. */
static int parse(struct resolver *r, enum source_id id, const char *name, const char *text,
		 size_t len, struct err *e) {
	struct foreign f;
	struct doc **doc = &r->sources[id].doc;
	if (id != SOURCE_FILE) {
		return doc_parse(r->a, name, text, len, doc, e);
	}
	const struct foreign_text t = {name, text, len,
				       foreign_agent(r->in->settings, r->in->nsettings)};
	if (foreign_parse_all(r->a, &t, &f, e) != 0) {
		return -1;
	}
	*doc = f.root;
	return foreign_remarks(r->a, name, &f, &r->policy, e);
}

/* The files of the workspace, which need trust. */
static bool is_project(enum source_id id) {
	return id == SOURCE_PROJECT || id == SOURCE_CAMPAIGN;
}

/* Parses a file; for the project's file looks the hash of the text up in the trust list. */
static int source_parse(struct resolver *r, enum source_id id, const struct standing_file *text,
			struct err *e) {
	struct source *s = &r->sources[id];
	char sha256[65];
	/* The tree may point into the text, so the text lives as long as the tree. */
	char *kept = arena_strndup(r->a, text->text, text->len);
	if (kept == NULL) {
		return err_memory(e, "policy");
	}
	if (parse(r, id, text->path, kept, text->len, e) != 0) {
		return -1;
	}
	s->name = text->path;
	s->trusted = true;
	if (!is_project(id)) {
		return 0;
	}
	trust_sha256_hex(text->text, text->len, sha256);
	return find_trust(r, text->path, sha256, &s->trusted, e);
}

static int source_load(struct resolver *r, enum source_id id, int fd, const char *name,
		       bool regular, struct err *e) {
	auto_buf text = {0};
	if (policy_file_read(fd, name, regular, &text, e) != 0) {
		return -1;
	}
	return source_parse(r, id, &(struct standing_file){name, text.data, text.len}, e);
}

static int read_standing(struct resolver *r, enum source_id id, const char *path, struct err *e) {
	if (path == NULL) {
		return 0;
	}
	const struct standing_file *before = policy_find_standing(r->in, path);
	if (before != NULL) {
		return before->text == NULL ? 0 : source_parse(r, id, before, e);
	}
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT || errno == ENOTDIR ? 0 : policy_file_error(e, path, errno);
	}
	return source_load(r, id, fd, path, true, e);
}

static int read_extra(struct resolver *r, struct err *e) {
	const char *name = r->in->extra_file;
	if (name == NULL) {
		return 0;
	}
	if (streq(name, "-")) {
		return source_load(r, SOURCE_FILE, STDIN_FILENO, "standard input", false, e);
	}
	if (str_starts(name, "fd:")) {
		int given = policy_file_descriptor(name);
		return given < 0 ? policy_file_error(e, name, EBADF)
				 : source_load(r, SOURCE_FILE, given, name, false, e);
	}
	const char *path = path_join(r->a, r->in->cwd, name);
	if (path == NULL) {
		return err_memory(e, "policy");
	}
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? policy_file_error(e, path, errno)
		      : source_load(r, SOURCE_FILE, fd, path, true, e);
}

/* Only a regular file directly in the workspace: no link, no file of a parent directory. */
static int read_project(struct resolver *r, struct err *e) {
	if (r->in->no_config) {
		return 0;
	}
	const char *path = path_join(r->a, r->workspace, PROJECT_FILE);
	if (path == NULL) {
		return err_memory(e, "policy");
	}
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT ? 0 : policy_file_error(e, path, errno);
	}
	return source_load(r, SOURCE_PROJECT, fd, path, true, e);
}

struct where resolve_where(const struct resolver *r, enum source_id id) {
	return (struct where){
		.a = r->a,
		.origin = {.kind = source_origins[id], .name = r->sources[id].name},
		.cwd = r->in->cwd,
		.base = r->workspace,
		.home = r->in->home,
	};
}

static struct where where_setting(const struct resolver *r) {
	return (struct where){
		.a = r->a, .cwd = r->in->cwd, .base = r->in->cwd, .home = r->in->home};
}

/* A top-level key of one document, before the document is applied. */
static int early_from_doc(const struct resolver *r, enum source_id id, enum key_id key,
			  struct value *v, struct err *e) {
	struct where w = resolve_where(r, id);
	if (r->sources[id].doc == NULL) {
		return 0;
	}
	for (const struct doc *d = r->sources[id].doc->first; d != NULL; d = d->next) {
		if (streq(d->key, keys[key].name)) {
			return value_from_doc(&w, &keys[key], d, v, e);
		}
	}
	return 0;
}

/* The value of a key in the highest trusted layer; *v stays when none sets it. */
static int early_value(const struct resolver *r, enum key_id key, struct value *v, struct err *e) {
	struct where w = where_setting(r);
	struct policy layer = {0};
	for (size_t i = 0; i < r->in->nsettings; i++) {
		const struct setting *s = &r->in->settings[i];
		if (streq(s->key, keys[key].name) && layer_from_setting(&w, s, &layer, e) != 0) {
			return -1;
		}
	}
	if (layer.values[key].set) {
		*v = layer.values[key];
		return 0;
	}
	for (int id = SOURCE_COUNT - 1; id >= 0; id--) {
		struct value found = {0};
		bool standing = id < SOURCE_PROJECT;
		if (!r->sources[id].trusted || (standing && r->in->no_config)) {
			continue;
		}
		if (early_from_doc(r, (enum source_id)id, key, &found, e) != 0) {
			return -1;
		}
		if (found.set) {
			*v = found;
			return 0;
		}
	}
	return 0;
}

/* CORRAL_WORKSPACE replaces the working directory as the default. */
static int default_workspace(const struct resolver *r, struct value *v, struct err *e) {
	*v = (struct value){0};
	struct where w = where_setting(r);
	w.origin = (struct origin){.kind = ORIGIN_OPTION, .name = "CORRAL_WORKSPACE"};
	if (r->in->workspace[0] != '/') {
		(void)value_refuse(&w, &keys[KEY_WORKSPACE], r->in->workspace,
				   "must be an absolute path", e);
		return err_fix(e, "export CORRAL_WORKSPACE=\"$PWD/DIR\", or use --workspace DIR");
	}
	return value_from_text(&w, &keys[KEY_WORKSPACE], r->in->workspace, v, e);
}

/* The profile must be known before this file is read, so the file cannot choose it. */
static int read_campaign(struct resolver *r, struct err *e) {
	struct value profile = {0};
	if (r->in->no_config || early_value(r, KEY_PROFILE, &profile, e) != 0) {
		return r->in->no_config ? 0 : -1;
	}
	if (!profile.set || !streq(profile.str, CAMPAIGN_PROFILE)) {
		return 0;
	}
	const char *dir = path_join(r->a, r->workspace, CAMPAIGN_DIR);
	const char *path = path_join(r->a, r->workspace, CAMPAIGN_FILE);
	if (dir == NULL || path == NULL) {
		return err_memory(e, "policy");
	}
	auto_fd at = beneath_hold(AT_FDCWD, dir);
	auto_fd fd = at < 0 ? -1
			    : openat(at, CAMPAIGN_NAME,
				     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT ? 0 : policy_file_error(e, path, errno);
	}
	return source_load(r, SOURCE_CAMPAIGN, fd, path, true, e);
}

static int read_skill(struct resolver *r, struct err *e) {
	struct value v = {0};
	if (early_value(r, KEY_SKILL, &v, e) != 0) {
		return -1;
	}
	return v.set ? skill_read(r->a, v.str, r->in->home, &r->skill, e) : 0;
}

static int settle_workspace(struct resolver *r, struct err *e) {
	struct value v = {.set = true, .str = r->in->cwd, .origin = {.kind = ORIGIN_BUILTIN}};
	struct value any = {0};
	bool dir = false;
	char real[PATH_MAX];
	if (r->in->workspace != NULL && default_workspace(r, &v, e) != 0) {
		return -1;
	}
	if (early_value(r, KEY_WORKSPACE, &v, e) != 0 ||
	    early_value(r, KEY_ANY_WORKSPACE, &any, e) != 0) {
		return -1;
	}
	int sys = policy_path_find(r->in->fs, v.str, real, &dir);
	if (sys != 0) {
		return policy_workspace_error(e, &v, sys);
	}
	if (!dir) {
		return policy_workspace_error(e, &v, ENOTDIR);
	}
	if (any.num == 0 && policy_check_workspace(real, r->in->home, &v.origin, e) != 0) {
		return -1;
	}
	r->workspace = v.str = arena_strdup(r->a, real);
	r->policy.values[KEY_WORKSPACE] = v;
	return v.str == NULL ? err_memory(e, "policy") : 0;
}

static int apply_defaults(struct resolver *r, struct err *e) {
	struct where w = where_setting(r);
	w.origin = (struct origin){.kind = ORIGIN_BUILTIN};
	for (size_t i = 0; i < default_rows_count; i++) {
		const struct default_row *row = &default_rows[i];
		const char *text =
			r->in->tool_call && row->tool_call != NULL ? row->tool_call : row->person;
		if (value_from_text(&w, &keys[row->key], text, &r->policy.values[row->key], e) !=
		    0) {
			return -1;
		}
	}
	return 0;
}

static struct where where_profile(const struct resolver *r, const struct profile *profile) {
	return (struct where){
		.a = r->a,
		.origin = {.kind = ORIGIN_PROFILE, .name = profile->name},
		.cwd = r->in->cwd,
		.base = r->workspace,
		.home = r->in->home,
	};
}

static int apply_profile(struct resolver *r, struct err *e) {
	struct value *chosen = &r->policy.values[KEY_PROFILE];
	if (early_value(r, KEY_PROFILE, chosen, e) != 0) {
		return -1;
	}
	const struct profile *profile = profile_by_name(chosen->str);
	if (profile == NULL) {
		return policy_unknown_profile(chosen, e);
	}
	struct where w = where_profile(r, profile);
	for (size_t i = 0; i < profile_rows_count; i++) {
		const struct profile_row *row = &profile_rows[i];
		struct err later;
		if (!streq(row->profile, profile->name)) {
			continue;
		}
		if (value_from_text(&w, &keys[row->key], row->value, &r->policy.values[row->key],
				    &later) != 0) {
			r->pending[row->key] = row;
		}
	}
	if (provider_expand(&w, &r->policy, e) != 0) {
		return -1;
	}
	net_imply(&r->policy);
	return 0;
}

/* Called after all layers.  A later layer may have replaced a scalar; a list only grows, so it
 * still contains the unimplemented item. */
static int reject_pending(struct resolver *r, struct err *e) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct profile_row *row = r->pending[i];
		const struct value *v = &r->policy.values[i];
		bool replaced = !value_key_is_list(&keys[i]) && v->origin.kind > ORIGIN_PROFILE;
		if (row == NULL || replaced) {
			continue;
		}
		struct where w = where_profile(r, profile_by_name(row->profile));
		struct value scratch = {0};
		return value_from_text(&w, &keys[i], row->value, &scratch, e);
	}
	return 0;
}

/* The workspace determines the project's file, so the file cannot change the workspace; and the
 * profile the campaign's. */
static int project_keeps_workspace(const struct policy *layer, enum source_id id, struct err *e) {
	static const enum key_id fixed[] = {KEY_WORKSPACE, KEY_ANY_WORKSPACE, KEY_PROFILE};
	size_t n = ARRAY_LEN(fixed) - (id == SOURCE_CAMPAIGN ? 0 : 1);
	for (size_t i = 0; i < n; i++) {
		const struct value *v = &layer->values[fixed[i]];
		if (v->set) {
			char from[SHOWN_MAX];
			(void)err_set(e, ERR_USAGE, "policy",
				      "%s (%s) is not allowed in a project's file",
				      keys[fixed[i]].name,
				      policy_origin_text(&v->origin, from, sizeof from));
			return err_fix(e, "use --workspace DIR, or ~/.config/corral/corral.toml");
		}
	}
	return 0;
}

void resolve_bind(struct policy *layer) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		for (size_t n = 0; n < layer->values[i].count; n++) {
			layer->values[i].items[n].bound = true;
		}
	}
}

static int apply_source(struct resolver *r, enum source_id id, struct err *e) {
	const struct source *s = &r->sources[id];
	struct policy layer = {0};
	struct where w = resolve_where(r, id);
	if (s->doc == NULL) {
		return 0;
	}
	if (layer_from_doc(&w, s->doc, &layer, id == SOURCE_SYSTEM ? &r->floor : NULL, e) != 0) {
		return -1;
	}
	if (is_project(id) && (project_keeps_workspace(&layer, id, e) != 0 ||
			       (!s->trusted && layer_narrows(&r->policy, &layer, e) != 0))) {
		return -1;
	}
	if (provider_expand(&w, &layer, e) != 0) {
		return -1;
	}
	if (is_project(id) && !s->trusted) {
		resolve_bind(&layer);
	}
	if (id == SOURCE_SYSTEM && r->in->no_config) {
		return 0; /* --no-config: only the floor counts, which was just read */
	}
	if (layer_merge(r->a, &r->policy, &layer, e) != 0) {
		return -1;
	}
	net_imply(&r->policy); /* before the next layer, which may narrow the mode */
	return 0;
}

static int apply_layers(struct resolver *r, struct err *e) {
	struct policy layer = {0};
	struct where w = where_setting(r);
	struct value workspace = r->policy.values[KEY_WORKSPACE];
	struct value profile = r->policy.values[KEY_PROFILE];
	for (int id = 0; id < SOURCE_COUNT; id++) {
		if (apply_source(r, (enum source_id)id, e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < r->in->nsettings; i++) {
		if (layer_from_setting(&w, &r->in->settings[i], &layer, e) != 0) {
			return -1;
		}
	}
	if (provider_expand(&w, &layer, e) != 0 || layer_merge(r->a, &r->policy, &layer, e) != 0) {
		return -1;
	}
	net_imply(&r->policy);
	/* Determined before, by the same precedence; the workspace is also a real path. */
	r->policy.values[KEY_WORKSPACE] = workspace;
	r->policy.values[KEY_PROFILE] = profile;
	return 0;
}

static int keep_xdg_out(const struct resolver *r, struct err *e) {
	const char *path = r->sources[SOURCE_XDG].name;
	const char *place = path == NULL ? NULL : project_place(r, path);
	if (place == NULL) {
		return 0;
	}
	(void)err_set(e, ERR_REFUSED, "policy",
		      "%s lies in %s: a project must not control the user's policy", path, place);
	return err_fix(e, "unset XDG_CONFIG_HOME, or set it to a directory outside %s", place);
}

static int read_user(struct resolver *r, struct err *e) {
	const char *const files[] = {r->in->user_file, r->in->xdg_file};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (files[i] == NULL) {
			continue;
		}
		bool before = policy_find_standing(r->in, files[i]) != NULL;
		if ((!before &&
		     (owner_check_dir(files[i], e) != 0 || owner_check(files[i], e) != 0)) ||
		    read_standing(r, (enum source_id)(SOURCE_USER + i), files[i], e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int read_sources(struct resolver *r, struct err *e) {
	/* The floor holds with --no-config, too (P4). */
	if (read_standing(r, SOURCE_SYSTEM, r->in->system_file, e) != 0) {
		return -1;
	}
	if (owner_check_dir(r->in->trust_file, e) != 0 ||
	    (!r->in->no_config && read_user(r, e) != 0)) {
		return -1;
	}
	return read_extra(r, e);
}

static int settle_policy(struct resolver *r, struct err *e) {
	if (apply_defaults(r, e) != 0 || apply_profile(r, e) != 0 || apply_layers(r, e) != 0 ||
	    reject_pending(r, e) != 0) {
		return -1;
	}
	full_access_imply(&r->policy);
	if (narrow_policy(r, e) != 0 || tool_expand(r->a, r->in, &r->policy, e) != 0 ||
	    floor_apply(r->a, &r->policy, &r->floor, e) != 0 ||
	    policy_check(&r->policy, r->in->fs, e) != 0) {
		return -1;
	}
	command_rule_settle(&r->policy.values[KEY_COMMANDS]);
	return 0;
}

static bool is_untrusted(const struct resolver *r, enum source_id id) {
	return r->sources[id].doc != NULL && !r->sources[id].trusted;
}

/* A policy that is refused without the untrusted file is refused with it as well: the file
 * could otherwise loosen the policy by replacing one side of a contradiction, or a profile's
 * value that is not implemented (P3). */
static int settle_without_project(const struct resolver *r, struct err *e) {
	bool any = false;
	for (enum source_id id = 0; id < SOURCE_COUNT; id++) {
		any = any || is_untrusted(r, id);
	}
	if (!any) {
		return 0;
	}
	struct resolver *without = arena_alloc(r->a, sizeof *without);
	if (without == NULL) {
		return err_memory(e, "policy");
	}
	*without = *r;
	for (enum source_id id = 0; id < SOURCE_COUNT; id++) {
		if (is_untrusted(r, id)) {
			without->sources[id].doc = NULL;
		}
	}
	return settle_policy(without, e);
}

static bool has_origins(const struct policy *p) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct origin *o = &p->values[i].origin;
		if (p->values[i].set && o->kind != ORIGIN_BUILTIN && o->name == NULL) {
			return false;
		}
	}
	return true;
}

int policy_resolve(struct arena *a, const struct policy_inputs *in, struct policy *ret,
		   struct err *e) {
	struct resolver *r = arena_alloc(a, sizeof *r);
	if (r == NULL) {
		return err_memory(e, "policy");
	}
	r->a = a;
	r->in = in;
	if (read_sources(r, e) != 0 || settle_workspace(r, e) != 0 || keep_xdg_out(r, e) != 0 ||
	    read_project(r, e) != 0 || read_campaign(r, e) != 0 || read_skill(r, e) != 0 ||
	    settle_without_project(r, e) != 0 || settle_policy(r, e) != 0 ||
	    (!r->in->skip_hash && policy_hash(a, &r->policy, e) != 0)) {
		return -1;
	}
	assert(has_origins(&r->policy)); /* P1 */
	*ret = r->policy;
	ret->floor = r->floor.values;
	ret->files[0] = r->sources[SOURCE_SYSTEM].name;
	ret->files[1] = r->sources[SOURCE_FILE].name;
	ret->files[2] = r->sources[SOURCE_CAMPAIGN].name;
	ret->files[3] = r->skill.path;
	return 0;
}
