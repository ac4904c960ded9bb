/* SPDX-License-Identifier: Apache-2.0 */
/* Records as events of the Open Cybersecurity Schema Framework 1.3, one JSON object a line.
 *
 * A row of the table maps a kind to its class.  Members without a place in the schema are in
 * "unmapped", so no information is lost.  The schema has no null: an attribute without a value is
 * left out.  tests/cli/ocsf.py has the attributes, types and constraints of the classes.
 *
 * Should:   set every required attribute of the class.
 * Must not: write JSON that is not valid, also when a line was edited.
 * Fails:    as buf.h; an unknown kind is a Process Activity with the activity Other. */
#include "audit/print.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum class {
	CLASS_FILE = 1001,    /* File System Activity */
	CLASS_PROCESS = 1007, /* Process Activity */
	CLASS_FINDING = 2004, /* Detection Finding */
	CLASS_NETWORK = 4001, /* Network Activity */
};

/* severity_id */
enum { SEVERITY_INFORMATIONAL = 1, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

#define ACTIVITY_OTHER 99

static const struct row {
	const char *kind;
	enum class class;
	int activity, severity;
	const char *name; /* of the activity, if it is Other */
} rows[] = {
	{"run", CLASS_PROCESS, 1, SEVERITY_INFORMATIONAL, "Launch"},
	{"unsandboxed_run", CLASS_PROCESS, 1, SEVERITY_MEDIUM, "Launch"},
	{"degraded", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_LOW, "Degraded"},
	{"deny.path", CLASS_FILE, ACTIVITY_OTHER, SEVERITY_LOW, "Access"},
	{"deny.net", CLASS_NETWORK, 5, SEVERITY_LOW, "Refuse"},
	{"deny.cmd", CLASS_PROCESS, 1, SEVERITY_LOW, "Launch"},
	{"deny.syscall", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_LOW, "System call"},
	{"deny.limit", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_LOW, "Limit"},
	{"deny.rpc", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_LOW, "Request"},
	{"leak", CLASS_FINDING, 1, SEVERITY_HIGH, "Create"},
	{"secret.used", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_INFORMATIONAL, "Secret used"},
	{"file.sent", CLASS_FILE, 2, SEVERITY_INFORMATIONAL, "Read"},
	{"grant", CLASS_FILE, ACTIVITY_OTHER, SEVERITY_MEDIUM, "Grant"},
	{"trust", CLASS_FILE, ACTIVITY_OTHER, SEVERITY_MEDIUM, "Trust"},
};
static const struct row unknown = {"", CLASS_PROCESS, ACTIVITY_OTHER, SEVERITY_INFORMATIONAL,
				   "Other"};

static const struct row *row_of(struct audit_field kind) {
	struct audit_field text = audit_unquote(kind);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].kind) == text.len &&
		    memcmp(rows[i].kind, text.text, text.len) == 0) {
			return &rows[i];
		}
	}
	return &unknown;
}

/* A string that is known. */
static void put_text(struct emit *j, const char *key, struct audit_field value) {
	if (audit_unquote(value).len > 0) {
		audit_emit_value(j, key, value);
	}
}

static void put_number(struct emit *j, const char *key, struct audit_field value) {
	if (audit_number(value, 0) > 0) {
		audit_emit_value(j, key, value);
	}
}

/* A required string. */
static void put_string(struct emit *j, const char *key, struct audit_field value) {
	if (audit_unquote(value).len > 0) {
		audit_emit_value(j, key, value);
	} else {
		emit_string(j, key, "unknown");
	}
}

static void put_base(struct emit *j, const struct row *r, const struct audit_fields *f) {
	emit_int(j, "class_uid", r->class);
	emit_int(j, "category_uid", r->class / 1000);
	emit_int(j, "activity_id", r->activity);
	emit_string(j, "activity_name", r->name);
	emit_int(j, "type_uid", (int64_t)r->class * 100 + r->activity);
	emit_int(j, "severity_id", r->severity);
	emit_int(j, "time", audit_time(f));
	emit_object(j, "metadata");
	emit_string(j, "version", "1.3.0");
	emit_object(j, "product");
	emit_string(j, "name", "corral");
	emit_string(j, "vendor_name", "Corral");
	emit_end_object(j);
	/* "actor" and "device", and the attributes of put_verdict(). */
	emit_strings(j, "profiles", (const char *const[]){"host", "security_control"}, 2);
	put_text(j, "uid", f->at[AUDIT_ID]);
	put_number(j, "sequence", f->at[AUDIT_SEQ]);
	emit_end_object(j);
}

/* action_id and disposition_id of the profile security_control. */
static void put_verdict(struct emit *j, const struct audit_fields *f) {
	struct audit_field v = audit_unquote(f->at[AUDIT_VERDICT]);
	bool denied = v.len != 7 || memcmp(v.text, "allowed", 7) != 0;
	bool failed = v.len == 6 && memcmp(v.text, "failed", 6) == 0;

	emit_int(j, "status_id", failed || denied ? 2 : 1); /* Failure, Success */
	emit_int(j, "action_id", denied ? 2 : 1);           /* Denied, Allowed */
	emit_int(j, "disposition_id", denied ? 2 : 1);      /* Blocked, Allowed */
}

