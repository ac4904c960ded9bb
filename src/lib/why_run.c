/* SPDX-License-Identifier: Apache-2.0 */
/* corral_why_run(): the refusals of one run, from the audit log.
 *
 * The records of a run are contiguous, and the record of the run itself comes last (lib/audit.c).
 *
 * Should:   print each refusal of the run as corral_why() prints an answer.
 * Must not: judge again: the policy and the files may have changed since.
 * Fails:    closed: a line that is not JSON is an error, which `corral audit verify` explains. */
#include "lib/audit_read.h"

#include "base/auto.h"
#include "base/str.h"
#include "lib/why.h"
#include "policy/doc.h"

#include <inttypes.h>

/* As many characters of an id as `corral audit show` takes. */
#define ID_MIN 4

struct finding {
	const char *id;       /* or its last characters; NULL: the last run */
	char of[32];          /* the id of the lines in `group` */
	struct buf group;     /* the lines of the run that is being read */
	struct buf found;     /* those of the run in question, its own last; empty: none yet */
	struct doc **records; /* the same, parsed */
	size_t count;
};

static const char *text_of(const struct doc *record, const char *key) {
	for (const struct doc *d = record->first; d != NULL; d = d->next) {
		if (streq(d->key, key)) {
			return d->type == DOC_STRING ? d->str : NULL;
		}
	}
	return NULL;
}

static int64_t number_of(const struct doc *record, const char *key, int64_t missing) {
	for (const struct doc *d = record->first; d != NULL; d = d->next) {
		if (streq(d->key, key)) {
			return d->type == DOC_INT ? d->num : missing;
		}
	}
	return missing;
}

static bool is_wanted(const struct finding *f, struct audit_field id) {
	size_t len = f->id == NULL ? 0 : strlen(f->id);
	return id.len >= len && id.len < sizeof f->of &&
	       (len == 0 || memcmp(id.text + id.len - len, f->id, len) == 0);
}

static bool starts(struct audit_field f, const char *s) {
	return f.len >= strlen(s) && memcmp(f.text, s, strlen(s)) == 0;
}

/* Empties the group when another run begins. */
static void begin_group(struct finding *f, struct audit_field id) {
	if (strlen(f->of) != id.len || memcmp(f->of, id.text, id.len) != 0) {
		memcpy(f->of, id.text, id.len);
		f->of[id.len] = '\0';
		f->group.len = 0;
	}
}

static int read_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	struct finding *f = arg;
	struct audit_fields fields;
	(void)where;

	if (audit_fields_read(l, AUDIT_ID, &fields) != 0) {
		return 0; /* torn or edited: `corral audit verify` says so */
	}
	struct audit_field kind = audit_unquote(fields.at[AUDIT_KIND]);
	struct audit_field id = audit_unquote(fields.at[AUDIT_ID]);
	bool run = starts(kind, "run") || starts(kind, "unsandboxed_run");
	if ((!run && !starts(kind, "deny.")) || id.len == 0 || !is_wanted(f, id)) {
		return 0;
	}
	begin_group(f, id);
	buf_add(&f->group, l->text, l->len);
	buf_puts(&f->group, "\n");
	if (run) {
		f->found.len = 0;
		buf_add(&f->found, f->group.data, f->group.len);
	}
	return buf_failed(&f->group) || buf_failed(&f->found) ? -1 : 0;
}

/* The lines of the run, as documents. */
static int parse_found(struct arena *a, struct finding *f, struct err *e) {
	size_t cap = 0;

	for (size_t at = 0; at < f->found.len;) {
		const char *line = f->found.data + at;
		size_t len = (size_t)((const char *)memchr(line, '\n', f->found.len - at) - line);
		if (arena_grow(a, &f->records, f->count, &cap, sizeof *f->records) != 0) {
			return err_memory(e, "why");
		}
		if (doc_parse_json(a, "the audit log", line, len, &f->records[f->count++], e) !=
		    0) {
			return -1;
		}
		at += len + 1;
	}
	return 0;
}

static struct why_answer answer_of(const struct doc *record) {
	static const char *const objects[] = {"path", "host", "program", "syscall", "limit"};
	const char *object = NULL;

	for (size_t i = 0; object == NULL && i < ARRAY_LEN(objects); i++) {
		object = text_of(record, objects[i]);
	}
	const struct why_denial d = {
		.op = text_of(record, "op"),
		.object = object == NULL ? "" : object,
		.access = text_of(record, "access"),
		.error = text_of(record, "errno"),
		.rule = text_of(record, "rule"),
		.reason = text_of(record, "why"),
		.grant = text_of(record, "allow_with"),
		.count = (uint64_t)number_of(record, "count", 1),
	};
	struct why_answer a = why_of_denial(&d);
	if (a.op == NULL) {
		a.op = "use";
	}
	if (a.options == NULL) {
		a.advice = "corral why explains this path, host or command with the rules of today";
	}
	return a;
}

static void put_head(const struct doc *run, bool none, enum corral_format format, struct buf *out) {
	const char *id = text_of(run, "id");

	if (format == CORRAL_JSON) {
		struct emit j;
		emit_init(&j, out, false);
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_string(&j, "id", id);
		emit_string(&j, "reason", text_of(run, "reason"));
		emit_end_object(&j);
		out->len--; /* members follow */
		buf_puts(out, ",\"denials\":[");
	} else if (none) {
		buf_printf(out, "run %s: Corral has recorded no refusal", id);
	} else if (format == CORRAL_TEXT) {
		buf_printf(out, "run %s\n", id);
	}
}

/* The last record is that of the run. */
static void put_all(const struct finding *f, enum corral_format format, struct buf *out) {
	size_t refusals = f->count - 1;

	put_head(f->records[refusals], refusals == 0, format, out);
	for (size_t i = 0; i < refusals; i++) {
		const struct why_answer a = answer_of(f->records[i]);
		buf_puts(out, i == 0 ? "" : format == CORRAL_JSON ? "," : "\n");
		why_print(&a, format, out);
	}
	buf_puts(out, format == CORRAL_JSON ? "]}" : "");
}

static int find_run(struct audit_reading *r, struct finding *f, struct err *e) {
	struct audit_cursor from = {0};

	if (f->id != NULL && strlen(f->id) < ID_MIN) {
		(void)err_set(e, ERR_USAGE, "why", "%s is too short for the id of a run", f->id);
		return err_fix(e, "take it from `corral audit list`");
	}
	if (audit_each_line(r->place.dir, &from, read_line, f, e) != 0) {
		return e->kind == ERR_NONE ? err_memory(e, "why") : -1;
	}
	if (f->found.len == 0) {
		(void)err_set(e, ERR_USAGE, "why", "the audit log has no run%s%s",
			      f->id == NULL ? "" : " ", f->id == NULL ? "" : f->id);
		return err_fix(e, "see `corral audit list`; audit.enabled = false records none");
	}
	return parse_found(&r->arena, f, e);
}

int corral_why_run(const char *id, enum corral_format format, char **text, uint64_t *count,
		   struct corral_error *err) {
	struct audit_reading r;
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	struct finding f = {.id = id};
	buf_init(&f.group);
	buf_init(&f.found);
	int rc = audit_reading_begin(&r, &e);
	if (rc == 0) {
		rc = find_run(&r, &f, &e);
	}
	if (rc == 0) {
		put_all(&f, format, &out);
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && count != NULL) {
		*count = f.count - 1;
	}
	buf_done(&out);
	buf_done(&f.group);
	buf_done(&f.found);
	return audit_reading_end(&r, rc, &e, err);
}
