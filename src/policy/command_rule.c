/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the rules of commands.NAME, from files, settings and profiles, and reads them back.
 *
 * Should:   give every rule one text (command_rule.h), so that the three formats, --set and
 *           the profiles cannot drift apart.
 * Must not: match a command; src/command does.
 * Fails:    closed: a name or a pattern that cannot match is an error. */
#include "policy/command_rule.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/internal.h"

#include <stdio.h>

/* Longer ones are no command line. */
#define PATTERN_MAX 1024

static const char *const words[] = {
	[COMMAND_LISTED] = "",
	[COMMAND_DESCRIPTION] = "description",
	[COMMAND_ALLOWED] = "allowed",
	[COMMAND_BLOCKED] = "blocked",
};

const char *command_rule_word(enum command_rule_kind kind) {
	return words[kind];
}

bool command_rule_is_for(const struct command_rule *r, const char *name, size_t len) {
	return r->name_len == len && memcmp(r->name, name, len) == 0;
}

/* The kind whose word is `len` bytes at `text`; COMMAND_LISTED for any other. */
static enum command_rule_kind kind_of(const char *text, size_t len) {
	for (enum command_rule_kind k = COMMAND_DESCRIPTION; k < ARRAY_LEN(words); k++) {
		if (strlen(words[k]) == len && memcmp(words[k], text, len) == 0) {
			return k;
		}
	}
	return COMMAND_LISTED;
}

struct command_rule command_rule_of(const struct item *it) {
	struct command_rule r = {.name = it->str, .name_len = strcspn(it->str, " "), .item = it};
	const char *rest = it->str + r.name_len;

	r.text = "";
	if (*rest == ' ') {
		size_t len = strcspn(++rest, " ");
		r.kind = kind_of(rest, len);
		r.text = rest[len] == '\0' ? "" : rest + len + 1;
	}
	return r;
}

bool command_rule_lists(const struct policy *p, const char *name, size_t len) {
	const struct value *v = &p->values[KEY_COMMANDS];
	bool own = p->values[KEY_COMMANDS_DEFAULT].origin.kind == ORIGIN_PROJECT;

	for (size_t i = 0; i < v->count; i++) {
		const struct item *it = &v->items[i];
		struct command_rule r = command_rule_of(it);
		enum rule_group group = item_group(it);
		bool counts = group == GROUP_OURS || (group == GROUP_UNTRUSTED && own);
		if (counts && !it->except && command_rule_is_for(&r, name, len)) {
			return true;
		}
	}
	return false;
}

static bool floor_permits(const struct policy *p, const char *name, size_t len) {
	const struct value *low = policy_floor(p, KEY_COMMANDS_DEFAULT);
	const struct value *v = &p->values[KEY_COMMANDS];
	bool any = false;

	if (low == NULL || low->num != COMMANDS_DENY) {
		return true;
	}
	for (size_t i = 0; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		if (item_group(r.item) != GROUP_FLOOR) {
			continue;
		}
		any = true;
		if (command_rule_is_for(&r, name, len)) {
			return true;
		}
	}
	return !any;
}

bool command_rule_permits(const struct policy *p, const char *name, size_t len) {
	return command_rule_lists(p, name, len) && floor_permits(p, name, len);
}

/* ---- parsing ---- */

static int check_name(const struct where *w, const struct key *k, const char *name,
		      const char **ret, struct err *e) {
	size_t blank = strcspn(name, " \t\n\r");

	if (name[0] == '\0' || name[blank] != '\0' || name[0] == '-' || streq(name, "default") ||
	    streq(name, "NAME")) {
		return value_refuse(w, k, name,
				    "a command is a name without blanks, or an absolute path", e);
	}
	*ret = name;
	return strchr(name, '/') == NULL ? 0 : value_path(w, k, name, ret, e);
}

/* One blank between the words of a pattern, none around it. */
static char *tidy(struct arena *a, const char *text) {
	char *out = arena_alloc(a, strlen(text) + 1);
	size_t n = 0;

	for (const char *p = text; out != NULL && *p != '\0'; p++) {
		bool blank = *p == ' ' || *p == '\t';
		if (!blank) {
			out[n++] = *p;
		} else if (n > 0 && out[n - 1] != ' ') {
			out[n++] = ' ';
		}
	}
	if (out != NULL && n > 0 && out[n - 1] == ' ') {
		out[n - 1] = '\0';
	}
	return out;
}

