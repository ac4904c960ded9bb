/* SPDX-License-Identifier: Apache-2.0 */
/* corral_audit_print(), corral_audit_stats() and corral_audit_verify().
 *
 * Should:   read the log of the caller only.
 * Must not: lock the log, or change it.
 * Fails:    closed: an option that cannot be read prints nothing. */
#include "lib/audit_read.h"

#include "audit/print.h"
#include "audit/verify.h"
#include "backend/probe.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "lib/sized.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int audit_reading_begin(struct audit_reading *r, struct err *e) {
	*r = (struct audit_reading){.place = {.head = -1}};
	arena_init(&r->arena);
	if (probe_host(&r->arena, &r->host, e) != 0 ||
	    audit_find(&r->arena, &r->host, &r->place, e) != 0 ||
	    owner_check(r->host.state_dir, e) != 0 || owner_check(r->place.dir, e) != 0) {
		return -1;
	}
	(void)uname(&r->name); /* cannot fail for a valid pointer */
	return 0;
}

int audit_reading_end(struct audit_reading *r, int rc, const struct err *e,
		      struct corral_error *err) {
	drop_fd(&r->place.head);
	arena_done(&r->arena);
	return rc == 0 ? 0 : lib_fail(e, err);
}

/* ---- options ---- */

/* "90s", "30m", "2h", "7d": that long ago. */
static bool read_age(const char *text, int64_t *ret_ms) {
	static const struct {
		char unit;
		int64_t ms;
	} units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
	struct timespec now;
	char *end = NULL;

	if (!isdigit((unsigned char)text[0])) {
		return false;
	}
	int64_t n = strtoll(text, &end, 10);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (end[0] == units[i].unit && end[1] == '\0' && n <= (int64_t)100 * 365 * 86400) {
			(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
			int64_t ms = (int64_t)now.tv_sec * 1000 - n * units[i].ms;
			*ret_ms = ms < 1 ? 1 : ms;
			return true;
		}
	}
	return false;
}

static int read_time(const char *text, const char *option, int64_t *ret_ms, struct err *e) {
	*ret_ms = 0;
	if (text == NULL || read_age(text, ret_ms) || rfc3339_read(text, ret_ms) == 0) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, AUDIT_WHERE, "%s: \"%s\" is not a time", option, text);
	return err_fix(e, "example: 2026-11-17T09:30 (UTC), 2026-11-17, 2h, 7d");
}

static int check_kind(const char *kind, struct err *e) {
	for (size_t i = 0; kind != NULL && audit_kinds[i] != NULL; i++) {
		size_t len = strlen(kind);
		if (strncmp(audit_kinds[i], kind, len) == 0 &&
		    (audit_kinds[i][len] == '\0' || audit_kinds[i][len] == '.')) {
			return 0;
		}
	}
	if (kind == NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, AUDIT_WHERE, "there are no records of kind \"%s\"", kind);
	return err_fix(e, "use run, unsandboxed_run, degraded, deny, deny.path, deny.net, "
			  "deny.cmd, deny.syscall, deny.limit, deny.rpc, "
			  "leak, secret.used, file.sent, grant or trust");
}

static int check_verdict(const char *verdict, struct err *e) {
	static const char *const verdicts[] = {"allowed",  "denied",  "failed", "warned",
					       "redacted", "blocked", "killed"};

	for (size_t i = 0; verdict != NULL && i < ARRAY_LEN(verdicts); i++) {
		if (streq(verdict, verdicts[i])) {
			return 0;
		}
	}
	if (verdict == NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, AUDIT_WHERE, "there is no verdict \"%s\"", verdict);
	return err_fix(e, "use allowed, denied, failed, warned, redacted, blocked or killed");
}

