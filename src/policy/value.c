/* SPDX-License-Identifier: Apache-2.0 */
/* Converts one value, from text or from a document, to the type of its key.
 *
 * Should:   name key, value, origin and range in every error.
 * Must not: look at the file system; check.c checks whether a path exists.
 * Fails:    closed.  A text that is not understood to its last character is an error,
 *           and so is a value that this version does not implement. */
#include "policy/value.h"

#include "policy/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

const char *value_shown(const char *s, char *out, size_t cap) {
	size_t n = 0;
	for (; s[n] != '\0' && n + 1 < cap; n++) {
		out[n] = s[n];
	}
	out[n] = '\0';
	if (s[n] != '\0' && n >= 3) {
		memcpy(out + n - 3, "...", 3);
	}
	str_hide_controls(out, false); /* last: truncation may leave an incomplete character */
	return out;
}

bool value_key_is_list(const struct key *k) {
	return k->type >= TYPE_NAMES;
}

static bool listed(const char *const *list, const char *name) {
	for (; list != NULL && *list != NULL; list++) {
		if (streq(*list, name)) {
			return true;
		}
	}
	return false;
}

/* The choices that can be used now, for messages. */
static void choices_text(const struct key *k, char *out, size_t cap) {
	size_t at = 0;
	out[0] = '\0';
	for (const char *const *c = k->choices; *c != NULL; c++) {
		if (!listed(k->later, *c) && at < cap) {
			at += (size_t)snprintf(out + at, cap - at, "%s%s", at > 0 ? ", " : "", *c);
		}
	}
}

static void expected_text(const struct key *k, char *out, size_t cap) {
	static const char *const words[] = {
		[TYPE_BOOL] = "true or false",
		[TYPE_STRING] = "a string",
		[TYPE_PATH] = "a path",
		[TYPE_COUNT] = "a whole number",
		[TYPE_BYTES] = "a size such as 512, 64K or 4G",
		[TYPE_DURATION] = "a time such as 30, 500ms or 2m",
		[TYPE_CPUS] = "a number of processors such as 1.5",
		[TYPE_DATE] = "a date such as 2026-11-17",
		[TYPE_NAMES] = "a name",
		[TYPE_PATHS] = "a path",
		[TYPE_RULES] = "a path, a pattern or @SET",
		[TYPE_MAP] = "NAME=VALUE",
		[TYPE_HOSTS] = "a host",
		[TYPE_NETWORKS] = "a network",
		[TYPE_PORTS] = "a port",
		[TYPE_PORT_PAIRS] = "PORT or PORT:HOSTPORT",
		[TYPE_SOCKETS] = "the path of a socket",
		[TYPE_COMMANDS] = "NAME, or NAME allowed|blocked PATTERN",
	};
	if (k->choices != NULL) {
		char list[256];
		choices_text(k, list, sizeof list);
		(void)snprintf(out, cap, "one of %s", list);
	} else if (k->max > 0) {
		char low[32], high[32];
		(void)snprintf(out, cap, "%s, from %s to %s%s", words[k->type],
			       number_value(k, k->min, low, sizeof low),
			       number_value(k, k->max, high, sizeof high),
			       k->none_allowed ? ", or \"none\"" : "");
	} else {
		(void)snprintf(out, cap, "%s", words[k->type]);
	}
}

int value_refuse(const struct where *w, const struct key *k, const char *text, const char *why,
		 struct err *e) {
	char value[64], from[SHOWN_MAX];
	return err_set(e, ERR_USAGE, "policy", "%s = \"%s\" (%s): %s", k->name,
		       value_shown(text, value, sizeof value),
		       policy_origin_text(&w->origin, from, sizeof from), why);
}

static int refuse_value(const struct where *w, const struct key *k, const char *text,
			struct err *e) {
	char expected[300], why[320];
	expected_text(k, expected, sizeof expected);
	(void)snprintf(why, sizeof why, "expected %s", expected);
	return value_refuse(w, k, text, why, e);
}

static int refuse_later(const struct where *w, const struct key *k, const char *text,
			struct err *e) {
	(void)value_refuse(w, k, text,
			   k->later_why != NULL   ? k->later_why
			   : k->type == TYPE_ENUM ? "not implemented in this version"
						  : "only fs.deny and fs.protect take patterns",
			   e);
	if (k->type == TYPE_ENUM) {
		char list[200];
		choices_text(k, list, sizeof list);
		return err_fix(e, "set %s to one of %s", k->name, list);
	}
	return err_fix(e, "write each path in full; if *, ? or [ belongs to the name, put a "
			  "backslash before it");
}

