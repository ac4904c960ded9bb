/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the resolved policy as TOML and as JSON, and computes its SHA-256.
 *
 * Should:   print text that parses as a policy file and gives the same
 *           policy; name the origin of every value (P1).
 * Must not: let a value or a file name break out of its line: control
 *           characters are escaped.
 * Fails:    only out of memory. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/command_rule.h"

#include <limits.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>

/* A TOML basic string. */
void print_quoted(struct buf *out, const char *s) {
	buf_puts(out, "\"");
	for (size_t n; *s != '\0'; s += n) {
		unsigned long code = 0;
		n = str_control_at((const unsigned char *)s, strnlen(s, 4), &code);
		if (n > 0) {
			buf_printf(out, code > 0xFFFF ? "\\U%08lX" : "\\u%04lX", code);
			continue;
		}
		n = str_char_length(s);
		buf_puts(out, *s == '"' || *s == '\\' ? "\\" : "");
		buf_add(out, s, n);
	}
	buf_puts(out, "\"");
}

/* With a backslash before each pattern character, and before a ":" that would begin a DEST. */
static void put_path(const struct key *k, const char *text, bool path, struct buf *out) {
	bool mapped = k == &keys[KEY_FS_READ];
	for (const char *p = text; *p != '\0'; p++) {
		bool special = strchr("*?[{\\", *p) != NULL || (mapped && *p == ':' && p[1] == '/');
		buf_puts(out, path && special ? "\\" : "");
		buf_add(out, p, 1);
	}
}

/* An item as a user writes it: with a backslash before pattern characters of a path, and with
 * '?' after a path that may be missing. */
static void item_written(const struct key *k, const struct item *item, struct buf *out) {
	bool path = (k->type == TYPE_PATHS || k->type == TYPE_RULES) && item->kind == ITEM_PLAIN;
	buf_puts(out, item->except ? "!" : "");
	buf_puts(out, item->kind == ITEM_SET ? "@" : "");
	put_path(k, item->str, path, out);
	if (item->at != NULL) {
		buf_puts(out, ":");
		put_path(k, item->at, path, out);
	}
	/* A pattern that ends in its only '?' would parse as a path that may be missing. */
	size_t len = strlen(item->str);
	bool ends = item->kind == ITEM_PATTERN && len > 0 && item->str[len - 1] == '?';
	buf_puts(out, ends ? "/" : item->optional ? "?" : "");
}

/* Numbers and booleans are not quoted; everything else is a string. */
static void put_scalar(struct buf *out, const struct key *k, const struct value *v) {
	char num[32];
	if (v->str != NULL) {
		print_quoted(out, v->str);
	} else if (k->type == TYPE_BOOL || (k->type == TYPE_COUNT && v->num != LIMIT_NONE)) {
		buf_puts(out, number_value(k, v->num, num, sizeof num));
	} else {
		print_quoted(out, number_value(k, v->num, num, sizeof num));
	}
}

/* Wide enough for the longest key, and for most values. */
#define KEY_WIDTH 20
#define VALUE_WIDTH 28

static void put_origin(struct buf *out, size_t line_start, size_t width, const struct origin *o) {
	char from[300];
	size_t used = out->len - line_start;
	buf_printf(out, "%*s  # %s\n", used < width ? (int)(width - used) : 0, "",
		   policy_origin_text(o, from, sizeof from));
}

static void print_map(struct buf *out, const struct key *k, const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		size_t start = out->len;
		size_t n = strcspn(v->items[i].str, "=");
		buf_printf(out, "%s.%.*s = ", k->name, (int)n, v->items[i].str);
		print_quoted(out, v->items[i].str + n + 1);
		put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &v->items[i].origin);
	}
}

/* An exception in the floor or in an untrusted file concerns only rules of the same origin.
 * Parsed from one list it would concern all rules, so it is printed as a comment. */
static bool is_own_exception(const struct item *item) {
	return item->except && item_group(item) != GROUP_OURS;
}

static void print_item(struct buf *out, const struct key *k, const struct item *item) {
	size_t start = out->len;
	auto_buf text = {0};
	item_written(k, item, &text);
	buf_puts(out, is_own_exception(item) ? "# " : "  ");
	print_quoted(out, text.data == NULL ? "" : text.data);
	buf_puts(out, ",");
	put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &item->origin);
}

/* GROUP_OURS comes first: its exceptions must not follow, and so affect, rules of the other
 * groups. */
static void print_list(struct buf *out, const struct key *k, const struct value *v) {
	buf_printf(out, "%-*s = [%s\n", KEY_WIDTH, k->name, v->count == 0 ? "]" : "");
	for (enum rule_group g = 0; g < RULE_GROUPS; g++) {
		for (size_t i = 0; i < v->count; i++) {
			if (item_group(&v->items[i]) == g) {
				print_item(out, k, &v->items[i]);
			}
		}
	}
	buf_puts(out, v->count == 0 ? "" : "]\n");
}

