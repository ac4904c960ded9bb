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

/* "NAME=VALUE" of a variable that is usually a credential. */
static bool is_secret(const char *entry) {
	char name[NAME_MAX_KNOWN];
	size_t n = strcspn(entry, "=");

	if (n >= sizeof name || entry[n] != '=') {
		return false;
	}
	memcpy(name, entry, n);
	name[n] = '\0';
	const struct env_row *row = environment_row_for(name);
	return row != NULL && row->class == ENV_SECRET;
}

/* The values that the scanner looks for. */
struct known_values {
	struct leak_value *list;
	size_t n, cap;
	size_t forward; /* the first of them as they are; the others are to be reversed */
	bool failed;    /* no memory */
};

static void add_known(struct known_values *k, const char *name, const char *data, size_t len) {
	if (len < LEAK_VALUE_MIN || k->failed) {
		return;
	}
	if (k->n == k->cap) {
		size_t cap = k->cap == 0 ? 16 : k->cap * 2;
		struct leak_value *more = realloc(k->list, cap * sizeof *more);
		if (more == NULL) {
			k->failed = true;
			return;
		}
		k->list = more;
		k->cap = cap;
	}
	k->list[k->n++] = (struct leak_value){.name = name, .data = data, .len = len};
}

/* A shell drops newlines at the end, and a program may print single lines of a value: so the value
 * without them is known, and each line.  A long value is known in parts. */
static void add_value(struct known_values *k, const char *name, const char *data, size_t len) {
	while (len > 0 && (data[len - 1] == '\n' || data[len - 1] == '\r')) {
		len--;
	}
	for (size_t at = 0; at < len; at += LEAK_VALUE_MAX) {
		add_known(k, name, data + at,
			  len - at < LEAK_VALUE_MAX ? len - at : LEAK_VALUE_MAX);
	}
	if (memchr(data, '\n', len) == NULL) {
		return;
	}
	for (size_t at = 0; at < len;) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t line = end == NULL ? len - at : (size_t)(end - (data + at));
		size_t text = line > 0 && data[at + line - 1] == '\r' ? line - 1 : line;
		add_known(k, name, data + at, text < LEAK_VALUE_MAX ? text : LEAK_VALUE_MAX);
		at += line + 1;
	}
}

/* Each value is also known backwards: rev(1) is the shortest way to hide one.  A palindrome is
 * known already. */
static void add_reversed(struct known_values *k) {
	k->forward = k->n;
	for (size_t i = 0; i < k->forward && !k->failed; i++) {
		const struct leak_value v = k->list[i];
		const char *data = v.data;
		size_t at = 0;
		while (at < v.len / 2 && data[at] == data[v.len - 1 - at]) {
			at++;
		}
		if (at < v.len / 2) {
			add_known(k, v.name, v.data, v.len);
		}
	}
}

/* A secret of the vault: "VARIABLE=VALUE", or the content of a file. */
static void add_from_vault(struct known_values *k, const struct secret_bytes *b) {
	size_t name = strlen(b->name);
	bool variable =
		b->len > name && memcmp(b->bytes, b->name, name) == 0 && b->bytes[name] == '=';
	size_t skip = variable ? name + 1 : 0;

	add_value(k, b->name, b->bytes + skip, b->len - skip);
}

static int collect_values(const struct prepared *p, struct arena *a, struct known_values *ret,
			  struct err *e) {
	for (size_t i = 0; i < p->plan.nenv; i++) {
		const char *entry = p->plan.env[i];
		if (is_secret(entry)) {
			size_t n = strcspn(entry, "=");
			const char *name = arena_strndup(a, entry, n);
			ret->failed = ret->failed || name == NULL;
			add_value(ret, name, entry + n + 1, strlen(entry + n + 1));
		}
	}
	for (size_t i = 0; i < p->secrets.n; i++) {
		add_from_vault(ret, &p->secrets.list[i]);
	}
	add_reversed(ret);
	return ret->failed ? err_memory(e, "leaks") : 0;
}

/* The key and the allow list of `corral scan`.  An error of theirs stops a run that redacts, and
 * leaves a run that warns without them. */
static int read_config(const struct prepared *p, struct arena *a, struct leak_rules *rules,
		       struct err *e) {
	struct scan_config *config = arena_array(a, 1, sizeof *config);

	if (config == NULL) {
		return err_memory(e, "leaks");
	}
	if (scan_config_find(a, config, e) != 0) {
		return p->plan.scan_output > LEAK_WARN || p->plan.scan_net > LEAK_WARN ? -1 : 0;
	}
	rules->key = config->has_key ? config->key : NULL;
	rules->allow = config->allow;
	rules->nallow = config->nallow;
	return 0;
}

