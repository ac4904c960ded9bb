/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner on any bytes, cut in any way.
 *
 * The findings and the redacted output are the same for every cut (L1 of leak/leak.h); no more
 * bytes are held than the bound; a finding lies in the stream; without one the output is the input.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "leak/leak.h"

struct seen {
	struct buf findings, out;
	size_t size;
};

static void found(void *arg, const struct leak_finding *f) {
	struct seen *s = arg;
	char view[LEAK_VIEW_TEXT];
	HOLDS(f->length > 0 && f->offset + f->length <= s->size);
	buf_printf(&s->findings, "%s %llu %llu %s %s\n", f->kind, (unsigned long long)f->offset,
		   (unsigned long long)f->length, leak_view_text(f, view), f->fingerprint);
}

static int output(void *arg, const void *data, size_t len) {
	buf_add(&((struct seen *)arg)->out, data, len);
	return 0;
}

static void scan(const struct leak_scanner *sc, const uint8_t *data, size_t size, size_t piece,
		 struct seen *s) {
	struct leak_stream *stream = leak_stream_new(sc, found, output, s);
	if (stream == NULL) {
		abort();
	}
	buf_init(&s->findings);
	buf_init(&s->out);
	buf_puts(&s->findings, "");
	buf_puts(&s->out, "");
	s->size = size;
	for (size_t at = 0; at < size; at += piece) {
		HOLDS(leak_stream_feed(stream, data + at, size - at < piece ? size - at : piece) ==
		      0);
		HOLDS(leak_stream_held(stream) <= LEAK_HELD_MAX);
	}
	HOLDS(leak_stream_end(stream) == 0);
	leak_stream_free(stream);
}

static void seen_done(struct seen *s) {
	buf_done(&s->findings);
	buf_done(&s->out);
}

static const struct leak_scanner *scanner(void) {
	static struct leak_scanner *one;
	static const unsigned char key[LEAK_KEY] = "key";
	struct leak_value value = {"value", "hunter2-is-a-secret", 19};
	struct err e;
	if (one == NULL) {
		one = leak_scanner_new(
			&(struct leak_rules){.key = key, .values = &value, .nvalues = 1}, &e);
	}
	HOLDS(one != NULL);
	return one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	const size_t pieces[] = {1, 7, 64, 1 + size / 2};
	struct seen whole;
	if (size > 20000) {
		return 0;
	}
	scan(scanner(), data, size, size + 1, &whole);
	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
		struct seen s;
		scan(scanner(), data, size, pieces[i], &s);
		HOLDS(strcmp(s.findings.data, whole.findings.data) == 0);
		HOLDS(s.out.len == whole.out.len &&
		      memcmp(s.out.data, whole.out.data, s.out.len) == 0);
		seen_done(&s);
	}
	/* Without a finding the bytes pass unchanged. */
	HOLDS(whole.findings.len != 0 ||
	      (whole.out.len == size && (size == 0 || memcmp(whole.out.data, data, size) == 0)));
	seen_done(&whole);
	return 0;
}
