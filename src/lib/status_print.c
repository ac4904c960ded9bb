/* SPDX-License-Identifier: Apache-2.0 */
/* Prints `corral status`: text for one screen, or one JSON object.
 *
 * Should:   have the same facts in both forms.
 * Must not: print control characters of labels and release names.
 * Fails:    only out of memory. */
#include "lib/status.h"

#include "base/auto.h"
#include "base/errno_name.h"
#include "base/str.h"
#include "data/other_builds.h"
#include "plan/limits.h"

#define NAME_WIDTH 16

/* ---- the parts that both forms have ---- */

static const char *landlock_why(const struct status *s) {
	const struct mechanisms *m = &s->mechanisms;
	if (m->landlock_abi > 0) {
		return NULL;
	}
	const char *name = errno_name(m->landlock_errno);
	return name == NULL ? "unknown" : name;
}

static const char *userns_why(const struct status *s) {
	if (s->run.host.userns) {
		return NULL;
	}
	return s->run.host.userns_why == NULL ? "reason unknown" : s->run.host.userns_why;
}

static int cgroup_version(const struct status *s) {
	switch (s->run.host.cgroup.kind) {
	case CGROUP_V1:
		return 1;
	case CGROUP_V2:
		return 2;
	case CGROUP_NONE:
		break;
	}
	return 0;
}

static size_t controllers(const struct status *s, const char *names[3]) {
	const struct host_cgroup *g = &s->run.host.cgroup;
	size_t n = 0;
	if (g->memory) {
		names[n++] = "memory";
	}
	if (g->pids) {
		names[n++] = "pids";
	}
	if (g->cpu) {
		names[n++] = "cpu";
	}
	return n;
}

/* Core dumps to a socket ignore RLIMIT_CORE; the other kinds do not. */
static bool dumps_leave(const struct status *s) {
	const char *to = s->mechanisms.core_dumps;
	return to != NULL && streq(to, "socket");
}

static const char *level_reached(const struct status *s) {
	return s->starts ? plan_level_name(s->run.plan.level) : NULL;
}

static const char *engine_used(const struct status *s) {
	return s->starts ? plan_engine_name(s->run.plan.engine) : NULL;
}

/* ---- text ---- */

static void row(struct buf *out, const char *name) {
	buf_printf(out, "  %-*s ", NAME_WIDTH, name);
}

static void text_landlock(const struct status *s, struct buf *out) {
	const struct mechanisms *m = &s->mechanisms;
	row(out, "landlock");
	if (m->landlock_abi == 0) {
		buf_printf(out, "none (%s)\n", landlock_why(s));
		return;
	}
	buf_printf(out, "ABI %d", m->landlock_abi);
	if (m->landlock_errata == MECHANISM_UNKNOWN) {
		buf_puts(out, ", fixed errata: unknown (this kernel does not report them)\n");
	} else {
		buf_printf(out, ", fixed errata: %#x\n", (unsigned)m->landlock_errata);
	}
}

static void text_seccomp(const struct status *s, struct buf *out) {
	const struct mechanisms *m = &s->mechanisms;
	row(out, "seccomp");
	if (!m->seccomp) {
		buf_puts(out, "none\n");
		return;
	}
	buf_printf(out, "filters%s%s%s; ", m->kill_process ? ", kill_process" : "",
		   m->refuse ? ", errno" : "", m->notify ? ", user_notif" : "");
	if (m->listener) {
		buf_puts(out, "user notification works\n");
	} else {
		const char *name = errno_name(m->listener_errno);
		buf_printf(out, "no user notification (%s)\n", name == NULL ? "unknown" : name);
	}
}

static void text_groups(const struct status *s, struct buf *out) {
	const char *names[3];
	size_t n = controllers(s, names);

	row(out, "control groups");
	if (cgroup_version(s) == 0) {
		buf_puts(out, "none usable\n");
		return;
	}
	buf_printf(out, "version %d:", cgroup_version(s));
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s %s", i == 0 ? "" : ",", names[i]);
	}
	buf_puts(out, s->run.host.cgroup.scope ? " (a scope of this user's systemd)\n" : "\n");
}

static void text_surroundings(const struct status *s, struct buf *out) {
	const struct mechanisms *m = &s->mechanisms;
	char container[64];

	row(out, "ptrace");
	if (m->ptrace_scope == MECHANISM_UNKNOWN) {
		buf_puts(out, "no Yama\n");
	} else {
		buf_printf(out, "kernel.yama.ptrace_scope is %d\n", m->ptrace_scope);
	}
	row(out, "apparmor");
	buf_printf(out, "%s%s%s\n",
		   !m->apparmor                   ? "none"
		   : m->apparmor_label[0] == '\0' ? "label unreadable"
						  : m->apparmor_label,
		   m->apparmor_restricts_userns > 0 ? "; restricts user namespaces" : "",
		   m->apparmor_restricts_userns == 0 ? "; does not restrict user namespaces" : "");
	if (dumps_leave(s)) {
		row(out, "core dumps");
		buf_puts(out,
			 "warning: the kernel sends them to a socket outside the sandbox, with "
			 "registers and names, but without memory\n");
	}
	row(out, "container");
	const char *name = container_name(&m->container, container);
	buf_puts(out, name == NULL ? "none detected" : name);
	if (s->starts && s->run.plan.depth > 1) {
		buf_printf(out, ", inside Corral: a run here has depth %u", s->run.plan.depth);
	} else if (m->inside_corral) {
		buf_puts(out, ", inside Corral");
	}
	buf_puts(out, "\n");
}