static int query_of(const struct corral_audit_options *o, struct audit_query *ret, struct err *e) {
	*ret = (struct audit_query){
		.id = o->id,
		.session = o->session,
		.agent = o->agent,
		.verdict = o->verdict,
		.path = o->path,
		.host = o->host,
		.kind = o->kind,
		.search = o->search,
	};
	return sized_reserved(&sized_audit_options, o->reserved, e) != 0 ||
			       read_time(o->since, "since", &ret->since_ms, e) != 0 ||
			       read_time(o->until, "until", &ret->until_ms, e) != 0 ||
			       check_kind(o->kind, e) != 0 || check_verdict(o->verdict, e) != 0
		       ? -1
		       : 0;
}

static int form_of(enum corral_audit_form form, enum audit_form *ret, struct err *e) {
	static const enum audit_form forms[] = {
		[CORRAL_AUDIT_TEXT] = AUDIT_AS_TEXT, [CORRAL_AUDIT_DETAIL] = AUDIT_AS_DETAIL,
		[CORRAL_AUDIT_JSON] = AUDIT_AS_JSON, [CORRAL_AUDIT_OTLP] = AUDIT_AS_OTLP,
		[CORRAL_AUDIT_OCSF] = AUDIT_AS_OCSF, [CORRAL_AUDIT_TRACES] = AUDIT_AS_TRACES,
	};
	if ((size_t)form >= ARRAY_LEN(forms)) {
		return err_set(e, ERR_USAGE, "library", "form: there is no form %d", (int)form);
	}
	*ret = forms[form];
	return 0;
}

/* ---- the calls ---- */

int corral_audit_print(const struct corral_audit_options *options, uint64_t *count,
		       struct corral_error *err) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;
	struct audit_query q;
	struct audit_print p = {0};
	struct audit_reading r;
	struct err e = {0};
	uint64_t n = 0;

	if (lib_need(options, "options", err) != 0) {
		return -1;
	}
	int rc = audit_reading_begin(&r, &e);
	if (rc == 0 && (sized_in(&sized_audit_options, options, &o, &e) != 0 ||
			query_of(&o, &q, &e) != 0 || form_of(o.form, &p.form, &e) != 0)) {
		rc = -1;
	}
	if (rc == 0) {
		p.dir = r.place.dir;
		p.fd = o.fd;
		p.colour = o.colour != 0;
		p.last = o.last;
		p.follow = o.follow != 0;
		p.host_name = r.name.nodename;
		rc = audit_print(&p, &q, &n, &e);
	}
	if (rc == 0 && count != NULL) {
		*count = n;
	}
	return audit_reading_end(&r, rc, &e, err);
}

#define PAGE_RECORDS 100

static int page_of(const struct corral_audit_options *o, const char *dir, struct audit_page *ret,
		   struct err *e) {
	*ret = (struct audit_page){.dir = dir,
				   .limit = o->last == 0 ? PAGE_RECORDS : o->last,
				   .until = o->budget_ms <= 0 ? 0 : clock_ms() + o->budget_ms};
	if (o->before == NULL || audit_cursor_read(o->before, &ret->before)) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, AUDIT_WHERE, "before: \"%s\" is not a place in the log",
		      o->before);
	return err_fix(e, "pass the \"next\" of the page before");
}

typedef int text_fn(const struct corral_audit_options *o, const struct audit_query *q,
		    const char *dir, void *arg, struct buf *out, struct err *e);

/* Reads the options, lets `print` write from the log of the caller, and gives the text away. */
static int give_text(const struct corral_audit_options *options, text_fn *print, void *arg,
		     char **text, struct corral_error *err) {
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;
	struct audit_query q;
	struct audit_reading r;
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = audit_reading_begin(&r, &e);
	if (rc == 0 &&
	    (sized_in(&sized_audit_options, options, &o, &e) != 0 || query_of(&o, &q, &e) != 0 ||
	     print(&o, &q, r.place.dir, arg, &out, &e) != 0)) {
		rc = -1;
	}
	if (rc == 0) {
		rc = lib_give(&out, text, &e);
	}
	buf_done(&out);
	return audit_reading_end(&r, rc, &e, err);
}

