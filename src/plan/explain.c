/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the plan for `corral explain`, as text and as JSON with the same content.
 *
 * Should:   print level, workspace, network and home first; then every guarantee,
 *           every mount with its origin, limits, warnings and notes.
 * Must not: print values of environment variables: some are secrets that the
 *           caller passes; print control characters of a file name, which could
 *           forge a line or send an escape sequence to the terminal.
 * Fails:    out of memory leaves a failed buffer, which the caller checks. */
#include "plan/internal.h"

#include "base/str.h"

#include <stdio.h>

static const char *const kind_names[] = {
	[MOUNT_DIR] = "directory",  [MOUNT_LINK] = "link",       [MOUNT_FILE] = "file",
	[MOUNT_BIND] = "bind",      [MOUNT_PRIVATE] = "private", [MOUNT_PROC] = "proc",
	[MOUNT_DEVICE] = "device",  [MOUNT_PTS] = "terminals",   [MOUNT_QUEUES] = "queues",
	[MOUNT_MASK_FILE] = "mask", [MOUNT_MASK_DIR] = "mask",   [MOUNT_COVER] = "cover",
	[MOUNT_TEXT] = "copy",      [MOUNT_PIN] = "pin",         [MOUNT_COW] = "cow",
};

static const char *const reach_names[] = {
	[REACH_NONE] = "none", [REACH_LIST] = "list",   [REACH_READ] = "read",
	[REACH_EXEC] = "exec", [REACH_WRITE] = "write", [REACH_DEVICE] = "device",
};

static const char *rights(const struct mount *m) {
	switch (m->kind) {
	case MOUNT_BIND:
		return m->writable ? "rw" : "ro";
	case MOUNT_COW:
		return "cow";
	case MOUNT_PIN:
		return m->writable ? "pin" : "ro";
	case MOUNT_COVER:
	case MOUNT_TEXT:
		return "ro";
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
		return "hidden";
	case MOUNT_PROC:
		return m->writable ? "rw" : "ro";
	case MOUNT_PRIVATE:
	case MOUNT_DEVICE:
	case MOUNT_PTS:
	case MOUNT_QUEUES:
		return "rw";
	case MOUNT_LINK:
		return "link";
	case MOUNT_DIR:
		return "dir";
	case MOUNT_FILE:
		return "file";
	}
	return "";
}

static const char *home_kind(const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (streq(plan->mounts[i].target, plan->home_at)) {
			return plan->home_source != NULL ? "private, kept between runs"
							 : "private, empty at every run";
		}
	}
	return "the host's, without credentials";
}

struct limit_row {
	const char *name, *unit;
	int64_t value;
};

#define LIMIT_ROWS 11

static int64_t or_none(int64_t value) {
	return value == 0 ? LIMIT_NONE : value;
}

static void limit_rows(const struct plan *plan, struct limit_row rows[LIMIT_ROWS]) {
	const struct limit_row all[LIMIT_ROWS] = {
		{"timeout_ms", "ms", plan->timeout_ms},
		{"idle_timeout_ms", "ms", plan->idle_ms},
		{"grace_ms", "ms", plan->grace_ms},
		{"output_bytes", "bytes a stream", plan->output_bytes},
		{"memory_bytes", "bytes", plan_memory_bytes(plan)},
		{"cpus_millis", "thousandths of a processor", plan->cpu_millis},
		{"pinned_processors", "processors", or_none(plan->processors)},
		{"cgroup_processes", "processes", plan->max_processes},
		{"sampled_processes", "processes", or_none(plan->sampled.processes)},
		{"disk_bytes", "bytes", or_none(plan->sampled.disk)},
		{"tmp_bytes", "bytes", or_none((int64_t)plan->tmp_size)},
	};
	memcpy(rows, all, sizeof all);
}

/* ---- text ---- */

void explain_end_line(struct buf *out, size_t start) {
	if (!buf_failed(out)) {
		str_hide_controls(out->data + start, false);
	}
	buf_puts(out, "\n");
}

static void text_guarantees(const struct plan *plan, struct buf *out) {
	buf_puts(out, "\nguarantees\n");
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *p = &plan->guarantees[g];
		buf_printf(out, "  %-17s %-9s", guarantee_name(g), plan_state_name(p->state));
		for (size_t i = 0; i < 4 && p->by[i] != NULL; i++) {
			buf_printf(out, "%s%s", i == 0 ? " " : ", ", p->by[i]);
		}
		if (p->why != NULL) {
			buf_printf(out, "%s%s", p->by[0] == NULL ? " " : ": ", p->why);
		}
		buf_puts(out, "\n");
	}
}

