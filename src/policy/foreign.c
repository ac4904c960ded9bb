/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a document in another form to the tree of a policy file.
 *
 * Should:   keep the line of every value, so that a message names the place in the file.
 * Must not: give a value a meaning that its file does not have.
 * Fails:    closed: a member that is not understood is an error. */
#include "policy/foreign.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/foreign.h"
#include "data/keys.h"
#include "data/providers.h"
#include "policy/internal.h"

#include <stdio.h>

struct conversion {
	struct arena *a;
	const char *name;  /* of the file */
	const char *agent; /* of [[agents]], or NULL */
	struct doc *root;  /* the new tree */
	struct foreign *found;
	bool out_of_memory;
};

static struct doc *member(const struct doc *table, const char *key) {
	struct doc *d = table->type == DOC_TABLE ? table->first : NULL;
	while (d != NULL && !streq(d->key, key)) {
		d = d->next;
	}
	return d;
}

static struct doc *add(struct conversion *c, struct doc *parent, const struct doc *like,
		       const char *key) {
	struct doc *d = arena_alloc(c->a, sizeof *d);
	if (d == NULL) {
		c->out_of_memory = true;
		return parent; /* the tree is dropped */
	}
	*d = *like;
	d->key = key;
	d->next = NULL;
	if (parent->last == NULL) {
		parent->first = d;
	} else {
		parent->last->next = d;
	}
	parent->last = d;
	return d;
}

/* The table that holds the last name of a dotted key; made when it is missing. */
static struct doc *table_for(struct conversion *c, const char *key, int line) {
	const struct doc table = {.type = DOC_TABLE, .line = line};
	struct doc *at = c->root;
	for (const char *dot; (dot = strchr(key, '.')) != NULL; key = dot + 1) {
		const char *name = arena_strndup(c->a, key, (size_t)(dot - key));
		if (name == NULL) {
			c->out_of_memory = true;
			return c->root;
		}
		struct doc *found = member(at, name);
		at = found != NULL ? found : add(c, at, &table, name);
	}
	return at;
}

static struct doc *put(struct conversion *c, const char *key, const struct doc *value) {
	const char *dot = strrchr(key, '.');
	return add(c, table_for(c, key, value->line), value, dot == NULL ? key : dot + 1);
}

/* ---- the output of `policy show --json` ---- */

/* "NAME=VALUE" strings become a table. */
static void put_map(struct conversion *c, const char *key, const struct doc *list) {
	const struct doc table = {.type = DOC_TABLE, .line = list->line};
	struct doc *map = put(c, key, &table);
	for (const struct doc *d = list->first; d != NULL; d = d->next) {
		size_t n = d->type == DOC_STRING ? strcspn(d->str, "=") : 0;
		const char *name = arena_strndup(c->a, d->type == DOC_STRING ? d->str : "", n);
		struct doc value = *d;
		if (name == NULL) {
			c->out_of_memory = true;
			return;
		}
		if (d->type == DOC_STRING && d->str[n] == '=') {
			value.str = d->str + n + 1;
			value.len = d->len - n - 1;
		}
		add(c, map, &value, name);
	}
}

static void put_shown(struct conversion *c, const struct doc *entry) {
	const struct doc *value = member(entry, "value");
	const struct key *k = key_by_name(entry->key);
	if (value == NULL || value->type == DOC_NULL) {
		return; /* not set */
	}
	if (k != NULL && k->type == TYPE_MAP && value->type == DOC_ARRAY) {
		put_map(c, entry->key, value);
	} else {
		put(c, entry->key, value);
	}
}

static bool is_shown(const struct doc *root) {
	const struct doc *values = member(root, "values");
	return values != NULL && values->type == DOC_TABLE && member(root, "sha256") != NULL;
}

static int convert_shown(struct conversion *c, const struct doc *root, struct err *e) {
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (streq(d->key, "version")) {
			add(c, c->root, d, d->key);
		} else if (!streq(d->key, "sha256") && !streq(d->key, "values")) {
			char key[64];
			return err_set(e, ERR_USAGE, "policy",
				       "%s: unknown member \"%s\" beside \"values\"", c->name,
				       value_shown(d->key, key, sizeof key));
		}
	}
	for (const struct doc *d = member(root, "values")->first; d != NULL; d = d->next) {
		put_shown(c, d);
	}
	return 0;
}

/* ---- sections of other products ---- */

static void note_line(struct conversion *c, const struct foreign_line *line) {
	struct foreign *f = c->found;
	if (arena_grow(c->a, &f->lines, f->nlines, &f->cap, sizeof *f->lines) != 0) {
		c->out_of_memory = true;
		return;
	}
	f->lines[f->nlines++] = *line;
}

static const char *joined(struct conversion *c, const char *path, const char *name) {
	const char *text = arena_printf(c->a, "%s.%s", path, name);
	c->out_of_memory = c->out_of_memory || text == NULL;
	return text == NULL ? "" : text;
}