static int set_number(const struct where *w, int64_t num, struct value *v) {
	v->num = num;
	v->set = true;
	v->origin = w->origin;
	return 0;
}

static int parse_bool(const struct where *w, const struct key *k, const char *text, struct value *v,
		      struct err *e) {
	if (!streq(text, "true") && !streq(text, "false")) {
		return refuse_value(w, k, text, e);
	}
	return set_number(w, streq(text, "true"), v);
}

static int parse_enum(const struct where *w, const struct key *k, const char *text, struct value *v,
		      struct err *e) {
	if (listed(k->later, text)) {
		return refuse_later(w, k, text, e);
	}
	for (int64_t i = 0; k->choices[i] != NULL; i++) {
		if (streq(k->choices[i], text)) {
			return set_number(w, i, v);
		}
	}
	return refuse_value(w, k, text, e);
}

static int parse_number(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e) {
	int64_t num = 0;
	if (k->none_allowed && streq(text, "none")) {
		return set_number(w, LIMIT_NONE, v);
	}
	if (!number_read(k, text, &num) || num < k->min || num > k->max) {
		return refuse_value(w, k, text, e);
	}
	return set_number(w, num, v);
}

static int parse_string(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e) {
	if (*text == '\0') {
		return value_refuse(w, k, text, "must not be empty", e);
	}
	v->str = arena_strdup(w->a, text);
	return v->str == NULL ? err_memory(e, "policy") : set_number(w, 0, v);
}