/* A rule about the command `name`; `text` is the pattern or the description. */
static int put_rule(const struct where *w, const char *name, enum command_rule_kind kind,
		    const char *text, struct value *v, struct err *e) {
	const struct key *k = &keys[KEY_COMMANDS];
	struct item item = {.origin = w->origin};

	if (check_name(w, k, name, &name, e) != 0) {
		return -1;
	}
	if (kind == COMMAND_LISTED) {
		item.str = name;
		return value_put(w->a, k, v, &item, e);
	}
	if (kind != COMMAND_DESCRIPTION) {
		item.except = text[0] == '!';
		text = tidy(w->a, text + item.except);
		if (text == NULL) {
			return err_memory(e, "policy");
		}
		if (item.except && kind != COMMAND_BLOCKED) {
			return value_refuse(w, k, text, "only `blocked` takes exceptions", e);
		}
		if (text[0] == '\0' || strlen(text) > PATTERN_MAX || strchr(text, '\n') != NULL) {
			return value_refuse(w, k, text, "the pattern is empty or too long", e);
		}
	}
	item.str = arena_printf(w->a, "%s %s %s", name, words[kind], text);
	return item.str == NULL ? err_memory(e, "policy") : value_put(w->a, k, v, &item, e);
}

int command_rule_from_text(const struct where *w, const struct key *k, const char *text,
			   struct value *v, struct err *e) {
	const struct item whole = {.str = text};
	struct command_rule r = command_rule_of(&whole);
	char *name = arena_strndup(w->a, r.name, r.name_len);

	if (name == NULL) {
		return err_memory(e, "policy");
	}
	if (r.kind == COMMAND_LISTED && text[r.name_len] != '\0') {
		return value_refuse(w, k, text, "expected NAME, or NAME allowed|blocked PATTERN",
				    e);
	}
	return put_rule(w, name, r.kind, r.text, v, e);
}

/* "commands.git.blocked" and its value. */
int command_rule_from_setting(const struct where *w, const char *key, const char *text,
			      struct value *v, struct err *e) {
	const char *name = key + strlen(COMMANDS_TABLE ".");
	const char *dot = strrchr(name, '.');
	bool none = dot != NULL && streq(dot + 1, "subcommand_restrictions");
	enum command_rule_kind kind =
		dot == NULL ? COMMAND_LISTED : kind_of(dot + 1, strlen(dot + 1));
	char *copy = dot == NULL ? NULL : arena_strndup(w->a, name, (size_t)(dot - name));

	if (none && !streq(text, "none")) {
		return value_refuse(w, &keys[KEY_COMMANDS], text, "expected none", e);
	}
	if (kind == COMMAND_LISTED && !none) {
		(void)value_refuse(w, &keys[KEY_COMMANDS], key, "unknown key of a command", e);
		return err_fix(e, "use --allow-command NAME, or --set %s.NAME.blocked=PATTERN",
			       COMMANDS_TABLE);
	}
	return copy == NULL ? err_memory(e, "policy") : put_rule(w, copy, kind, text, v, e);
}

static int refuse_member(const struct where *w, const char *name, const struct doc *d,
			 const char *expected, struct err *e) {
	char from[SHOWN_MAX], shown[64], member[48];

	(void)err_set(e, ERR_USAGE, "policy", "%s.%s.%s (%s) must be %s, not %s", COMMANDS_TABLE,
		      value_shown(name, shown, sizeof shown),
		      value_shown(d->key, member, sizeof member),
		      policy_origin_text(&w->origin, from, sizeof from), expected,
		      doc_type_name(d->type));
	return -1;
}

