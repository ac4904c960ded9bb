/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rules of commands.NAME and fs.tools to one command, and judges a command line.
 *
 * Should:   name command, rule, origin and remedy in a refusal.
 * Must not: read files or variables.
 * Fails:    closed where the policy denies by default or is strict: text that cannot be decided is
 *           refused; elsewhere it is reported. */
#include "command/judge.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "command/judging.h"
#include "data/commands.h"
#include "policy/command_rule.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the verdict ---- */

static void show_call(const struct judge *j, const struct call *c, char *out, size_t cap) {
	size_t at = 0;

	out[0] = '\0';
	if (j->at != NULL && j->at->len > 0) {
		(void)snprintf(out, cap, "%.*s", (int)(j->at->len < cap ? j->at->len : cap - 1),
			       j->at->source); /* may be cut: a message */
	}
	for (size_t i = 0; j->at == NULL && i < c->n && at < cap; i++) {
		at += (size_t)snprintf(out + at, cap - at, "%s%s%s", i > 0 ? " " : "",
				       c->words[i].text, c->words[i].dynamic ? "..." : "");
	}
	str_hide_controls(out, false);
}

/* A refusal replaces an undecided command; the first of each kind stays. */
static struct command_verdict *decide(struct judge *j, enum judged kind, const struct call *c) {
	if (kind <= j->ret->kind) {
		return NULL;
	}
	const char *shell = j->ret->shell;
	*j->ret = (struct command_verdict){.kind = kind, .shell = shell};
	show_call(j, c, j->ret->command, sizeof j->ret->command);
	return j->ret;
}

void judge_undecided(struct judge *j, const struct call *c, const char *fmt, ...) {
	struct command_verdict *v = decide(j, JUDGED_UNDECIDED, c);
	va_list ap;

	va_start(ap, fmt);
	if (v != NULL) {
		(void)vsnprintf(v->reason, sizeof v->reason, fmt, ap); /* may be cut: a message */
		(void)snprintf(v->remedy, sizeof v->remedy,
			       "write the command and its options without expansions");
	}
	va_end(ap);
}

/* A value that is cut would be another rule: then there is none. */
static void grant(struct command_verdict *v, const char *value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void grant(struct command_verdict *v, const char *value, const char *fmt, ...) {
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(v->key, sizeof v->key, fmt, ap);
	va_end(ap);
	int n = snprintf(v->value, sizeof v->value, "%s", value);
	if (len < 0 || (size_t)len >= sizeof v->key || n < 0 || (size_t)n >= sizeof v->value) {
		v->key[0] = v->value[0] = '\0';
	}
}

static void origin_of(struct command_verdict *v, const struct origin *o) {
	policy_origin_text(o, v->origin, sizeof v->origin);
}

/* ---- listed or not ---- */

static const struct value *rules_of(const struct policy *p) {
	return &p->values[KEY_COMMANDS];
}

bool command_has_rules(const struct policy *p) {
	return policy_num(p, KEY_COMMANDS_DEFAULT) == COMMANDS_DENY || rules_of(p)->count > 0 ||
	       policy_num(p, KEY_FS_TOOLS) == TOOLS_WORKSPACE;
}

bool command_is_listed(const struct policy *p, const char *name) {
	return command_rule_permits(p, name, strlen(name));
}

const char *judge_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash == NULL ? path : slash + 1;
}

/* Whether the directory of an absolute path is one of PATH. */
static bool in_search_path(const char *path, const char *search) {
	size_t dir = (size_t)(judge_base_name(path) - path) - 1;

	for (const char *p = search; p != NULL && *p != '\0';) {
		size_t len = strcspn(p, ":");
		size_t trimmed = len;
		while (trimmed > 1 && p[trimmed - 1] == '/') {
			trimmed--;
		}
		if (trimmed == dir && memcmp(p, path, dir) == 0) {
			return true;
		}
		p += len + (p[len] == ':');
	}
	return false;
}

