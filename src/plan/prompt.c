/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary of a plan as one paragraph, for the system prompt of a language model.
 *
 * Should:   say what this plan enforces, at the level that the host reaches; fit in PROMPT_MAX
 *           bytes: lists are shortened until it does.
 * Must not: print a value of a secret or of a variable, a control character, or a path in part.
 * Fails:    out of memory leaves a failed buffer, which the caller checks. */
#include "plan/plan.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/names.h"
#include "policy/host_rule.h"

#include <stdio.h>

/* Longer paragraphs cost context in every request. */
#define PROMPT_MAX 1500
/* The most elements of a list. */
#define LIST_MOST 6

/* The sets of fs.protect in few words; a set without a row is named by its help. */
static const struct {
	const char *set, *words;
} set_words[] = {
	{"agents", "agent settings"},     {"corral", ".corral.toml"},
	{"editors", "editor settings"},   {"git", "git hooks and config"},
	{"packages", "package settings"}, {"startup", "shell startup files"},
};

/* A list of at most `most` elements, and the number of the others. */
struct list {
	struct buf *out;
	const char *before; /* printed before the first element */
	size_t most, n;
};

static void list_add(struct list *l, const char *element) {
	if (l->n < l->most) {
		buf_printf(l->out, "%s%s", l->n == 0 ? l->before : ", ", element);
	}
	l->n++;
}

static bool list_end(const struct list *l) {
	if (l->n > l->most) {
		buf_printf(l->out, "%s%zu %s", l->most == 0 ? l->before : " and ", l->n - l->most,
			   l->most == 0 ? "listed by `corral explain`" : "more");
	}
	return l->n > 0;
}

/* ---- files ---- */

static bool is_grant(const struct mount *m, const char *key, bool writable) {
	bool tree = m->kind == MOUNT_BIND || m->kind == MOUNT_COW;
	return tree && m->writable == writable && m->note != NULL && streq(m->note, key);
}

static void add_grants(const struct plan *plan, enum key_id key, struct list *l) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (is_grant(&plan->mounts[i], keys[key].name, key == KEY_FS_WRITE)) {
			list_add(l, plan->mounts[i].target);
		}
	}
}

static bool lacks(const struct plan *plan, enum guarantee g) {
	return plan->guarantees[g].state == STATE_ABSENT;
}

static bool workspace_writable(const struct plan *plan) {
	enum visibility sight = plan_mount_visibility(plan, plan->workspace_at);
	return sight == VISIBILITY_WRITE || sight == VISIBILITY_PRIVATE;
}

/* The private HOME; false: HOME is the workspace, or the host's. */
static bool home_private(const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (streq(plan->mounts[i].target, plan->home_at)) {
			return !streq(plan->home_at, plan->workspace_at);
		}
	}
	return false;
}

static void put_writable(const struct plan *plan, size_t most, struct buf *out) {
	const char *verb = lacks(plan, GUARANTEE_FS_WRITE) ? "Write only" : "You can write";
	const char *tmp = plan_lacks_namespaces(plan) ? "$TMPDIR" : "/tmp";
	bool home = home_private(plan);
	struct list l = {out, ", ", most, 0};

	if (workspace_writable(plan)) {
		buf_printf(out, " %s in the workspace %s%s, %s%s", verb, plan->workspace_at,
			   plan->cow_dir == NULL ? "" : " (on a copy that the user reviews)", tmp,
			   home ? ", $HOME" : "");
	} else {
		buf_printf(out, " The workspace %s is read-only. %s in %s%s", plan->workspace_at,
			   verb, tmp, home ? ", $HOME" : "");
	}
	add_grants(plan, KEY_FS_WRITE, &l);
	(void)list_end(&l);
	buf_printf(out, "; %s%s private to the sandbox, not the user's.", tmp,
		   home ? " and $HOME are" : " is");
}

static void put_readable(const struct plan *plan, bool whole, size_t most, struct buf *out) {
	struct list l = {out, ", and ", most, 0};

	if (lacks(plan, GUARANTEE_FS_READ)) {
		buf_puts(out,
			 " Do not read other files of the user: this host does not hide them.");
		return;
	}
	buf_printf(out, " You can also read %s",
		   whole ? "most files of the host" : "the programs and libraries of the system");
	add_grants(plan, KEY_FS_READ, &l);
	(void)list_end(&l);
	buf_printf(out, ". %s: %s.",
		   whole ? "Credentials and other users' homes are hidden"
			 : "Other files of the user, credentials above all, are hidden",
		   plan_lacks_namespaces(plan) ? "opening them fails with EACCES"
					       : "they seem not to exist");
}

static const char *item_words(const struct item *it) {
	const struct name_set *set =
		it->kind == ITEM_SET ? name_set_find(it->str + (it->str[0] == '@')) : NULL;

	for (size_t i = 0; set != NULL && i < ARRAY_LEN(set_words); i++) {
		if (streq(set_words[i].set, set->name)) {
			return set_words[i].words;
		}
	}
	return set != NULL ? set->help : it->str;
}

static void put_items(const struct policy *p, enum key_id key, struct list l, const char *after) {
	const struct value *v = &p->values[key];

	for (size_t i = 0; i < v->count; i++) {
		if (!v->items[i].except) {
			list_add(&l, item_words(&v->items[i]));
		}
	}
	if (list_end(&l)) {
		buf_puts(l.out, after);
	}
}

/* ---- network and limits ---- */

static void rule_text(const struct net_rule *r, char out[HOST_RULE_TEXT]) {
	struct host_rule rule = {.network = r->network, .port = r->port};

	rule.kind = r->kind == NET_RULE_NAME      ? HOST_RULE_NAME
		    : r->kind == NET_RULE_BENEATH ? HOST_RULE_BENEATH
						  : HOST_RULE_NETWORK;
	(void)snprintf(rule.name, sizeof rule.name, "%s", r->name == NULL ? "" : r->name);
	host_rule_text(&rule, out);
}

