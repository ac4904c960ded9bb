/* SPDX-License-Identifier: Apache-2.0 */
/* One version of the standing policy files, for a service that reloads them on request.
 *
 * Should:   check each file when it is read, so that a run with this version cannot fail because of
 *           it.
 * Must not: contain the file of a project: that belongs to the workspace of a run.
 * Fails:    closed: with one bad file there is no version. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/credentials.h"
#include "base/emit.h"
#include "base/str.h"

static int read_files(struct corral_config *c, struct err *e) {
	struct host host = {0};
	struct standing_paths paths;

	if (credentials_check(e) != 0 || probe_host(&c->arena, &host, e) != 0 ||
	    prepare_standing_paths(&c->arena, &host, &paths, e) != 0) {
		return -1;
	}
	const char *const all[] = {paths.machine, paths.user, paths.xdg};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i] != NULL &&
		    policy_read_standing(&c->arena, all[i], &c->files[c->nfiles++], e) != 0) {
			return -1;
		}
	}
	return 0;
}

int corral_config_read(struct corral_config **config, struct corral_error *err) {
	struct err e = {0};
	struct corral_config *c = calloc(1, sizeof *c);

	if (config == NULL || c == NULL) {
		free(c);
		(void)(config == NULL ? err_set(&e, ERR_USAGE, "library", "the config is NULL")
				      : err_memory(&e, "library"));
		return lib_fail(&e, err);
	}
	arena_init(&c->arena);
	if (read_files(c, &e) != 0) {
		corral_config_free(c);
		return lib_fail(&e, err);
	}
	*config = c;
	return 0;
}

void corral_config_free(struct corral_config *config) {
	if (config != NULL) {
		arena_done(&config->arena);
		free(config);
	}
}

void corral_policy_use_config(struct corral_policy *policy, const struct corral_config *config) {
	if (policy != NULL) {
		policy->config = config;
	}
}

static int take_text(struct buf *out, char **text, struct corral_error *err) {
	struct err e = {0};

	if (buf_failed(out)) {
		buf_done(out);
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	*text = buf_take(out);
	return 0;
}

static int missing(struct corral_error *err) {
	struct err e = {0};

	(void)err_set(&e, ERR_USAGE, "library", "a handle or the text is NULL");
	return lib_fail(&e, err);
}

int corral_config_show(const struct corral_config *config, char **text, struct corral_error *err) {
	struct buf out;
	struct emit j;
	char sha256[65];

	if (config == NULL || text == NULL) {
		return missing(err);
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	emit_array(&j, NULL);
	for (size_t i = 0; i < config->nfiles; i++) {
		const struct standing_file *f = &config->files[i];
		emit_object(&j, NULL);
		emit_string(&j, "path", f->path);
		if (f->text != NULL) {
			trust_sha256_hex(f->text, f->len, sha256);
		}
		emit_string(&j, "sha256", f->text == NULL ? NULL : sha256);
		emit_end_object(&j);
	}
	emit_end_array(&j);
	return take_text(&out, text, err);
}

int corral_policy_save(const struct corral_policy *policy, char **text, struct corral_error *err) {
	struct buf out;
	struct emit j;
	struct err e = {0};

	if (policy == NULL || text == NULL) {
		return missing(err);
	}
	if (policy->stream != NULL) {
		(void)err_set(&e, ERR_USAGE, "policy", "%s cannot be read by another process",
			      policy->file);
		(void)err_fix(&e, "store the policy in a file: --policy FILE");
		return lib_fail(&e, err);
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	emit_array(&j, "settings");
	for (size_t i = 0; i < policy->nsettings; i++) {
		const struct setting *s = &policy->settings[i];
		emit_array(&j, NULL);
		emit_string(&j, NULL, s->key);
		emit_string(&j, NULL, s->value);
		emit_string(&j, NULL, s->origin);
		emit_end_array(&j);
	}
	emit_end_array(&j);
	emit_string(&j, "file", policy->file);
	emit_bool(&j, "no_config", policy->no_config);
	emit_end_object(&j);
	return take_text(&out, text, err);
}