static void text_backends(const struct status *s, struct buf *out) {
	for (size_t i = 0; backends[i] != NULL; i++) {
		row(out, i == 0 ? "backends" : "");
		buf_printf(out, "%s%s: ", backends[i]->name,
			   backends[i] == s->run.backend ? " (used)" : "");
		backends[i]->describe(&s->run.policy, &s->run.host, out);
		buf_puts(out, "\n");
	}
	for (size_t i = 0; i < other_builds_count; i++) {
		row(out, "");
		buf_printf(out, "%s: %s\n", other_builds[i].name, other_builds[i].note);
	}
}

static void text_promise(const struct guarantee_report *p, struct buf *out) {
	buf_printf(out, "%-9s ", plan_state_name(p->state));
	for (size_t i = 0; i < ARRAY_LEN(p->by) && p->by[i] != NULL; i++) {
		buf_printf(out, "%s%s", i == 0 ? "" : ", ", p->by[i]);
	}
	if (p->why != NULL) {
		buf_printf(out, "%s%s", p->by[0] == NULL ? "" : ": ", p->why);
	}
	buf_puts(out, "\n");
}

/* Limits that are not set are one line, so that all of it fits a screen. */
static bool unset(const struct guarantee_report *p) {
	return p->state == STATE_ABSENT && p->why != NULL && str_starts(p->why, LIMIT_UNSET);
}

static void text_promises(const struct status *s, struct buf *out) {
	size_t skipped = 0;

	buf_puts(out, "\na run with the defaults\n");
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *p = &s->run.plan.guarantees[g];
		if (!unset(p)) {
			row(out, guarantee_name(g));
			text_promise(p, out);
		}
	}
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		if (unset(&s->run.plan.guarantees[g])) {
			if (skipped++ == 0) {
				row(out, "not set");
			}
			buf_printf(out, "%s%s", skipped == 1 ? "" : ", ", guarantee_name(g));
		}
	}
	buf_puts(out, skipped == 0 ? "" : "\n");
}

static void text_here(const struct status *s, struct buf *out) {
	if (s->here.kind != ERR_NONE) {
		buf_printf(out, "\n%s in this directory\n  %s: %s\n", s->starts ? "but not" : "nor",
			   s->here.where, s->here.what);
	}
}

static void text_failure(const struct status *s, struct buf *out) {
	buf_printf(out, "\na run with the defaults does not start\n  %s: %s", s->failure.where,
		   s->failure.what);
	if (errno_name(s->failure.sys) != NULL) {
		buf_printf(out, ": %s", errno_name(s->failure.sys));
	}
	buf_puts(out, "\n");
	if (s->failure.fix[0] != '\0') {
		buf_printf(out, "  remedy: %s\n", s->failure.fix);
	}
}

void status_text(const struct status *s, struct buf *out) {
	const char *why = userns_why(s);

	buf_printf(out, "level   %s%s%s\nkernel  %s\n\nmechanisms\n",
		   s->starts ? level_reached(s) : "none: a run does not start",
		   s->starts ? ", engine " : "", s->starts ? engine_used(s) : "",
		   s->mechanisms.kernel);
	text_landlock(s, out);
	text_seccomp(s, out);
	row(out, "user namespaces");
	buf_printf(out, "%s%s\n", why == NULL ? "work" : "not available: ", why == NULL ? "" : why);
	text_groups(s, out);
	text_surroundings(s, out);
	text_backends(s, out);
	(s->starts ? text_promises : text_failure)(s, out);
	text_here(s, out);
	for (size_t i = 0; i < s->nremedies; i++) {
		buf_printf(out, "%s  %s: %s\n", i == 0 ? "\nhow to raise the level\n" : "",
			   s->remedies[i].raises, s->remedies[i].text);
	}
	if (!buf_failed(out)) {
		str_hide_controls(out->data, true); /* labels and release names are not Corral's */
	}
}

/* ---- JSON ---- */

static void number_or_null(struct emit *j, const char *key, int n) {
	if (n == MECHANISM_UNKNOWN) {
		emit_null(j, key);
	} else {
		emit_int(j, key, n);
	}
}

