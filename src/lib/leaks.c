/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner in a run: which values it knows, the check of the arguments, and the findings
 * in the result.
 *
 * The scanner knows two sorts of values, in every encoding: those of the command's variables whose
 * names are in the table of secrets (data/environment.c), and those that the run gets from the
 * vault.  While a run is scanned the supervisor keeps the latter in locked memory.
 *
 * Should:   check the arguments before anything runs.
 * Must not: put a value, or a part of one, into a message, a record or the result.
 * Fails:    closed: arguments that cannot be scanned are refused, unless scan.args is warn. */
#include "lib/leaks.h"

#include "base/auto.h"
#include "data/environment.h"
#include "lib/scan.h"
#include "lib/sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest text of which a kind of secret can be a part: a URL with a password. */
#define TEXT_MIN 12

#define NAME_MAX_KNOWN 64 /* longer than any name in the table */

/* "NAME=VALUE" of a variable that is usually a credential, with a value that is long enough. */
static bool is_secret(const char *entry, struct leak_value *ret, char name[NAME_MAX_KNOWN]) {
	size_t n = strcspn(entry, "=");

	if (n >= NAME_MAX_KNOWN || entry[n] != '=') {
		return false;
	}
	memcpy(name, entry, n);
	name[n] = '\0';
	const struct env_row *row = environment_row_for(name);
	size_t len = strlen(entry + n + 1);
	*ret = (struct leak_value){.name = name, .data = entry + n + 1, .len = len};
	return row != NULL && row->class == ENV_SECRET && len >= LEAK_VALUE_MIN &&
	       len <= LEAK_VALUE_MAX;
}

/* A value of the vault: "VARIABLE=VALUE", or the content of a file. */
static bool is_from_vault(const struct secret_bytes *b, struct leak_value *ret) {
	size_t name = strlen(b->name);
	bool variable =
		b->len > name && memcmp(b->bytes, b->name, name) == 0 && b->bytes[name] == '=';
	size_t skip = variable ? name + 1 : 0;

	*ret = (struct leak_value){.name = b->name, .data = b->bytes + skip, .len = b->len - skip};
	return ret->len >= LEAK_VALUE_MIN && ret->len <= LEAK_VALUE_MAX;
}

static void collect_values(const struct prepared *p, struct leak_value *values,
			   char (*names)[NAME_MAX_KNOWN], size_t *ret) {
	size_t n = 0;

	for (size_t i = 0; i < p->plan.nenv; i++) {
		n += is_secret(p->plan.env[i], &values[n], names[n]);
	}
	for (size_t i = 0; i < p->secrets.n; i++) {
		n += is_from_vault(&p->secrets.list[i], &values[n]);
	}
	*ret = n;
}

static struct leak_scanner *make_scanner(const struct prepared *p, struct err *e) {
	size_t room = p->plan.nenv + p->secrets.n + 1;
	auto_free struct leak_value *values = calloc(room, sizeof *values);
	auto_free char(*names)[NAME_MAX_KNOWN] = calloc(room, sizeof *names);
	struct leak_scanner *scanner = NULL;
	struct leak_rules rules = {.values = values};
	struct scan_config config;
	struct arena a;

	if (values == NULL || names == NULL) {
		(void)err_memory(e, "leaks");
		return NULL;
	}
	collect_values(p, values, names, &rules.nvalues);
	arena_init(&a);
	if (scan_config_find(&a, &config, e) == 0) {
		rules.key = config.has_key ? config.key : NULL;
		rules.allow = config.allow;
		rules.nallow = config.nallow;
		scanner = leak_scanner_new(&rules, e);
	}
	arena_done(&a);
	return scanner;
}

static const struct leak_scanner *give_scanner(void *arg) {
	struct run_leaks *r = arg;
	struct err unused = {0};

	if (r->scanner == NULL) {
		r->scanner = make_scanner(r->p, &unused);
	}
	return r->scanner;
}

int leaks_begin(struct run_leaks *r, const struct prepared *p, struct err *e) {
	*r = (struct run_leaks){.p = p, .source = {.scanner = give_scanner, .arg = r}};
	if (p->secrets.n > 0 && p->plan.scan_output != LEAK_OFF) {
		r->scanner = make_scanner(p, e);
		return r->scanner == NULL ? -1 : 0;
	}
	return 0;
}

