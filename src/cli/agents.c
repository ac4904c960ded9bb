/* SPDX-License-Identifier: Apache-2.0 */
/* `corral agents`: lists the agents of this host, and enters Corral in the settings of one.
 *
 * Should:   show each change before it is made, and ask, unless --yes was given.
 * Must not: write anything with --dry-run, or without an answer.
 * Fails:    with a usage error; the settings stay as they were. */
#include "cli/cli.h"

#include "agents/agents.h"
#include "base/auto.h"
#include "base/emit.h"
#include "base/read_link.h"
#include "base/str.h"
#include "data/providers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A check that the hook failed. */
#define STATUS_FAILED 1

static int give_error(const struct err *e, struct corral_error *err) {
	if (e->kind == ERR_MEMORY) {
		return memory_error(err);
	}
	(void)usage_error(err, e->fix, "%s", e->what);
	err->sys_errno = e->sys;
	if (e->kind != ERR_USAGE) {
		err->kind = CORRAL_E_FILE;
	}
	return -1;
}

static int give_text(struct buf *out, struct corral_error *err) {
	int rc = buf_failed(out) ? memory_error(err)
				 : print_text(out->data == NULL ? "" : out->data, err);
	buf_done(out);
	return rc;
}

static void put_run(struct buf *out, const struct agent *agent) {
	buf_printf(out, "corral run --profile %s -- %s", agent->name,
		   provider_by_name(agent->provider)->command);
}

static void put_login(struct buf *out, const struct agent *agent) {
	buf_printf(out, "corral run --profile %s%s%s -- %s %s", agent->name,
		   agent->callback == NULL ? "" : " --publish ",
		   agent->callback == NULL ? "" : agent->callback,
		   provider_by_name(agent->provider)->command, agent->login);
}

static void emit_or_null(struct emit *j, const char *key, const char *text) {
	if (text == NULL || text[0] == '\0') {
		emit_null(j, key);
	} else {
		emit_string(j, key, text);
	}
}

static void emit_command(struct emit *j, const char *key, const struct agent *agent,
			 void (*put)(struct buf *, const struct agent *)) {
	struct buf text;

	buf_init(&text);
	put(&text, agent);
	emit_string(j, key, text.data);
	buf_done(&text);
}

static void emit_agent(struct emit *j, const struct agent *agent, const struct agent_found *f) {
	const struct provider *row = provider_by_name(agent->provider);

	emit_object(j, NULL);
	emit_string(j, "name", agent->name);
	emit_string(j, "profile", agent->name);
	emit_string(j, "provider", agent->provider);
	emit_string(j, "command", row->command);
	emit_or_null(j, "program", f->program);
	emit_or_null(j, "version", f->version);
	emit_or_null(j, "directory", f->dir);
	emit_or_null(j, "key", f->key);
	emit_bool(j, "login", f->login);
	emit_strings(j, "flags", agent->flags, AGENT_FLAGS);
	emit_bool(j, "has_hook", agent->hook != HOOK_NONE);
	emit_bool(j, "hook", f->hook);
	emit_bool(j, "hook_trusted", f->trusted);
	emit_or_null(j, "hook_fails_open", agent->open);
	emit_bool(j, "has_mcp", agent->mcp != MCP_NONE);
	emit_bool(j, "mcp", f->mcp);
	emit_command(j, "run", agent, put_run);
	if (agent->login != NULL) {
		emit_command(j, "log_in", agent, put_login);
	} else {
		emit_null(j, "log_in");
	}
	emit_end_object(j);
}

static const char *hook_word(const struct agent *agent, const struct agent_found *f) {
	if (agent->hook == HOOK_NONE) {
		return "has no hook";
	}
	if (!f->hook) {
		return "no hook installed";
	}
	return f->trusted ? "hook installed" : "hook installed, but not trusted by the agent";
}

static void put_agent(struct buf *out, const struct agent *agent, const struct agent_found *f) {
	buf_printf(out, "%-9s %s%s%s; %s%s\n", agent->name,
		   f->program[0] == '\0' ? "not found in PATH" : f->program,
		   f->version[0] == '\0' ? "" : " ", f->version, hook_word(agent, f),
		   f->mcp ? "; MCP server installed" : "");
	if (f->program[0] != '\0') {
		buf_puts(out, "          run it inside: ");
		put_run(out, agent);
		buf_puts(out, "\n");
	}
	if (f->program[0] != '\0' && f->key == NULL && agent->login != NULL) {
		buf_puts(out, "          log in inside: ");
		put_login(out, agent);
		buf_puts(out, "\n");
	}
}

int verb_agents(struct invocation *inv, struct corral_error *err) {
	struct agent_found found;
	struct buf out;
	struct emit j;

	if (inv->nwords > 0) {
		return usage_error(err, "corral agents install|uninstall|check NAME",
				   "`corral agents` takes no argument: %s", inv->words[0]);
	}
	buf_init(&out);
	emit_init(&j, &out, false);
	if (inv->json) {
		emit_object(&j, NULL);
		emit_int(&j, "version", 1);
		emit_array(&j, "agents");
	}
	for (size_t i = 0; i < agents_count; i++) {
		survey_agent(&agents[i], &found);
		if (inv->json) {
			emit_agent(&j, &agents[i], &found);
		} else {
			put_agent(&out, &agents[i], &found);
		}
	}
	if (inv->json) {
		emit_end_array(&j);
		emit_end_object(&j);
	}
	return give_text(&out, err);
}