/* A scalar as text, for the column `when`. */
static const char *text_of(const struct doc *d) {
	return d->type == DOC_STRING ? d->str
	       : d->type == DOC_BOOL ? (d->yes ? "true" : "false")
				     : "";
}

static const struct foreign_row *row_for(const char *path, const struct doc *d) {
	for (size_t i = 0; i < foreign_rows_count; i++) {
		const struct foreign_row *row = &foreign_rows[i];
		if (streq(row->from, path) && (row->when == NULL || streq(row->when, text_of(d)))) {
			return row;
		}
	}
	return NULL;
}

static const struct doc *string_at(struct conversion *c, int line, const char *text) {
	struct doc *d = arena_alloc(c->a, sizeof *d);
	if (d == NULL || text == NULL) {
		c->out_of_memory = true;
		return c->root;
	}
	*d = (struct doc){.type = DOC_STRING, .line = line, .str = text, .len = strlen(text)};
	return d;
}

/* The value as the policy writes it: with its unit, and as a list where the key is one. */
static const struct doc *value_for(struct conversion *c, const struct foreign_row *row,
				   const struct doc *d) {
	const struct key *k = key_by_name(row->key);
	if (row->value != NULL) {
		return string_at(c, d->line, row->value);
	}
	if (row->unit != NULL && d->type == DOC_INT) {
		return string_at(c, d->line,
				 arena_printf(c->a, "%lld%s", (long long)d->num, row->unit));
	}
	if (k != NULL && value_key_is_list(k) && d->type == DOC_STRING) {
		struct doc *list = arena_alloc(c->a, sizeof *list);
		if (list == NULL) {
			c->out_of_memory = true;
			return d;
		}
		*list = (struct doc){.type = DOC_ARRAY, .line = d->line};
		add(c, list, d, NULL);
		return list;
	}
	return d;
}

static void put_value(struct conversion *c, const struct foreign_line *line) {
	put(c, line->key, line->value);
	note_line(c, line);
}

static void convert_setting(struct conversion *c, const char *path, const struct doc *d) {
	const struct foreign_row *row = row_for(path, d);
	struct foreign_line line = {.from = path, .line = d->line};
	if (row == NULL) {
		line.kind = FOREIGN_LOST;
		line.why = "Corral has no such setting, or not this value";
		note_line(c, &line);
		return;
	}
	line.why = row->why;
	if (row->key == NULL) {
		line.kind = FOREIGN_NEEDED;
		note_line(c, &line);
		return;
	}
	line.key = row->key;
	line.value = value_for(c, row, d);
	put_value(c, &line);
}

static void convert_table(struct conversion *c, const char *path, const struct doc *table) {
	for (const struct doc *d = table->first; d != NULL; d = d->next) {
		const char *inner = joined(c, path, d->key);
		(d->type == DOC_TABLE ? convert_table : convert_setting)(c, inner, d);
	}
}

/* The id of an agent; "?" without one. */
static const char *agent_id(const struct doc *agent) {
	static const char *const names[] = {"id", "name"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct doc *id = member(agent, names[i]);
		if (id != NULL && id->type == DOC_STRING) {
			return id->str;
		}
	}
	return "?";
}

/* The agents with a sandbox section, by their ids. */
static void list_agents(const struct doc *agents, char *out, size_t cap) {
	size_t len = 0;
	for (const struct doc *d = agents->first; d != NULL; d = d->next) {
		char id[40];
		if (member(d, "sandbox") == NULL || len >= cap) {
			continue;
		}
		int n = snprintf(out + len, cap - len, "%s%s", len == 0 ? "" : ", ",
				 value_shown(agent_id(d), id, sizeof id));
		len += n < 0 ? 0 : (size_t)n;
	}
}

static int refuse_agents(const struct conversion *c, const struct doc *agents, const char *why,
			 struct err *e) {
	char list[120] = "", file[64];
	list_agents(agents, list, sizeof list); /* may be cut */
	(void)err_set(e, ERR_USAGE, "policy", "%s:%d: %s: %s",
		      value_shown(c->name, file, sizeof file), agents->first->line, why, list);
	return err_fix(e, "choose one of them: --agent ID");
}

/* [[agents]]: the sandbox of the chosen agent, or of the one agent that has one. */
static int convert_agents(struct conversion *c, const struct doc *agents, struct err *e) {
	const struct doc *found = NULL;
	size_t n = 0;
	for (const struct doc *d = agents->first; d != NULL; d = d->next) {
		const struct doc *sandbox = member(d, "sandbox");
		if (sandbox != NULL && (c->agent == NULL || streq(agent_id(d), c->agent))) {
			found = sandbox;
			n++;
		}
	}
	if (n > 1) {
		return refuse_agents(c, agents,
				     c->agent == NULL ? "several agents have a sandbox section"
						      : "several agents have this id",
				     e);
	}
	if (found == NULL) {
		return refuse_agents(c, agents, "no agent with this id has a sandbox section", e);
	}
	convert_table(c, "agents.sandbox", found);
	return 0;
}

