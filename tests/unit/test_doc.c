/* SPDX-License-Identifier: Apache-2.0 */
/* The document parsers: what each format means as a tree, and what is refused. */
#include "policy/doc.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/str.h"
#include "test.h"

#include <locale.h>
#include <math.h>
#include <time.h>

typedef int parse_fn(struct arena *a, const char *name, const char *text, size_t len,
		     struct doc **ret, struct err *e);

struct parsed {
	struct arena arena;
	struct doc *doc; /* NULL when refused */
	struct err err;
};

static void parsed_done(struct parsed *p) {
	arena_done(&p->arena);
}

#define auto_parsed __attribute__((cleanup(parsed_done))) struct parsed

/* The text is copied to a block of its own size, without a NUL behind it. */
static struct parsed parse_bytes(parse_fn *parse, const char *name, const char *text, size_t len) {
	struct parsed p = {0};
	char *exact = malloc(len > 0 ? len : 1);

	if (exact == NULL) {
		abort();
	}
	memcpy(exact, text, len);
	arena_init(&p.arena);
	if (parse(&p.arena, name, exact, len, &p.doc, &p.err) != 0 && p.doc != NULL) {
		printf("# a refused document was returned\n");
		test_failed = true;
	}
	free(exact);
	return p;
}

static struct parsed parse_text(parse_fn *parse, const char *text) {
	return parse_bytes(parse, "f", text, strlen(text));
}

/* The value at a dotted path; list elements by number.  Never NULL. */
static const struct doc *at(const struct parsed *p, const char *path) {
	static const struct doc nothing = {.type = DOC_NULL, .str = "(missing)", .line = -1};
	const struct doc *d = p->doc;

	while (d != NULL && *path != '\0') {
		size_t n = strcspn(path, ".");
		long left = d->type == DOC_ARRAY ? strtol(path, NULL, 10) : 0;
		for (d = d->first; d != NULL; d = d->next) {
			bool match = d->key == NULL
					     ? left-- == 0
					     : strlen(d->key) == n && memcmp(d->key, path, n) == 0;
			if (match) {
				break;
			}
		}
		path += n + (path[n] == '.');
	}
	return d == NULL ? &nothing : d;
}

struct refusal {
	const char *text, *what;
};

static void check_refusals(parse_fn *parse, const struct refusal *rows, size_t count) {
	for (size_t i = 0; i < count; i++) {
		auto_parsed p = parse_text(parse, rows[i].text);
		if (p.doc != NULL || strstr(p.err.what, rows[i].what) == NULL) {
			test_failed = true;
			printf("# row %zu: \"%s\" does not say \"%s\"\n", i, p.err.what,
			       rows[i].what);
		}
		CHECK(p.doc != NULL || p.err.kind == ERR_USAGE);
		CHECK(p.doc != NULL || streq(p.err.where, "policy"));
	}
}

#define REFUSES(parse, ...)                                                                        \
	do {                                                                                       \
		static const struct refusal rows_[] = {__VA_ARGS__};                               \
		check_refusals(parse, rows_, ARRAY_LEN(rows_));                                    \
	} while (0)

TEST(toml_scalars_have_their_types_and_values) {
	auto_parsed p =
		parse_text(doc_parse_toml, "s = \"x\"\ni = -1_000\nh = 0xff\no = 0o17\nb = 0b101\n"
					   "f = 1.5e3\nn = -inf\nt = true\nu = false\n"
					   "d = 1979-05-27 07:32:00.25-08:00\n");
	REQUIRE(p.doc != NULL);
	CHECK_INT(p.doc->type, DOC_TABLE);
	CHECK_INT(at(&p, "s")->type, DOC_STRING);
	CHECK_STR(at(&p, "s")->str, "x");
	CHECK_INT(at(&p, "i")->type, DOC_INT);
	CHECK_INT(at(&p, "i")->num, -1000);
	CHECK_INT(at(&p, "h")->num, 255);
	CHECK_INT(at(&p, "o")->num, 15);
	CHECK_INT(at(&p, "b")->num, 5);
	CHECK_INT(at(&p, "f")->type, DOC_FLOAT);
	CHECK(at(&p, "f")->real == 1500.0);
	CHECK(isinf(at(&p, "n")->real) && at(&p, "n")->real < 0);
	CHECK_INT(at(&p, "t")->type, DOC_BOOL);
	CHECK(at(&p, "t")->yes);
	CHECK_INT(at(&p, "u")->type, DOC_BOOL);
	CHECK(!at(&p, "u")->yes);
	CHECK_INT(at(&p, "d")->type, DOC_TIME);
	CHECK_STR(at(&p, "d")->str, "1979-05-27 07:32:00.25-08:00");
}