static void put_process(struct emit *j, const char *key, const struct audit_fields *f) {
	struct audit_field first = {0};
	size_t at = 0;

	if (audit_element_next(&f->at[AUDIT_COMMAND], &at, &first) != 1) {
		first = f->at[AUDIT_PROGRAM].len > 0 ? f->at[AUDIT_PROGRAM] : f->at[AUDIT_ID];
	}
	emit_object(j, key);
	put_text(j, "name", first);
	if (f->at[AUDIT_COMMAND].len > 0) {
		emit_bytes(j, "cmd_line", f->at[AUDIT_COMMAND].text, f->at[AUDIT_COMMAND].len);
	}
	put_string(j, "uid", f->at[AUDIT_ID]);
	emit_end_object(j);
}

static void put_actor(struct emit *j, const struct audit_fields *f) {
	emit_object(j, "actor");
	emit_string(j, "app_name", "corral");
	if (audit_unquote(f->at[AUDIT_ID]).len > 0) {
		put_process(j, "process", f);
	}
	if (audit_unquote(f->at[AUDIT_SESSION]).len > 0) {
		emit_object(j, "session");
		audit_emit_value(j, "uid", f->at[AUDIT_SESSION]);
		emit_end_object(j);
	}
	if (audit_unquote(f->at[AUDIT_AGENT]).len > 0) {
		emit_object(j, "user");
		audit_emit_value(j, "name", f->at[AUDIT_AGENT]);
		emit_end_object(j);
	}
	emit_end_object(j);
}

/* The last part of a path, from its escaped text; "/" and an unknown path have none. */
static void put_file_name(struct emit *j, struct audit_field path) {
	struct buf name;
	size_t from = path.len;

	while (from > 0 && path.text[from - 1] != '/') {
		from--;
	}
	buf_init(&name);
	buf_puts(&name, "\"");
	buf_add(&name, from == path.len ? "/" : path.text + from,
		from == path.len ? 1 : path.len - from);
	buf_puts(&name, "\"");
	if (buf_failed(&name)) {
		emit_string(j, "name", "unknown");
	} else {
		audit_emit_value(j, "name", (struct audit_field){name.data, name.len});
	}
	buf_done(&name);
}

static void put_file(struct emit *j, const struct audit_fields *f) {
	emit_object(j, "file");
	put_file_name(j, audit_unquote(f->at[AUDIT_PATH]));
	put_text(j, "path", f->at[AUDIT_PATH]);
	emit_int(j, "type_id", 0); /* Unknown */
	emit_end_object(j);
}

static bool consists_of(struct audit_field text, const char *characters) {
	for (size_t i = 0; i < text.len; i++) {
		if (text.text[i] == '\0' || strchr(characters, text.text[i]) == NULL) {
			return false;
		}
	}
	return text.len > 0;
}

/* A hostname has letters, digits, and between them dots and hyphens. */
static bool is_hostname(struct audit_field text) {
	char before = '.';

	for (size_t i = 0; i <= text.len; i++) {
		char c = '.';
		if (i < text.len) {
			c = text.text[i];
		}
		bool sign = c == '.' || c == '-';
		if ((!sign && !isalnum((unsigned char)c)) || (before == '.' && sign) ||
		    (before == '-' && c == '.')) {
			return false;
		}
		before = c;
	}
	return true;
}

static const char *host_key(struct audit_field text) {
	bool address = consists_of(text, "0123456789.") ||
		       (consists_of(text, "0123456789abcdefABCDEF:.") &&
			memchr(text.text, ':', text.len) != NULL);
	return address ? "ip" : is_hostname(text) ? "hostname" : "name";
}

static void put_endpoint(struct emit *j, const struct audit_fields *f) {
	emit_object(j, "dst_endpoint");
	put_string(j, host_key(audit_unquote(f->at[AUDIT_HOST])), f->at[AUDIT_HOST]);
	put_number(j, "port", f->at[AUDIT_PORT]);
	emit_end_object(j);
}

static void put_finding(struct emit *j, const struct audit_fields *f) {
	emit_object(j, "finding_info");
	put_string(j, "title", f->at[AUDIT_LEAK]);
	put_string(j, "uid", f->at[AUDIT_FINGERPRINT]);
	emit_string(j, "desc", "the leak scanner found a secret");
	emit_end_object(j);
}

static void put_device(struct emit *j, const struct audit_print *p) {
	emit_object(j, "device");
	emit_string(j, "hostname", p->host_name);
	emit_int(j, "type_id", 0); /* Unknown */
	emit_end_object(j);
}

/* All members, as they are in the record. */
static void put_unmapped(struct emit *j, const struct audit_line *l) {
	struct audit_field key, value;
	size_t at = 0;

	emit_object(j, "unmapped");
	while (audit_member_next(l, &at, &key, &value) == 1) {
		char name[64];
		size_t n = key.len < sizeof name ? key.len : sizeof name - 1;
		memcpy(name, key.text, n);
		name[n] = '\0';
		audit_emit_value(j, name, value);
	}
	emit_end_object(j);
}

void audit_ocsf_event(const struct audit_print *p, const struct audit_line *l,
		      const struct audit_fields *f, struct buf *out) {
	const struct row *r = row_of(f->at[AUDIT_KIND]);
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	put_base(&j, r, f);
	put_verdict(&j, f);
	put_device(&j, p);
	put_actor(&j, f);
	switch (r->class) {
	case CLASS_FILE:
		put_file(&j, f);
		break;
	case CLASS_PROCESS:
		put_process(&j, "process", f);
		break;
	case CLASS_FINDING:
		put_finding(&j, f);
		break;
	case CLASS_NETWORK:
		put_endpoint(&j, f);
		break;
	}
	put_number(&j, "count", f->at[AUDIT_COUNT]);
	put_unmapped(&j, l);
	emit_end_object(&j);
	buf_puts(out, "\n");
}
