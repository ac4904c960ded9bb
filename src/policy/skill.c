/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a skill.toml: the needs of a skill, as requests (policy/request.h).
 *
 *   name = "pdf"
 *   description = "reads invoices"
 *   [requires]
 *   commands = ["pdftotext"]
 *   fs.read = ["~/Documents/invoices"]
 *   net.allow = ["api.example.com"]
 *   limits.memory = "1G"
 *
 * Should:   accept the keys and values of policy files, as far as a skill can request them.
 * Must not: grant anything: the author of a skill is not trusted.
 * Fails:    closed: an unknown key, or a file beyond its bounds, is an error. */
#include "policy/agent.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/command_rule.h"
#include "policy/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SKILL_TEXT_MAX 64 /* of a name */

static int refuse(const struct where *w, const struct doc *d, const char *why, struct err *e) {
	struct origin o = w->origin;
	char from[SHOWN_MAX], key[64];
	o.line = d->line;
	return err_set(e, ERR_USAGE, "skill", "\"%s\" (%s): %s",
		       value_shown(d->key, key, sizeof key),
		       policy_origin_text(&o, from, sizeof from), why);
}

static bool is_name(const char *s) {
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
	return n > 0 && s[n] == '\0' && n <= SKILL_TEXT_MAX && strchr("-.", s[0]) == NULL;
}

static int read_name(const struct where *w, const struct doc *d, struct skill *ret, struct err *e) {
	if (d->type != DOC_STRING || !is_name(d->str)) {
		(void)refuse(w, d, "not a valid name of a skill", e);
		return err_fix(e, "use letters, digits and _, after the first also - and .");
	}
	ret->name = arena_strdup(w->a, d->str);
	return ret->name == NULL ? err_memory(e, "skill") : 0;
}

static int read_description(const struct where *w, const struct doc *d, struct skill *ret,
			    struct err *e) {
	(void)ret;
	return d->type == DOC_STRING ? 0 : refuse(w, d, "must be a string", e);
}

static int read_version(const struct where *w, const struct doc *d, struct skill *ret,
			struct err *e) {
	(void)ret;
	return d->type == DOC_INT && d->num == 1
		       ? 0
		       : refuse(w, d, "must be 1, the only version that this Corral reads", e);
}

/* A list of names; the rules about subcommands are the policy's. */
static int read_commands(const struct where *w, const struct doc *d, struct policy *layer,
			 struct err *e) {
	struct value *v = &layer->values[KEY_COMMANDS];
	v->set = true;
	v->origin = w->origin;
	v->origin.line = d->line;
	if (d->type != DOC_ARRAY) {
		return refuse(w, d, "must be a list of the names of commands", e);
	}
	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		struct where at = *w;
		at.origin.line = c->line;
		if (c->type != DOC_STRING || strpbrk(c->str, " \t\n") != NULL) {
			return refuse(w, d, "must be a list of the names of commands", e);
		}
		if (command_rule_from_text(&at, &keys[KEY_COMMANDS], c->str, v, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int check_layer(const struct policy *layer, struct err *e) {
	char from[SHOWN_MAX];
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *v = &layer->values[i];
		if (!v->set) {
			continue;
		}
		policy_origin_text(&v->origin, from, sizeof from);
		if (!request_skill_may(&keys[i])) {
			(void)err_set(e, ERR_USAGE, "skill", "%s (%s): a skill cannot request it",
				      keys[i].name, from);
			return err_fix(e, "remove it; corral-policy(5), SKILLS, lists the keys");
		}
		if (v->count > SKILL_ITEMS_MAX) {
			return err_set(e, ERR_USAGE, "skill",
				       "%s (%s): a skill requests at most %d items of one key",
				       keys[i].name, from, SKILL_ITEMS_MAX);
		}
	}
	return 0;
}

static int read_requires(const struct where *w, const struct doc *d, struct skill *ret,
			 struct err *e) {
	struct doc rest = *d, *last = NULL;
	if (d->type != DOC_TABLE) {
		return refuse(w, d, "must be a table: [requires]", e);
	}
	/* All members but "commands", which has a form of its own. */
	rest.first = NULL;
	for (const struct doc *c = d->first; c != NULL; c = c->next) {
		if (streq(c->key, COMMANDS_TABLE)) {
			if (read_commands(w, c, &ret->requires, e) != 0) {
				return -1;
			}
			continue;
		}
		struct doc *copy = arena_alloc(w->a, sizeof *copy);
		if (copy == NULL) {
			return err_memory(e, "skill");
		}
		*copy = *c;
		copy->next = NULL;
		if (last == NULL) {
			rest.first = copy;
		} else {
			last->next = copy;
		}
		last = copy;
	}
	return layer_from_table(w, &rest, &ret->requires, e) != 0 ? -1
								  : check_layer(&ret->requires, e);
}

static const struct {
	const char *key;
	int (*read)(const struct where *, const struct doc *, struct skill *, struct err *);
} members[] = {
	{"version", read_version},
	{"name", read_name},
	{"description", read_description},
	{"requires", read_requires},
};

static int read_member(const struct where *w, const struct doc *d, struct skill *ret,
		       struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (streq(members[i].key, d->key)) {
			return members[i].read(w, d, ret, e);
		}
	}
	(void)refuse(w, d, "unknown key", e);
	return err_fix(e, "a skill has version, name, description and [requires]");
}

int skill_parse(const struct where *w, const char *text, size_t len, struct skill *ret,
		struct err *e) {
	struct doc *root;
	*ret = (struct skill){.path = w->origin.name};
	if (len > SKILL_FILE_MAX) {
		return err_set(e, ERR_USAGE, "skill", "%s: larger than %zu KiB", w->origin.name,
			       SKILL_FILE_MAX >> 10);
	}
	if (doc_parse_toml(w->a, w->origin.name, text, len, &root, e) != 0) {
		return -1;
	}
	for (const struct doc *d = root->first; d != NULL; d = d->next) {
		if (read_member(w, d, ret, e) != 0) {
			return -1;
		}
	}
	if (ret->name == NULL) {
		(void)err_set(e, ERR_USAGE, "skill", "%s: the name is missing", w->origin.name);
		return err_fix(e, "add a line: name = \"NAME\"");
	}
	return 0;
}

/* A text of the arena: the tree of the document points into it. */
static int read_text(struct arena *a, const char *path, const char **ret, size_t *ret_len,
		     struct err *e) {
	auto_buf text = {0};
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		(void)policy_file_error(e, path, errno);
		return e->sys == ENOENT
			       ? err_fix(e, "name a %s, or the directory that has one", SKILL_NAME)
			       : -1;
	}
	if (policy_file_read(fd, path, true, &text, e) != 0) {
		return -1;
	}
	*ret = arena_strndup(a, text.data == NULL ? "" : text.data, text.len);
	*ret_len = text.len;
	return *ret == NULL ? err_memory(e, "skill") : 0;
}

int skill_read(struct arena *a, const char *path, const char *home, struct skill *ret,
	       struct err *e) {
	struct stat st;
	const char *text;
	size_t len;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		path = path_join(a, path, SKILL_NAME);
	}
	const char *dir = path == NULL ? NULL : path_join(a, path, "..");
	if (dir == NULL) {
		return err_memory(e, "skill");
	}
	struct where w = {.a = a,
			  .origin = {.kind = ORIGIN_SKILL, .name = path},
			  .cwd = dir,
			  .base = dir,
			  .home = home};
	return read_text(a, path, &text, &len, e) != 0 ? -1 : skill_parse(&w, text, len, ret, e);
}