TEST(toml_integers_reach_both_ends_of_64_bits) {
	auto_parsed p =
		parse_text(doc_parse_toml, "a = -9223372036854775808\nb = 9223372036854775807\n"
					   "c = 0x7FFFFFFFFFFFFFFF\n");
	REQUIRE(p.doc != NULL);
	CHECK(at(&p, "a")->num == INT64_MIN);
	CHECK(at(&p, "b")->num == INT64_MAX);
	CHECK(at(&p, "c")->num == INT64_MAX);
}

TEST(toml_strings_decode_escapes_and_fold_lines) {
	auto_parsed p = parse_text(doc_parse_toml,
				   "a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"\n"
				   "b = '\\n'\nc = \"\"\"\r\none\r\n  two\\  \n\n three\"\"\"\n"
				   "d = ''''x'''''\ne = \"\"\n");
	REQUIRE(p.doc != NULL);
	CHECK_STR(at(&p, "a")->str, "\b\t\n\f\r\"\\\xC3\xA9\xF0\x9F\x98\x80");
	CHECK_STR(at(&p, "b")->str, "\\n");
	CHECK_STR(at(&p, "c")->str, "one\n  twothree");
	CHECK_STR(at(&p, "d")->str, "'x''");
	CHECK_STR(at(&p, "e")->str, "");
	CHECK_INT(at(&p, "d")->len, 4);
}

TEST(toml_tables_nest_by_header_by_dots_and_inline) {
	auto_parsed p = parse_text(
		doc_parse_toml, "a.b = 1\na.c.d = 2\n[fs]\nwrite = [\n  '/w', # one\n  '/x',\n]\n"
				"[net.'x y'] # c\nrules = { allow.port = 443, deny = {} }\n"
				"[[rule]]\nn = 1\n[rule.sub]\nk = 2\n[[rule]]\nn = 3\n");
	REQUIRE(p.doc != NULL);
	CHECK_INT(at(&p, "a.b")->num, 1);
	CHECK_INT(at(&p, "a.c.d")->num, 2);
	CHECK_STR(at(&p, "fs.write.1")->str, "/x");
	CHECK_INT(at(&p, "net.x y.rules.allow.port")->num, 443);
	CHECK_INT(at(&p, "net.x y.rules.deny")->type, DOC_TABLE);
	CHECK_INT(at(&p, "rule")->type, DOC_ARRAY);
	CHECK_INT(at(&p, "rule.0.n")->num, 1);
	CHECK_INT(at(&p, "rule.0.sub.k")->num, 2);
	CHECK_INT(at(&p, "rule.1.n")->num, 3);
	CHECK(at(&p, "rule.1.sub")->line == -1);
}

TEST(toml_values_carry_their_lines) {
	auto_parsed p =
		parse_text(doc_parse_toml, "a = 1\r\n\n# c\n[t]\nb = '''\n\n'''\nc = [\n1,\n2]\n");
	REQUIRE(p.doc != NULL);
	CHECK_INT(at(&p, "a")->line, 1);
	CHECK_INT(at(&p, "t")->line, 4);
	CHECK_INT(at(&p, "t.b")->line, 5);
	CHECK_INT(at(&p, "t.c")->line, 8);
	CHECK_INT(at(&p, "t.c.1")->line, 10);
}

TEST(toml_keys_keep_the_order_of_the_file) {
	auto_parsed p = parse_text(doc_parse_toml, "z = 1\na = 2\nm = 3\n");
	REQUIRE(p.doc != NULL);
	CHECK_STR(p.doc->first->key, "z");
	CHECK_STR(p.doc->first->next->key, "a");
	CHECK_STR(p.doc->last->key, "m");
}