/* Moves the values to memory that no child and no core dump has; with room for `copies` of them. */
static int keep_values(struct known_values *known, size_t copies, struct secrets *ret,
		       struct err *e) {
	size_t size = 1;

	for (size_t i = 0; i < known->n; i++) {
		size += known->list[i].len * copies;
	}
	if (secrets_new(size, ret, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < known->n; i++) {
		struct leak_value *v = &known->list[i];
		const char *from = v->data;
		char *bytes = secrets_take(ret, v->len);
		for (size_t k = 0; k < v->len; k++) {
			bytes[k] = from[i < known->forward ? k : v->len - 1 - k];
		}
		v->data = bytes;
	}
	return 0;
}

/* The values are in *values afterwards, which has to outlive the scanners.  ret_names: NULL, or for
 * a scanner of names, if there are values. */
static struct leak_scanner *make_scanner(const struct prepared *p, struct secrets *values,
					 struct leak_scanner **ret_names, struct err *e) {
	struct leak_scanner *scanner = NULL;
	struct known_values known = {0};
	struct leak_rules rules = {.borrow = true};
	struct arena a;

	arena_init(&a);
	if (collect_values(p, &a, &known, e) == 0 && read_config(p, &a, &rules, e) == 0 &&
	    (known.n == 0 || keep_values(&known, ret_names == NULL ? 1 : 2, values, e) == 0)) {
		rules.values = known.list;
		rules.nvalues = known.n;
		scanner = leak_scanner_new(&rules, e);
	}
	if (scanner != NULL && known.n > 0 && ret_names != NULL) {
		*ret_names = leak_names_scanner(known.list, known.forward, values, e);
	}
	free(known.list);
	arena_done(&a);
	return scanner;
}

static void make_scanners(struct run_leaks *r, struct err *e) {
	r->scanner = make_scanner(r->p, &r->values, r->p->plan.net.gate ? &r->names : NULL, e);
}

static const struct leak_scanner *give_scanner(void *arg) {
	struct run_leaks *r = arg;
	struct err unused = {0};

	if (r->scanner == NULL) {
		make_scanners(r, &unused);
	}
	return r->scanner;
}

int leaks_begin(struct run_leaks *r, const struct prepared *p, struct err *e) {
	*r = (struct run_leaks){
		.p = p, .source = {.scanner = give_scanner, .clean = leak_names_clean, .arg = r}};
	const struct plan *plan = &p->plan;
	bool now =
		p->secrets.n > 0 && (plan->scan_output != LEAK_OFF || plan->scan_net != LEAK_OFF);
	if (now || plan->scan_output > LEAK_WARN || plan->scan_net > LEAK_WARN ||
	    plan->scan_args >= LEAK_BLOCK) {
		make_scanners(r, e);
		return r->scanner == NULL ? -1 : 0;
	}
	return 0;
}

void leaks_end(struct run_leaks *r) {
	leak_scanner_free(r->scanner);
	leak_scanner_free(r->names);
	secrets_free(&r->values);
	r->scanner = r->names = NULL;
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
	leak_log_add(s->log, f, s->place, s->action, NULL);
}

static bool is_long(const char *text) {
	return strnlen(text, TEXT_MIN) == TEXT_MIN;
}

/* The value of a variable that env.pass names; NULL: it is not set, or its name says that it is a
 * secret, which the caller then means to give to the command. */
static const char *passed_value(const struct prepared *p, const char *name) {
	size_t n = strlen(name);

	for (size_t i = 0; i < p->plan.nenv; i++) {
		const char *entry = p->plan.env[i];
		if (strncmp(entry, name, n) == 0 && entry[n] == '=') {
			return is_secret(entry) ? NULL : entry + n + 1;
		}
	}
	return NULL;
}

/* A short command, such as `true` or `make test`, needs no scanner. */
bool leaks_may_show(const char *const *argv) {
	size_t i = 0;

	while (argv[i] != NULL && !is_long(argv[i])) {
		i++;
	}
	return argv[i] != NULL;
}

static bool may_leak(const struct prepared *p, const char *const *argv) {
	const struct value *set = &p->policy.values[KEY_ENV_SET];
	const struct value *pass = &p->policy.values[KEY_ENV_PASS];

	if (leaks_may_show(argv)) {
		return true;
	}
	for (size_t i = 0; i < set->count; i++) {
		if (is_long(set->items[i].str)) {
			return true;
		}
	}
	for (size_t i = 0; i < pass->count; i++) {
		const char *value = passed_value(p, pass->items[i].str);
		if (value != NULL && is_long(value)) {
			return true;
		}
	}
	return false;
}

static int refuse(const struct args_scan *s, const char *what, struct err *e) {
	(void)err_set(e, ERR_LEAK, "leaks", "%s contains a secret (%s); the command was not run",
		      what, s->kind);
	return err_fix(e,
		       "give it as a secret of the vault: --secret NAME; or pass a variable whose "
		       "name is a known secret's: --pass-env GITHUB_TOKEN; or allow it: "
		       "--scan-args warn");
}

static int scan_text(const struct leak_scanner *scanner, struct args_scan *s, const char *text,
		     const char *what, struct err *e) {
	if (leak_scan(scanner, text, strlen(text), on_found, s) != 0) {
		return s->action >= LEAK_BLOCK ? err_memory(e, "leaks") : 0;
	}
	return s->kind[0] != '\0' && s->action >= LEAK_BLOCK ? refuse(s, what, e) : 0;
}

static int scan_passed(const struct prepared *p, const struct leak_scanner *scanner,
		       struct args_scan *s, struct err *e) {
	const struct value *pass = &p->policy.values[KEY_ENV_PASS];
	char what[128];

	for (size_t i = 0; i < pass->count; i++) {
		const char *value = passed_value(p, pass->items[i].str);
		(void)snprintf(what, sizeof what, "the variable %s", pass->items[i].str); /* cut */
		if (value != NULL && scan_text(scanner, s, value, what, e) != 0) {
			return -1;
		}
	}
	return 0;
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
	return scan_passed(p, scanner, s, e);
}

int leaks_check_command(struct prepared *p, const char *const *argv, struct leak_log *log,
			struct err *e) {
	struct args_scan s = {.log = log, .action = p->plan.scan_args};

	if (s.action == LEAK_OFF || !may_leak(p, argv)) {
		return 0;
	}
	struct secrets values = {0};
	struct leak_scanner *scanner = make_scanner(p, &values, NULL, e);
	int rc = s.action >= LEAK_BLOCK ? -1 : 0;
	if (scanner != NULL) {
		rc = scan_all(p, scanner, argv, &s, e);
	}
	if (rc == 0 && s.kind[0] != '\0') { /* `corral ps` shows it */
		p->shown_argv = leak_names_clean_argv(&p->arena, scanner, argv);
		rc = p->shown_argv == NULL ? err_memory(e, "leaks") : 0;
	}
	leak_scanner_free(scanner);
	secrets_free(&values);
	return rc;
}

/* ---- a file to send ---- */

struct file_scan {
	struct buf clean;
	char kind[LEAK_KIND_MAX]; /* of the first finding; "" */
	enum leak_action action;
	struct leak_log found;
};

static void on_found_in_file(void *arg, const struct leak_finding *f) {
	struct file_scan *s = arg;

	leak_log_add(&s->found, f, LEAK_IN_FILE, s->action, NULL);
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
	struct file_scan s = {.action = action};

	if (action == LEAK_OFF || content->len == 0) {
		return 0;
	}
	buf_init(&s.clean);
	struct leak_scanner *scanner = leak_scanner_new(&rules, e);
	int rc = scanner == NULL ? -1 : scan_file(scanner, content, &s, e);
	leak_scanner_free(scanner);
	audit_file_leaks(p, path, &s.found);
	leak_log_done(&s.found);
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
	if (r->host[0] != '\0') {
		emit_string(j, "host", r->host);
	}
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

const char *leaks_ending(const struct leak_log *log) {
	const char *text = "a secret in the output (--scan-output kill)";

	for (size_t i = 0; i < log->n; i++) {
		enum leak_place place = log->records[i].place;
		if (log->records[i].action == LEAK_KILL) {
			text = place == LEAK_IN_STDIN  ? "a secret in stdin (--scan-args block)"
			       : place >= LEAK_IN_LINE ? "a secret in a request (--scan-net kill)"
						       : text;
		}
	}
	return text;
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
		.host = r->host,
	};
	return sized_out(&sized_leak, &known, leak, &unused);
}

uint64_t corral_result_leaks_more(const struct corral_result *result) {
	return result == NULL ? 0 : result->args_leaks.more + result->outcome.leaks.more;
}

int corral_result_leaks_scanned(const struct corral_result *result) {
	return result != NULL && result->outcome.leaks_scanned;
}
