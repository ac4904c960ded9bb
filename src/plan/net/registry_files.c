/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the settings files of package managers, one function per format.
 *
 * Should:   find every URL that the client would fetch packages from.
 * Must not: check a URL, or expand variables; registries.c does.
 * Fails:    closed: a text that cannot be parsed names no registry, so no host is allowed. */
#include "plan/net/registry_files.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/doc.h"

#include <stdio.h>

struct span {
	const char *at;
	size_t len;
};

#define BLANKS " \t\r"

static struct span trim(struct span s) {
	while (s.len > 0 && strchr(BLANKS, s.at[0]) != NULL) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && strchr(BLANKS, s.at[s.len - 1]) != NULL) {
		s.len--;
	}
	return s;
}

static struct span unquote(struct span s) {
	s = trim(s);
	bool quoted =
		s.len >= 2 && (s.at[0] == '"' || s.at[0] == '\'') && s.at[s.len - 1] == s.at[0];
	return quoted ? (struct span){s.at + 1, s.len - 2} : s;
}

/* The next line without its end; false at the end of the text. */
static bool next_line(const char **text, struct span *ret) {
	if (**text == '\0') {
		return false;
	}
	*ret = (struct span){*text, strcspn(*text, "\n")};
	*text += ret->len;
	*text += **text == '\n';
	return true;
}

static void report(const struct registry_reader *r, struct span word) {
	word = unquote(word);
	if (word.len > 0) {
		r->found(r->arg, word.at, word.len);
	}
}

static void report_words(const struct registry_reader *r, struct span s, const char *between) {
	while (s.len > 0) {
		size_t n = 0;
		while (n < s.len && strchr(between, s.at[n]) == NULL) {
			n++;
		}
		report(r, (struct span){s.at, n});
		n += n < s.len;
		s.at += n;
		s.len -= n;
	}
}

/* ---- "key = value" ---- */

struct keyed {
	const char *between; /* separators between key and value */
	const char *comment;
	const char *keys[5]; /* in lower case; a leading "*" matches any prefix */
	bool continues;      /* indented lines continue the value */
};

static const struct keyed npm = {"=", ";#", {"registry", "*:registry"}, false};
static const struct keyed yarn_1 = {" \t", "#", {"registry", "*:registry"}, false};
static const struct keyed yarn = {":", "#", {"npmregistryserver"}, false};
static const struct keyed pip = {"=:", ";#", {"index-url", "extra-index-url", "find-links"}, true};
static const struct keyed go_proxy = {"=", "#", {"goproxy"}, false};
static const struct keyed go_sumdb = {"=", "#", {"gosumdb"}, false};

/* pip accepts "index_url" for "index-url". */
static char folded(char c) {
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c == '_' ? '-' : c);
}

static bool is_key(struct span key, const char *name) {
	bool any = name[0] == '*';
	size_t len = strlen(name) - any;
	if (key.len < len || (!any && key.len != len)) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		if (folded(key.at[key.len - len + i]) != name[any + i]) {
			return false;
		}
	}
	return true;
}

static bool is_wanted(const struct keyed *k, struct span key) {
	for (size_t i = 0; i < ARRAY_LEN(k->keys) && k->keys[i] != NULL; i++) {
		if (is_key(unquote(key), k->keys[i])) {
			return true;
		}
	}
	return false;
}

typedef void take_value(const struct registry_reader *r, struct span value);

static void take_words(const struct registry_reader *r, struct span value) {
	report_words(r, value, BLANKS "\n,|");
}

static void read_keyed(const struct registry_reader *r, const struct keyed *k, const char *text,
		       take_value *take) {
	struct span line;
	bool wanted = false;
	while (next_line(&text, &line)) {
		struct span s = trim(line);
		if (s.len == 0 || strchr(k->comment, s.at[0]) != NULL) {
			continue;
		}
		if (k->continues && line.at != s.at) {
			if (wanted) {
				take(r, s);
			}
			continue;
		}
		size_t n = 0;
		while (n < s.len && strchr(k->between, s.at[n]) == NULL) {
			n++;
		}
		wanted = n < s.len && is_wanted(k, (struct span){s.at, n});
		if (wanted) {
			take(r, trim((struct span){s.at + n + 1, s.len - n - 1}));
		}
	}
}