TEST(toml_errors_name_file_line_and_what_was_expected) {
	auto_parsed p = parse_text(doc_parse_toml, "a = 1\nb 2\n");
	CHECK_STR(p.err.what, "f:2: expected '=' after the key, found '2'");
	REFUSES(doc_parse_toml, {"a = \n", "f:1: expected a value, found the end of the line"},
		{"a = 1 b = 2", "f:1: expected the end of the line, found 'b'"},
		{"\na = [1 2]", "f:2: expected ',' or ']' in the array, found '2'"},
		{"a = {b = 1\n}", "f:1: expected ',' or '}' on the line of the inline table"},
		{"a = {b = 1,}", "f:1: expected a key, found '}'"},
		{"[a", "f:1: expected ']' after the name of the table, found the end of the file"},
		{"[[a]", "f:1: expected ']]'"}, {"a = yes", "f:1: expected a value, found yes"},
		{"a = \"x\nb = 1", "f:1: expected \" at the end of the string, on its line"},
		{"\na = '''x\n\n", "f:2: expected ''' at the end of the string"},
		{"a = \"\\q\"", "f:1: expected one of b t n f r"},
		{"a = \"x\\\ny\"", "f:1: expected one of b t n f r"},
		{"a = \"\\u12x4\"", "f:1: expected four hexadecimal digits after \\u, found 'x'"});
}

TEST(toml_literals_outside_the_grammar_are_refused) {
	REFUSES(doc_parse_toml, {"a = 9223372036854775808", "does not fit"},
		{"a = -9223372036854775809", "does not fit"},
		{"a = 0x8000000000000000", "does not fit"},
		{"a = 99999999999999999999999999", "does not fit"}, {"a = 01", "found 01"},
		{"a = 1__0", "found 1__0"}, {"a = 1_", "found 1_"}, {"a = +0x1", "found +0x1"},
		{"a = 1.", "found 1."}, {"a = .5", "found .5"}, {"a = 1_.5", "found 1_.5"},
		{"a = True", "found True"},
		{"a = 1900-02-29", "1900-02-29 is not a valid date or time"},
		{"a = 2001-00-10", "not a valid date"}, {"a = 2001-02-29", "not a valid date"},
		{"a = 24:00:00", "not a valid date or time"},
		{"a = 07:32:00Z", "not a valid date or time"},
		{"a = 2001-01-01T00:00:00+24:00", "not a valid date or time"},
		{"a = \"\\ud800\"", "not a Unicode character"},
		{"a = \"\\U00110000\"", "not a Unicode character"},
		{"a = \"\\u0000\"", "U+0000 is not allowed"});
}

TEST(toml_defines_each_key_and_table_once) {
	REFUSES(doc_parse_toml, {"a = 1\n\na = 2\n", "f:3: the key \"a\" is already set in line 1"},
		{"a = 1\n\"a\" = 2\n", "f:2: the key \"a\" is already set in line 1"},
		{"[a]\n[b]\n[a]\n", "f:3: \"a\" is already defined in line 1"},
		{"a.b = 1\n[a]\n", "f:2: \"a\" is already defined"},
		{"[a.b]\n[a]\nb.c = 1\n", "f:3: a dotted key cannot add to \"b\""},
		{"a = {}\n[a.b]\n", "f:2: a table header cannot add to \"a\""},
		{"a = {}\na.b = 1\n", "f:2: a dotted key cannot add to \"a\""},
		{"a = {b = {}, b.c = 1}\n", "a dotted key cannot add to \"b\""},
		{"a = []\n[[a]]\n", "f:2: \"a\" is already defined"},
		{"a = [{}]\n[a.b]\n", "f:2: a table header cannot add to \"a\""},
		{"[[a]]\n[a]\n", "f:2: \"a\" is already defined"},
		{"[a]\n[[a]]\n", "f:2: \"a\" is already defined"},
		{"a = 1\na.b = 2\n", "a dotted key cannot add to \"a\""},
		{"a = {b = 1, b = 2}\n", "the key \"b\" is already set"});
}

