/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of audit records.
 *
 * The members that `corral audit list` prints come first, in one order for all kinds, so that a
 * reader of a million lines looks at the beginning of each.
 *
 * Should:   bound each record: a command can have a megabyte of arguments.
 * Must not: write a value of a secret; the caller redacts the command (A3 is emit.c's).
 * Fails:    as buf.h: an allocation failure stays in the buffer. */
#include "audit/audit.h"

#include "base/emit.h"

#include <string.h>

/* The most bytes of one argument, and of all. */
#define WORD_MAX ((size_t)1024)
#define WORDS_MAX ((size_t)4096)
/* Of a path, a reason, a rule. */
#define TEXT_MAX ((size_t)1024)

const char *const audit_kinds[] = {
	"run",         "unsandboxed_run", "degraded",   "deny.path", "deny.net",
	"deny.cmd",    "deny.syscall",    "deny.limit", "deny.rpc",  "leak",
	"secret.used", "file.sent",       "trust",      "grant",     NULL};

static void put_text(struct emit *j, const char *key, const char *text) {
	if (text == NULL) {
		emit_null(j, key);
	} else {
		emit_bytes(j, key, text, strnlen(text, TEXT_MAX));
	}
}

static void put_number(struct emit *j, const char *key, bool known, int64_t n) {
	if (known) {
		emit_int(j, key, n);
	} else {
		emit_null(j, key);
	}
}

static void begin(struct emit *j, struct buf *out, const struct audit_run_facts *f,
		  const char *const kind_and_verdict[2]) {
	emit_init(j, out, false);
	emit_object(j, NULL);
	emit_string(j, "kind", kind_and_verdict[0]);
	emit_string(j, "id", f->id);
	put_text(j, "session", f->session);
	put_text(j, "agent", f->agent);
	emit_string(j, "verdict", kind_and_verdict[1]);
}

static void end(struct emit *j, const struct audit_run_facts *f) {
	emit_string(j, "policy", f->policy);
	emit_end_object(j);
	buf_puts(j->out, "\n");
}

static void put_command(struct emit *j, const char *const *argv) {
	size_t used = 0, i = 0;
	bool cut = false;

	emit_array(j, "command");
	for (; argv != NULL && argv[i] != NULL && used < WORDS_MAX; i++) {
		size_t len = strnlen(argv[i], WORD_MAX);
		cut = cut || argv[i][len] != '\0';
		emit_bytes(j, NULL, argv[i], len);
		used += len + 1;
	}
	emit_end_array(j);
	if (cut || (argv != NULL && argv[i] != NULL)) {
		emit_bool(j, "command_complete", false);
	}
}

static void put_usage(struct emit *j, const struct audit_run *r) {
	emit_object(j, "usage");
	put_number(j, "cpu_ms", r->cpu_ms >= 0, r->cpu_ms);
	put_number(j, "max_rss_kb", r->max_rss_kb >= 0, r->max_rss_kb);
	put_number(j, "processes_peak", r->processes_peak >= 0, r->processes_peak);
	emit_end_object(j);
}

void audit_put_run(struct buf *out, const struct audit_run_facts *f, const struct audit_run *r) {
	struct emit j;

	begin(&j, out, f,
	      (const char *const[]){r->unsandboxed ? "unsandboxed_run" : "run", r->verdict});
	emit_string(&j, "reason", r->reason);
	put_number(&j, "exit", r->exit_code >= 0, r->exit_code);
	put_number(&j, "signal", r->signal > 0, r->signal);
	emit_int(&j, "duration_ms", r->duration_ms);
	emit_string(&j, "level", r->level);
	put_command(&j, r->argv);
	put_text(&j, "cwd", r->cwd);
	put_text(&j, "workspace", r->workspace);
	emit_string(&j, "engine", r->engine);
	emit_string(&j, "mode", r->mode);
	emit_string(&j, "net", r->net);
	emit_int(&j, "denials", (int64_t)r->denials);
	emit_int(&j, "leaks", (int64_t)r->leaks);
	put_usage(&j, r);
	if (r->error != NULL) {
		put_text(&j, "error", r->error);
	}
	end(&j, f);
}

void audit_put_denial(struct buf *out, const struct audit_run_facts *f,
		      const struct audit_denial *d) {
	static const struct {
		const char *kind, *object;
	} names[] = {
		[AUDIT_DENIED_PATH] = {"deny.path", "path"},
		[AUDIT_DENIED_NET] = {"deny.net", "host"},
		[AUDIT_DENIED_COMMAND] = {"deny.cmd", "program"},
		[AUDIT_DENIED_SYSCALL] = {"deny.syscall", "syscall"},
		[AUDIT_DENIED_LIMIT] = {"deny.limit", "limit"},
		[AUDIT_DENIED_RPC] = {"deny.rpc", "method"},
	};
	struct emit j;

	begin(&j, out, f, (const char *const[]){names[d->what].kind, "denied"});
	emit_string(&j, "op", d->op);
	put_text(&j, names[d->what].object, d->object);
	if (d->what == AUDIT_DENIED_NET) {
		put_number(&j, "port", d->port > 0, d->port);
	}
	emit_string(&j, "access", d->access);
	emit_string(&j, "errno", d->error);
	put_text(&j, "rule", d->rule);
	put_text(&j, "why", d->why);
	put_text(&j, "allow_with", d->allow_with);
	emit_int(&j, "count", (int64_t)d->count);
	end(&j, f);
}

void audit_put_leak(struct buf *out, const struct audit_run_facts *f, const struct audit_leak *l) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"leak", l->action});
	if (l->path != NULL) {
		put_text(&j, "path", l->path);
	}
	put_text(&j, "leak", l->kind);
	emit_string(&j, "stream", l->stream);
	emit_string(&j, "view", l->view);
	emit_string(&j, "fingerprint", l->fingerprint);
	emit_int(&j, "count", (int64_t)l->count);
	end(&j, f);
}

void audit_put_degraded(struct buf *out, const struct audit_run_facts *f, const char *level,
			const char *why) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"degraded", "allowed"});
	emit_string(&j, "level", level);
	put_text(&j, "why", why);
	end(&j, f);
}

void audit_put_secret(struct buf *out, const struct audit_run_facts *f, const char *name,
		      const char *how) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"secret.used", "allowed"});
	put_text(&j, "secret", name);
	emit_string(&j, "how", how);
	end(&j, f);
}

void audit_put_sent(struct buf *out, const struct audit_run_facts *f, const char *path,
		    uint64_t bytes) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"file.sent", "allowed"});
	put_text(&j, "path", path);
	emit_int(&j, "bytes", (int64_t)bytes);
	end(&j, f);
}

void audit_put_grant(struct buf *out, const struct audit_run_facts *f,
		     const struct audit_grant *g) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"grant", g->allowed ? "allowed" : "denied"});
	emit_string(&j, "op", g->op);
	put_text(&j, g->host ? "host" : "path", g->object);
	emit_string(&j, "answer", g->answer);
	emit_string(&j, "by", g->by);
	put_text(&j, "grant", g->options);
	emit_int(&j, "waited_ms", g->waited_ms);
	emit_int(&j, "count", (int64_t)g->count);
	end(&j, f);
}

void audit_put_trust(struct buf *out, const struct audit_run_facts *f, const char *path,
		     const char *sha256) {
	struct emit j;

	begin(&j, out, f, (const char *const[]){"trust", "allowed"});
	put_text(&j, "path", path);
	emit_string(&j, "sha256", sha256);
	end(&j, f);
}