/* "NAME", "NAME+KEY", or either and the URL of the server. */
static void take_sumdb(const struct registry_reader *r, struct span value) {
	value = unquote(value);
	size_t n = 0, name = 0;
	while (n < value.len && strchr(BLANKS, value.at[n]) == NULL) {
		n++;
	}
	if (n < value.len) {
		report(r, (struct span){value.at + n, value.len - n});
		return;
	}
	while (name < n && value.at[name] != '+') {
		name++;
	}
	bool off = name == 3 && memcmp(value.at, "off", 3) == 0;
	if (name > 0 && name < 256 && !off) {
		char url[320];
		int len = snprintf(url, sizeof url, "https://%.*s", (int)name, value.at);
		report(r, (struct span){url, (size_t)len});
	}
}

/* ---- TOML ---- */

static const struct doc *child(const struct doc *table, const char *key) {
	const struct doc *d = table != NULL && table->type == DOC_TABLE ? table->first : NULL;
	while (d != NULL && !streq(d->key, key)) {
		d = d->next;
	}
	return d;
}

static void report_string(const struct registry_reader *r, const struct doc *d) {
	if (d != NULL && d->type == DOC_STRING) {
		report(r, (struct span){d->str, d->len});
	}
}

/* key of each table in `tables`, which is a table or a list of them. */
static void report_each(const struct registry_reader *r, const struct doc *tables,
			const char *key) {
	bool holds = tables != NULL && (tables->type == DOC_TABLE || tables->type == DOC_ARRAY);
	for (const struct doc *d = holds ? tables->first : NULL; d != NULL; d = d->next) {
		report_string(r, child(d, key));
	}
}

static void report_list(const struct registry_reader *r, const struct doc *d) {
	bool list = d != NULL && d->type == DOC_ARRAY;
	for (const struct doc *one = list ? d->first : NULL; one != NULL; one = one->next) {
		report_string(r, one);
	}
}

static void read_toml(const struct registry_reader *r, bool cargo, const char *text) {
	struct doc *root;
	struct err e = {0};
	if (doc_parse_toml(r->a, "settings", text, strlen(text), &root, &e) != 0) {
		return;
	}
	if (cargo) {
		report_each(r, child(root, "registries"), "index");
		report_each(r, child(root, "source"), "registry");
		return;
	}
	const struct doc *tables[] = {root, child(root, "pip")};
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		report_string(r, child(tables[i], "index-url"));
		report_list(r, child(tables[i], "extra-index-url"));
		report_list(r, child(tables[i], "find-links"));
		report_each(r, child(tables[i], "index"), "url");
	}
}

/* ---- the others ---- */

/* The end of a blocked <mirror>, such as Maven's own against plain HTTP; NULL when it is not
 * one. */
static const char *blocked_end(const char *text) {
	const char *end = str_starts(text, "<mirror>") ? strstr(text, "</mirror>") : NULL;
	const char *word = "<blocked>true</blocked>";
	return end != NULL && memmem(text, (size_t)(end - text), word, strlen(word)) != NULL ? end
											     : NULL;
}

/* Mirrors, repositories and plug-in repositories. */
static void read_maven(const struct registry_reader *r, const char *text) {
	while ((text = strchr(text, '<')) != NULL) {
		const char *blocked = blocked_end(text);
		if (blocked != NULL) {
			text = blocked;
		} else if (str_starts(text, "<!--")) {
			text = strstr(text + 4, "-->");
			if (text == NULL) {
				return;
			}
		} else if (str_starts(text, "<url>")) {
			text += strlen("<url>");
			struct span s = {text, strcspn(text, "<")};
			report_words(r, s, BLANKS "\n");
		} else {
			text++;
		}
	}
}

static void read_gem(const struct registry_reader *r, const char *text) {
	struct span line;
	while (next_line(&text, &line)) {
		line = trim(line);
		if (line.len > 2 && line.at[0] == '-' && line.at[1] == ' ') {
			report(r, (struct span){line.at + 2, line.len - 2});
		}
	}
}

