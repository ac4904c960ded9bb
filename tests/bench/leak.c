/* SPDX-License-Identifier: Apache-2.0 */
/* Throughput of the leak scanner on one core, against PCRE2-JIT with the same patterns.
 *
 *     leak FILE [ROUNDS]
 *
 * Prints the best of the rounds in MB/s of processor time: raw, all views, the portable prefilter,
 * and PCRE2-JIT, one pattern after another over the same bytes.  (PCRE2 refuses to compile all
 * patterns as alternatives of one for its JIT.) */
#include "leak/scan.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

#define CHUNK ((size_t)64 * 1024)

static double now(void) {
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t findings;

static void count(void *arg, const struct leak_finding *f) {
	(void)arg;
	(void)f;
	findings++;
}

static int drop(void *arg, const void *data, size_t len) {
	(void)arg;
	(void)data;
	(void)len;
	return 0;
}

static double scan(const struct leak_scanner *sc, const struct buf *text, bool redact) {
	struct leak_stream *s = leak_stream_new(sc, count, redact ? drop : NULL, NULL);
	double start = now();
	findings = 0;
	for (size_t at = 0; at < text->len; at += CHUNK) {
		size_t n = text->len - at < CHUNK ? text->len - at : CHUNK;
		(void)leak_stream_feed(s, text->data + at, n);
	}
	(void)leak_stream_end(s);
	double took = now() - start;
	leak_stream_free(s);
	return (double)text->len / took / 1e6;
}

static double best(const struct leak_scanner *sc, const struct buf *text, bool redact, int rounds) {
	double most = 0;
	for (int i = 0; i < rounds; i++) {
		double rate = scan(sc, text, redact);
		most = rate > most ? rate : most;
	}
	return most;
}

/* The values of a run, and each of them backwards: twice as many. */
#define VALUES 16

static double with_values(const struct buf *text, size_t n, int rounds) {
	static char space[VALUES][32];
	struct leak_value values[VALUES];
	struct err e = {0};

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(space[i], sizeof space[i], "%zuqT-%08zx-Zv%zu", i, i * 2654435761U,
			       i);
		values[i] = (struct leak_value){"value", space[i], strlen(space[i])};
	}
	struct leak_scanner *sc = leak_scanner_new(
		&(struct leak_rules){.raw_only = true, .values = values, .nvalues = n}, &e);
	double rate = sc == NULL ? 0 : best(sc, text, false, rounds);
	leak_scanner_free(sc);
	return rate;
}

#ifdef HAVE_PCRE2
static const char *edge_class(enum leak_edge edge) {
	return edge == LEAK_EDGE_WORD    ? "[A-Za-z0-9_]"
	       : edge == LEAK_EDGE_TOKEN ? "[A-Za-z0-9_-]"
					 : "[A-Za-z0-9+/=_-]";
}

static void put_pattern(struct buf *out, const struct leak_kind *k) {
	if (k->before != LEAK_EDGE_NONE) {
		buf_printf(out, "(?<!%s)", edge_class(k->before));
	}
	buf_printf(out, "(?:%s)", k->pattern);
	if (k->after != LEAK_EDGE_NONE) {
		buf_printf(out, "(?!%s)", edge_class(k->after));
	}
}

static pcre2_code *compile(const char *pattern) {
	int code;
	size_t where;
	pcre2_code *re =
		pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &where, NULL);
	if (re == NULL || pcre2_jit_compile(re, PCRE2_JIT_COMPLETE) != 0) {
		(void)fprintf(stderr, "PCRE2 refuses %s\n", pattern);
		exit(1);
	}
	return re;
}

static size_t matches(const pcre2_code *re, const char *text, size_t len) {
	pcre2_match_data *m = pcre2_match_data_create_from_pattern(re, NULL);
	size_t n = 0, at = 0;
	while (at < len && pcre2_match(re, (PCRE2_SPTR)text, len, at, 0, m, NULL) > 0) {
		size_t end = pcre2_get_ovector_pointer(m)[1];
		at = end > at ? end : at + 1;
		n++;
	}
	pcre2_match_data_free(m);
	return n;
}

static double pcre2_each(const char *text, size_t len, size_t *ret_matches) {
	double took = 0;
	*ret_matches = 0;
	for (size_t i = 0; i < leak_kind_count; i++) {
		struct buf pattern;
		buf_init(&pattern);
		put_pattern(&pattern, &leak_kinds[i]);
		pcre2_code *re = compile(pattern.data);
		double start = now();
		*ret_matches += matches(re, text, len);
		took += now() - start;
		pcre2_code_free(re);
		buf_done(&pattern);
	}
	return (double)len / took / 1e6;
}

static void print_pcre2(const struct buf *text, double raw) {
	size_t len = text->len < (size_t)4 << 20 ? text->len : (size_t)4 << 20, n;
	double each = pcre2_each(text->data, len, &n);
	printf("PCRE2-JIT              %8.1f MB/s  %zu matches in the first %zu bytes\n", each, n,
	       len);
	printf("raw / PCRE2-JIT        %8.1f\n", raw / each);
}
#endif

int main(int argc, char **argv) {
	struct buf text;
	struct err e = {0};
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;

	buf_init(&text);
	if (argc < 2 || fd_read_file(argv[1], (size_t)1 << 31, &text) != 0) {
		(void)fprintf(stderr, "usage: leak FILE [ROUNDS]\n");
		return 2;
	}
	struct leak_scanner *raw = leak_scanner_new(&(struct leak_rules){.raw_only = true}, &e);
	struct leak_scanner *all = leak_scanner_new(&(struct leak_rules){0}, &e);
	if (raw == NULL || all == NULL) {
		return 1;
	}
	double start = now();
	for (int i = 0; i < 1000; i++) {
		leak_scanner_free(leak_scanner_new(&(struct leak_rules){0}, &e));
	}
	printf("%zu kinds, %zu bytes; a scanner is ready after %.2f us\n", leak_kind_count,
	       text.len, (now() - start) * 1e3);
	double fast = best(raw, &text, false, rounds);
	printf("raw                    %8.1f MB/s  %zu findings\n", fast, findings);
	printf("raw, redacting         %8.1f MB/s\n", best(raw, &text, true, rounds));
	double views = best(all, &text, false, rounds);
	printf("all views              %8.1f MB/s  %zu findings\n", views, findings);
	for (size_t n = VALUES / 2; n <= VALUES; n *= 2) {
		printf("raw, %2zu values         %8.1f MB/s\n", n, with_values(&text, n, rounds));
	}
	static const char *const names[] = {"portable", "AVX2", "AVX-512"};
	for (enum leak_simd i = LEAK_PORTABLE; i <= leak_prefilter_choose(); i++) {
		raw->simd = i;
		printf("raw, %-17s %8.1f MB/s\n", names[i], best(raw, &text, false, rounds));
	}
#ifdef HAVE_PCRE2
	print_pcre2(&text, fast);
#endif
	leak_scanner_free(raw);
	leak_scanner_free(all);
	buf_done(&text);
	return 0;
}