static int page_text(const struct corral_audit_options *o, const struct audit_query *q,
		     const char *dir, void *arg, struct buf *out, struct err *e) {
	struct audit_page p;

	(void)arg;
	return page_of(o, dir, &p, e) != 0 ? -1 : audit_page(&p, q, out, e);
}

int corral_audit_page(const struct corral_audit_options *options, char **text,
		      struct corral_error *err) {
	return give_text(options, page_text, NULL, text, err);
}

static int stats_text(const struct corral_audit_options *o, const struct audit_query *q,
		      const char *dir, void *arg, struct buf *out, struct err *e) {
	const enum corral_format *format = arg;
	struct audit_print p = {.form = *format == CORRAL_JSON ? AUDIT_AS_JSON : AUDIT_AS_TEXT,
				.dir = dir,
				.until = o->budget_ms <= 0 ? 0 : clock_ms() + o->budget_ms};

	return audit_stats(&p, q, out, e);
}

int corral_audit_stats(const struct corral_audit_options *options, enum corral_format format,
		       char **text, struct corral_error *err) {
	return give_text(options, stats_text, &format, text, err);
}

static void report_text(const struct audit_report *r, struct buf *out) {
	for (size_t i = 0; i < r->n; i++) {
		audit_finding_text(&r->findings[i], out);
	}
	if (r->faults > r->n) {
		buf_printf(out, "and %" PRIu64 " more\n", r->faults - r->n);
	}
	buf_printf(out, "%s: %" PRIu64 " record%s in %" PRIu64 " file%s",
		   r->faults == 0 ? "intact" : "NOT INTACT", r->records, r->records == 1 ? "" : "s",
		   r->files, r->files == 1 ? "" : "s");
	if (r->has_head) {
		buf_printf(out, "; head %" PRIu64 " %s", r->head.seq, r->head.hash);
	}
	buf_puts(out, "\n");
}

static void put_finding(struct emit *j, const struct audit_finding *f) {
	struct buf text;

	buf_init(&text);
	audit_finding_text(f, &text);
	emit_object(j, NULL);
	emit_string(j, "fault", audit_fault_name(f->fault));
	emit_bool(j, "tampering", f->fault < AUDIT_TORN);
	emit_int(j, "file", (int64_t)f->file);
	emit_int(j, "line", (int64_t)f->line);
	emit_int(j, "seq", (int64_t)f->seq);
	emit_int(j, "count", (int64_t)f->count);
	emit_bytes(j, "text", text.data == NULL ? "" : text.data,
		   text.len == 0 ? 0 : text.len - 1); /* without the newline */
	emit_end_object(j);
	buf_done(&text);
}

static void report_json(const struct audit_report *r, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_bool(&j, "intact", r->faults == 0);
	emit_int(&j, "records", (int64_t)r->records);
	emit_int(&j, "files", (int64_t)r->files);
	if (r->has_head) {
		emit_object(&j, "head");
		emit_int(&j, "seq", (int64_t)r->head.seq);
		emit_string(&j, "hash", r->head.hash);
		emit_int(&j, "file", (int64_t)r->head.file);
		emit_int(&j, "length", (int64_t)r->head.length);
		emit_end_object(&j);
	} else {
		emit_null(&j, "head");
	}
	emit_int(&j, "faults", (int64_t)r->faults);
	emit_array(&j, "findings");
	for (size_t i = 0; i < r->n; i++) {
		put_finding(&j, &r->findings[i]);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}

int corral_audit_verify(enum corral_format format, char **text, int *intact,
			struct corral_error *err) {
	struct audit_report report;
	struct audit_reading r;
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = audit_reading_begin(&r, &e);
	if (rc == 0) {
		r.place.head = runs_open(r.host.state_dir);
		rc = audit_verify(&r.place, &report, &e);
	}
	if (rc == 0) {
		(format == CORRAL_JSON ? report_json : report_text)(&report, &out);
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && intact != NULL) {
		*intact = report.faults == 0;
	}
	buf_done(&out);
	return audit_reading_end(&r, rc, &e, err);
}
