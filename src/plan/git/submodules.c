/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that make `git submodule update --init` work in the sandbox.
 *
 * Theory.  `git submodule init` copies the URL of each submodule from .gitmodules into
 * .git/config, which is read-only in the sandbox.  Corral generates a configuration file with
 * these URLs.  An includeIf applies it to this one repository, because another repository may have
 * a submodule of the same name.  Then init has nothing to write.  The host's repository does not
 * change.
 *
 * Should:   give each submodule the URL that git would write.
 * Must not: show a credential of a remote's URL, or name a program (`update = !command`).
 * Fails:    open: a submodule whose URL cannot be determined is left out; for it, git fails to
 *           write .git/config, and a hint gives the reason. */
#include "plan/git/submodules.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/git/clean.h"
#include "plan/git/config.h"

struct submodule {
	const char *name, *url, *update;
};

/* ---- .gitmodules ---- */

struct submodules {
	struct builder *b;
	struct submodule items[SUBMODULES_MAX];
	size_t n;
};

static struct submodule *submodule_of(struct submodules *all, const char *name) {
	for (size_t i = 0; i < all->n; i++) {
		if (streq(all->items[i].name, name)) {
			return &all->items[i];
		}
	}
	if (all->n == SUBMODULES_MAX) {
		return NULL;
	}
	all->items[all->n] = (struct submodule){.name = plan_keep_printf(all->b, "%s", name)};
	return &all->items[all->n++];
}

static void take_submodule(void *arg, const struct git_config *c) {
	struct submodules *all = arg;
	if (!streq(c->section.data, "submodule") || !c->has_sub || !c->has_value ||
	    c->sub.len == 0) {
		return;
	}
	struct submodule *s = submodule_of(all, c->sub.data);
	if (s != NULL && streq(c->key.data, "url")) {
		s->url = plan_keep_printf(all->b, "%s", c->value.data);
	} else if (s != NULL && streq(c->key.data, "update")) {
		s->update = plan_keep_printf(all->b, "%s", c->value.data);
	}
}

static void read_entries(struct builder *b, const char *text,
			 void (*take)(void *arg, const struct git_config *c), void *arg) {
	struct git_config c;
	enum git_config_event event;

	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && !git_config_failed(&c)) {
		if (event == GIT_CONFIG_ENTRY) {
			take(arg, &c);
		}
	}
	b->out_of_memory = b->out_of_memory || git_config_failed(&c);
	git_config_done(&c);
}

static void read_submodules(struct builder *b, const struct repository *r, struct submodules *all) {
	const char *path = plan_keep_join(b, r->tree, ".gitmodules");

	*all = (struct submodules){.b = b};
	if (!r->has_submodules || host_fs_look(b, path).kind != LOOK_FILE) {
		return; /* git reads .gitmodules only if it is a regular file */
	}
	const char *text = host_fs_text(b, path, GIT_CONFIG_MAX);
	if (text != NULL) {
		read_entries(b, text, take_submodule, all);
	}
}

size_t submodules_list(struct builder *b, const struct repository *r,
		       const char *ret_names[SUBMODULES_MAX]) {
	struct submodules all;

	read_submodules(b, r, &all);
	for (size_t i = 0; i < all.n; i++) {
		ret_names[i] = all.items[i].name;
	}
	return all.n;
}

/* ---- URLs ---- */

/* The URL against which git resolves a relative one. */
struct base {
	struct builder *b;
	const char *url;
	bool other; /* there is a remote other than origin, which git may use instead */
};

static void take_remote(void *arg, const struct git_config *c) {
	struct base *base = arg;
	if (!c->has_sub || !c->has_value) {
		return;
	}
	if (git_config_is(c, "branch", "remote")) {
		base->other = base->other || !streq(c->value.data, "origin");
	} else if (streq(c->section.data, "remote") && !streq(c->sub.data, "origin")) {
		base->other = true;
	} else if (git_config_is(c, "remote", "url") && base->url == NULL) {
		base->url = plan_keep_printf(base->b, "%s", c->value.data);
	}
}

/* "/a", "https://a/b" and "a:b" are absolute. */
static bool is_absolute(const char *url) {
	const char *slash = strchr(url, '/'), *colon = strchr(url, ':');
	return url[0] == '/' || (colon != NULL && (slash == NULL || colon < slash));
}

static const char *inside(struct builder *b, const char *path) {
	const struct plan *plan = b->plan;
	return path_within(path, plan->workspace) ? plan_keep_printf(b, "%s%s", plan->workspace_at,
								     path + strlen(plan->workspace))
						  : path;
}