static void text_mount(const struct mount *m, struct buf *out) {
	size_t start = out->len;
	buf_printf(out, "  %-7s %s", rights(m), m->target);
	if (m->kind == MOUNT_LINK) {
		buf_printf(out, " -> %s", m->text);
	} else if ((m->kind == MOUNT_BIND || m->kind == MOUNT_COW) &&
		   !streq(m->source, m->target)) {
		buf_printf(out, " = %s", m->source);
	}
	buf_printf(out, "   # %s", m->note == NULL ? kind_names[m->kind] : m->note);
	if (m->origin.kind != ORIGIN_BUILTIN) {
		char origin[128];
		buf_printf(out, ", %s", policy_origin_text(&m->origin, origin, sizeof origin));
	}
	explain_end_line(out, start);
}

static const char *effect_name(const struct rule *r) {
	return r->effect == EFFECT_DENY ? "deny" : "protect";
}

/* The same item of the policy: one line for all rules that it became. */
static bool same_item(const struct rule *a, const struct rule *b) {
	bool set = a->set != NULL && b->set != NULL && streq(a->set, b->set);
	return a->effect == b->effect && a->origin.kind == b->origin.kind &&
	       (set || (a->set == NULL && b->set == NULL && a->except == b->except &&
			streq(a->written, b->written)));
}

static void text_rules(const struct rules *rules, struct buf *out) {
	buf_puts(out, rules->count > 0 ? "\nrules\n" : "");
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		char origin[128];
		size_t start = out->len;
		if (i > 0 && same_item(r, &rules->list[i - 1])) {
			continue;
		}
		buf_printf(out, "  %-7s %s%s%s   # %s", effect_name(r), r->except ? "!" : "",
			   r->set != NULL ? "@" : "", r->set != NULL ? r->set : r->written,
			   policy_origin_text(&r->origin, origin, sizeof origin));
		explain_end_line(out, start);
	}
}

static void text_list(const char *heading, const char *const *lines, size_t n, struct buf *out) {
	if (n > 0) {
		buf_printf(out, "\n%s\n", heading);
	}
	for (size_t i = 0; i < n; i++) {
		size_t start = out->len;
		buf_printf(out, "  %s", lines[i]);
		explain_end_line(out, start);
	}
}

static void text_environment(const struct plan *plan, struct buf *out) {
	buf_puts(out, "\nenvironment\n ");
	for (size_t i = 0; i < plan->nenv; i++) {
		buf_printf(out, " %.*s", (int)strcspn(plan->env[i], "="), plan->env[i]);
	}
	buf_puts(out, "\n");
}

static void text_secrets(const struct plan *plan, struct buf *out) {
	if (plan->nsecrets > 0) {
		buf_puts(out, "\nsecrets\n");
	}
	for (size_t i = 0; i < plan->nsecrets; i++) {
		const struct host_secret *s = &plan->secrets[i];
		size_t start = out->len;
		buf_printf(out, "  %-24s %s%s, %s%s", s->name, s->variable, s->file ? "_FILE" : "",
			   s->agent[0] == '\0' ? "shared" : "agent ", s->agent);
		explain_end_line(out, start);
	}
}

static void text_limits(const struct plan *plan, struct buf *out) {
	struct limit_row rows[LIMIT_ROWS];
	limit_rows(plan, rows);
	buf_puts(out, "\nlimits\n");
	for (size_t i = 0; i < LIMIT_ROWS; i++) {
		if (rows[i].value == LIMIT_NONE) {
			buf_printf(out, "  %-17s none\n", rows[i].name);
		} else {
			buf_printf(out, "  %-17s %lld %s\n", rows[i].name, (long long)rows[i].value,
				   rows[i].unit);
		}
	}
}

static void text_places(const struct plan *plan, struct buf *out) {
	bool moved = !streq(plan->workspace, plan->workspace_at);
	size_t start = out->len;
	buf_printf(out, "workspace  %s%s%s", plan->workspace, moved ? " at " : "",
		   moved ? plan->workspace_at : "");
	explain_end_line(out, start);
	if (plan->cow_dir != NULL) {
		buf_puts(out, "changes    copy-on-write (corral diff, apply, discard)\n");
	}
	start = out->len;
	buf_printf(out, "directory  %s", plan->cwd);
	explain_end_line(out, start);
	buf_printf(out, "network    %s\n", explain_net_mode(plan));
	start = out->len;
	buf_printf(out, "home       %s (%s)", plan->home_at, home_kind(plan));
	explain_end_line(out, start);
}