TEST(toml_text_is_utf8_without_control_characters) {
	static const char nul[] = "a = 'x\0y'";
	REFUSES(doc_parse_toml, {"a = 1\nb = '\xFF'", "f:2: the byte 0xFF is not valid UTF-8"},
		{"# \xC0\x80", "0xC0"}, {"# \xED\xA0\x80", "0xED"}, {"# \xF4\x90\x80\x80", "0xF4"},
		{"# \xE2\x82", "0xE2"}, {"# \xF8\x90\x80\x80", "0xF8"}, {"# \x80", "0x80"},
		{"# \x01", "control character U+0001"},
		{"a = 1\rb = 2", "control character U+000D"},
		{"a = '\x7F'", "control character U+007F"});
	auto_parsed p = parse_bytes(doc_parse_toml, "f", nul, sizeof nul - 1);
	CHECK(p.doc == NULL);
	CHECK(strstr(p.err.what, "U+0000") != NULL);
}

/* "x = " + n times open + n times close. */
static void check_depth(parse_fn *parse, const char *before, const char *open, const char *close,
			int n, bool accepted) {
	char text[4096] = "";
	size_t len = (size_t)snprintf(text, sizeof text, "%s", before);

	for (int i = 0; i < 2 * n; i++) {
		len += (size_t)snprintf(text + len, sizeof text - len, "%s", i < n ? open : close);
	}
	auto_parsed p = parse_text(parse, text);
	if ((p.doc != NULL) != accepted) {
		test_failed = true;
		printf("# %s%s x %d: %s\n", before, open, n, p.err.what);
	}
	CHECK(accepted || strstr(p.err.what, "nested deeper than 64 levels") != NULL);
}

TEST(depth_is_bounded_alike_in_every_format) {
	check_depth(doc_parse_toml, "x = ", "[", "]", DOC_DEPTH_MAX, true);
	check_depth(doc_parse_toml, "x = ", "[", "]", DOC_DEPTH_MAX + 1, false);
	check_depth(doc_parse_toml, "x = {}\ny = ", "[{a=", "}]", DOC_DEPTH_MAX, false);
	check_depth(doc_parse_json, "", "{\"a\":[", "]}", DOC_DEPTH_MAX / 2, true);
	check_depth(doc_parse_json, "", "{\"a\":[", "]}", DOC_DEPTH_MAX / 2 + 1, false);
	check_depth(doc_parse_yaml, "", "{\"a\":[", "]}", DOC_DEPTH_MAX / 2, true);
	check_depth(doc_parse_yaml, "", "{\"a\":[", "]}", DOC_DEPTH_MAX / 2 + 1, false);
}

#define MEGABYTE ((size_t)1024 * 1024)

/* Fills a megabyte by repeating lines; numbered ones get their number. */
static char *megabyte(const char *fmt, size_t *ret_len) {
	char *text = malloc(MEGABYTE + 64);
	size_t len = 0;

	if (text == NULL) {
		abort();
	}
	for (int i = 0; len < MEGABYTE; i++) {
		char line[64];
		size_t n = 0;
		for (const char *f = fmt; *f != '\0'; f++) {
			n += *f == '#' ? (size_t)snprintf(line + n, sizeof line - n, "%d", i)
				       : (size_t)snprintf(line + n, sizeof line - n, "%c", *f);
		}
		memcpy(text + len, line, n);
		len += n;
	}
	*ret_len = len;
	return text;
}

/* Bounds are wide, for slow machines and sanitizers: what is quadratic in a
 * hundred thousand keys takes minutes. */
static void check_fast(parse_fn *parse, const char *fmt, bool accepted) {
	size_t len;
	auto_free char *text = megabyte(fmt, &len);
	clock_t start = clock();
	auto_parsed p = parse_bytes(parse, "f", text, len);
	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	if ((p.doc != NULL) != accepted || seconds > 20.0) {
		test_failed = true;
		printf("# %s: %.2f s, %s\n", fmt, seconds, p.doc != NULL ? "accepted" : p.err.what);
	}
}

TEST(a_megabyte_of_anything_is_read_in_linear_time) {
	check_fast(doc_parse_toml, "a#=1\n", true);
	check_fast(doc_parse_toml, "[t#]\n", true);
	check_fast(doc_parse_toml, "[[t]]\n", true);
	check_fast(doc_parse_toml, "a.b#.c=1\n", true);
	check_fast(doc_parse_toml, "a", false);
	check_fast(doc_parse_toml, "[", false);
	check_fast(doc_parse_toml, "\"", false);
	check_fast(doc_parse_toml, "a.", false);
	check_fast(doc_parse_yaml, "a#: 1\n", true);
	check_fast(doc_parse_yaml, "[", false);
	check_fast(doc_parse_yaml, "{a: ", false);
	check_fast(doc_parse_yaml, "- ", false);
	check_fast(doc_parse_json, "[", false);
	check_fast(doc_parse_json, "{\"a\":", false);
}

