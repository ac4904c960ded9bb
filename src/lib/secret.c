/* SPDX-License-Identifier: Apache-2.0 */
/* corral_secret_*: changes and lists the vault.
 *
 * Should:   open the vault for one call, change it, save it, close it.
 * Must not: put a value into a message or a list; keep a value after the call (V3).
 * Fails:    closed: nothing is saved when any part of a call fails. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/str.h"
#include "lib/sized.h"
#include "vault/export.h"
#include "vault/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define WHERE "vault"

/* The largest imported file. */
#define IMPORT_MAX ((size_t)1024 * 1024)

/* One call: the caller's options, and the vault. */
struct use {
	struct arena arena;
	struct corral_secret_options options;
	struct secret scope; /* agent, workspace, host, expose of new secrets */
	enum vault_key_kind kind;
	struct vault vault;
	bool opened;
};

static int read_workspace(struct use *u, struct err *e) {
	char full[PATH_MAX];
	u->scope.workspace = "";
	if (u->options.workspace == NULL || u->options.workspace[0] == '\0') {
		return 0;
	}
	if (realpath(u->options.workspace, full) == NULL) {
		return err_sys_at(e, WHERE, "cannot resolve the workspace", u->options.workspace);
	}
	u->scope.workspace = arena_strdup(&u->arena, full);
	return u->scope.workspace == NULL ? err_memory(e, WHERE) : 0;
}

static int read_options(struct use *u, const struct corral_secret_options *o, struct err *e) {
	if (sized_in(&sized_secret_options, o, &u->options, e) != 0) {
		return -1;
	}
	o = &u->options;
	u->scope.agent = o->agent == NULL ? "" : o->agent;
	u->scope.host = o->host == NULL ? "" : o->host;
	if ((o->agent != NULL && secret_check_agent(o->agent, e) != 0) ||
	    (o->expose != NULL && vault_expose_parse(o->expose, &u->scope.expose, e) != 0) ||
	    (o->key != NULL && vault_key_kind_parse(o->key, &u->kind, e) != 0)) {
		return -1;
	}
	return read_workspace(u, e);
}

static int use_begin(struct use *u, enum vault_use how, enum vault_key_kind kind, struct err *e) {
	struct passphrase_source ask = {0};
	struct vault_place place;
	struct host host;
	if (probe_host(&u->arena, &host, e) != 0 ||
	    run_secrets_place(&u->arena, &host, &place, e) != 0) {
		return -1;
	}
	if (u->options.passphrase != NULL) {
		ask = (struct passphrase_source){.read = u->options.passphrase->read,
						 .arg = u->options.passphrase->arg};
	}
	u->opened = true;
	return vault_open(&place, how, kind, &ask, &u->vault, e);
}

static int use_end(struct use *u, int rc, const struct err *e, struct corral_error *err) {
	if (u->opened) {
		vault_close(&u->vault);
	}
	arena_done(&u->arena);
	return rc == 0 ? 0 : lib_fail(e, err);
}

static int64_t now(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail for this clock */
	return t.tv_sec;
}

/* ---- set, remove, rekey ---- */

/* A new value does not widen a secret: what the options leave open stays as it is. */
static void scope_for(const struct use *u, struct secret *s) {
	const struct corral_secret_options *o = &u->options;
	const struct secret *have = vault_find(&u->vault, s->name, u->scope.agent);
	s->agent = u->scope.agent;
	s->workspace = o->workspace == NULL && have != NULL ? have->workspace : u->scope.workspace;
	s->host = o->host == NULL && have != NULL ? have->host : u->scope.host;
	s->expose = o->expose == NULL && have != NULL ? have->expose : u->scope.expose;
	s->changed = now();
}

static int put_secret(struct use *u, struct secret *s, struct err *e) {
	scope_for(u, s);
	return secret_check(s, e) != 0 ? -1 : vault_put(&u->vault, s, e);
}

