/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that run nothing: the resolved policy, the plan, the schema, the check of a policy
 * file, and the trust in one.
 *
 * Should:   resolve and plan as a run does, so that the printed plan is the one that a run
 *           would use; for a snapshot, the plan of a run on that host.
 * Must not: start a command or write a file of the user (only corral_policy_trust does).
 * Fails:    with the error that a run would have. */
#include "lib/internal.h"
#include "lib/pool.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/credentials.h"
#include "base/emit.h"
#include "base/fd.h"
#include "data/other_builds.h"
#include "plan/seatbelt/seatbelt.h"

/* policy_trust() refuses larger ones. */
#define TRUSTED_MAX ((size_t)64 * 1024 * 1024)

int corral_policy_show(const struct corral_policy *policy, enum corral_format format, char **text,
		       struct corral_error *err) {
	struct prepared p = {0};
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = prepared_resolve(policy, false, &p, &e);
	if (rc == 0) {
		policy_print(&p.policy, format == CORRAL_JSON, &out);
		rc = lib_give(&out, text, &e);
	}
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

static int give_schema(void (*print)(struct buf *), char **text, struct corral_error *err) {
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	print(&out);
	return lib_give(&out, text, &e) == 0 ? 0 : lib_fail(&e, err);
}

int corral_policy_schema(char **text, struct corral_error *err) {
	return give_schema(policy_schema, text, err);
}

int corral_skill_schema(char **text, struct corral_error *err) {
	return give_schema(policy_skill_schema, text, err);
}

/* As a JSON array, so that the arguments stay distinct. */
static void put_command(const char *const *argv, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_strings(&j, NULL, argv, SIZE_MAX);
}

static void explain_json(const struct prepared *p, const char *const *argv, struct buf *out) {
	buf_puts(out, "{\"version\":1,");
	if (argv != NULL) {
		buf_puts(out, "\"command\":");
		put_command(argv, out);
		buf_puts(out, ",");
	}
	buf_puts(out, "\"policy\":");
	policy_print(&p->policy, true, out);
	buf_puts(out, ",\"requests\":");
	policy_print_requests(&p->policy, true, out);
	buf_puts(out, ",\"plan\":");
	plan_explain(&p->plan, &p->policy, true, out);
	buf_puts(out, "}");
}

static void explain_text(const struct prepared *p, const char *const *argv, struct buf *out) {
	if (argv != NULL) {
		buf_puts(out, "command ");
		put_command(argv, out);
		buf_puts(out, "\n\n");
	}
	plan_explain(&p->plan, &p->policy, false, out);
	policy_print_requests(&p->policy, false, out);
	buf_puts(out, "\npolicy\n");
	policy_print(&p->policy, false, out);
}

/* The plan of the same policy on macOS, as a profile.  The ports of the gate are those that a run
 * with namespaces has: only a run knows its own. */
static int put_seatbelt(struct prepared *p, struct buf *out, struct err *e) {
	struct seatbelt_profile profile;
	const struct seatbelt_ports ports = {NET_PROXY_HTTP, NET_PROXY_SOCKS};
	host_as_macos(&p->host); /* a run without namespaces needs a directory: probe() names one */
	if (p->recorded == NULL && p->backend->probe(&p->arena, &p->policy, &p->host, e) != 0) {
		return -1;
	}
	host_as_macos(&p->host);
	if (p->backend->prepare(&p->arena, &p->policy, &p->host, &p->plan, e) != 0 ||
	    seatbelt_profile_make(&p->arena, &p->plan, ports, &profile, e) != 0) {
		return -1;
	}
	buf_puts(out, "; " NOT_RUN_MACOS "\n");
	seatbelt_profile_print(&profile, out);
	return 0;
}

static int give_explanation(struct prepared *p, const char *const *argv, enum corral_format format,
			    char **text, struct err *e) {
	struct buf out;
	const char *const *shown =
		argv == NULL ? NULL : (const char *const *)agent_argv(&p->arena, &p->policy, argv);
	if (argv != NULL && shown == NULL) {
		return err_memory(e, "library");
	}
	buf_init(&out);
	if (format == CORRAL_SEATBELT) {
		if (put_seatbelt(p, &out, e) != 0) {
			buf_done(&out);
			return -1;
		}
	} else if (format == CORRAL_PROMPT) {
		plan_prompt(&p->plan, &p->policy, &out);
	} else {
		(format == CORRAL_JSON ? explain_json : explain_text)(p, shown, &out);
	}
	return lib_give(&out, text, e);
}

int corral_explain(const struct corral_policy *policy, const char *const *argv,
		   enum corral_format format, char **text, struct corral_error *err) {
	struct prepared p = {.secrets_use = SECRETS_NAMED};
	struct err e = {0};

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	/* For macOS only the policy and the caller's own facts of this host count. */
	int rc = format == CORRAL_SEATBELT ? prepared_resolve(policy, false, &p, &e)
					   : prepared_plan(policy, false, &p, &e);
	rc = rc == 0 && format != CORRAL_SEATBELT ? pool_note(&p, &e) : rc;
	if (rc == 0) {
		rc = give_explanation(&p, argv, format, text, &e);
	}
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

static int read_snapshot(const char *path, struct arena *a, struct snapshot *s, struct err *e) {
	struct buf text;
	buf_init(&text);
	/* Errors quote the file, which only one of the caller's ids may be able to read. */
	int rc = credentials_check(e);
	if (rc == 0 && fd_read_file(path, SNAPSHOT_MAX, &text) != 0) {
		rc = err_sys_at(e, "snapshot", "cannot read the snapshot", path);
		e->kind = ERR_USAGE;
	}
	if (rc == 0) {
		rc = snapshot_read(s, a, path, &text, e);
	}
	buf_done(&text);
	return rc;
}

int corral_explain_host(const struct corral_policy *policy, const char *path,
			const char *const *argv, enum corral_format format, char **text,
			struct corral_error *err) {
	struct prepared p = {0};
	struct err e = {0};

	if (lib_need(policy, "the policy", err) != 0 || lib_need(path, "the path", err) != 0 ||
	    lib_need(text, "text", err) != 0) {
		return -1;
	}
	auto_free struct snapshot *s = calloc(1, sizeof *s);
	if (s == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	arena_init(&p.arena);
	int rc = read_snapshot(path, &p.arena, s, &e) == 0 &&
				 prepared_plan_recorded(policy, s, &p, &e) == 0
			 ? give_explanation(&p, argv, format, text, &e)
			 : -1;
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

int corral_summary(const struct corral_policy *policy, char **text, struct corral_error *err) {
	struct prepared p = {0};
	struct err e = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = prepared_plan(policy, false, &p, &e);
	rc = rc == 0 ? pool_note(&p, &e) : rc;
	if (rc == 0) {
		buf_printf(&out, "level %s (%s), workspace %s, network %s",
			   plan_level_name(p.plan.level), plan_engine_name(p.plan.engine),
			   p.plan.workspace,
			   keys[KEY_NET_MODE].choices[policy_num(&p.policy, KEY_NET_MODE)]);
		for (int g = 0; g < GUARANTEE_COUNT; g++) {
			const struct guarantee_report *report = &p.plan.guarantees[g];
			if (report->state == STATE_WEAKER) {
				buf_printf(&out, "\n%s is weaker: %s", guarantee_name(g),
					   report->why);
			}
		}
		for (size_t i = 0; i < p.plan.nnotes; i++) {
			buf_printf(&out, "\nnote: %s", p.plan.notes[i]);
		}
		rc = lib_give(&out, text, &e);
	}
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

int corral_policy_check(const char *path, struct corral_error *err) {
	struct arena a;
	struct err e = {0};

	if (lib_need(path, "the path", err) != 0) {
		return -1;
	}
	arena_init(&a);
	/* An error message quotes the file, which only one of the caller's ids may be able to
	 * read. */
	int rc = credentials_check(&e) == 0 ? policy_check_file(&a, path, &e) : -1;
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

/* A text about one file, whose errors quote it. */
struct described {
	const char *path, *agent;
	bool import;
};

static int describe(struct arena *a, const struct described *d, struct buf *out, struct err *e) {
	return d->import ? policy_import(a, d->path, d->agent, out, e)
			 : policy_review(a, d->path, out, e);
}

static int describe_file(const struct described *d, char **text, struct corral_error *err) {
	struct arena a;
	struct err e = {0};
	struct buf out;

	if (lib_need(d->path, "the path", err) != 0 || lib_need(text, "text", err) != 0) {
		return -1;
	}
	arena_init(&a);
	buf_init(&out);
	buf_puts(&out, ""); /* a text also without warnings */
	int rc = credentials_check(&e) == 0 ? describe(&a, d, &out, &e) : -1;
	if (rc == 0) {
		rc = lib_give(&out, text, &e);
	}
	buf_done(&out);
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}

int corral_policy_review(const char *path, char **text, struct corral_error *err) {
	return describe_file(&(struct described){.path = path}, text, err);
}

int corral_policy_import(const char *path, const char *agent, char **text,
			 struct corral_error *err) {
	return describe_file(&(struct described){path, agent, true}, text, err);
}

/* The audit log has the content that is trusted from now on. */
static void record_trust(const struct host *host, const char *path) {
	auto_free char *real = realpath(path, NULL);
	struct buf text;

	buf_init(&text);
	if (real != NULL && fd_read_file(real, TRUSTED_MAX, &text) == 0) {
		char sha256[65];
		trust_sha256_hex(text.data == NULL ? "" : text.data, text.len, sha256);
		audit_trust(host, real, sha256);
	}
	buf_done(&text);
}

static int trust(struct arena *a, const char *path, struct err *e) {
	struct host host = {0};

	if (probe_host(a, &host, e) != 0) {
		return -1;
	}
	const char *pins = prepare_trust_file(a, &host);
	if (pins == NULL) {
		(void)err_set(e, ERR_SETUP, "policy",
			      "there is no state directory for the trust list");
		return err_fix(e, "set HOME to an existing directory");
	}
	if (policy_trust(pins, path, e) != 0) {
		return -1;
	}
	record_trust(&host, path);
	return 0;
}

int corral_policy_trust(const char *path, struct corral_error *err) {
	struct arena a;
	struct err e = {0};

	if (lib_need(path, "the path", err) != 0) {
		return -1;
	}
	arena_init(&a);
	int rc = trust(&a, path, &e);
	arena_done(&a);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