static void json_landlock(struct emit *j, const struct status *s) {
	emit_object(j, "landlock");
	emit_bool(j, "usable", s->mechanisms.landlock_abi > 0);
	emit_int(j, "abi", s->mechanisms.landlock_abi);
	number_or_null(j, "errata", s->mechanisms.landlock_errata);
	emit_string(j, "why", landlock_why(s));
	emit_end_object(j);
}

static void json_seccomp(struct emit *j, const struct status *s) {
	const struct mechanisms *m = &s->mechanisms;
	emit_object(j, "seccomp");
	emit_bool(j, "usable", m->seccomp);
	emit_object(j, "actions");
	emit_bool(j, "kill_process", m->kill_process);
	emit_bool(j, "errno", m->refuse);
	emit_bool(j, "user_notif", m->notify);
	emit_end_object(j);
	emit_bool(j, "listener", m->listener);
	emit_string(j, "why", m->listener ? NULL : errno_name(m->listener_errno));
	emit_end_object(j);
}

static void json_groups(struct emit *j, const struct status *s) {
	const char *names[3];
	size_t n = controllers(s, names);

	emit_object(j, "cgroups");
	emit_bool(j, "usable", n > 0);
	emit_int(j, "version", cgroup_version(s));
	emit_strings(j, "controllers", names, n);
	emit_bool(j, "scope", s->run.host.cgroup.scope);
	emit_string(j, "why", s->run.host.cgroup.why);
	emit_end_object(j);
}

static void json_mechanisms(struct emit *j, const struct status *s) {
	const struct mechanisms *m = &s->mechanisms;

	emit_object(j, "mechanisms");
	json_landlock(j, s);
	json_seccomp(j, s);
	emit_object(j, "user_namespaces");
	emit_bool(j, "usable", userns_why(s) == NULL);
	emit_string(j, "why", userns_why(s));
	emit_end_object(j);
	json_groups(j, s);
	emit_object(j, "apparmor");
	emit_bool(j, "enabled", m->apparmor);
	emit_string(j, "label", m->apparmor_label[0] == '\0' ? NULL : m->apparmor_label);
	number_or_null(j, "restrict_unprivileged_userns", m->apparmor_restricts_userns);
	emit_end_object(j);
	number_or_null(j, "ptrace_scope", m->ptrace_scope);
	emit_object(j, "core_dumps");
	emit_string(j, "destination", m->core_dumps);
	emit_bool(j, "leave", dumps_leave(s));
	emit_end_object(j);
	char container[64];
	emit_string(j, "container", container_name(&m->container, container));
	emit_bool(j, "inside_corral", m->inside_corral);
	emit_end_object(j);
}

static void json_backends(struct emit *j, const struct status *s) {
	emit_string(j, "backend", s->run.backend == NULL ? NULL : s->run.backend->name);
	emit_object(j, "backends");
	for (size_t i = 0; backends[i] != NULL; i++) {
		struct buf line;
		buf_init(&line);
		backends[i]->describe(&s->run.policy, &s->run.host, &line);
		emit_string(j, backends[i]->name, buf_failed(&line) ? NULL : line.data);
		buf_done(&line);
	}
	emit_end_object(j);
	emit_object(j, "other_builds");
	for (size_t i = 0; i < other_builds_count; i++) {
		emit_string(j, other_builds[i].name, other_builds[i].note);
	}
	emit_end_object(j);
}

static void json_error(struct emit *j, const char *key, const struct err *e) {
	if (e->kind == ERR_NONE) {
		emit_null(j, key);
		return;
	}
	emit_object(j, key);
	emit_string(j, "layer", e->where);
	emit_string(j, "message", e->what);
	emit_string(j, "errno", errno_name(e->sys));
	emit_string(j, "remedy", e->fix[0] == '\0' ? NULL : e->fix);
	emit_end_object(j);
}

void status_json(const struct status *s, struct buf *out) {
	static const struct err none;
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_bool(&j, "starts", s->starts);
	emit_string(&j, "level", level_reached(s));
	emit_string(&j, "engine", engine_used(s));
	if (s->starts) {
		emit_int(&j, "depth", s->run.plan.depth);
	} else {
		emit_null(&j, "depth");
	}
	emit_string(&j, "kernel", s->mechanisms.kernel);
	json_mechanisms(&j, s);
	json_backends(&j, s);
	guarantees_emit(&j, s->starts ? s->run.plan.guarantees : NULL);
	json_error(&j, "error", s->starts ? &none : &s->failure);
	json_error(&j, "here", &s->here);
	emit_array(&j, "remedies");
	for (size_t i = 0; i < s->nremedies; i++) {
		emit_object(&j, NULL);
		emit_string(&j, "raises", s->remedies[i].raises);
		emit_string(&j, "do", s->remedies[i].text);
		emit_end_object(&j);
	}
	emit_end_array(&j);
	emit_end_object(&j);
}