bool judge_lists(struct judge *j, const char *written) {
	const struct policy *p = j->q->policy;

	if (strchr(written, '/') == NULL) {
		return command_is_listed(p, written);
	}
	const char *path = path_join(j->a, j->q->cwd, written);
	if (path == NULL) {
		j->out_of_memory = true;
		return false;
	}
	return command_is_listed(p, path) ||
	       (in_search_path(path, j->q->path) && command_is_listed(p, judge_base_name(path)));
}

void judge_refuse_unlisted(struct judge *j, const struct call *c) {
	const struct value *deny = &j->q->policy->values[KEY_COMMANDS_DEFAULT];
	const char *name = c->words[0].text;
	bool floor = command_rule_lists(j->q->policy, name, strlen(name));
	bool asked = deny->origin.kind == ORIGIN_AGENT || deny->origin.kind == ORIGIN_SKILL;
	struct command_verdict *v = decide(j, JUDGED_REFUSED, c);
	char shown[80];

	if (v == NULL) {
		return;
	}
	(void)snprintf(shown, sizeof shown, "%s", name); /* may be cut: a message */
	str_hide_controls(shown, false);
	(void)snprintf(v->rule, sizeof v->rule, "commands.default: deny");
	origin_of(v, floor ? &policy_floor(j->q->policy, KEY_COMMANDS_DEFAULT)->origin
			   : &deny->origin);
	(void)snprintf(v->reason, sizeof v->reason,
		       "the command %s is not listed, and commands.default is deny (%s)", shown,
		       v->origin);
	(void)snprintf(
		v->remedy, sizeof v->remedy,
		floor   ? "have the administrator list it in /etc/corral/policy.toml"
		: asked ? "add %s to the commands that the skill or the table [agent.ID] requests"
			: "--allow-command %s, or a table [commands.%s] in a policy file of yours",
		shown, shown);
	if (!floor && !asked) {
		grant(v, name, "%s", keys[KEY_COMMANDS].name);
	}
}

/* ---- patterns ---- */

static void refuse_blocked(struct judge *j, const struct call *c, const struct command_rule *r) {
	struct command_verdict *v = decide(j, JUDGED_REFUSED, c);

	if (v == NULL) {
		return;
	}
	(void)snprintf(v->rule, sizeof v->rule, "commands.%.*s.blocked: %s", (int)r->name_len,
		       r->name, r->text);
	origin_of(v, &r->item->origin);
	(void)snprintf(v->reason, sizeof v->reason, "the policy blocks `%.*s %s` (%s)",
		       (int)r->name_len, r->name, r->text, v->origin);
	if (item_group(r->item) == GROUP_OURS) {
		(void)snprintf(v->remedy, sizeof v->remedy, "--set commands.%.*s.blocked='!%s'",
			       (int)r->name_len, r->name, r->text);
		char except[sizeof v->value];
		(void)snprintf(except, sizeof except, "!%s", r->text);
		grant(v, strlen(r->text) + 1 < sizeof except ? except : "", "commands.%.*s.blocked",
		      (int)r->name_len, r->name);
	} else {
		(void)snprintf(v->remedy, sizeof v->remedy, "change the rule in %s", v->origin);
	}
}

static void refuse_unmatched(struct judge *j, const struct call *c, const struct command_rule *r) {
	struct command_verdict *v = decide(j, JUDGED_REFUSED, c);

	if (v == NULL) {
		return;
	}
	(void)snprintf(v->rule, sizeof v->rule, "commands.%.*s.allowed", (int)r->name_len, r->name);
	origin_of(v, &r->item->origin);
	(void)snprintf(v->reason, sizeof v->reason,
		       "no pattern of commands.%.*s.allowed matches (%s)", (int)r->name_len,
		       r->name, v->origin);
	if (item_group(r->item) == GROUP_OURS) {
		(void)snprintf(v->remedy, sizeof v->remedy,
			       "--set commands.%.*s.allowed=SUBCOMMAND", (int)r->name_len, r->name);
		bool word = c->n > 1 && !c->words[1].dynamic && c->words[1].text[0] != '-';
		grant(v, word ? c->words[1].text : "", "commands.%.*s.allowed", (int)r->name_len,
		      r->name);
	} else {
		(void)snprintf(v->remedy, sizeof v->remedy, "add it to the list in %s", v->origin);
	}
}

