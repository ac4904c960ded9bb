/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the parser of a document: TOML, JSON or YAML.
 *
 * Should:   decide by the file name's suffix, and by the first character for input
 *           without a name (standard input, descriptors).
 * Must not: try one parser after another: the meaning of a file would then depend
 *           on which of its mistakes came first.
 * Fails:    closed, with the chosen parser's error. */
#include "policy/doc.h"

#include "base/auto.h"
#include "base/str.h"

typedef int parse_fn(struct arena *a, const char *name, const char *text, size_t len,
		     struct doc **ret, struct err *e);

static const struct {
	const char *ending;
	parse_fn *parse;
} formats[] = {
	{".json", doc_parse_json},
	{".yaml", doc_parse_yaml},
	{".yml", doc_parse_yaml},
};

static bool ends_with(const char *s, const char *ending) {
	size_t n = strlen(s), k = strlen(ending);
	return n >= k && streq(s + n - k, ending);
}

/* No TOML document begins with a brace: '{' always means JSON. */
static bool begins_with_brace(const char *text, size_t len) {
	size_t at = 0;
	while (at < len && text[at] != '\0' && strchr(" \t\r\n", text[at]) != NULL) {
		at++;
	}
	return at < len && text[at] == '{';
}

int doc_parse(struct arena *a, const char *name, const char *text, size_t len, struct doc **ret,
	      struct err *e) {
	if (begins_with_brace(text, len)) {
		return doc_parse_json(a, name, text, len, ret, e);
	}
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (ends_with(name, formats[i].ending)) {
			return formats[i].parse(a, name, text, len, ret, e);
		}
	}
	return doc_parse_toml(a, name, text, len, ret, e);
}