/* YYYY-MM-DD. */
static bool is_date(const char *s) {
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	for (size_t i = 0; i < strlen("2026-11-17"); i++) {
		bool dash = i == 4 || i == 7;
		if (dash ? s[i] != '-' : s[i] < '0' || s[i] > '9') {
			return false;
		}
	}
	int month = (s[5] - '0') * 10 + s[6] - '0', day = (s[8] - '0') * 10 + s[9] - '0';
	return s[10] == '\0' && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

static int parse_date(const struct where *w, const struct key *k, const char *text, struct value *v,
		      struct err *e) {
	bool now = streq(text, ACCEPTED_NOW) && w->origin.kind == ORIGIN_OPTION;
	return now || is_date(text) ? parse_string(w, k, text, v, e) : refuse_value(w, k, text, e);
}

static const char *base_of(const struct where *w, const struct key *k) {
	if (k == &keys[KEY_FS_WORKSPACE_AT]) {
		return NULL; /* a path in the sandbox: the host has no base for it */
	}
	return k == &keys[KEY_WORKSPACE] ? w->cwd : w->base;
}

static bool names_fit(const char *path) {
	for (const char *p = path; *p != '\0';) {
		size_t len = strcspn(++p, "/");
		if (len > NAME_MAX) {
			return false;
		}
		p += len;
	}
	return true;
}

/* Absolute and normal, "~/" expanded. */
int value_path(const struct where *w, const struct key *k, const char *text, const char **ret,
	       struct err *e) {
	const char *base = base_of(w, k), *rest = text;
	if (*text == '\0') {
		return value_refuse(w, k, text, "the path is empty", e);
	}
	if (text[0] == '~') {
		if (text[1] != '\0' && text[1] != '/') {
			return value_refuse(w, k, text,
					    "only ~/ is expanded; for a file named ~, write ./~",
					    e);
		}
		if (w->home == NULL) {
			return value_refuse(w, k, text,
					    "cannot expand ~: there is no home directory", e);
		}
		base = w->home;
		rest = text + (text[1] == '/' ? 2 : 1);
	} else if (text[0] != '/' && base == NULL) {
		return value_refuse(w, k, text, "must be an absolute path", e);
	}
	/* "~//x" stays beneath the home, too. */
	const char *path = text[0] == '/' ? path_normal(w->a, text)
					  : path_join(w->a, base, rest + strspn(rest, "/"));
	if (path == NULL) {
		return err_memory(e, "policy");
	}
	if (strlen(path) >= PATH_MAX || !names_fit(path)) {
		return value_refuse(w, k, text, "the path or a name in it is too long", e);
	}
	*ret = path;
	return 0;
}

static int parse_path(const struct where *w, const struct key *k, const char *text, struct value *v,
		      struct err *e) {
	const char *path;
	if (value_path(w, k, text, &path, e) != 0) {
		return -1;
	}
	v->str = path;
	return set_number(w, 0, v);
}

int value_put(struct arena *a, const struct key *k, struct value *v, const struct item *item,
	      struct err *e) {
	v->set = true;
	v->origin = item->origin;
	if (v->count >= LIST_ITEMS_MAX) {
		char from[SHOWN_MAX];
		(void)err_set(e, ERR_USAGE, "policy", "%s (%s): a list holds at most %d items",
			      k->name, policy_origin_text(&item->origin, from, sizeof from),
			      LIST_ITEMS_MAX);
		return err_fix(e, "use patterns, or directories instead of their files");
	}
	if (arena_grow(a, &v->items, v->count, &v->cap, sizeof v->items[0]) != 0) {
		return err_memory(e, "policy");
	}
	v->items[v->count++] = *item;
	return 0;
}

static int put_text(const struct where *w, const struct key *k, const char *text, bool optional,
		    struct value *v, struct err *e) {
	struct item item = {.str = text, .optional = optional, .origin = w->origin};
	return value_put(w->a, k, v, &item, e);
}

/* "NAME?": the vault's value if it has one, or else the caller's variable. */
static bool may_be_missing(const struct key *k) {
	return k == &keys[KEY_ENV_SECRETS] || k == &keys[KEY_ENV_PASS];
}

static int parse_name(const struct where *w, const struct key *k, const char *name, struct value *v,
		      struct err *e) {
	if (*name == '\0') {
		return value_refuse(w, k, name, "the name is empty", e);
	}
	if (k->choices != NULL && !listed(k->choices, name)) {
		return refuse_value(w, k, name, e);
	}
	size_t n = strlen(name);
	bool optional = may_be_missing(k) && n > 1 && name[n - 1] == '?';
	const char *kept = optional ? arena_strndup(w->a, name, n - 1) : name;
	return kept == NULL ? err_memory(e, "policy") : put_text(w, k, kept, optional, v, e);
}

/* No name contains a comma, so "a,b" is two names. */
static int parse_names(const struct where *w, const struct key *k, const char *text,
		       struct value *v, struct err *e) {
	for (;;) {
		size_t n = strcspn(text, ",");
		char *name = arena_strndup(w->a, text, n);
		if (name == NULL) {
			return err_memory(e, "policy");
		}
		if (parse_name(w, k, name, v, e) != 0) {
			return -1;
		}
		if (text[n] == '\0') {
			return 0;
		}
		text += n + 1;
	}
}

/* Removes the backslashes and the final '?'.  A pattern character without a backslash before
 * it is an error. */
static int read_pattern(const struct where *w, const struct key *k, const char *text,
			bool *ret_optional, char **ret, struct err *e) {
	char *plain = arena_alloc(w->a, strlen(text) + 1);
	size_t len = 0;
	if (plain == NULL) {
		return err_memory(e, "policy");
	}
	*ret_optional = false;
	for (const char *p = text; *p != '\0'; p++) {
		char one[2] = {*p, '\0'};
		if (*p == '\\') {
			one[0] = *++p;
			bool colon = one[0] == ':' && k == &keys[KEY_FS_READ];
			if (one[0] != '\\' && !colon && !listed(k->later, one)) {
				return value_refuse(
					w, k, text,
					"a backslash is allowed only before *, ?, [ or \\", e);
			}
		} else if (*p == '?' && p[1] == '\0') {
			*ret_optional = true;
			break;
		} else if (listed(k->later, one)) {
			return refuse_later(w, k, text, e);
		}
		plain[len++] = one[0];
	}
	*ret = plain;
	return 0;
}

/* The ":" of "PATH:DEST", which is followed by "/"; NULL without a DEST.  A backslash before the
 * ":" makes it a part of the name. */
static const char *find_dest(const struct key *k, const char *text) {
	const char *p = k == &keys[KEY_FS_READ] ? text : "";
	for (; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0') {
			p++;
		} else if (*p == ':' && p[1] == '/' && p > text) {
			return p;
		}
	}
	return NULL;
}

