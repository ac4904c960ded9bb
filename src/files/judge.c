#include "files/judge.h"

#include "base/str.h"
#include "files/mounts.h"

#include <stdarg.h>
#include <stdio.h>

const char *refusal_name(enum err_kind kind) {
	switch (kind) {
	case ERR_OUTSIDE:
		return "outside";
	case ERR_SENSITIVE:
		return "sensitive";
	case ERR_PROTECTED:
		return "protected";
	case ERR_FILE:
		return "unreachable";
	default:
		return NULL;
	}
}

static void __attribute__((format(printf, 2, 3)))
reason(struct verdict *ret, const char *fmt, ...) {
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->reason, sizeof ret->reason, fmt, ap); /* may be cut: a message */
	va_end(ap);
}

static void __attribute__((format(printf, 2, 3)))
remedy(struct verdict *ret, const char *fmt, ...) {
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(ret->remedy, sizeof ret->remedy, fmt, ap); /* may be cut: a message */
	va_end(ap);
}

static void by_key(const struct lens *v, enum key_id key, struct verdict *ret) {
	ret->rule = keys[key].name;
	origin_text(&v->policy->values[key].origin, ret->origin, sizeof ret->origin);
}

static void by_rule(const struct lens *v, const char *path, struct verdict *ret) {
	struct sight_rule rule = plan_rule_of(v->plan, path);

	if (rule.note == NULL) {
		by_key(v, KEY_FS_VIEW, ret);
		return;
	}
	ret->rule = rule.note;
	ret->detail = rule.written;
	ret->why = rule.reason;
	origin_text(rule.origin, ret->origin, sizeof ret->origin);
}

/* "fs.deny *.pem (@sensitive: keys)", as far as it is known. */
static const char *rule_text(const struct verdict *ret, char *out, size_t cap) {
	(void)snprintf(out, cap, "%s%s%s%s%s%s", ret->rule, ret->detail == NULL ? "" : " ",
		       ret->detail == NULL ? "" : ret->detail, ret->why == NULL ? "" : " (",
		       ret->why == NULL ? "" : ret->why,
		       ret->why == NULL ? "" : ")"); /* may be cut: a message */
	return out;
}

static void outside(const struct lens *v, const struct place *p, struct verdict *ret) {
	ret->kind = ERR_OUTSIDE;
	by_key(v, KEY_FS_VIEW, ret);
	reason(ret, "%s is outside the boundary: the view shows nothing there (%s, %s)", p->path,
	       ret->rule, ret->origin);
	remedy(ret, "grant it: --read %s, or --write %s (fs.read, fs.write)", p->path, p->path);
}

static void of_a_run(const struct lens *v, const struct place *p, struct verdict *ret) {
	ret->kind = ERR_OUTSIDE;
	by_rule(v, p->path, ret);
	reason(ret,
	       "%s is outside the boundary: it belongs to one run alone and does not exist "
	       "outside it (%s)",
	       p->path, ret->rule);
	if (p->tree != NULL && p->tree->kind == MOUNT_PRIVATE) {
		remedy(ret, "keep it in %s, or grant the host's: --read %s (fs.read)",
		       v->plan->workspace_at, p->path);
	} else {
		remedy(ret, "keep what both are to see in %s", v->plan->workspace_at);
	}
}

static void behind_link(const struct place *p, struct verdict *ret) {
	ret->kind = ERR_OUTSIDE;
	ret->rule = "symlinks";
	(void)snprintf(ret->origin, sizeof ret->origin, "corral_files_reject_symlinks");
	reason(ret,
	       "%s is outside the boundary: a symbolic link is on its way, and links are rejected",
	       p->path);
	remedy(ret, "name the file by its own path");
}

static void sensitive(const struct lens *v, const struct place *p, struct verdict *ret) {
	char text[160];

	ret->kind = ERR_SENSITIVE;
	by_rule(v, p->path, ret);
	reason(ret, "%s is a sensitive file: hidden by %s (%s)", p->path,
	       rule_text(ret, text, sizeof text), ret->origin);
	if (streq(ret->rule, "Corral's own")) {
		remedy(ret, "nothing opens it: it decides about the next run");
	} else if (streq(ret->rule, keys[KEY_FS_DENY].name)) {
		remedy(ret, "take the rule away (%s) if it is meant to be seen", ret->origin);
	} else {
		remedy(ret, "grant it by name if it is meant to be seen: --read %s (fs.read)",
		       p->path);
	}
}