static int set(struct use *u, const struct corral_secret_options *o, struct secret *s,
	       struct err *e) {
	if (read_options(u, o, e) != 0) {
		return -1;
	}
	if (secret_check_name(s->name, e) != 0 || secret_check_variable(s->name, e) != 0 ||
	    use_begin(u, VAULT_WRITE, u->kind, e) != 0 || put_secret(u, s, e) != 0) {
		return -1;
	}
	return vault_save(&u->vault, false, e);
}

int corral_secret_set(const char *name, const void *value, size_t len,
		      const struct corral_secret_options *options, struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	struct secret s = {.name = name, .value = value, .len = len};
	if (lib_need(name, "name", err) != 0 || (len > 0 && lib_need(value, "value", err) != 0)) {
		return -1;
	}
	int rc = set(&u, options, &s, &e);
	return use_end(&u, rc, &e, err);
}

static int remove_one(struct use *u, const struct corral_secret_options *o, const char *name,
		      struct err *e) {
	if (read_options(u, o, e) != 0 || use_begin(u, VAULT_WRITE, VAULT_KEY_ANY, e) != 0) {
		return -1;
	}
	if (secret_check_name(name, e) != 0) {
		return -1;
	}
	if (!vault_remove(&u->vault, name, u->scope.agent)) {
		(void)err_set(e, ERR_USAGE, WHERE, "there is no secret %s %s%s", name,
			      u->scope.agent[0] == '\0' ? "that is shared" : "of agent ",
			      u->scope.agent);
		return err_fix(e, "list the secrets: corral secret list");
	}
	return vault_save(&u->vault, true, e);
}

int corral_secret_remove(const char *name, const struct corral_secret_options *options,
			 struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	if (lib_need(name, "name", err) != 0) {
		return -1;
	}
	int rc = remove_one(&u, options, name, &e);
	return use_end(&u, rc, &e, err);
}

int corral_secret_rekey(const struct corral_secret_options *options, struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	int rc = read_options(&u, options, &e) != 0 ||
				 use_begin(&u, VAULT_WRITE, VAULT_KEY_ANY, &e) != 0
			 ? -1
			 : vault_rekey(&u.vault, u.kind == VAULT_KEY_ANY ? VAULT_KEY_FILE : u.kind,
				       &e);
	return use_end(&u, rc, &e, err);
}

/* ---- list ---- */

static bool is_listed(const struct use *u, const struct secret *s) {
	return u->options.agent == NULL || streq(s->agent, u->options.agent);
}

static void list_json(const struct use *u, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "key", u->vault.exists ? vault_key_kind_names[u->vault.key.kind] : NULL);
	emit_array(&j, "secrets");
	for (size_t i = 0; i < u->vault.n; i++) {
		const struct secret *s = &u->vault.list[i];
		if (!is_listed(u, s)) {
			continue;
		}
		emit_object(&j, NULL);
		emit_string(&j, "name", s->name);
		emit_string(&j, "agent", s->agent[0] == '\0' ? NULL : s->agent);
		emit_string(&j, "workspace", s->workspace[0] == '\0' ? NULL : s->workspace);
		emit_string(&j, "host", s->host[0] == '\0' ? NULL : s->host);
		emit_string(&j, "expose", vault_expose_names[s->expose]);
		emit_int(&j, "changed", s->changed);
		emit_end_object(&j);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}