static void convert_keys(struct conversion *c, const struct doc *table) {
	for (const struct doc *d = table->first; d != NULL; d = d->next) {
		const struct provider *row = provider_by_name(d->key);
		const char *variable = row == NULL ? NULL : row->variables[0];
		struct foreign_line line = {
			.kind = FOREIGN_SECRET,
			.from = joined(c, "api_keys", d->key),
			.line = d->line,
			.why = variable == NULL
				       ? "a key is not read from a policy; pass it: --pass-env NAME"
				       : arena_printf(c->a,
						      "a key is not read from a policy; store it: "
						      "corral secret set %s; use it: --provider %s",
						      variable, row->name),
		};
		note_line(c, &line);
	}
}

/* "none", or a table with the lists "allowed" and "blocked", which become those of `rules`. */
static void convert_restrictions(struct conversion *c, struct doc *rules, const char *from,
				 const struct doc *d) {
	for (const struct doc *list = d->type == DOC_TABLE ? d->first : NULL; list != NULL;
	     list = list->next) {
		struct foreign_line line = {.from = joined(c, from, list->key),
					    .line = list->line,
					    .key = joined(c, "commands", list->key),
					    .value = list};
		if (streq(list->key, "allowed") || streq(list->key, "blocked")) {
			add(c, rules, list, list->key);
		} else {
			line.kind = FOREIGN_LOST;
			line.why = "only allowed and blocked are known";
		}
		note_line(c, &line);
	}
	bool none = d->type == DOC_STRING && streq(d->str, "none");
	if (d->type != DOC_TABLE && !none) {
		struct foreign_line line = {.kind = FOREIGN_LOST, .from = from, .line = d->line};
		line.why = "\"none\", or a table with allowed and blocked, is expected";
		note_line(c, &line);
	}
}

/* A command without restrictions is an empty table: it is listed, so it may run.  Its name may have
 * dots (python3.11), so it is no part of a dotted key. */
static void convert_command(struct conversion *c, const struct doc *d) {
	const char *from = joined(c, "commands", d->key);
	const struct doc table = {.type = DOC_TABLE, .line = d->line};
	if (streq(d->key, "default")) {
		struct foreign_line lost = {.kind = FOREIGN_LOST, .from = from, .line = d->line};
		lost.why = "commands.default has another meaning";
		note_line(c, &lost);
		return;
	}
	struct doc *rules = add(c, table_for(c, "commands.", d->line), &table, d->key);
	struct foreign_line line = {.from = from, .line = d->line, .key = from, .value = rules};
	const struct doc *about = member(d, "description");
	line.why = about != NULL && about->type == DOC_STRING ? about->str : NULL;
	note_line(c, &line);
	for (const struct doc *m = d->type == DOC_TABLE ? d->first : NULL; m != NULL; m = m->next) {
		const char *inner = joined(c, from, m->key);
		struct foreign_line lost = {.kind = FOREIGN_LOST, .from = inner, .line = m->line};
		lost.why = "only description and subcommand_restrictions are known";
		if (streq(m->key, "subcommand_restrictions")) {
			convert_restrictions(c, rules, inner, m);
		} else if (!streq(m->key, "description")) {
			note_line(c, &lost);
		}
	}
}

static void convert_commands(struct conversion *c, const struct doc *commands) {
	struct foreign_line line = {.from = "commands",
				    .line = commands->line,
				    .key = "commands.default",
				    .value = string_at(c, commands->line, "deny"),
				    .why = "only listed commands run"};
	put_value(c, &line);
	for (const struct doc *d = commands->first; d != NULL; d = d->next) {
		convert_command(c, d);
	}
}

/* A policy of Corral has a table "commands" as well, with the default and with lists of patterns;
 * the other form has restrictions in a table of their own. */
static bool is_command_list(const struct doc *commands) {
	bool restricted = false;
	for (const struct doc *d = commands->first; d != NULL; d = d->next) {
		if (streq(d->key, "default") || member(d, "allowed") != NULL ||
		    member(d, "blocked") != NULL) {
			return false;
		}
		restricted = restricted || member(d, "subcommand_restrictions") != NULL;
	}
	return restricted;
}

static bool has_sandbox(const struct doc *agents) {
	const struct doc *d = agents->first;
	while (d != NULL && member(d, "sandbox") == NULL) {
		d = d->next;
	}
	return d != NULL;
}