/* The agent that the one argument names; NULL with *err filled. */
static const struct agent *chosen(const struct invocation *inv, struct corral_error *err) {

	if (inv->nwords != 1) {
		(void)usage_error(err, "list the names: corral agents",
				  "`corral %s` takes the name of one agent", inv->verb->name);
		return NULL;
	}
	const struct agent *agent = agent_by_name(inv->words[0]);
	if (agent == NULL) {
		struct nearest n;
		char remedy[96];
		nearest_init(&n, inv->words[0]);
		for (size_t i = 0; i < agents_count; i++) {
			nearest_offer(&n, agents[i].name);
		}
		(void)snprintf(remedy, sizeof remedy, "%s%s", n.best == NULL ? "" : "did you mean ",
			       n.best == NULL ? "list the names: corral agents" : n.best);
		(void)usage_error(err, remedy, "unknown agent: %s", inv->words[0]);
	}
	return agent;
}

/* 1: yes; 0: no; -1: there is no terminal to prompt on. */
static int confirm(const struct invocation *inv, struct corral_error *err) {
	char answer[16] = "";

	if (inv->yes) {
		return 1;
	}
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		return usage_error(err, "look at it with --dry-run, then use --yes",
				   "%s needs --yes when stdin or stderr is not a terminal",
				   inv->verb->name);
	}
	(void)fprintf(stderr, "make this change? [y/N] ");
	(void)fflush(stderr);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (streq(answer, "y\n") || streq(answer, "yes\n"));
}

/* Shows the changes, asks, and writes them. */
static int make_changes(const struct invocation *inv, const struct changes *c,
			struct corral_error *err) {
	struct buf out;
	struct err e = {0};

	if (c->n == 0) {
		return print_text("nothing to change", err);
	}
	buf_init(&out);
	for (size_t i = 0; i < c->n; i++) {
		change_print(&c->items[i], &out);
	}
	if (give_text(&out, err) != 0) {
		return -1;
	}
	int sure = inv->dry_run ? 0 : confirm(inv, err);
	for (size_t i = 0; sure > 0 && i < c->n; i++) {
		if (change_write(&c->items[i], &e) != 0) {
			return give_error(&e, err);
		}
	}
	if (sure == 0 && !inv->dry_run) {
		print_note("nothing was changed");
	}
	return sure < 0 ? -1 : 0;
}

/* Whether the hook or the MCP entry is meant; -1: the agent has neither. */
static int way_of(const struct invocation *inv, const struct agent *agent,
		  struct corral_error *err) {
	char remedy[128];
	bool mcp = inv->mcp || agent->hook == HOOK_NONE;

	if (mcp ? agent->mcp != MCP_NONE : agent->hook != HOOK_NONE) {
		return mcp;
	}
	(void)snprintf(remedy, sizeof remedy, "run it inside: corral run --profile %s -- %s",
		       agent->name, provider_by_name(agent->provider)->command);
	return usage_error(err, remedy, "%s has no settings for %s that Corral can write",
			   agent->name, inv->mcp ? "an MCP server" : "a hook or an MCP server");
}

int verb_agents_install(struct invocation *inv, struct corral_error *err) {
	const struct agent *agent = chosen(inv, err);
	char program[PATH_MAX];
	struct changes c;
	struct err e = {0};

	int mcp = agent == NULL ? -1 : way_of(inv, agent, err);
	if (mcp < 0) {
		return -1;
	}
	if (!read_link("/proc/self/exe", program, sizeof program)) {
		return setup_error(err, "", "cannot find the path of corral");
	}
	int rc = settings_install(agent, mcp != 0, program, &c, &e) != 0
			 ? give_error(&e, err)
			 : make_changes(inv, &c, err);
	if (rc == 0 && c.n > 0 && !inv->dry_run && mcp == 0) {
		print_note("test it: corral agents check %s", agent->name);
	}
	settings_done(&c);
	return rc;
}

int verb_agents_uninstall(struct invocation *inv, struct corral_error *err) {
	const struct agent *agent = chosen(inv, err);
	struct changes c;
	struct err e = {0};

	if (agent == NULL) {
		return -1;
	}
	int rc = settings_uninstall(agent, &c, &e) != 0 ? give_error(&e, err)
							: make_changes(inv, &c, err);
	settings_done(&c);
	return rc;
}

int verb_agents_check(struct invocation *inv, struct corral_error *err) {
	const struct agent *agent = chosen(inv, err);
	size_t failed = 0;
	struct err e = {0};
	struct buf out;

	if (agent == NULL) {
		return -1;
	}
	if (agent->hook == HOOK_NONE) {
		return usage_error(err, "corral agents", "%s has no hook that Corral can test",
				   agent->name);
	}
	buf_init(&out);
	if (check_hook(agent, &out, &failed, &e) != 0) {
		buf_done(&out);
		return give_error(&e, err);
	}
	buf_printf(&out, "open    %s lets a command run bare with: %s\n", agent->name, agent->open);
	if (give_text(&out, err) != 0) {
		return -1;
	}
	return failed > 0 ? STATUS_FAILED : 0;
}