/* The rules of another group are a list of their own, which a command must match as well.  Read
 * back from one list, `allowed` would be wider: it is printed as a comment. */
static bool is_own_list(const struct item *it) {
	return item_group(it) != GROUP_OURS && command_rule_of(it).kind == COMMAND_ALLOWED;
}

static bool is_bare(const char *name, size_t len) {
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool bare = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_' || c == '-';
		if (!bare) {
			return false;
		}
	}
	return true;
}

/* "commands.git.blocked", with a quoted name where TOML needs it. */
static void put_command_key(struct buf *out, const struct command_rule *r, const char *member) {
	char name[PATH_MAX + 1];
	(void)snprintf(name, sizeof name, "%.*s", (int)r->name_len, r->name);
	buf_puts(out, COMMANDS_TABLE ".");
	if (is_bare(r->name, r->name_len)) {
		buf_puts(out, name);
	} else {
		print_quoted(out, name);
	}
	buf_printf(out, "%s%s = ", member[0] == '\0' ? "" : ".", member);
}

/* The first item about the command of item i, with that kind. */
static size_t first_like(const struct value *v, size_t i) {
	struct command_rule r = command_rule_of(&v->items[i]);
	for (size_t n = 0; n < i; n++) {
		struct command_rule other = command_rule_of(&v->items[n]);
		if (other.kind == r.kind && command_rule_is_for(&other, r.name, r.name_len)) {
			return n;
		}
	}
	return i;
}

static bool has_more(const struct value *v, const struct command_rule *r) {
	for (size_t i = 0; i < v->count; i++) {
		struct command_rule other = command_rule_of(&v->items[i]);
		if (other.kind != COMMAND_LISTED && !is_own_list(&v->items[i]) &&
		    command_rule_is_for(&other, r->name, r->name_len)) {
			return true;
		}
	}
	return false;
}

static void print_patterns(struct buf *out, const struct value *v, size_t first) {
	struct command_rule head = command_rule_of(&v->items[first]);
	bool own = true;
	for (size_t i = first; i < v->count; i++) {
		own = own && (first_like(v, i) != first || is_own_list(&v->items[i]));
	}
	buf_puts(out, own ? "# " : "");
	put_command_key(out, &head, command_rule_word(head.kind));
	buf_puts(out, "[\n");
	for (size_t i = first; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		size_t start = out->len;
		if (r.kind == head.kind && command_rule_is_for(&r, head.name, head.name_len)) {
			buf_puts(out, is_own_list(r.item) ? "# " : "  ");
			print_quoted(out, r.text);
			buf_puts(out, ",");
			put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &r.item->origin);
		}
	}
	buf_puts(out, own ? "# ]\n" : "]\n");
}

static bool is_last_description(const struct value *v, size_t i) {
	for (size_t n = i + 1; n < v->count; n++) {
		if (first_like(v, n) == first_like(v, i) &&
		    command_rule_of(&v->items[n]).kind == COMMAND_DESCRIPTION) {
			return false;
		}
	}
	return true;
}

static void print_commands(struct buf *out, const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		size_t start = out->len;
		bool pattern = r.kind == COMMAND_ALLOWED || r.kind == COMMAND_BLOCKED;
		if (pattern && first_like(v, i) == i) {
			print_patterns(out, v, i);
		} else if (r.kind == COMMAND_DESCRIPTION && is_last_description(v, i)) {
			put_command_key(out, &r, command_rule_word(r.kind));
			print_quoted(out, r.text);
			put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &r.item->origin);
		} else if (r.kind == COMMAND_LISTED && first_like(v, i) == i && !has_more(v, &r)) {
			put_command_key(out, &r, "");
			buf_puts(out, "{}");
			put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &r.item->origin);
		}
	}
}

static void print_text(const struct policy *p, struct buf *out) {
	buf_printf(out, "# sha256 %s\n", p->sha256);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &p->values[i];
		size_t start = out->len;
		if (!v->set) {
			continue;
		}
		if (keys[i].type == TYPE_COMMANDS) {
			print_commands(out, v);
		} else if (keys[i].type == TYPE_MAP) {
			print_map(out, &keys[i], v);
		} else if (value_key_is_list(&keys[i])) {
			print_list(out, &keys[i], v);
		} else {
			buf_printf(out, "%-*s = ", KEY_WIDTH, keys[i].name);
			put_scalar(out, &keys[i], v);
			put_origin(out, start, KEY_WIDTH + 3 + VALUE_WIDTH, &v->origin);
		}
	}
}

/* A member of a list's JSON object: items or origins, of common or own exceptions. */
struct list_member {
	const char *name;
	bool origins, own;
};

static void json_item(struct emit *j, const struct key *k, const struct item *item, bool origin) {
	auto_buf text = {0};
	if (origin) {
		policy_origin_emit(j, NULL, &item->origin);
		return;
	}
	item_written(k, item, &text);
	emit_bytes(j, NULL, text.data == NULL ? "" : text.data, text.len);
}