TEST(duplicate_keys_are_found_among_similar_ones) {
	/* Prefixes of each other, and neighbours that differ in one bit. */
	static const char *const keys[] = {"a",        "aa",       "aaa", "b", "c",  "ab",
					   "\xC3\xA9", "\xC3\xA8", "",    "A", "aab"};
	char text[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		len += (size_t)snprintf(text + len, sizeof text - len, "'%s' = %zu\n", keys[i], i);
	}
	auto_parsed all = parse_text(doc_parse_toml, text);
	CHECK(all.doc != NULL);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		(void)snprintf(text + len, sizeof text - len, "'%s' = 1\n", keys[i]);
		auto_parsed p = parse_text(doc_parse_toml, text);
		CHECK(p.doc == NULL && strstr(p.err.what, "already set") != NULL);
	}
}

TEST(messages_hold_no_control_characters_from_the_file) {
	auto_parsed p =
		parse_text(doc_parse_toml, "\"\\u001b[2J\\n\" = 1\n\"\\u001b[2J\\n\" = 2\n");
	CHECK_STR(p.err.what, "f:2: the key \"?[2J?\" is already set in line 1");
	auto_parsed j = parse_bytes(doc_parse_json, "x\n\033y", "{\"a\"\n", 5);
	CHECK(j.doc == NULL);
	for (const char *s = j.err.what; *s != '\0'; s++) {
		CHECK((unsigned char)*s >= 0x20);
	}
}

TEST(json_values_have_their_types_and_values) {
	auto_parsed p = parse_text(doc_parse_json,
				   "{\"z\":\"\\u00e9\",\"i\":-5,\"f\":2.5,\"t\":true,\"u\":false,"
				   "\"n\":null,\"l\":[1,\"x\",{\"k\":[]}]}\n");
	REQUIRE(p.doc != NULL);
	CHECK_STR(p.doc->first->key, "z");
	CHECK_STR(at(&p, "z")->str, "\xC3\xA9");
	CHECK_INT(at(&p, "z")->len, 2);
	CHECK_INT(at(&p, "z")->line, 0);
	CHECK_INT(at(&p, "i")->num, -5);
	CHECK_INT(at(&p, "i")->type, DOC_INT);
	CHECK(at(&p, "f")->type == DOC_FLOAT && at(&p, "f")->real == 2.5);
	CHECK(at(&p, "t")->type == DOC_BOOL && at(&p, "t")->yes);
	CHECK(at(&p, "u")->type == DOC_BOOL && !at(&p, "u")->yes);
	CHECK(at(&p, "n")->type == DOC_NULL && at(&p, "n")->line == 0);
	CHECK_STR(at(&p, "l.1")->str, "x");
	CHECK_INT(at(&p, "l.2.k")->type, DOC_ARRAY);
}

TEST(json_that_is_not_exactly_one_object_is_refused) {
	REFUSES(doc_parse_json, {"{\"a\":1,\n\"a\":2}", "f:2: duplicate object key"},
		{"{} x", "f:1: end of file expected"}, {"{}{}", "end of file expected"},
		{"[1]", "expected an object at the top"}, {"{\"a\":\n\n}", "f:3: "}, {"", "f:1: "},
		{"{\"a\":\"\\u0000\"}", "f:1: \\u0000 is not allowed"},
		{"{\"\\u0000\":1}", "f:1: "},
		{"{\"a\":9223372036854775808}", "f:1: too big integer"},
		{"{\"a\":1e999}", "real number overflow"}, {"{\"a\":NaN}", "invalid token"},
		{"{\"a\":1,}", "f:1: "}, {"{\"a\":'x'}", "f:1: "},
		{"{\"a\":\"\xFF\"}", "not valid UTF-8"}, {"{\"a\":\"\\ud800\"}", "f:1: "});
}