static int parse_dest(const struct where *w, const struct key *k, const char *text,
		      struct item *item, struct err *e) {
	char *plain = NULL;
	if (read_pattern(w, k, text, &item->optional, &plain, e) != 0 ||
	    value_path(w, k, plain, &item->at, e) != 0) {
		return -1;
	}
	return find_dest(k, text) == NULL
		       ? 0
		       : value_refuse(w, k, text, "two \":/\": write \\: in a name", e);
}

static int parse_paths(const struct where *w, const struct key *k, const char *text,
		       struct value *v, struct err *e) {
	struct item item = {.origin = w->origin};
	const char *dest = find_dest(k, text);
	char *plain = NULL,
	     *source =
		     arena_strndup(w->a, text, dest == NULL ? strlen(text) : (size_t)(dest - text));
	if (source == NULL) {
		return err_memory(e, "policy");
	}
	if (read_pattern(w, k, source, &item.optional, &plain, e) != 0 ||
	    value_path(w, k, plain, &item.str, e) != 0 ||
	    (dest != NULL && parse_dest(w, k, dest + 1, &item, e) != 0)) {
		return -1;
	}
	if (item.at != NULL && streq(item.at, item.str)) {
		item.at = NULL;
	}
	return value_put(w->a, k, v, &item, e);
}

static int parse_map(const struct where *w, const struct key *k, const char *text, struct value *v,
		     struct err *e) {
	if (text[0] == '=' || strchr(text, '=') == NULL) {
		return refuse_value(w, k, text, e);
	}
	char *pair = arena_strdup(w->a, text);
	return pair == NULL ? err_memory(e, "policy") : put_text(w, k, pair, false, v, e);
}

int value_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		    struct err *e) {
	static int (*const parse[])(const struct where *, const struct key *, const char *,
				    struct value *, struct err *) = {
		[TYPE_BOOL] = parse_bool,
		[TYPE_ENUM] = parse_enum,
		[TYPE_STRING] = parse_string,
		[TYPE_PATH] = parse_path,
		[TYPE_COUNT] = parse_number,
		[TYPE_BYTES] = parse_number,
		[TYPE_DURATION] = parse_number,
		[TYPE_CPUS] = parse_number,
		[TYPE_DATE] = parse_date,
		[TYPE_NAMES] = parse_names,
		[TYPE_PATHS] = parse_paths,
		[TYPE_RULES] = rule_from_text,
		[TYPE_MAP] = parse_map,
		[TYPE_HOSTS] = host_rule_from_text,
		[TYPE_NETWORKS] = host_rule_network_from_text,
		[TYPE_PORTS] = endpoint_port_from_text,
		[TYPE_PORT_PAIRS] = endpoint_port_from_text,
		[TYPE_SOCKETS] = endpoint_socket_from_text,
		[TYPE_COMMANDS] = command_rule_from_text,
	};
	return parse[k->type](w, k, text, v, e);
}

const char *doc_type_name(enum doc_type type) {
	static const char *const names[] = {
		[DOC_TABLE] = "a table",       [DOC_ARRAY] = "a list",
		[DOC_STRING] = "a string",     [DOC_INT] = "a whole number",
		[DOC_FLOAT] = "a decimal",     [DOC_BOOL] = "true or false",
		[DOC_TIME] = "a date or time", [DOC_NULL] = "null",
	};
	return names[type];
}

#define ONE(type) (1u << (type))

/* The document types that a key accepts, and their names in messages. */
static const struct {
	unsigned accepted;
	const char *words;
} doc_wants[] = {
	[TYPE_BOOL] = {ONE(DOC_BOOL), "true or false"},
	[TYPE_ENUM] = {ONE(DOC_STRING), "a string"},
	[TYPE_STRING] = {ONE(DOC_STRING), "a string"},
	[TYPE_PATH] = {ONE(DOC_STRING), "a string"},
	[TYPE_COUNT] = {ONE(DOC_INT) | ONE(DOC_STRING), "a whole number"},
	[TYPE_BYTES] = {ONE(DOC_INT) | ONE(DOC_STRING),
			"a whole number or a string such as \"64K\""},
	[TYPE_DURATION] = {ONE(DOC_INT) | ONE(DOC_STRING),
			   "a whole number of seconds or a string such as \"500ms\""},
	[TYPE_CPUS] = {ONE(DOC_INT) | ONE(DOC_FLOAT) | ONE(DOC_STRING), "a number"},
	[TYPE_DATE] = {ONE(DOC_TIME) | ONE(DOC_STRING), "a date"},
	[TYPE_NAMES] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_PATHS] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_RULES] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_MAP] = {ONE(DOC_TABLE), "a table of strings"},
	[TYPE_HOSTS] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_NETWORKS] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_PORTS] = {ONE(DOC_ARRAY), "a list of ports"},
	[TYPE_PORT_PAIRS] = {ONE(DOC_ARRAY), "a list of ports or \"PORT:HOSTPORT\""},
	[TYPE_SOCKETS] = {ONE(DOC_ARRAY), "a list of strings"},
	[TYPE_COMMANDS] = {ONE(DOC_ARRAY),
			   "a list of rules"}, /* a table: command_rule_from_doc() */
};