static void json_member(struct emit *j, const struct key *k, const struct value *v,
			const struct list_member *m) {
	emit_array(j, m->name);
	for (enum rule_group g = 0; g < RULE_GROUPS; g++) {
		for (size_t i = 0; i < v->count; i++) {
			const struct item *item = &v->items[i];
			if (item_group(item) == g && is_own_exception(item) == m->own) {
				json_item(j, k, item, m->origins);
			}
		}
	}
	emit_end_array(j);
}

static void json_items(struct emit *j, const struct key *k, const struct value *v) {
	static const struct list_member members[] = {
		{"value", false, false},
		{"origin", true, false},
		{"own_exceptions", false, true}, /* from the rules of the same origin alone */
		{"own_exceptions_origin", true, true},
	};
	bool excepts = false;
	for (size_t i = 0; i < v->count; i++) {
		excepts = excepts || is_own_exception(&v->items[i]);
	}
	for (size_t m = 0; m < ARRAY_LEN(members); m++) {
		if (!members[m].own || excepts) {
			json_member(j, k, v, &members[m]);
		}
	}
}

static void json_scalar(struct emit *j, const struct key *k, const struct value *v) {
	char num[32];
	bool plain = k->type == TYPE_COUNT || k->type == TYPE_BYTES;
	if (!v->set) {
		emit_null(j, "value");
		emit_null(j, "origin");
		return;
	}
	if (v->str != NULL) {
		emit_string(j, "value", v->str);
	} else if (k->type == TYPE_BOOL) {
		emit_bool(j, "value", v->num != 0);
	} else if (plain && v->num != LIMIT_NONE) {
		emit_int(j, "value", v->num);
	} else {
		emit_string(j, "value", number_value(k, v->num, num, sizeof num));
	}
	policy_origin_emit(j, "origin", &v->origin);
}

static void print_json(const struct policy *p, struct buf *out) {
	struct emit j;
	emit_init(&j, out, true);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "sha256", p->sha256);
	emit_object(&j, "values");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		emit_object(&j, keys[i].name);
		if (value_key_is_list(&keys[i])) {
			json_items(&j, &keys[i], &p->values[i]);
		} else {
			json_scalar(&j, &keys[i], &p->values[i]);
		}
		emit_end_object(&j);
	}
	emit_end_object(&j);
	emit_end_object(&j);
	buf_puts(out, "\n");
}

void policy_print(const struct policy *p, bool json, struct buf *out) {
	if (json) {
		print_json(p, out);
	} else {
		print_text(p, out);
	}
}

static int by_text(const void *a, const void *b) {
	const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
	return strcmp(x->str, y->str);
}

static bool has_exceptions(const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		if (v->items[i].except) {
			return true;
		}
	}
	return false;
}

/* Without exceptions the order of a list has no meaning, so it must not change the hash. */
static int hash_items(struct arena *a, const struct key *k, const struct value *v, struct buf *out,
		      struct err *e) {
	const struct item **sorted = arena_array(a, v->count + 1, sizeof *sorted);
	if (sorted == NULL) {
		return err_memory(e, "policy");
	}
	for (size_t i = 0; i < v->count; i++) {
		sorted[i] = &v->items[i];
	}
	if (!has_exceptions(v)) {
		qsort(sorted, v->count, sizeof *sorted, by_text);
	}
	static const char *const kinds[] = {
		[ITEM_PLAIN] = "", [ITEM_PATTERN] = " pattern", [ITEM_SET] = " set"};
	for (size_t i = 0; i < v->count; i++) {
		const struct item *item = sorted[i];
		buf_printf(out, "%s + ", k->name);
		print_quoted(out, item->str);
		if (item->at != NULL) {
			buf_puts(out, " at ");
			print_quoted(out, item->at);
		}
		buf_printf(out, "%s%s%s%s\n", kinds[item->kind], item->except ? " !" : "",
			   item->bound ? " bound" : "", item->optional ? " ?" : "");
	}
	return 0;
}

/* One line a value, in the order of the rows, without origins (P5). */
int policy_hash(struct arena *a, struct policy *p, struct err *e) {
	auto_buf text = {0};
	crypto_hash_sha256_state state;
	unsigned char hash[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256_init(&state); /* none of the three can fail */
	buf_puts(&text, "corral policy 1\n");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &p->values[i];
		if (value_key_is_list(&keys[i])) {
			if (hash_items(a, &keys[i], v, &text, e) != 0) {
				return -1;
			}
		} else if (v->set) {
			buf_printf(&text, "%s = ", keys[i].name);
			put_scalar(&text, &keys[i], v);
			buf_puts(&text, "\n");
		}
		if (buf_failed(&text)) {
			return err_memory(e, "policy");
		}
		/* Line by line: the whole text would need memory that the kernel has to map. */
		(void)crypto_hash_sha256_update(&state, (const unsigned char *)text.data, text.len);
		text.len = 0;
	}
	(void)crypto_hash_sha256_final(&state, hash);
	trust_hex(hash, p->sha256);
	return 0;
}