TEST(yaml_plain_scalars_follow_the_core_schema) {
	auto_parsed p = parse_text(
		doc_parse_yaml,
		"n1: ~\nn2:\nn3: null\nb1: true\nb2: FALSE\ni1: -12\ni2: 0o17\ni3: 0xfF\n"
		"i4: 0777\nf1: 1.5\nf2: .5\nf3: 1e3\nf4: -.inf\nf5: 1.\n"
		"s1: no\ns2: on\ns3: yes\ns4: 1_000\ns5: 0b1\ns6: 12:30:45\ns7: +0x1\ns8: e5\n"
		"s9: 1.2.3\nsa: .\nsb: 2001-01-01\nsc: '1'\nsd: \"true\"\nse: |\n  12\n");
	REQUIRE(p.doc != NULL);
	CHECK_INT(at(&p, "n1")->type, DOC_NULL);
	CHECK(at(&p, "n2")->type == DOC_NULL && at(&p, "n2")->line == 2);
	CHECK_INT(at(&p, "n3")->type, DOC_NULL);
	CHECK(at(&p, "b1")->type == DOC_BOOL && at(&p, "b1")->yes);
	CHECK(at(&p, "b2")->type == DOC_BOOL && !at(&p, "b2")->yes);
	CHECK_INT(at(&p, "i1")->num, -12);
	CHECK_INT(at(&p, "i2")->num, 15);
	CHECK_INT(at(&p, "i3")->num, 255);
	CHECK_INT(at(&p, "i4")->num, 777);
	CHECK(at(&p, "f1")->real == 1.5 && at(&p, "f1")->type == DOC_FLOAT);
	CHECK(at(&p, "f2")->real == .5);
	CHECK(at(&p, "f3")->real == 1000.0);
	CHECK(isinf(at(&p, "f4")->real) && at(&p, "f4")->real < 0);
	CHECK(at(&p, "f5")->real == 1.0 && at(&p, "f5")->type == DOC_FLOAT);
	for (const char *s = "123456789abcde"; *s != '\0'; s++) {
		char key[] = {'s', *s, '\0'};
		CHECK_INT(at(&p, key)->type, DOC_STRING);
	}
	CHECK_STR(at(&p, "s1")->str, "no");
	CHECK_STR(at(&p, "sc")->str, "1");
	CHECK_STR(at(&p, "se")->str, "12\n");
}

TEST(yaml_collections_nest_and_carry_lines) {
	auto_parsed p = parse_text(doc_parse_yaml,
				   "%YAML 1.2\n---\nfs:\n  write:\n    - /w\n    - {a: [1, 2]}\n"
				   "\"80\": x\non: y\n...\n");
	REQUIRE(p.doc != NULL);
	CHECK_STR(at(&p, "fs.write.0")->str, "/w");
	CHECK_INT(at(&p, "fs.write.0")->line, 5);
	CHECK_INT(at(&p, "fs.write.1.a.1")->num, 2);
	CHECK_STR(at(&p, "80")->str, "x");
	CHECK_STR(at(&p, "on")->str, "y");
	auto_parsed none = parse_text(doc_parse_yaml, "# nothing\n");
	CHECK(none.doc != NULL && none.doc->type == DOC_TABLE && none.doc->first == NULL);
}

TEST(yaml_that_hides_meaning_is_refused_by_name) {
	REFUSES(doc_parse_yaml, {"a: 1\nb: &x 2\n", "f:2: the anchor &x is not allowed"},
		{"a: &x [1]\n", "the anchor &x"}, {"&x a: 1\n", "the anchor &x"},
		{"&t\na: 1\n", "the anchor &t"}, {"a: *x\n", "f:1: the alias *x is not allowed"},
		{"*x : 1\n", "the alias *x"},
		{"a: !!str 1\n", "the tag tag:yaml.org,2002:str is not allowed"},
		{"a: ! 1\n", "the tag ! is not allowed"}, {"a: !x {}\n", "the tag !x"},
		{"!!map {a: 1}\n", "the tag tag:yaml.org,2002:map"},
		{"a: 1\n\na: 2\n", "f:3: the key \"a\" is already set in line 1"},
		{"a: 1\n'a': 2\n", "f:2: the key \"a\" is already set"},
		{"a: 1\n---\nb: 2\n", "f:2: a second document is not allowed"},
		{"%YAML 1.1\n---\na: 1\n", "expected YAML 1.2, found %YAML 1.1"},
		{"%TAG ! tag:x,2000:\n---\na: 1\n", "%TAG is not allowed"});
}