/* Whether a rule is about this command: by name, or by its path. */
static bool is_about(struct judge *j, const struct command_rule *r, const char *written) {
	const char *base = judge_base_name(written);

	if (command_rule_is_for(r, base, strlen(base))) {
		return true;
	}
	if (r->name[0] != '/' || strchr(written, '/') == NULL) {
		return false;
	}
	const char *path = path_join(j->a, j->q->cwd, written);
	j->out_of_memory = j->out_of_memory || path == NULL;
	return path != NULL && command_rule_is_for(r, path, strlen(path));
}

/* The allow list of one group. */
struct allow_list {
	enum match best;
	bool any;
	struct command_rule first;
};

void judge_patterns(struct judge *j, const struct call *c, const struct match_arguments *m) {
	const struct value *v = rules_of(j->q->policy);
	struct allow_list lists[RULE_GROUPS] = {0};

	for (size_t i = 0; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		struct allow_list *list = &lists[item_group(r.item)];
		bool pattern = r.kind == COMMAND_ALLOWED || r.kind == COMMAND_BLOCKED;
		if (!pattern || !is_about(j, &r, c->words[0].text)) {
			continue;
		}
		enum match found = match_pattern(m, r.text, r.kind == COMMAND_ALLOWED);
		if (r.kind == COMMAND_ALLOWED) {
			list->first = list->any ? list->first : r;
			list->any = true;
			list->best = found > list->best ? found : list->best;
		} else if (found == MATCH_YES) {
			refuse_blocked(j, c, &r);
		} else if (found == MATCH_MAYBE) {
			judge_undecided(j, c,
					"an expansion may make it `%.*s %s`, which is blocked",
					(int)r.name_len, r.name, r.text);
		}
	}
	for (size_t g = 0; g < RULE_GROUPS; g++) {
		if (lists[g].any && lists[g].best == MATCH_NO) {
			refuse_unmatched(j, c, &lists[g].first);
		} else if (lists[g].any && lists[g].best == MATCH_MAYBE) {
			judge_undecided(j, c, "an expansion decides which subcommand of %.*s it is",
					(int)lists[g].first.name_len, lists[g].first.name);
		}
	}
}

/* ---- path arguments ---- */

/* Harmless outside the workspace. */
static bool is_open_path(const struct judge *j, const char *path) {
	static const char *const devices[] = {"/dev/null",   "/dev/zero",   "/dev/stdin",
					      "/dev/stdout", "/dev/stderr", "/dev/tty",
					      "/dev/random", "/dev/urandom"};

	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		if (streq(path, devices[i])) {
			return true;
		}
	}
	return path_within(path, "/tmp") || path_within(path, "/dev/fd") ||
	       path_within(path, j->q->workspace);
}

static bool is_path_like(const char *text) {
	return text[0] == '/' || streq(text, "..") || str_starts(text, "../") ||
	       str_starts(text, "./") || text[0] == '~' || strstr(text, "/../") != NULL ||
	       (strlen(text) > 3 && streq(text + strlen(text) - 3, "/.."));
}

/* The path that the argument names for the kernel; if it cannot be resolved and looks like a path,
 * by its text.  NULL: it is no path. */