static void list_line(const struct secret *s, struct buf *out) {
	char when[32] = "";
	time_t changed = (time_t)s->changed;
	struct tm tm;
	if (gmtime_r(&changed, &tm) != NULL) {
		(void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	}
	size_t start = out->len;
	buf_printf(out, "%-28s %-6s %s  %s%s", s->name, vault_expose_names[s->expose], when,
		   s->agent[0] == '\0' ? "shared" : "agent ", s->agent);
	if (s->workspace[0] != '\0') {
		buf_printf(out, ", workspace %s", s->workspace);
	}
	if (s->host[0] != '\0') {
		buf_printf(out, ", host %s", s->host);
	}
	if (!buf_failed(out)) {
		str_hide_controls(out->data + start, false);
	}
	buf_puts(out, "\n");
}

static void list_text(const struct use *u, struct buf *out) {
	buf_puts(out, ""); /* not NULL when there is none */
	for (size_t i = 0; i < u->vault.n; i++) {
		if (is_listed(u, &u->vault.list[i])) {
			list_line(&u->vault.list[i], out);
		}
	}
}

int corral_secret_list(const struct corral_secret_options *options, enum corral_format format,
		       char **text, struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	struct buf out;
	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	int rc = read_options(&u, options, &e) != 0 ? -1
						    : use_begin(&u, VAULT_READ, VAULT_KEY_ANY, &e);
	if (rc == 0) {
		buf_init(&out);
		(format == CORRAL_JSON ? list_json : list_text)(&u, &out);
		rc = lib_give(&out, text, &e);
	}
	return use_end(&u, rc, &e, err);
}

/* ---- import ---- */

/* 1: the file does not exist. */
static int read_import(const char *path, char *text, size_t *ret_len, struct err *e) {
	bool is_stdin = streq(path, "-");
	auto_fd opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = is_stdin ? STDIN_FILENO : opened;
	size_t len = 0;
	if (fd < 0) {
		return errno == ENOENT ? 1 : err_sys_at(e, WHERE, "cannot open", path);
	}
	for (;;) {
		ssize_t n = read(fd, text + len, IMPORT_MAX + 1 - len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return err_sys_at(e, WHERE, "cannot read", path);
		}
		len += (size_t)n;
		if (len > IMPORT_MAX) {
			return err_set(e, ERR_USAGE, WHERE, "%.200s is larger than 1 MiB", path);
		}
		if (n == 0) {
			*ret_len = len;
			return 0;
		}
	}
}

static int put_entry(struct use *u, const struct import *in, const struct import_entry *entry,
		     struct err *e) {
	struct secret s = {.name = entry->name, .value = entry->value, .len = entry->len};
	struct err why = {0};
	return put_secret(u, &s, &why) == 0 ? 0 : import_fail(in, entry->line, why.what, e);
}

static int put_entries(struct use *u, const struct import *in, struct err *e) {
	if (use_begin(u, VAULT_WRITE, u->kind, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < in->n; i++) {
		if (put_entry(u, in, &in->list[i], e) != 0) {
			return -1;
		}
	}
	return in->n == 0 ? 0 : vault_save(&u->vault, false, e);
}

static int import_text(struct use *u, const char *path, char *text, size_t *ret_count,
		       struct err *e) {
	struct import in = {.file = path};
	size_t len = 0;
	int found = read_import(path, text, &len, e);
	if (found != 0) {
		*ret_count = 0;
		return found < 0 ? -1 : 0;
	}
	int rc = import_parse(text, len, &in, e) != 0 ? -1 : put_entries(u, &in, e);
	*ret_count = in.n;
	import_done(&in);
	return rc;
}

int corral_secret_import(const char *path, const struct corral_secret_options *options,
			 size_t *count, struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	size_t n = 0;
	int rc = -1;
	if (lib_need(path, "path", err) != 0) {
		return -1;
	}
	if (read_options(&u, options, &e) == 0) {
		/* The entries of the vault point into it until the vault is saved. */
		char *text = sodium_init() < 0 ? NULL : sodium_malloc(IMPORT_MAX + 2);
		rc = text == NULL ? err_memory(&e, WHERE) : import_text(&u, path, text, &n, &e);
		sodium_free(text);
	}
	if (rc == 0 && count != NULL) {
		*count = n;
	}
	return use_end(&u, rc, &e, err);
}

/* ---- export ---- */

int corral_secret_export(const struct corral_secret_options *options, enum corral_format format,
			 char **text, struct corral_error *err) {
	struct use u = {0};
	struct err e = {0};
	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	int rc = read_options(&u, options, &e) != 0 ||
				 use_begin(&u, VAULT_READ, VAULT_KEY_ANY, &e) != 0
			 ? -1
			 : export_text(&u.vault, u.scope.agent, format == CORRAL_JSON, text, &e);
	return use_end(&u, rc, &e, err);
}

void corral_secret_free(char *text) {
	sodium_free(text); /* overwrites it; accepts NULL */
}
