/* SPDX-License-Identifier: Apache-2.0 */
/* Computes from the plan which access the sandbox has to a path, and by which rule.
 *
 * Should:   apply the mounts in their order (L1), then the rules about names.
 * Must not: read the host: a result must not reveal whether a path that is not shown exists there.
 * Fails:    closed: a path that no mount shows is VISIBILITY_NONE. */
#include "plan/plan.h"

#include "base/path.h"
#include "base/str.h"

#include <limits.h>

static enum visibility visibility_of(const struct plan *plan, const struct mount *m,
				     enum visibility above) {
	switch (m->kind) {
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
		return VISIBILITY_DENIED;
	case MOUNT_PIN:
		return m->writable ? above : VISIBILITY_READ;
	case MOUNT_DIR:
		return VISIBILITY_NONE;
	case MOUNT_BIND:
	case MOUNT_COW:
	case MOUNT_PRIVATE:
		if (streq(m->target, plan->home_at)) {
			return VISIBILITY_PRIVATE;
		}
		return m->writable || m->kind == MOUNT_PRIVATE ? VISIBILITY_WRITE : VISIBILITY_READ;
	case MOUNT_COVER:
	case MOUNT_LINK:
	case MOUNT_FILE:
	case MOUNT_TEXT:
	case MOUNT_PROC:
	case MOUNT_DEVICE:
	case MOUNT_PTS:
	case MOUNT_QUEUES:
		break;
	}
	return VISIBILITY_READ;
}

enum visibility plan_mount_visibility(const struct plan *plan, const char *path) {
	enum visibility sight = VISIBILITY_NONE;

	for (size_t i = 0; i < plan->nmounts; i++) {
		if (path_within(path, plan->mounts[i].target)) {
			sight = visibility_of(plan, &plan->mounts[i],
					      sight); /* L1: deeper ones follow */
		}
	}
	return sight;
}

enum visibility plan_visibility(const struct plan *plan, const char *path) {
	enum visibility sight = plan_mount_visibility(plan, path);

	if (plan->rules.count == 0 || sight == VISIBILITY_NONE || sight == VISIBILITY_DENIED) {
		return sight;
	}
	struct ruling ruling = rules_judge(&plan->rules, path);
	if (ruling.deny != NULL) {
		return VISIBILITY_DENIED;
	}
	return ruling.protect != NULL ? VISIBILITY_READ : sight;
}

bool plan_hides_host(const struct plan *plan, const char *path) {
	enum visibility sight = plan_mount_visibility(plan, path);
	bool window = false;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool keeps_rights = m->kind == MOUNT_PIN && m->writable;
		if (!keeps_rights && path_within(path, m->target)) {
			window = m->kind == MOUNT_PRIVATE; /* L1: deeper ones follow */
		}
	}
	return window || (sight != VISIBILITY_READ && sight != VISIBILITY_WRITE);
}

const struct mount *plan_mount_over(const struct plan *plan, const char *path) {
	const struct mount *over = NULL;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && path_within(path, m->target)) {
			over = m; /* L1: deeper ones follow */
		}
	}
	return over;
}

/* A directory or file of the host, or a copy-on-write view of one. */
static bool is_tree(const struct mount *m) {
	return m->kind == MOUNT_BIND || m->kind == MOUNT_COW;
}

bool plan_host_path(const struct plan *plan, const char *path, char out[PATH_MAX]) {
	const struct mount *tree = NULL;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (is_tree(m) && m->source != NULL && path_within(path, m->target)) {
			tree = m; /* L1: deeper ones follow */
		}
	}
	return tree != NULL && path_rebase(path, tree->target, tree->source, out, PATH_MAX);
}

bool plan_writes(const struct plan *plan, const char *host,
		 enum visibility (*sees)(const struct plan *, const char *)) {
	char path[2 * PATH_MAX];

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (!is_tree(m) || !m->writable || !path_within(host, m->source)) {
			continue;
		}
		if (!path_rebase(host, m->source, m->target, path, sizeof path)) {
			return true;
		}
		enum visibility sight = sees(plan, path);
		if (sight == VISIBILITY_WRITE || sight == VISIBILITY_PRIVATE) {
			return true;
		}
	}
	return false;
}

