/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner's functions of corral.h.
 *
 * Should:   give findings and redacted output to the caller's functions.
 * Must not: give a byte of a value to found().
 * Fails:    closed: a kind that does not exist is an error, and a stream that failed stays failed.
 */
#include "lib/scan.h"

#include "lib/internal.h"
#include "lib/sized.h"

#include "base/auto.h"
#include "base/str.h"

#include <sodium/utils.h>
#include <stdlib.h>

struct corral_scanner {
	struct leak_scanner *scanner;
};

struct corral_scan_stream {
	struct leak_stream *stream;
	struct corral_scan_calls calls;
	bool output_failed;
};

/* ---- scanners ---- */

static int choose_kinds(const char *const *names, bool *kinds, struct err *e) {
	for (; *names != NULL; names++) {
		bool found = false;
		for (size_t i = 0; i < leak_kind_count; i++) {
			found = found || streq(leak_kinds[i].name, *names);
			kinds[i] = kinds[i] || streq(leak_kinds[i].name, *names);
		}
		if (!found) {
			(void)err_set(e, ERR_USAGE, "scan", "unknown kind of secret: %s", *names);
			return err_fix(e, "list them: corral scan --list-kinds");
		}
	}
	return 0;
}

/* The user's list, and the caller's. */
static int join_allowed(struct arena *a, const char *const *more, struct scan_config *c,
			struct err *e) {
	for (; more != NULL && *more != NULL; more++) {
		if (arena_grow(a, &c->allow, c->nallow, &c->cap, sizeof *c->allow) != 0) {
			return err_memory(e, "scan");
		}
		c->allow[c->nallow++] = *more;
	}
	return 0;
}

static struct leak_scanner *make(struct arena *a, const struct corral_scan_options *o,
				 struct err *e) {
	struct scan_config config = {0};
	struct leak_rules rules = {.raw_only = o->raw_only != 0, .nvalues = o->nvalues};
	bool *kinds = arena_array(a, leak_kind_count, sizeof *kinds);
	struct leak_value *values = arena_array(a, o->nvalues + 1, sizeof *values);

	if (kinds == NULL || values == NULL) {
		(void)err_memory(e, "scan");
		return NULL;
	}
	for (size_t i = 0; i < o->nvalues; i++) {
		values[i] =
			(struct leak_value){o->values[i].name, o->values[i].data, o->values[i].len};
	}
	rules.values = values;
	if (o->kinds != NULL) {
		rules.kinds = kinds;
	}
	if ((o->kinds != NULL && choose_kinds(o->kinds, kinds, e) != 0) ||
	    (o->no_config == 0 && scan_config_read(a, &config, e) != 0) ||
	    join_allowed(a, o->allow, &config, e) != 0) {
		return NULL;
	}
	rules.key = config.has_key ? config.key : NULL;
	rules.allow = config.allow;
	rules.nallow = config.nallow;
	struct leak_scanner *sc = leak_scanner_new(&rules, e);
	sodium_memzero(&config, sizeof config);
	return sc;
}

int corral_scanner_new(const struct corral_scan_options *options, struct corral_scanner **scanner,
		       struct corral_error *err) {
	struct corral_scan_options how = {.size = sizeof how};
	struct corral_scanner *made;
	struct arena a;
	struct err e = {0};

	if (lib_need(scanner, "the place for the scanner", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_scan_options, options, &how, &e) != 0) {
		return lib_fail(&e, err);
	}
	if (how.nvalues > 0 && lib_need(how.values, "values", err) != 0) {
		return -1;
	}
	made = calloc(1, sizeof *made);
	arena_init(&a);
	if (made == NULL) {
		(void)err_memory(&e, "library");
	} else {
		made->scanner = make(&a, &how, &e);
	}
	arena_done(&a);
	if (made == NULL || made->scanner == NULL) {
		free(made);
		return lib_fail(&e, err);
	}
	*scanner = made;
	return 0;
}

void corral_scanner_free(struct corral_scanner *scanner) {
	if (scanner != NULL) {
		leak_scanner_free(scanner->scanner);
		free(scanner);
	}
}

/* ---- streams ---- */

static void on_finding(void *arg, const struct leak_finding *f) {
	const struct corral_scan_stream *s = arg;
	char view[LEAK_VIEW_TEXT];
	struct corral_finding finding = {
		.size = sizeof finding,
		.kind = f->kind,
		.reason = f->row == NULL ? "" : f->row->reason,
		.view = leak_view_text(f, view),
		.fingerprint = f->fingerprint,
		.offset = f->offset,
		.length = f->length,
	};

	if (s->calls.found != NULL) {
		s->calls.found(s->calls.arg, &finding);
	}
}