void leaks_end(struct run_leaks *r) {
	leak_scanner_free(r->scanner);
	r->scanner = NULL;
}

/* ---- the arguments ---- */

struct args_scan {
	struct leak_log *log;
	enum leak_action action;
	enum leak_place place;
	char kind[LEAK_KIND_MAX]; /* of the first finding; "" */
};

static void on_found(void *arg, const struct leak_finding *f) {
	struct args_scan *s = arg;

	if (s->kind[0] == '\0') {
		(void)snprintf(s->kind, sizeof s->kind, "%s", f->kind); /* may be cut */
	}
	leak_log_add(s->log, f, s->place, s->action);
}

static bool is_long(const char *text) {
	return strnlen(text, TEXT_MIN) == TEXT_MIN;
}

/* A short command, such as `true` or `make test`, needs no scanner. */
static bool may_leak(const struct prepared *p, const char *const *argv) {
	const struct value *set = &p->policy.values[KEY_ENV_SET];

	for (size_t i = 0; argv[i] != NULL; i++) {
		if (is_long(argv[i])) {
			return true;
		}
	}
	for (size_t i = 0; i < set->count; i++) {
		if (is_long(set->items[i].str)) {
			return true;
		}
	}
	return false;
}

static int refuse(const struct args_scan *s, const char *what, struct err *e) {
	(void)err_set(e, ERR_LEAK, "leaks", "%s contains a secret (%s); the command was not run",
		      what, s->kind);
	return err_fix(e, "pass it as a variable: --pass-env NAME; or allow it: --scan-args warn");
}

static int scan_text(const struct leak_scanner *scanner, struct args_scan *s, const char *text,
		     const char *what, struct err *e) {
	if (leak_scan(scanner, text, strlen(text), on_found, s) != 0) {
		return s->action >= LEAK_BLOCK ? err_memory(e, "leaks") : 0;
	}
	return s->kind[0] != '\0' && s->action >= LEAK_BLOCK ? refuse(s, what, e) : 0;
}

static int scan_all(const struct prepared *p, const struct leak_scanner *scanner,
		    const char *const *argv, struct args_scan *s, struct err *e) {
	const struct value *set = &p->policy.values[KEY_ENV_SET];
	char what[32];

	s->place = LEAK_IN_ARGS;
	for (size_t i = 0; argv[i] != NULL; i++) {
		(void)snprintf(what, sizeof what, "argument %zu", i);
		if (scan_text(scanner, s, argv[i], what, e) != 0) {
			return -1;
		}
	}
	s->place = LEAK_IN_ENV;
	for (size_t i = 0; i < set->count; i++) {
		const char *value = strchr(set->items[i].str, '=');
		if (value != NULL && scan_text(scanner, s, value + 1, "a variable of --env", e)) {
			return -1;
		}
	}
	return 0;
}

int leaks_check_command(const struct prepared *p, const char *const *argv, struct leak_log *log,
			struct err *e) {
	struct args_scan s = {.log = log, .action = p->plan.scan_args};

	if (s.action == LEAK_OFF || !may_leak(p, argv)) {
		return 0;
	}
	struct leak_scanner *scanner = make_scanner(p, e);
	if (scanner == NULL) {
		return s.action >= LEAK_BLOCK ? -1 : 0;
	}
	int rc = scan_all(p, scanner, argv, &s, e);
	leak_scanner_free(scanner);
	return rc;
}

/* ---- a file to send ---- */

struct file_scan {
	struct buf clean;
	char kind[LEAK_KIND_MAX]; /* of the first finding; "" */
};

static void on_found_in_file(void *arg, const struct leak_finding *f) {
	struct file_scan *s = arg;

	if (s->kind[0] == '\0') {
		(void)snprintf(s->kind, sizeof s->kind, "%s", f->kind); /* may be cut */
	}
}

static int on_clean_bytes(void *arg, const void *data, size_t len) {
	struct file_scan *s = arg;

	buf_add(&s->clean, data, len);
	return buf_failed(&s->clean) ? -1 : 0;
}