static const char *path_of(struct judge *j, const char *text, bool cut) {
	bool home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
	const char *written = text, *base = j->q->home == NULL ? "/" : j->q->home;
	char *real = arena_alloc(j->a, PATH_MAX);

	if (home) {
		written = arena_printf(j->a, "%s/%s", base, text + 1);
	}
	if (real == NULL || written == NULL) {
		j->out_of_memory = true;
		return NULL;
	}
	if (!cut && j->q->resolve != NULL && j->q->resolve(j->q->ctx, written, real, PATH_MAX)) {
		return real;
	}
	if (!is_path_like(text)) {
		return NULL;
	}
	const char *path = path_join(j->a, j->q->cwd, written);
	j->out_of_memory = j->out_of_memory || path == NULL;
	return path;
}

static void refuse_path(struct judge *j, const struct call *c, const char *text, const char *path) {
	struct command_verdict *v = decide(j, JUDGED_REFUSED, c);
	char shown[90], real[90];

	if (v == NULL) {
		return;
	}
	(void)snprintf(v->rule, sizeof v->rule, "fs.tools: workspace");
	origin_of(v, &j->q->policy->values[KEY_FS_TOOLS].origin);
	(void)snprintf(shown, sizeof shown, "%s", text); /* may be cut: a message */
	(void)snprintf(real, sizeof real, "%s", path);
	str_hide_controls(shown, false);
	str_hide_controls(real, false);
	bool leads = !streq(text, path);
	(void)snprintf(v->reason, sizeof v->reason,
		       "the argument %s %s%s%s outside the workspace %.60s (fs.tools, %.60s)",
		       shown, leads ? "leads to " : "is", leads ? real : "", leads ? "," : "",
		       j->q->workspace, v->origin);
	(void)snprintf(v->remedy, sizeof v->remedy,
		       "use a path in the workspace, or --set fs.tools=view");
	grant(v, keys[KEY_FS_TOOLS].choices[TOOLS_VIEW], "%s", keys[KEY_FS_TOOLS].name);
}

void judge_word_path(struct judge *j, const struct call *c, const struct shell_word *w) {
	const char *value = w->text[0] == '-' ? strchr(w->text, '=') : NULL;
	const char *text = value == NULL ? w->text : value + 1;

	if (policy_num(j->q->policy, KEY_FS_TOOLS) != TOOLS_WORKSPACE || j->q->workspace == NULL ||
	    text[0] == '\0') {
		return;
	}
	const char *path = path_of(j, text, w->dynamic);
	if (path != NULL && !is_open_path(j, path)) {
		refuse_path(j, c, text, path);
	}
}

/* ---- a command line ---- */

static bool is_strict(const struct policy *p) {
	const char *profile = policy_str(p, KEY_PROFILE);
	return policy_num(p, KEY_COMMANDS_DEFAULT) == COMMANDS_DENY ||
	       (profile != NULL && streq(profile, "strict"));
}

int command_judge(struct arena *a, const struct command_question *q, const char *const *argv,
		  struct command_verdict *ret, struct err *e) {
	struct judge j = {.a = a, .q = q, .ret = ret};
	size_t n = 0;

	*ret = (struct command_verdict){0};
	while (argv[n] != NULL) {
		n++;
	}
	struct shell_word *words = arena_array(a, n + 1, sizeof *words);
	for (size_t i = 0; words != NULL && i < n; i++) {
		words[i].text = argv[i];
	}
	if (words != NULL) {
		judge_call(&j, (struct call){words, n}, true);
	}
	if (words == NULL || j.out_of_memory) {
		return err_memory(e, "command");
	}
	if (ret->kind == JUDGED_UNDECIDED && is_strict(q->policy)) {
		ret->kind = JUDGED_REFUSED;
		const struct value *deny = &q->policy->values[KEY_COMMANDS_DEFAULT];
		bool by_default = deny->num == COMMANDS_DENY;
		(void)snprintf(ret->rule, sizeof ret->rule, "%s",
			       by_default ? "commands.default: deny" : "profile: strict");
		origin_of(ret, by_default ? &deny->origin : &q->policy->values[KEY_PROFILE].origin);
	}
	return 0;
}