static int refuse_type(const struct where *w, const struct key *k, enum doc_type got,
		       struct err *e) {
	char from[SHOWN_MAX];
	return err_set(e, ERR_USAGE, "policy", "%s (%s) must be %s, not %s", k->name,
		       policy_origin_text(&w->origin, from, sizeof from), doc_wants[k->type].words,
		       doc_type_name(got));
}

static int list_from_doc(const struct where *w, const struct key *k, const struct doc *d,
			 struct value *v, struct err *e) {
	struct where at = *w;
	bool is_port = k->type == TYPE_PORTS || k->type == TYPE_PORT_PAIRS;
	char number[32];
	v->set = true; /* also by an empty list */
	v->origin = w->origin;
	for (const struct doc *child = d->first; child != NULL; child = child->next) {
		const char *text = child->str;
		at.origin.line = child->line;
		if (child->type == DOC_INT && is_port) {
			(void)snprintf(number, sizeof number, "%" PRId64, child->num);
			text = number;
		} else if (child->type != DOC_STRING) {
			return refuse_type(&at, k, child->type, e);
		}
		if (k->type == TYPE_MAP) {
			if (strchr(child->key, '=') != NULL) {
				return value_refuse(&at, k, child->key,
						    "a name must not contain \"=\"", e);
			}
			text = arena_printf(w->a, "%s=%s", child->key, child->str);
			if (text == NULL) {
				return err_memory(e, "policy");
			}
		}
		/* An element of a list is one name: commas do not split it. */
		int done = k->type == TYPE_NAMES ? parse_name(&at, k, text, v, e)
						 : value_from_text(&at, k, text, v, e);
		if (done != 0) {
			return -1;
		}
	}
	return 0;
}

static int float_from_doc(const struct where *w, const struct key *k, const struct doc *d,
			  struct value *v, struct err *e) {
	char text[32];
	(void)snprintf(text, sizeof text, "%g", d->real);
	/* Compared before it is converted: NaN and infinities have no integer. */
	double thousandths = d->real * 1000;
	if (!(thousandths >= (double)k->min && thousandths <= (double)k->max)) {
		return refuse_value(w, k, text, e);
	}
	int64_t num = (int64_t)(thousandths + 0.5);
	double rest = thousandths - (double)num;
	if (rest > 1e-6 || rest < -1e-6) {
		return value_refuse(w, k, text, "at most three digits after the point", e);
	}
	return set_number(w, num, v);
}

int value_from_doc(const struct where *w, const struct key *k, const struct doc *d, struct value *v,
		   struct err *e) {
	struct where at = *w;
	char text[32];
	at.origin.line = d->line;
	bool quoted_count =
		k->type == TYPE_COUNT && d->type == DOC_STRING && !streq(d->str, "none");
	if ((doc_wants[k->type].accepted & ONE(d->type)) == 0 || quoted_count) {
		return refuse_type(&at, k, d->type, e);
	}
	switch (d->type) {
	case DOC_ARRAY:
	case DOC_TABLE:
		return list_from_doc(&at, k, d, v, e);
	case DOC_FLOAT:
		return float_from_doc(&at, k, d, v, e);
	case DOC_BOOL:
		return set_number(&at, d->yes, v);
	case DOC_INT:
		(void)snprintf(text, sizeof text, "%" PRId64, d->num);
		return value_from_text(&at, k, text, v, e);
	default:
		return value_from_text(&at, k, d->str, v, e);
	}
}
