/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner in a run: which values it knows, the check of the arguments, and the findings
 * in the result.
 *
 * A variable of the command whose name is in the table of secrets (data/environment.c) is known to
 * the scanner by its value, in every encoding.
 *
 * Should:   check the arguments before anything runs.
 * Must not: put a value, or a part of one, into a message, a record or the result.
 * Fails:    closed: arguments that cannot be scanned are refused, unless scan.args is warn. */
#include "lib/leaks.h"

#include "base/str.h"
#include "data/environment.h"
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

static struct leak_scanner *make_scanner(void *arg, struct err *e) {
	const struct plan *plan = arg;
	struct leak_value *values = calloc(plan->nenv + 1, sizeof *values);
	char(*names)[NAME_MAX_KNOWN] = calloc(plan->nenv + 1, sizeof *names);
	struct leak_rules rules = {.values = values};

	if (values == NULL || names == NULL) {
		(void)err_memory(e, "leaks");
		free(values);
		free(names);
		return NULL;
	}
	for (size_t i = 0; i < plan->nenv; i++) {
		size_t n = rules.nvalues;
		rules.nvalues += is_secret(plan->env[i], &values[n], names[n]);
	}
	struct leak_scanner *scanner = leak_scanner_new(&rules, e);
	free(values);
	free(names);
	return scanner;
}

void leaks_source(const struct plan *plan, struct leak_source *ret) {
	/* make_scanner() only reads it. */
	*ret = (struct leak_source){.make = make_scanner, .arg = (void *)(uintptr_t)plan};
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
	struct leak_scanner *scanner = make_scanner((void *)(uintptr_t)&p->plan, e);
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
