/* SPDX-License-Identifier: Apache-2.0 */
/* Expands @remotes in net.allow to the hosts that the workspace's repository fetches from and
 * pushes to.
 *
 * A command cannot change the configuration of a repository that existed before.  But a command may
 * have created the repository, or the user may have copied a directory from another person, so the
 * configuration is not trusted: each host gets one port, and never a private address.
 *
 * Should:   read url, pushurl and url.*.insteadOf as git does.
 * Must not: read other repositories than the workspace's own; print a login.
 * Fails:    closed: a URL that cannot be parsed allows no host. */
#include "plan/internal.h"

#include "base/str.h"
#include "data/ranges.h"
#include "plan/net/url_host.h"
#include "plan/git/config.h"

/* The URL of a remote, or an insteadOf replacement. */
struct line {
	const char *remote; /* the remote's name; NULL: a replacement */
	const char *text;   /* the URL; of a replacement: the prefix that it replaces */
	const char *base;   /* of a replacement: the new prefix */
};

struct remotes {
	struct builder *b;
	struct line *lines;
	size_t n, cap;
};

static void add_line(struct remotes *r, struct line line) {
	if (arena_grow(r->b->a, &r->lines, r->n, &r->cap, sizeof *r->lines) != 0) {
		r->b->out_of_memory = true;
		return;
	}
	r->lines[r->n++] = line;
}

static void take_entry(struct remotes *r, const struct git_config *c) {
	struct builder *b = r->b;
	if (!c->has_sub || !c->has_value) {
		return;
	}
	const char *sub = plan_keep_printf(b, "%s", c->sub.data);
	const char *value = plan_keep_printf(b, "%s", c->value.data);
	if (git_config_is(c, "remote", "url") || git_config_is(c, "remote", "pushurl")) {
		add_line(r, (struct line){.remote = sub, .text = value});
	} else if (git_config_is(c, "url", "insteadof") ||
		   git_config_is(c, "url", "pushinsteadof")) {
		add_line(r, (struct line){.text = value, .base = sub});
	}
}

static void read_config(struct remotes *r, const char *text) {
	struct git_config c;
	enum git_config_event event;
	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) == GIT_CONFIG_SECTION || event == GIT_CONFIG_ENTRY) {
		if (git_config_failed(&c)) {
			r->b->out_of_memory = true;
			break;
		}
		if (event == GIT_CONFIG_ENTRY) {
			take_entry(r, &c);
		}
	}
	git_config_done(&c);
}

/* False when the URL names no other host. */
static bool allow(const struct remotes *r, const struct item *set, const char *remote,
		  const char *url) {
	struct builder *b = r->b;
	struct url_host a;
	if (url_host_of_remote(url, strlen(url), &a) != URL_HOST_HOST) {
		return false;
	}
	if (url_host_is_loopback(&a)) {
		plan_note(b, plan_keep_printf(b,
					      "@remotes: %s is on this host's loopback; to reach "
					      "it: --host-port %u",
					      remote, a.port));
		return false;
	}
	bool name = a.host.kind == HOST_NAME;
	const struct range *range = name ? NULL : range_of(&a.host.ip);
	if (range != NULL) {
		plan_note(b, plan_keep_printf(b,
					      "@remotes: the address of %s is %s; to allow it: "
					      "--allow-host ADDRESS:%u",
					      remote, range->name, a.port));
		return false;
	}
	struct net_rule rule = {
		.kind = name ? NET_RULE_NAME : NET_RULE_NETWORK,
		.name = name ? plan_keep_printf(b, "%s", a.host.name) : NULL,
		.port = a.port,
		.written = "@remotes",
		.note = plan_keep_printf(b, "the remote %s", remote),
		.origin = set->origin,
	};
	if (!name) {
		rule.network = (struct network){.ip = a.host.ip, .bits = 128};
	}
	net_add(b, &rule);
	return true;
}

/* The longest matching prefix wins; a rule does not distinguish fetch and push. */
static const char *replaced(const struct remotes *r, const char *url) {
	const struct line *best = NULL;
	for (size_t i = 0; i < r->n; i++) {
		const struct line *l = &r->lines[i];
		if (l->remote == NULL && str_starts(url, l->text) &&
		    (best == NULL || strlen(l->text) > strlen(best->text))) {
			best = l;
		}
	}
	return best == NULL ? url
			    : plan_keep_printf(r->b, "%s%s", best->base, url + strlen(best->text));
}

static const struct repository *own_repository(const struct builder *b) {
	for (size_t i = 0; i < b->nrepositories; i++) {
		const struct repository *r = &b->repositories[i];
		if (streq(r->tree, b->plan->workspace) && r->common != NULL) {
			return r;
		}
	}
	return NULL;
}

void remotes_add(struct builder *b, const struct item *set) {
	struct remotes r = {.b = b};
	const struct repository *own = own_repository(b);
	if (b->plan->engine < ENGINE_LANDLOCK) {
		plan_note(b, "@remotes: no host is allowed: at this level commands can write the "
			     "repository's configuration");
		return;
	}
	const char *text = own == NULL ? NULL
				       : host_fs_text(b, plan_keep_join(b, own->common, "config"),
						      GIT_CONFIG_MAX);
	if (text == NULL) {
		plan_note(b, "@remotes: no host is allowed: the workspace has no readable git "
			     "repository");
		return;
	}
	read_config(&r, text);
	bool any = false;
	for (size_t i = 0; i < r.n; i++) {
		if (r.lines[i].remote != NULL) {
			any |= allow(&r, set, r.lines[i].remote, replaced(&r, r.lines[i].text));
		}
	}
	if (!any) {
		plan_note(b, "@remotes: the repository has no remote on another host");
	}
}