static int on_output(void *arg, const void *bytes, size_t len) {
	struct corral_scan_stream *s = arg;
	int rc = s->calls.output(s->calls.arg, bytes, len);

	s->output_failed = s->output_failed || rc != 0;
	return rc;
}

int corral_scan_open(const struct corral_scanner *scanner, const struct corral_scan_calls *calls,
		     struct corral_scan_stream **scan, struct corral_error *err) {
	struct corral_scan_calls how = {.size = sizeof how};
	struct err e = {0};

	if (lib_need(scanner, "the scanner", err) != 0 ||
	    lib_need(scan, "the place for the stream", err) != 0) {
		return -1;
	}
	if (sized_in(&sized_scan_calls, calls, &how, &e) != 0) {
		return lib_fail(&e, err);
	}
	struct corral_scan_stream *s = calloc(1, sizeof *s);
	if (s != NULL) {
		s->calls = how;
		s->stream = leak_stream_new(scanner->scanner, on_finding,
					    how.output == NULL ? NULL : on_output, s);
	}
	if (s == NULL || s->stream == NULL) {
		free(s);
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	*scan = s;
	return 0;
}

static int stream_result(const struct corral_scan_stream *s, int rc, struct corral_error *err) {
	struct err e = {0};

	if (rc == 0) {
		return 0;
	}
	(void)(s->output_failed ? err_set(&e, ERR_FILE, "scan", "the output could not be written")
				: err_memory(&e, "scan"));
	return lib_fail(&e, err);
}

int corral_scan_feed(struct corral_scan_stream *scan, const void *bytes, size_t len,
		     struct corral_error *err) {
	if (lib_need(scan, "the stream", err) != 0 ||
	    (len > 0 && lib_need(bytes, "the bytes", err) != 0)) {
		return -1;
	}
	return stream_result(scan, leak_stream_feed(scan->stream, bytes, len), err);
}

int corral_scan_end(struct corral_scan_stream *scan, struct corral_error *err) {
	return lib_need(scan, "the stream", err) != 0
		       ? -1
		       : stream_result(scan, leak_stream_end(scan->stream), err);
}

size_t corral_scan_held(const struct corral_scan_stream *scan) {
	return scan == NULL ? 0 : leak_stream_held(scan->stream);
}

int corral_scan_flush(struct corral_scan_stream *scan, struct corral_error *err) {
	return lib_need(scan, "the stream", err) != 0
		       ? -1
		       : stream_result(scan, leak_stream_flush(scan->stream), err);
}

int corral_scan_again(struct corral_scan_stream *scan, struct corral_error *err) {
	if (lib_need(scan, "the stream", err) != 0) {
		return -1;
	}
	scan->output_failed = false;
	leak_stream_reset(scan->stream, scan);
	return 0;
}

void corral_scan_close(struct corral_scan_stream *scan) {
	if (scan != NULL) {
		leak_stream_free(scan->stream);
		free(scan);
	}
}

/* ---- the allow list, and the kinds ---- */

int corral_scan_allow(const char *fingerprint, struct corral_error *err) {
	struct arena a;
	struct err e = {0};

	if (lib_need(fingerprint, "the fingerprint", err) != 0) {
		return -1;
	}
	arena_init(&a);
	int rc = scan_config_allow(&a, fingerprint, &e);
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

int corral_scan_kinds(enum corral_format format, char **text, struct corral_error *err) {
	struct err e = {0};
	struct buf out;
	struct emit j;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	if (format == CORRAL_JSON) {
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_array(&j, "kinds");
	}
	for (size_t i = 0; i < leak_kind_count; i++) {
		const struct leak_kind *k = &leak_kinds[i];
		if (format != CORRAL_JSON) {
			buf_printf(&out, "%-34s %-12s %s\n", k->name, k->family, k->reason);
			continue;
		}
		emit_object(&j, NULL);
		emit_string(&j, "name", k->name);
		emit_string(&j, "family", k->family);
		emit_string(&j, "reason", k->reason);
		emit_end_object(&j);
	}
	if (format == CORRAL_JSON) {
		emit_end_array(&j);
		emit_end_object(&j);
	}
	return lib_give(&out, text, &e) == 0 ? 0 : lib_fail(&e, err);
}