static int scan_file(const struct leak_scanner *scanner, const struct buf *content,
		     struct file_scan *s, struct err *e) {
	struct leak_stream *stream = leak_stream_new(scanner, on_found_in_file, on_clean_bytes, s);
	bool done = stream != NULL && leak_stream_feed(stream, content->data, content->len) == 0 &&
		    leak_stream_end(stream) == 0;

	leak_stream_free(stream);
	return done ? 0 : err_memory(e, "leaks");
}

int leaks_check_file(const struct prepared *p, const char *path, struct buf *content,
		     struct err *e) {
	enum leak_action action = (enum leak_action)policy_num(&p->policy, KEY_SCAN_FILES);
	const struct leak_rules rules = {0};
	struct file_scan s = {0};

	if (action == LEAK_OFF || content->len == 0) {
		return 0;
	}
	buf_init(&s.clean);
	struct leak_scanner *scanner = leak_scanner_new(&rules, e);
	int rc = scanner == NULL ? -1 : scan_file(scanner, content, &s, e);
	leak_scanner_free(scanner);
	if (rc == 0 && s.kind[0] != '\0' && action == LEAK_REDACT) {
		buf_done(content);
		*content = s.clean;
		return 0;
	}
	buf_done(&s.clean);
	if (rc != 0 || s.kind[0] == '\0') {
		return rc;
	}
	(void)err_set(e, ERR_LEAK, "leaks", "%s was not sent: it contains a secret (%s)", path,
		      s.kind);
	return err_fix(e, "remove the secret, or set scan.files = \"redact\"");
}

/* ---- the result ---- */

static void emit_record(struct emit *j, const struct leak_record *r) {
	emit_object(j, NULL);
	emit_string(j, "kind", r->kind);
	emit_string(j, "stream", leak_place_name(r->place));
	emit_int(j, "offset", (int64_t)r->offset);
	emit_int(j, "length", (int64_t)r->length);
	emit_string(j, "view", r->view);
	emit_string(j, "fingerprint", r->fingerprint);
	emit_string(j, "action", leak_action_name(r->action));
	emit_int(j, "count", (int64_t)r->count);
	emit_end_object(j);
}

void leaks_emit(struct emit *j, const struct leak_log *logs[2], bool scanned) {
	uint64_t more = 0;

	emit_array(j, "leaks");
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; logs[k] != NULL && i < logs[k]->n; i++) {
			emit_record(j, &logs[k]->records[i]);
		}
		more += logs[k] == NULL ? 0 : logs[k]->more;
	}
	emit_end_array(j);
	emit_int(j, "leaks_more", (int64_t)more);
	emit_bool(j, "leaks_scanned", scanned);
}

static const struct leak_record *record_at(const struct corral_result *r, size_t n) {
	const struct leak_log *logs[] = {&r->args_leaks, &r->outcome.leaks};

	for (size_t k = 0; k < 2; k++) {
		if (n < logs[k]->n) {
			return &logs[k]->records[n];
		}
		n -= logs[k]->n;
	}
	return NULL;
}

int corral_result_leak(const struct corral_result *result, size_t n, struct corral_leak *leak) {
	struct err unused = {0};

	if (result == NULL || leak == NULL || sized_check(&sized_leak, leak, &unused) != 0) {
		return -1;
	}
	const struct leak_record *r = record_at(result, n);
	if (r == NULL) {
		return 1;
	}
	const struct corral_leak known = {
		.kind = r->kind,
		.stream = leak_place_name(r->place),
		.view = r->view,
		.fingerprint = r->fingerprint,
		.action = leak_action_name(r->action),
		.offset = r->offset,
		.length = r->length,
		.count = r->count,
	};
	return sized_out(&sized_leak, &known, leak, &unused);
}

uint64_t corral_result_leaks_more(const struct corral_result *result) {
	return result == NULL ? 0 : result->args_leaks.more + result->outcome.leaks.more;
}

int corral_result_leaks_scanned(const struct corral_result *result) {
	return result != NULL && result->outcome.leaks_scanned;
}