/* "deb [options] URI suite …" */
static void read_apt(const struct registry_reader *r, const char *text) {
	struct span line;
	while (next_line(&text, &line)) {
		line = trim(line);
		size_t n = 0;
		while (n < line.len && strchr(BLANKS, line.at[n]) == NULL) {
			n++;
		}
		bool deb = (n == 3 && memcmp(line.at, "deb", 3) == 0) ||
			   (n == 7 && memcmp(line.at, "deb-src", 7) == 0);
		struct span rest = trim((struct span){line.at + n, line.len - n});
		if (!deb || rest.len == 0) {
			continue;
		}
		const char *close = rest.at[0] == '[' ? memchr(rest.at, ']', rest.len) : NULL;
		if (close != NULL) {
			size_t skip = (size_t)(close + 1 - rest.at);
			rest = trim((struct span){rest.at + skip, rest.len - skip});
		}
		for (n = 0; n < rest.len && strchr(BLANKS, rest.at[n]) == NULL; n++) {
		}
		report(r, (struct span){rest.at, n});
	}
}

static bool has_field(struct span line, const char *name, struct span *ret) {
	size_t n = strlen(name);
	if (line.len <= n || line.at[n] != ':' || !is_key((struct span){line.at, n}, name)) {
		return false;
	}
	*ret = trim((struct span){line.at + n + 1, line.len - n - 1});
	return true;
}

/* Reads one stanza, up to an empty line; returns the start of the next one.  r NULL: reports no
 * URL, only whether the stanza is disabled. */
static const char *read_stanza(const struct registry_reader *r, const char *text, bool *off) {
	struct span line, value;
	bool uris = false;
	while (next_line(&text, &line) && trim(line).len > 0) {
		bool more = line.at[0] == ' ' || line.at[0] == '\t';
		bool comment = line.at[0] == '#';
		if (has_field(line, "enabled", &value) && value.len > 0) {
			*off = folded(value.at[0]) == 'n' || folded(value.at[0]) == 'f' ||
			       value.at[0] == '0';
		}
		if (!more && !comment) {
			uris = has_field(line, "uris", &value);
		} else {
			value = line;
		}
		if (r != NULL && uris && !comment) {
			report_words(r, value, BLANKS);
		}
	}
	return text;
}

static void read_sources(const struct registry_reader *r, const char *text) {
	while (*text != '\0') {
		bool off = false;
		const char *next = read_stanza(NULL, text, &off);
		if (!off) {
			(void)read_stanza(r, text, &off);
		}
		text = next;
	}
}

/* The first word of each line. */
static void read_mirrors(const struct registry_reader *r, const char *text) {
	struct span line;
	while (next_line(&text, &line)) {
		line = trim(line);
		size_t n = 0;
		while (n < line.len && strchr(BLANKS, line.at[n]) == NULL) {
			n++;
		}
		if (n > 0 && line.at[0] != '#') {
			report(r, (struct span){line.at, n});
		}
	}
}

void registry_read(const struct registry_reader *r, enum registry_format format, const char *text) {
	switch (format) {
	case REGISTRY_NPM:
		read_keyed(r, &npm, text, take_words);
		break;
	case REGISTRY_YARN_1:
		read_keyed(r, &yarn_1, text, take_words);
		break;
	case REGISTRY_YARN:
		read_keyed(r, &yarn, text, take_words);
		break;
	case REGISTRY_PIP:
		read_keyed(r, &pip, text, take_words);
		break;
	case REGISTRY_UV:
	case REGISTRY_CARGO:
		read_toml(r, format == REGISTRY_CARGO, text);
		break;
	case REGISTRY_GO:
		read_keyed(r, &go_proxy, text, take_words);
		read_keyed(r, &go_sumdb, text, take_sumdb);
		break;
	case REGISTRY_MAVEN:
		read_maven(r, text);
		break;
	case REGISTRY_GEM:
		read_gem(r, text);
		break;
	case REGISTRY_APT:
		read_apt(r, text);
		break;
	case REGISTRY_SOURCES:
		read_sources(r, text);
		break;
	case REGISTRY_MIRRORS:
		read_mirrors(r, text);
		break;
	case REGISTRY_LIST:
		take_words(r, (struct span){text, strlen(text)});
		break;
	case REGISTRY_SUMDB:
		take_sumdb(r, (struct span){text, strlen(text)});
		break;
	case REGISTRY_FORMAT_COUNT:
		break;
	}
}
