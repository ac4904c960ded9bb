/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a file tool may read or change a place.
 *
 * Should:   give the same answer as the kernel and the broker give a command, with the rule and
 *           the remedy.
 * Must not: reveal whether a hidden file exists.
 * Fails:    closed: a place that no rule grants is refused. */
#include "files/access.h"

#include "base/beneath.h"
#include "base/path.h"
#include "base/str.h"
#include "files/links.h"
#include "files/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define REPOSITORY ".git"

/* The object of a tool: the file, which may have other names, or its name alone. */
enum concern { CONCERN_FILE, CONCERN_NAME };

const char *access_refusal_name(enum err_kind kind) {
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

bool access_is_closed(const struct place *p, enum access want) {
	int fd = p->kind == PLACE_MISSING ? p->dir : p->fd;

	if (fd < 0 || (want == ACCESS_READ && p->kind == PLACE_MISSING)) {
		return false;
	}
	return beneath_access(fd, want == ACCESS_WRITE ? W_OK : R_OK) != 0 && errno == EACCES;
}

static struct refusal_question question(const struct lens *v, const struct place *p,
					enum access want) {
	return (struct refusal_question){
		.plan = v->plan,
		.policy = v->policy,
		.path = p->path,
		.want = want,
		.missing = want == ACCESS_WRITE && p->kind == PLACE_MISSING &&
			   plan_visibility(v->plan, p->path) == VISIBILITY_READ,
		.rights = want == ACCESS_WRITE && access_is_closed(p, want),
	};
}

static bool in_overlay(const struct plan *plan, const char *path) {
	const struct mount *m = plan_mount_over(plan, path);
	return m != NULL && m->kind == MOUNT_COW;
}

/* A ".git" file or symlink points git to a repository: as for commands, an existing one is
 * read-only. */
static bool is_git_link(const struct lens *v, const struct place *p) {
	const char *slash = strrchr(p->path, '/');

	return p->kind == PLACE_FILE && !S_ISDIR(p->st.st_mode) && slash != NULL &&
	       strcasecmp(slash + 1, REPOSITORY) == 0 &&
	       rules_keep_repository(&v->plan->rules, p->path);
}

/* A HEAD beside a ".git" makes the directory itself a repository, which git uses when the other
 * becomes invalid. */
static bool makes_repository(const struct lens *v, const struct place *p) {
	char at[PATH_MAX + sizeof REPOSITORY];
	const char *slash = strrchr(p->path, '/');
	struct stat st;

	if (p->dir < 0 || slash == NULL || !streq(slash + 1, "HEAD") ||
	    fstatat(p->dir, REPOSITORY, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return false;
	}
	size_t len = (size_t)(slash + 1 - p->path);
	memcpy(at, p->path, len);
	memcpy(at + len, REPOSITORY, sizeof REPOSITORY);
	return rules_keep_repository(&v->plan->rules, at);
}

/* Refusals of file tools that the plan's rules do not cover: with --cow a command writes to the
 * overlay, and for commands the broker refuses hard links of denied files. */
static enum refusal_cause cause_for_tools(const struct lens *v, const struct place *p,
					  enum access want, enum concern concern) {
	if (want == ACCESS_WRITE && is_git_link(v, p)) {
		return CAUSE_GIT_LINK;
	}
	if (want == ACCESS_WRITE && makes_repository(v, p)) {
		return CAUSE_GIT_HEAD;
	}
	if (want == ACCESS_WRITE && !v->for_command && in_overlay(v->plan, p->path)) {
		return CAUSE_COW;
	}
	switch (concern == CONCERN_NAME ? LINKS_FREE : links_of(v, p)) {
	case LINKS_DENIED:
		return CAUSE_HARD_LINK;
	case LINKS_UNKNOWN:
		return CAUSE_HARD_LINKS;
	case LINKS_FREE:
		break;
	}
	return CAUSE_NONE;
}

static void judge_shown(const struct lens *v, const struct place *p, enum access want,
			enum concern concern, struct verdict *ret) {
	struct refusal_question q = question(v, p, want);

	refusal_judge(&q, ret);
	if (ret->kind == ERR_NONE) {
		refusal_say(&q, cause_for_tools(v, p, want, concern), ret);
	}
}

/* Directories above a grant in a denied tree are visible, unless the broker checks reads: then
 * the deny rule applies to their name. */
static bool denied_by_name(const struct lens *v, const struct place *p) {
	return v->plan->rules.reads && rules_judge(&v->plan->rules, p->path).deny != NULL;
}

static bool in_home(const struct lens *v, const struct place *p) {
	return plan_visibility(v->plan, p->path) == VISIBILITY_PRIVATE;
}

/* A file of one run, for a command in that run. */
static void judge_in_run(const struct lens *v, const struct place *p, enum access want,
			 struct verdict *ret) {
	struct refusal_question q = question(v, p, want);
	bool device =
		p->tree != NULL && (p->tree->kind == MOUNT_DEVICE || p->tree->kind == MOUNT_PTS ||
				    p->tree->kind == MOUNT_QUEUES);
	bool ours = p->kind == PLACE_OURS || p->kind == PLACE_TEXT;

	if (device || (ours && want == ACCESS_READ)) {
		refusal_say(&q, CAUSE_NONE, ret);
	} else if (ours && !in_home(v, p)) {
		refusal_say(&q, CAUSE_MADE, ret);
	} else {
		/* Only the run's own /tmp is empty; a name in /proc may exist. */
		q.missing =
			want == ACCESS_READ && p->tree != NULL && p->tree->kind == MOUNT_PRIVATE;
		refusal_judge(&q, ret);
	}
}

static enum refusal_cause cause_of_place(const struct lens *v, const struct place *p,
					 enum access want) {
	switch (p->kind) {
	case PLACE_OURS:
	case PLACE_TEXT:
		return want == ACCESS_WRITE ? CAUSE_OF_RUN : CAUSE_NONE;
	case PLACE_RUN:
		if (want == ACCESS_READ && in_home(v, p)) {
			return CAUSE_HOME;
		}
		return p->tree != NULL && p->tree->kind == MOUNT_PRIVATE ? CAUSE_TMP_OF_RUN
									 : CAUSE_OF_RUN;
	case PLACE_LINK:
		return CAUSE_LINK;
	case PLACE_MASK:
	case PLACE_FILE:
	case PLACE_MISSING:
		break;
	}
	return CAUSE_NONE;
}

static void judge(const struct lens *v, const struct place *p, enum access want,
		  enum concern concern, struct verdict *ret) {
	struct refusal_question q = question(v, p, want);
	bool shown = p->kind == PLACE_FILE || p->kind == PLACE_MISSING;
	bool ours = p->kind == PLACE_OURS || p->kind == PLACE_TEXT;

	const struct value *tools = &v->policy->values[KEY_FS_TOOLS];

	if (!v->for_command && tools->set && tools->num == TOOLS_WORKSPACE &&
	    !path_within(p->path, v->plan->workspace_at)) {
		refusal_say(&q, CAUSE_TOOLS, ret);
	} else if (shown) {
		judge_shown(v, p, want, concern, ret);
	} else if (p->kind == PLACE_MASK || (ours && denied_by_name(v, p))) {
		refusal_hidden(&q, ret);
	} else if (v->for_command && p->kind != PLACE_LINK) {
		judge_in_run(v, p, want, ret);
	} else {
		refusal_say(&q, cause_of_place(v, p, want), ret);
	}
}

void access_judge(const struct lens *v, const struct place *p, enum access want,
		  struct verdict *ret) {
	judge(v, p, want, CONCERN_FILE, ret);
}

/* As for commands, whose rename or unlink of these fails with EBUSY.  A ".git" of any run counts as
 * older than the call. */
static bool is_kept(const struct lens *v, const struct place *p) {
	const char *slash = strrchr(p->path, '/');

	if (p->kind == PLACE_FILE && p->dir < 0) {
		return true; /* the root of a mount */
	}
	for (size_t i = 0; i < v->plan->nmounts; i++) {
		if (path_within(v->plan->mounts[i].target, p->path)) {
			return true;
		}
	}
	return p->kind == PLACE_FILE && slash != NULL && strcasecmp(slash + 1, REPOSITORY) == 0 &&
	       rules_keep_repository(&v->plan->rules, p->path);
}

void access_judge_name(const struct lens *v, const struct place *p, struct verdict *ret) {
	judge(v, p, ACCESS_WRITE, CONCERN_NAME, ret);
	if (ret->kind == ERR_NONE && is_kept(v, p)) {
		struct refusal_question q = question(v, p, ACCESS_WRITE);
		refusal_say(&q, CAUSE_KEPT, ret);
	}
}

void access_is_hidden(const struct lens *v, const struct place *p, enum access want,
		      struct verdict *ret) {
	struct refusal_question q = question(v, p, want);

	if (ret->kind == ERR_NONE && want == ACCESS_READ && p->kind == PLACE_MISSING) {
		q.missing = true;
		refusal_judge(&q, ret);
	}
}

int access_fail(const struct verdict *verdict, struct err *e) {
	if (verdict->kind == ERR_NONE) {
		return 0;
	}
	(void)err_set(e, verdict->kind, "files", "%s", verdict->reason);
	return err_fix(e, "%s", verdict->remedy);
}

int access_judge_or_fail(const struct lens *v, const struct place *p, enum access want,
			 struct err *e) {
	struct verdict verdict;

	access_judge(v, p, want, &verdict);
	return access_fail(&verdict, e);
}

int access_allowed(const struct lens *v, const char *path, unsigned how, enum access want,
		   struct place *ret, struct err *e) {
	struct place p;

	if (place_find(v, path, how, &p, e) != 0) {
		return -1;
	}
	if (access_judge_or_fail(v, &p, want, e) != 0) {
		place_done(&p);
		return -1;
	}
	*ret = p;
	return 0;
}