static bool is_section(const struct doc *d) {
	if (foreign_section_by_name(d->key) == NULL) {
		return false;
	}
	return streq(d->key, "agents")     ? d->type == DOC_ARRAY && has_sandbox(d)
	       : streq(d->key, "commands") ? d->type == DOC_TABLE && is_command_list(d)
					   : d->type == DOC_TABLE;
}

static int convert_section(struct conversion *c, const struct doc *d, struct err *e) {
	struct foreign *f = c->found;
	f->sections[f->nsections++] = foreign_section_by_name(d->key);
	if (streq(d->key, "agents")) {
		return convert_agents(c, d, e);
	}
	if (streq(d->key, "commands")) {
		convert_commands(c, d);
	} else if (streq(d->key, "api_keys")) {
		convert_keys(c, d);
	} else {
		convert_table(c, d->key, d);
	}
	return 0;
}

/* ---- any document ---- */

/* Replaces "//" comments by spaces: settings.json of editors and agents has them. */
static const char *without_comments(struct arena *a, const char *text, size_t len) {
	char *copy = arena_strndup(a, text, len);
	bool quoted = false;
	for (size_t i = 0; copy != NULL && i < len; i++) {
		if (quoted && copy[i] == '\\' && i + 1 < len) {
			i++;
		} else if (copy[i] == '"') {
			quoted = !quoted;
		} else if (!quoted && copy[i] == '/' && i + 1 < len && copy[i + 1] == '/') {
			for (; i < len && copy[i] != '\n'; i++) {
				copy[i] = ' ';
			}
		}
	}
	return copy;
}

static bool is_settings(const char *name) {
	const char *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
	return streq(base, "settings.json") || streq(base, "settings.local.json");
}

static int convert(struct conversion *c, const struct doc *root, struct err *e) {
	if (c->found->shown) {
		return convert_shown(c, root, e);
	}
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (is_section(d) && convert_section(c, d, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static bool has_section(const struct doc *root) {
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (is_section(d)) {
			return true;
		}
	}
	return false;
}

int foreign_parse(struct arena *a, const struct foreign_text *t, struct foreign *ret,
		  struct err *e) {
	struct doc *root;
	const char *text = t->text;
	*ret = (struct foreign){0};
	if (is_settings(t->name)) {
		text = without_comments(a, text, t->len);
		if (text == NULL) {
			return err_memory(e, "policy");
		}
	}
	if (doc_parse(a, t->name, text, t->len, &root, e) != 0) {
		return -1;
	}
	ret->root = root;
	ret->shown = is_shown(root);
	if (!ret->shown && !has_section(root)) {
		return 0;
	}
	struct conversion c = {.a = a, .name = t->name, .agent = t->agent, .found = ret};
	c.root = ret->root = arena_alloc(a, sizeof *c.root); /* an empty table */
	if (c.root == NULL) {
		return err_memory(e, "policy");
	}
	if (convert(&c, root, e) != 0) {
		return -1;
	}
	return c.out_of_memory ? err_memory(e, "policy") : 0;
}

int foreign_parse_all(struct arena *a, const struct foreign_text *t, struct foreign *ret,
		      struct err *e) {
	if (foreign_parse(a, t, ret, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < ret->nlines; i++) {
		const struct foreign_line *l = &ret->lines[i];
		if (l->kind == FOREIGN_LOST) {
			char from[SHOWN_MAX], key[64];
			struct origin o = {.kind = ORIGIN_FILE, .name = t->name, .line = l->line};
			(void)err_set(e, ERR_USAGE, "policy", "%s (%s): %s",
				      value_shown(l->from, key, sizeof key),
				      policy_origin_text(&o, from, sizeof from), l->why);
			return err_fix(e, "list all of them: corral policy import FILE");
		}
	}
	return 0;
}

const char *foreign_agent(const struct setting *settings, size_t n) {
	const char *agent = NULL;
	for (size_t i = 0; i < n; i++) {
		bool names = streq(settings[i].key, keys[KEY_ENV_AGENT].name);
		agent = names ? settings[i].value : agent;
	}
	return agent;
}

int foreign_remarks(struct arena *a, const char *name, const struct foreign *f, struct policy *p,
		    struct err *e) {
	p->remarks = arena_array(a, f->nlines + 1, sizeof *p->remarks);
	for (size_t i = 0; p->remarks != NULL && i < f->nlines; i++) {
		const struct foreign_line *l = &f->lines[i];
		char key[64], file[SHOWN_MAX];
		if (l->kind != FOREIGN_SECRET) {
			continue;
		}
		const char *text = arena_printf(
			a, "%s (%s:%d) is not used: %s", value_shown(l->from, key, sizeof key),
			value_shown(name, file, sizeof file), l->line, l->why);
		if (text == NULL) {
			return err_memory(e, "policy");
		}
		p->remarks[p->nremarks++] = text;
	}
	return p->remarks == NULL ? err_memory(e, "policy") : 0;
}