TEST(yaml_keys_are_strings) {
	REFUSES(doc_parse_yaml, {"a: 1\n80: x\n", "f:2: expected a string as a key, found 80"},
		{"true: x\n", "found true"}, {"~: x\n", "found ~"}, {"?\n: x\n", "found nothing"},
		{"1.5: x\n", "found 1.5"}, {"? [a]\n: x\n", "found a sequence"},
		{"? {a: 1}\n: x\n", "found a mapping"});
}

TEST(yaml_that_is_not_one_mapping_of_text_is_refused) {
	REFUSES(doc_parse_yaml, {"- a\n", "f:1: expected a mapping at the top"},
		{"~\n", "expected a mapping at the top"}, {"a: [1\n", "f:2: "},
		{"a: 'x\n", "f:2: "}, {"a: 1\n b: 2\n", "f:2: "}, {"\ta: 1\n", "f:1: "},
		{"a: \"x\\0y\"\n", "f:1: U+0000 is not allowed"},
		{"a: '\xFF'\n", "not valid UTF-8"},
		{"a: 9223372036854775808\n", "f:1: 9223372036854775808 does not fit"},
		{"a: 0xFFFFFFFFFFFFFFFF\n", "does not fit"});
	static const char utf16[] = "\xFF\xFE"
				    "a\0:\0 \0"
				    "1\0";
	auto_parsed p = parse_bytes(doc_parse_yaml, "f", utf16, sizeof utf16 - 1);
	CHECK(p.doc == NULL);
}

static bool parses_as(const char *name, const char *text, const char *key) {
	auto_parsed p = parse_bytes(doc_parse, name, text, strlen(text));
	return p.doc != NULL && at(&p, key)->num == 7;
}

TEST(the_name_picks_the_format_and_a_brace_means_json) {
	CHECK(parses_as("p.toml", "a.b = 7", "a.b"));
	CHECK(parses_as("-", "a.b = 7", "a.b"));
	CHECK(parses_as("p.yaml", "a: {b: 7}", "a.b"));
	CHECK(parses_as("p.yml", "a: 7", "a"));
	CHECK(parses_as("p.json", "{\"a\": 7}", "a"));
	CHECK(parses_as("-", "\n {\"a\": 7}", "a"));
	CHECK(parses_as("fd:3", "{\"a\": 7}", "a"));
	CHECK(!parses_as("p.json", "a = 7", "a"));
	CHECK(!parses_as("p.yaml", "a = 7", "a"));
	CHECK(!parses_as("p.yaml.toml", "a: 7", "a"));
	CHECK(!parses_as("json", "a: 7", "a"));
	CHECK(parses_as("", "a = 7", "a"));
}

TEST(an_empty_toml_file_is_an_empty_table) {
	auto_parsed p = parse_bytes(doc_parse, "p.toml", "", 0);
	REQUIRE(p.doc != NULL);
	CHECK_INT(p.doc->type, DOC_TABLE);
	CHECK(p.doc->first == NULL);
}

TEST(decimal_points_do_not_depend_on_the_locale) {
	static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
	bool set = false;

	for (size_t i = 0; i < ARRAY_LEN(with_comma) && !set; i++) {
		set = setlocale(LC_ALL, with_comma[i]) != NULL;
	}
	if (!set) {
		SKIP("no locale with a decimal comma is installed");
	}
	auto_parsed t = parse_text(doc_parse_toml, "a = 1.5\n");
	auto_parsed y = parse_text(doc_parse_yaml, "a: 1.5\n");
	auto_parsed j = parse_text(doc_parse_json, "{\"a\": 1.5}");
	CHECK(t.doc != NULL && at(&t, "a")->real == 1.5);
	CHECK(y.doc != NULL && at(&y, "a")->real == 1.5);
	CHECK(j.doc != NULL && at(&j, "a")->real == 1.5);
	(void)setlocale(LC_ALL, "C");
}

TESTS_MAIN