static int patterns_from_doc(const struct where *w, const char *name, const struct doc *d,
			     struct value *v, struct err *e) {
	struct where at = *w;

	if (d->type != DOC_ARRAY) {
		return refuse_member(w, name, d, "a list of strings", e);
	}
	if (d->first == NULL && streq(d->key, words[COMMAND_ALLOWED])) {
		(void)refuse_member(w, name, d, "a list with at least one pattern", e);
		return err_fix(e, "leave `allowed` out to allow every subcommand");
	}
	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		at.origin.line = c->line;
		if (c->type != DOC_STRING) {
			return refuse_member(&at, name, d, "a list of strings", e);
		}
		if (put_rule(&at, name, kind_of(d->key, strlen(d->key)), c->str, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int member_from_doc(const struct where *w, const char *name, const struct doc *d,
			   bool nested, struct value *v, struct err *e) {
	struct where at = *w;
	char shown[64], from[SHOWN_MAX];

	at.origin.line = d->line;
	if (streq(d->key, "allowed") || streq(d->key, "blocked")) {
		return patterns_from_doc(&at, name, d, v, e);
	}
	if (streq(d->key, "description") && !nested) {
		return d->type != DOC_STRING
			       ? refuse_member(&at, name, d, "a string", e)
			       : put_rule(&at, name, COMMAND_DESCRIPTION, d->str, v, e);
	}
	if (streq(d->key, "subcommand_restrictions") && !nested) {
		if (d->type == DOC_STRING && streq(d->str, "none")) {
			return 0;
		}
		if (d->type != DOC_TABLE) {
			return refuse_member(&at, name, d, "none, or a table", e);
		}
		for (const struct doc *c = d->first; c != NULL; c = c->next) {
			if (member_from_doc(&at, name, c, true, v, e) != 0) {
				return -1;
			}
		}
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "policy", "unknown key \"%s\" of the command %s (%s)",
		      value_shown(d->key, shown, sizeof shown), name,
		      policy_origin_text(&at.origin, from, sizeof from));
	return err_fix(e, "use description, allowed or blocked");
}

int command_rule_from_doc(const struct where *w, const struct doc *d, struct value *v,
			  struct err *e) {
	struct where at = *w;

	at.origin.line = d->line;
	if (put_rule(&at, d->key, COMMAND_LISTED, "", v, e) != 0) {
		return -1;
	}
	if (d->type == DOC_NULL) {
		return 0; /* YAML: "make:" and nothing more */
	}
	if (d->type != DOC_TABLE) {
		char from[SHOWN_MAX], shown[64];
		return err_set(e, ERR_USAGE, "policy", "%s.%s (%s) must be a table, not %s",
			       COMMANDS_TABLE, value_shown(d->key, shown, sizeof shown),
			       policy_origin_text(&at.origin, from, sizeof from),
			       doc_type_name(d->type));
	}
	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		if (member_from_doc(&at, d->key, c, false, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- layers ---- */

/* Patterns only narrow: each group of rules is checked on its own.  But an untrusted file must
 * not list a command that the policy denies (P3). */
int command_rule_narrows(const struct policy *p, const struct value *v, struct err *e) {
	if (p->values[KEY_COMMANDS_DEFAULT].num == COMMANDS_ALLOW) {
		return 0;
	}
	for (size_t i = 0; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		char from[SHOWN_MAX], was[SHOWN_MAX];
		if (command_rule_lists(p, r.name, r.name_len)) {
			continue;
		}
		const struct origin *o = &v->items[i].origin;
		(void)err_set(e, ERR_REFUSED, "policy",
			      "%s: an untrusted project file may only narrow the policy: it lists "
			      "the command %.*s, and commands.default is deny (%s)",
			      policy_origin_text(o, from, sizeof from), (int)r.name_len, r.name,
			      policy_origin_text(&p->values[KEY_COMMANDS_DEFAULT].origin, was,
						 sizeof was));
		return err_fix(e, "read the file; to trust it: corral policy trust %s",
			       o->name == NULL ? PROJECT_FILE : o->name);
	}
	return 0;
}

/* Removes each blocked pattern for which a later item of the same group is an exception, and the
 * exceptions. */
void command_rule_settle(struct value *v) {
	size_t kept = 0;

	for (size_t i = 0; i < v->count; i++) {
		bool dropped = v->items[i].except;
		for (size_t n = i + 1; n < v->count && !dropped; n++) {
			dropped = v->items[n].except &&
				  item_group(&v->items[n]) == item_group(&v->items[i]) &&
				  streq(v->items[n].str, v->items[i].str);
		}
		if (!dropped) {
			v->items[kept++] = v->items[i];
		}
	}
	v->count = kept;
}