static const char *base_url(struct builder *b, const struct repository *r) {
	struct base base = {.b = b};
	const char *text = host_fs_text(b, plan_keep_join(b, r->common, "config"), GIT_CONFIG_MAX);

	if (text == NULL) {
		return NULL;
	}
	read_entries(b, text, take_remote, &base);
	const char *url = base.url == NULL ? inside(b, r->tree) : base.url;
	return base.other || !is_absolute(url) ? NULL : url;
}

/* memrchr(3), which not every C library has. */
static const char *last_of(const char *s, size_t len, char c) {
	while (len > 0 && s[len - 1] != c) {
		len--;
	}
	return len == 0 ? NULL : s + len - 1;
}

/* Resolves a relative URL as git does: each "../" removes the last component of base; of host:path
 * the host remains.  NULL when there are too many "../". */
static const char *joined(struct builder *b, const char *base, const char *url) {
	size_t len = strlen(base);
	char between = '/';

	while (len > 0 && base[len - 1] == '/') {
		len--;
	}
	for (;;) {
		if (str_starts(url, "./")) {
			url += 2;
			continue;
		}
		if (!str_starts(url, "../")) {
			break;
		}
		url += 3;
		const char *cut = last_of(base, len, '/');
		if (cut == NULL) {
			cut = last_of(base, len, ':');
			between = ':';
		}
		if (cut == NULL) {
			return NULL;
		}
		len = (size_t)(cut - base);
	}
	size_t rest = strlen(url);
	while (rest > 0 && url[rest - 1] == '/') {
		rest--;
	}
	return plan_keep_printf(b, "%.*s%c%.*s", (int)len, base, between, (int)rest, url);
}

static bool is_relative(const char *url) {
	return str_starts(url, "./") || str_starts(url, "../");
}

/* ---- the settings ---- */

static const char *update_mode(const char *mode) {
	static const char *const modes[] = {"checkout", "rebase", "merge", "none"};
	for (size_t i = 0; mode != NULL && i < ARRAY_LEN(modes); i++) {
		if (streq(mode, modes[i])) {
			return modes[i];
		}
	}
	return mode == NULL ? NULL : "none"; /* git also replaces a command by none */
}

static void write_submodule(const struct submodule *s, const char *url, struct buf *out) {
	const char *update = update_mode(s->update);

	buf_puts(out, "[submodule ");
	git_config_quote(s->name, strlen(s->name), out);
	buf_puts(out, "]\n\turl = ");
	git_config_quote(url, strlen(url), out);
	buf_puts(out, "\n");
	if (update != NULL) {
		buf_printf(out, "\tupdate = %s\n", update);
	}
}

static void write_submodules(struct builder *b, const struct repository *r, struct buf *out) {
	struct submodules all;
	const char *base = NULL;
	bool looked = false;

	read_submodules(b, r, &all);
	for (size_t i = 0; i < all.n; i++) {
		const struct submodule *s = &all.items[i];
		const char *url = s->url;
		if (url != NULL && is_relative(url)) {
			base = looked ? base : base_url(b, r);
			looked = true;
			url = base == NULL ? NULL : joined(b, base, url);
		}
		if (url != NULL && url[0] != '\0') {
			write_submodule(s, url, out);
		}
	}
}

/* The base of relative URLs may contain a credential. */
static const char *cleaned(struct builder *b, const struct buf *text) {
	const char *kept = NULL;
	struct buf out;

	buf_init(&out);
	switch (git_clean(text->data, text->len, &out)) {
	case GIT_CLEAN_SAME:
		kept = plan_keep_printf(b, "%s", text->data);
		break;
	case GIT_CLEAN_CHANGED:
		kept = buf_failed(&out) ? NULL : plan_keep_printf(b, "%s", out.data);
		break;
	case GIT_CLEAN_CLOSED:
		break;
	}
	b->out_of_memory = b->out_of_memory || buf_failed(&out);
	buf_done(&out);
	return kept;
}

bool submodules_settings(struct builder *b, struct submodule_settings *ret) {
	for (size_t i = 0; i < b->nrepositories; i++) {
		const struct repository *r = &b->repositories[i];
		if (!r->has_submodules || r->common == NULL ||
		    !streq(r->tree, b->plan->workspace)) {
			continue;
		}
		struct buf text;
		buf_init(&text);
		write_submodules(b, r, &text);
		b->out_of_memory = b->out_of_memory || buf_failed(&text);
		const char *kept = buf_failed(&text) || text.len == 0 ? NULL : cleaned(b, &text);
		buf_done(&text);
		*ret = (struct submodule_settings){.text = kept, .dir = inside(b, r->dir)};
		return kept != NULL;
	}
	return false;
}
