/* SPDX-License-Identifier: Apache-2.0 */
/* Prints findings as text, as JSON, or as SARIF 2.1.0.
 *
 * Should:   name file, line, kind, encoding and fingerprint.
 * Must not: print a byte of a secret, or control characters of a file name.
 * Fails:    with an error when stdout cannot be written. */
#include "cli/scan.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static int print(struct buf *out, struct corral_error *err) {
	int rc = buf_failed(out) ? memory_error(err)
		 : out->len == 0 ? 0
				 : print_text(out->data, err);

	buf_done(out);
	return rc;
}

int report_text(const struct targets *t, struct corral_error *err) {
	struct buf out;

	buf_init(&out);
	for (size_t i = 0; i < t->n; i++) {
		const struct target *x = &t->items[i];
		for (size_t k = 0; k < x->nhits; k++) {
			const struct hit *h = &x->hits[k];
			auto_free char *path = strdup(x->path);
			if (path == NULL) {
				buf_done(&out);
				return memory_error(err);
			}
			str_hide_controls(path, false);
			buf_printf(&out, "%s:%llu: %s%s%s (%s, byte %llu, %s)\n", path,
				   (unsigned long long)h->line, h->kind,
				   h->reason[0] == '\0' ? "" : ": ", h->reason, h->view,
				   (unsigned long long)h->offset, h->fingerprint);
		}
	}
	return print(&out, err);
}

int report_json(const struct targets *t, struct corral_error *err) {
	struct buf out;
	struct emit j;

	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_int(&j, "files", (int64_t)t->n);
	emit_array(&j, "findings");
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->items[i].nhits; k++) {
			const struct hit *h = &t->items[i].hits[k];
			emit_object(&j, NULL);
			emit_string(&j, "file", t->items[i].path);
			emit_int(&j, "line", (int64_t)h->line);
			emit_int(&j, "offset", (int64_t)h->offset);
			emit_int(&j, "length", (int64_t)h->length);
			emit_string(&j, "kind", h->kind);
			emit_string(&j, "reason", h->reason);
			emit_string(&j, "view", h->view);
			emit_string(&j, "fingerprint", h->fingerprint);
			emit_end_object(&j);
		}
	}
	emit_end_array(&j);
	emit_array(&j, "unread");
	for (size_t i = 0; i < t->n; i++) {
		if (t->items[i].failed != 0) {
			emit_string(&j, NULL, t->items[i].path);
		}
	}
	emit_end_array(&j);
	emit_end_object(&j);
	return print(&out, err);
}

/* ---- SARIF ---- */

/* The first finding of its kind in the report. */
static bool is_first(const struct targets *t, size_t target, size_t hit) {
	const char *kind = t->items[target].hits[hit].kind;

	for (size_t i = 0; i <= target; i++) {
		size_t n = i == target ? hit : t->items[i].nhits;
		for (size_t k = 0; k < n; k++) {
			if (streq(t->items[i].hits[k].kind, kind)) {
				return false;
			}
		}
	}
	return true;
}

static void emit_message(struct emit *j, const char *key, const char *text) {
	emit_object(j, key);
	emit_string(j, "text", text);
	emit_end_object(j);
}

static void emit_rules(struct emit *j, const struct targets *t) {
	emit_array(j, "rules");
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->items[i].nhits; k++) {
			if (is_first(t, i, k)) {
				const struct hit *h = &t->items[i].hits[k];
				emit_object(j, NULL);
				emit_string(j, "id", h->kind);
				emit_message(j, "shortDescription",
					     h->reason[0] == '\0' ? h->kind : h->reason);
				emit_end_object(j);
			}
		}
	}
	emit_end_array(j);
}

/* A path as a URI reference: everything but unreserved characters and / is escaped. */
static void emit_uri(struct emit *j, const char *path) {
	struct buf uri;

	buf_init(&uri);
	buf_puts(&uri, path[0] == '/' ? "file://" : "");
	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || strchr("-._~/", c) != NULL;
		buf_printf(&uri, plain ? "%c" : "%%%02X", c);
	}
	j->out->failed = j->out->failed || buf_failed(&uri);
	emit_string(j, "uri", uri.data);
	buf_done(&uri);
}

static void emit_result(struct emit *j, const struct target *x, const struct hit *h) {
	emit_object(j, NULL);
	emit_string(j, "ruleId", h->kind);
	emit_string(j, "level", "error");
	emit_message(j, "message", h->reason[0] == '\0' ? h->kind : h->reason);
	emit_array(j, "locations");
	emit_object(j, NULL);
	emit_object(j, "physicalLocation");
	emit_object(j, "artifactLocation");
	emit_uri(j, x->path);
	emit_end_object(j);
	emit_object(j, "region");
	if (h->line > 0) {
		emit_int(j, "startLine", (int64_t)h->line);
	}
	emit_int(j, "byteOffset", (int64_t)h->offset);
	emit_int(j, "byteLength", (int64_t)h->length);
	emit_end_object(j);
	emit_end_object(j);
	emit_end_object(j);
	emit_end_array(j);
	emit_object(j, "partialFingerprints");
	emit_string(j, "corral/v1", h->fingerprint);
	emit_end_object(j);
	emit_object(j, "properties");
	emit_string(j, "view", h->view);
	emit_end_object(j);
	emit_end_object(j);
}

int report_sarif(const struct targets *t, struct corral_error *err) {
	struct buf out;
	struct emit j;

	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	emit_string(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	emit_string(&j, "version", "2.1.0");
	emit_array(&j, "runs");
	emit_object(&j, NULL);
	emit_object(&j, "tool");
	emit_object(&j, "driver");
	emit_string(&j, "name", "corral");
	emit_string(&j, "semanticVersion", CORRAL_VERSION);
	emit_rules(&j, t);
	emit_end_object(&j);
	emit_end_object(&j);
	emit_array(&j, "results");
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->items[i].nhits; k++) {
			emit_result(&j, &t->items[i], &t->items[i].hits[k]);
		}
	}
	emit_end_array(&j);
	emit_end_object(&j);
	emit_end_array(&j);
	emit_end_object(&j);
	return print(&out, err);
}