static void put_network(const struct plan *plan, size_t most, struct buf *out) {
	struct list l = {out, " Network: only these hosts: ", most, 0};
	char text[HOST_RULE_TEXT];

	if (!plan->own_net) {
		buf_puts(out, " Network: that of the host.");
		return;
	}
	if (plan->net.mode == NET_RESTRICTED) {
		buf_puts(out, " Network: public hosts at ports 80 and 443.");
		return;
	}
	for (size_t i = 0; net_has_names(&plan->net) && i < plan->net.nallow; i++) {
		rule_text(&plan->net.allow[i], text);
		list_add(&l, text);
	}
	buf_puts(out, list_end(&l) ? "." : " There is no network.");
	struct list ports = {out, " Of the host's 127.0.0.1 you reach port ", most, 0};
	for (size_t i = 0; i < plan->net.nhost_ports; i++) {
		(void)snprintf(text, sizeof text, "%u", (unsigned)plan->net.host_ports[i]);
		list_add(&ports, text);
	}
	buf_puts(out, list_end(&ports) ? "." : "");
}

static void put_sockets(const struct plan *plan, size_t most, struct buf *out) {
	struct list l = {out, " Services of the host are reachable at ", most, 0};

	for (size_t i = 0; i < plan->net.nsockets; i++) {
		list_add(&l, plan->net.sockets[i].target);
	}
	if (list_end(&l)) {
		buf_puts(out, ".");
	} else if (!lacks(plan, GUARANTEE_IPC)) {
		buf_puts(out, " Services of the host (Docker, systemd) are not reachable.");
	}
}

static void put_limits(const struct plan *plan, struct buf *out) {
	struct list l = {out, " Limits of a command: ", SIZE_MAX, 0};
	char text[64];
	int64_t memory = plan_memory_bytes(plan);

	if (plan->timeout_ms != LIMIT_NONE) {
		(void)snprintf(text, sizeof text, "%lld s", (long long)plan->timeout_ms / 1000);
		list_add(&l, text);
	}
	if (plan->output_bytes != LIMIT_NONE) {
		(void)snprintf(text, sizeof text, "%lld KiB of output",
			       (long long)plan->output_bytes / 1024);
		list_add(&l, text);
	}
	if (memory != LIMIT_NONE) {
		(void)snprintf(text, sizeof text, "%lld MiB of memory",
			       (long long)memory / 1024 / 1024);
		list_add(&l, text);
	}
	if (plan->max_processes != LIMIT_NONE) {
		(void)snprintf(text, sizeof text, "%lld processes", (long long)plan->max_processes);
		list_add(&l, text);
	}
	buf_puts(out, list_end(&l) ? "." : "");
}

/* ---- the paragraph ---- */

/* Guarantees that a reader of the paragraph would take for granted. */
static void put_missing(const struct plan *plan, struct buf *out) {
	static const enum guarantee expected[] = {GUARANTEE_FS_WRITE, GUARANTEE_FS_READ,
						  GUARANTEE_NET, GUARANTEE_PID};
	struct list l = {out, " This host does not enforce all of it (", SIZE_MAX, 0};

	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		bool wanted = expected[i] != GUARANTEE_NET || plan->own_net;
		if (wanted && plan->guarantees[expected[i]].state != STATE_ENFORCED) {
			list_add(&l, guarantee_name(expected[i]));
		}
	}
	if (list_end(&l)) {
		buf_puts(out, "); keep to these rules all the same.");
	}
}

static void put_paragraph(const struct plan *plan, const struct policy *p, size_t most,
			  struct buf *out) {
	buf_printf(out,
		   "Your commands run in Corral, a sandbox that the kernel enforces (level %s).",
		   plan_level_name(plan->level));
	put_writable(plan, most, out);
	put_items(p, KEY_FS_PROTECT,
		  (struct list){out,
				lacks(plan, GUARANTEE_FS_WRITE) ? " Do not change "
								: " Read-only everywhere: ",
				most, 0},
		  ".");
	put_readable(plan, policy_num(p, KEY_FS_VIEW) == VIEW_HOST, most, out);
	put_items(p, KEY_FS_DENY, (struct list){out, " Denied: ", most, 0}, ".");
	put_network(plan, most, out);
	put_sockets(plan, most, out);
	put_limits(plan, out);
	put_missing(plan, out);
	buf_puts(
		out,
		" There is no root: sudo, mount and signals to processes outside do not work. A "
		"refusal looks like \"Permission denied\", \"Read-only file system\", \"No "
		"such file or directory\" or a failed connection; a line \"corral: hint:\" (in a "
		"JSON result: hint, denials) names the rule and the option that allows it. You "
		"cannot change the boundary from inside: do not retry a refused step or look for a "
		"way around it. Tell the user which option is needed and why.");
}

void plan_prompt(const struct plan *plan, const struct policy *p, struct buf *out) {
	size_t start = out->len;

	if (plan->full_access || plan->engine == ENGINE_NONE) {
		buf_puts(out,
			 "Your commands run without a sandbox: files, network and processes of "
			 "the user are not protected. Change nothing outside the task, and ask "
			 "the user before a step that cannot be undone.");
		return;
	}
	for (size_t most = LIST_MOST;; most /= 2) {
		put_paragraph(plan, p, most, out);
		if (buf_failed(out)) {
			return;
		}
		if (out->len - start < PROMPT_MAX || most == 0) {
			break;
		}
		out->len = start;
	}
	str_hide_controls(out->data + start, false);
}