bool plan_writes_elsewhere(const struct plan *plan, const char *path) {
	const struct mount *m = plan_mount_over(plan, path);
	char host[2 * PATH_MAX];

	if (m == NULL || !is_tree(m)) {
		return false;
	}
	return !path_rebase(path, m->target, m->source, host, sizeof host) ||
	       plan_writes(plan, host, plan_visibility);
}

/* commands.default = deny: by the list alone. */
static bool is_listed_to_execute(const struct plan *plan, const char *path) {
	const struct exec_file *best = NULL;

	for (size_t i = 0; i < plan->nexecs; i++) {
		if (path_within(path, plan->execs[i].path)) {
			best = &plan->execs[i]; /* sorted: deeper ones follow */
		}
	}
	return best != NULL &&
	       (best->kind == EXEC_TREE || (best->kind == EXEC_PROGRAM && streq(best->path, path)));
}

bool plan_executes(const struct plan *plan, const char *path) {
	if (plan->exec_limited) {
		return is_listed_to_execute(plan, path);
	}
	if (plan->landlock_abi == 0) {
		return true;
	}
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool runs = m->reach == REACH_EXEC || m->reach == REACH_WRITE;
		if (runs && path_within(path, m->target)) {
			return true; /* Landlock adds the rights of all directories above */
		}
	}
	return false;
}

const struct mount *plan_outside(const struct plan *plan, const char *path) {
	const struct mount *best = plan_mount_over(plan, path);

	if (best == NULL || best->kind != MOUNT_BIND || !best->writable) {
		return NULL;
	}
	bool home = plan->home_source != NULL && streq(best->source, plan->home_source);
	return home ? NULL : best;
}

static struct visibility_rule rule_of_name(const struct rule *r, enum key_id key) {
	return (struct visibility_rule){.note = keys[key].name,
					.origin = &r->origin,
					.written = r->written,
					.reason = r->reason};
}

struct visibility_rule plan_rule_of(const struct plan *plan, const char *path) {
	enum visibility sight = plan_mount_visibility(plan, path);
	struct visibility_rule rule = {.note = NULL};

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool keeps_rights = m->kind == MOUNT_PIN && m->writable;
		if (!keeps_rights && path_within(path, m->target)) {
			rule = (struct visibility_rule){
				.note = m->note, .origin = &m->origin, .at = m->target};
		}
	}
	if (plan->rules.count == 0 || sight == VISIBILITY_NONE || sight == VISIBILITY_DENIED) {
		return rule;
	}
	struct ruling ruling = rules_judge(&plan->rules, path);
	if (ruling.deny != NULL) {
		return rule_of_name(ruling.deny, KEY_FS_DENY);
	}
	/* In a read-only tree the mount decides, not the protected name. */
	bool protected_here = ruling.protect != NULL && sight == VISIBILITY_WRITE;
	return protected_here ? rule_of_name(ruling.protect, KEY_FS_PROTECT) : rule;
}

/* A passed socket is also mounted at the path as written, where that differs. */
static bool is_mounted(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_BIND && m->is_file && m->reach == REACH_NONE &&
		    streq(m->target, path)) {
			return true;
		}
	}
	return false;
}

/* Without mounts a passed socket lies in no tree that is shown.  Passing it overrides a denied
 * path above it, but not a pattern. */
static bool is_denied_outside(const struct plan *plan, const char *path) {
	const struct rule *deny = rules_judge(&plan->rules, path).deny;
	return deny != NULL && !deny->yields;
}

bool plan_passes_socket(const struct plan *plan, const char *path) {
	bool named = false;
	for (size_t i = 0; !named && i < plan->net.nsockets; i++) {
		named = streq(plan->net.sockets[i].target, path) || is_mounted(plan, path);
	}
	return named && plan_visibility(plan, path) != VISIBILITY_DENIED &&
	       !is_denied_outside(plan, path);
}

bool plan_socket_stands(const struct plan *plan, const char *path, uint64_t dev, uint64_t ino) {
	if (plan_mount_visibility(plan, path) != VISIBILITY_WRITE) {
		return true;
	}
	for (size_t i = 0; i < plan->net.nsockets; i++) {
		const struct net_socket *s = &plan->net.sockets[i];
		if (streq(s->target, path) && s->dev == dev && s->ino == ino) {
			return true;
		}
	}
	return false;
}