static void explain_text(const struct plan *plan, struct buf *out) {
	buf_printf(out, "level      %s\nengine     %s\n", plan_level_name(plan->level),
		   plan_engine_name(plan->engine));
	if (plan->depth > 1) {
		buf_printf(out, "depth      %u (inside %u of Corral)\n", plan->depth,
			   plan->depth - 1);
	}
	text_places(plan, out);
	text_guarantees(plan, out);
	buf_puts(out, "\nfiles\n");
	for (size_t i = 0; i < plan->nmounts; i++) {
		text_mount(&plan->mounts[i], out);
	}
	text_rules(&plan->rules, out);
	explain_net_text(plan, out);
	text_environment(plan, out);
	text_secrets(plan, out);
	text_limits(plan, out);
	text_list("warnings", plan->warnings, plan->nwarnings, out);
	text_list("notes", plan->notes, plan->nnotes, out);
}

/* ---- JSON ---- */

static void json_mount(struct emit *j, const struct mount *m) {
	emit_object(j, NULL);
	emit_string(j, "target", m->target);
	emit_string(j, "kind", kind_names[m->kind]);
	emit_string(j, "rights", rights(m));
	emit_string(j, "reach", reach_names[m->reach]);
	if (m->source != NULL) {
		emit_string(j, "source", m->source);
	}
	if (m->kind == MOUNT_LINK) {
		emit_string(j, "to", m->text);
	}
	policy_origin_emit(j, "origin", &m->origin);
	emit_string(j, "note", m->note);
	emit_end_object(j);
}

static void json_limits(struct emit *j, const struct plan *plan) {
	struct limit_row rows[LIMIT_ROWS];
	limit_rows(plan, rows);
	emit_object(j, "limits");
	for (size_t i = 0; i < LIMIT_ROWS; i++) {
		if (rows[i].value == LIMIT_NONE) {
			emit_null(j, rows[i].name);
		} else {
			emit_int(j, rows[i].name, rows[i].value);
		}
	}
	emit_end_object(j);
}

static void json_secrets(struct emit *j, const struct plan *plan) {
	emit_array(j, "secrets");
	for (size_t i = 0; i < plan->nsecrets; i++) {
		const struct host_secret *s = &plan->secrets[i];
		emit_object(j, NULL);
		emit_string(j, "name", s->name);
		emit_string(j, "agent", s->agent[0] == '\0' ? NULL : s->agent);
		emit_string(j, "variable", s->variable);
		emit_string(j, "expose", s->file ? "file" : "env");
		emit_end_object(j);
	}
	emit_end_array(j);
}

static void json_rules(struct emit *j, const struct rules *rules) {
	emit_array(j, "rules");
	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		emit_object(j, NULL);
		emit_string(j, "effect", effect_name(r));
		emit_bool(j, "except", r->except);
		emit_string(j, "pattern", r->written);
		emit_string(j, "beneath", r->anchor);
		emit_string(j, "set", r->set);
		emit_string(j, "reason", r->reason);
		policy_origin_emit(j, "origin", &r->origin);
		emit_end_object(j);
	}
	emit_end_array(j);
}

static void json_places(struct emit *j, const struct plan *plan) {
	emit_object(j, "workspace");
	emit_string(j, "source", plan->workspace);
	emit_string(j, "at", plan->workspace_at);
	emit_bool(j, "cow", plan->cow_dir != NULL);
	emit_end_object(j);
	emit_object(j, "home");
	emit_string(j, "source", plan->home_source);
	emit_string(j, "at", plan->home_at);
	emit_string(j, "kind", home_kind(plan));
	emit_end_object(j);
	emit_string(j, "cwd", plan->cwd);
	emit_string(j, "network", keys[KEY_NET_MODE].choices[plan->net.mode]);
}

static void explain_json(const struct plan *plan, struct buf *out) {
	struct emit j;
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_string(&j, "engine", plan_engine_name(plan->engine));
	emit_string(&j, "level", plan_level_name(plan->level));
	emit_int(&j, "depth", plan->depth);
	emit_int(&j, "landlock_abi", plan->landlock_abi);
	json_places(&j, plan);
	guarantees_emit(&j, plan->guarantees);
	emit_array(&j, "mounts");
	for (size_t i = 0; i < plan->nmounts; i++) {
		json_mount(&j, &plan->mounts[i]);
	}
	emit_end_array(&j);
	json_rules(&j, &plan->rules);
	explain_net_json(plan, &j);
	emit_array(&j, "env");
	for (size_t i = 0; i < plan->nenv; i++) {
		emit_bytes(&j, NULL, plan->env[i], strcspn(plan->env[i], "="));
	}
	emit_end_array(&j);
	json_secrets(&j, plan);
	json_limits(&j, plan);
	emit_strings(&j, "warnings", plan->warnings, plan->nwarnings);
	emit_strings(&j, "notes", plan->notes, plan->nnotes);
	emit_end_object(&j);
}

void plan_explain(const struct plan *plan, const struct policy *p, bool json, struct buf *out) {
	(void)p; /* its values are printed by policy_print(); each mount carries its origin */
	if (json) {
		explain_json(plan, out);
	} else {
		explain_text(plan, out);
	}
}