/* What would be writable in another mode. */
static bool is_mode(const struct lens *v, const char *note) {
	return policy_num(v->policy, KEY_MODE) == MODE_READ_ONLY &&
	       (streq(note, "workspace") || streq(note, keys[KEY_FS_WRITE].name));
}

static void protected_name(const struct lens *v, const struct place *p, struct verdict *ret) {
	char text[160];

	ret->kind = ERR_PROTECTED;
	by_rule(v, p->path, ret);
	if (is_mode(v, ret->rule)) {
		by_key(v, KEY_MODE, ret);
		remedy(ret, "use --mode workspace-write");
	} else if (rules_judge(&v->plan->rules, p->path).protect != NULL) {
		remedy(ret, "except it: --protect '!%s' (fs.protect), or change the file yourself",
		       p->path);
	} else if (streq(ret->rule, "project file")) {
		remedy(ret, "it decides about the next run: change it yourself");
	} else {
		remedy(ret, "grant it: --write %s (fs.write)", p->path);
	}
	reason(ret, "%s is a protected name: %s (%s) keeps it read-only", p->path,
	       rule_text(ret, text, sizeof text), ret->origin);
}

static bool in_overlay(const struct plan *plan, const char *path) {
	const struct mount *m = mount_over(plan, path);
	return m != NULL && m->kind == MOUNT_COW;
}

/* A command writes to a copy of the workspace; a tool would write to the workspace. */
static void kept_apart(const struct lens *v, const struct place *p, struct verdict *ret) {
	ret->kind = ERR_PROTECTED;
	by_key(v, KEY_FS_COW, ret);
	reason(ret, "%s is kept as it is: %s (%s) keeps the changes of each run apart", p->path,
	       ret->rule, ret->origin);
	remedy(ret, "change it by a command, or leave fs.cow out for the file tools");
}

static void judge_shown(const struct lens *v, const struct place *p, enum access want,
			struct verdict *ret) {
	switch (plan_sight(v->plan, p->path)) {
	case SIGHT_NONE:
		outside(v, p, ret);
		return;
	case SIGHT_DENIED:
		sensitive(v, p, ret);
		return;
	case SIGHT_READ:
		if (want == ACCESS_WRITE) {
			protected_name(v, p, ret);
		}
		return;
	case SIGHT_WRITE:
	case SIGHT_PRIVATE:
		if (want == ACCESS_WRITE && in_overlay(v->plan, p->path)) {
			kept_apart(v, p, ret);
		}
		return;
	}
}

/* The way to a grant in something denied can be seen, unless reading is asked about:
 * then the rule is judged by the name. */
static bool denied_by_name(const struct lens *v, const struct place *p) {
	return v->plan->rules.reads && rules_judge(&v->plan->rules, p->path).deny != NULL;
}

void judge(const struct lens *v, const struct place *p, enum access want, struct verdict *ret) {
	*ret = (struct verdict){.kind = ERR_NONE};
	switch (p->kind) {
	case PLACE_FILE:
	case PLACE_MISSING:
		judge_shown(v, p, want, ret);
		break;
	case PLACE_OURS:
	case PLACE_TEXT:
		if (denied_by_name(v, p)) {
			sensitive(v, p, ret);
		} else if (want == ACCESS_WRITE) {
			of_a_run(v, p, ret);
		}
		break;
	case PLACE_RUN:
		of_a_run(v, p, ret);
		break;
	case PLACE_MASK:
		sensitive(v, p, ret);
		break;
	case PLACE_LINK:
		behind_link(p, ret);
		break;
	}
	if (ret->kind == ERR_NONE) {
		by_rule(v, p->path, ret);
	}
}

int judge_or_fail(const struct lens *v, const struct place *p, enum access want, struct err *e) {
	struct verdict verdict;

	judge(v, p, want, &verdict);
	if (verdict.kind == ERR_NONE) {
		return 0;
	}
	(void)err_set(e, verdict.kind, "files", "%s", verdict.reason);
	return err_fix(e, "%s", verdict.remedy);
}

int place_allowed(const struct lens *v, const char *path, unsigned how, enum access want,
		  struct place *ret, struct err *e) {
	struct place p;

	if (place_find(v, path, how, &p, e) != 0) {
		return -1;
	}
	if (judge_or_fail(v, &p, want, e) != 0) {
		place_done(&p);
		return -1;
	}
	*ret = p;
	return 0;
}
