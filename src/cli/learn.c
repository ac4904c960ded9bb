/* SPDX-License-Identifier: Apache-2.0 */
/* `corral learn`: runs a command in its sandbox and proposes the grants that it needs, as TOML.
 *
 * The sandbox is never relaxed in order to learn: the workspace is copy-on-write, and the command
 * meets the same rules as in `corral run`.  With --replay it is run again with the grants that were
 * learned so far, until it passes, or nothing new can be granted.
 *
 * Should:   propose the option of each refusal, with a comment that says which operation needed it.
 * Must not: propose a credential, an exception from a rule about names, or a whole HOME: these are
 *           listed for the reader to decide.  Write to a policy file.
 * Fails:    status 1 when the command did not pass; the proposal is then not proven, and says so.
 */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each round learns at least one grant; a command that needs more steps is stopped. */
#define ROUNDS_MAX 20
#define GRANTS_MAX 200

#define ORIGIN "corral learn"

/* The options that widen the view or the network by one item, and their keys. */
static const struct {
	const char *option, *key, *table, *name;
} grantable[] = {
	{"--read", "fs.read", "fs", "read"},
	{"--write", "fs.write", "fs", "write"},
	{"--allow-host", "net.allow", "net", "allow"},
	{"--socket", "net.sockets", "net", "sockets"},
};

struct grant {
	size_t kind; /* index into grantable */
	char *value;
	char *reason; /* the operation that needed it */
};

struct lesson {
	struct grant grants[GRANTS_MAX];
	size_t n, needed;     /* the rest was refused in the run that passed */
	struct buf undecided; /* comment lines: refusals without a grant */
	bool passed;
	unsigned rounds;
};

/* ---- one refusal ---- */

/* The word of a shell that follows the option: 'a'\''b' or plain.  NULL: out of memory. */
static char *unquote(const char *word) {
	char *out = malloc(strlen(word) + 1);
	size_t n = 0;
	bool quoted = false;

	for (const char *p = word; out != NULL && *p != '\0'; p++) {
		if (*p == '\'') {
			quoted = !quoted;
		} else if (*p == '\\' && !quoted && p[1] != '\0') {
			out[n++] = *++p;
		} else {
			out[n++] = *p;
		}
	}
	if (out != NULL) {
		out[n] = '\0';
	}
	return out;
}

/* Programs probe for limits and devices there, and do without them. */
static bool is_of_kernel(const char *path) {
	static const char *const trees[] = {"/proc/", "/sys/", "/dev/"};

	for (size_t i = 0; path != NULL && i < ARRAY_LEN(trees); i++) {
		if (str_starts(path, trees[i])) {
			return true;
		}
	}
	return false;
}

/* The row of the option that allows it; ARRAY_LEN(grantable): none, or not one to grant alone. */
static size_t kind_of(const struct corral_denial *d, const char **ret_value) {
	bool never = d->allow_with == NULL || d->sensitive || is_of_kernel(d->path);
	size_t i = never ? ARRAY_LEN(grantable) : 0;

	for (; i < ARRAY_LEN(grantable); i++) {
		size_t len = strlen(grantable[i].option);
		if (strncmp(d->allow_with, grantable[i].option, len) == 0 &&
		    d->allow_with[len] == ' ') {
			*ret_value = d->allow_with + len + 1;
			break;
		}
	}
	return i;
}

/* "open for write /etc/x, 3 times", without control characters. */
static char *describe(const struct corral_denial *d) {
	struct buf out;

	buf_init(&out);
	if (d->limit != NULL) {
		buf_printf(&out, "limit %s of %s", d->limit, d->value);
	} else {
		buf_printf(&out, "%s for %s %s", d->op, d->access,
			   d->path != NULL   ? d->path
			   : d->host != NULL ? d->host
					     : "");
	}
	if (d->path == NULL && d->port != 0) {
		buf_printf(&out, ":%d", d->port);
	}
	if (d->count > 1) {
		buf_printf(&out, ", %llu times", (unsigned long long)d->count);
	}
	char *text = buf_failed(&out) ? NULL : strdup(out.data);
	buf_done(&out);
	if (text != NULL) {
		str_hide_controls(text, false);
	}
	return text;
}

static bool is_known(const struct lesson *l, size_t kind, const char *value) {
	for (size_t i = 0; i < l->n; i++) {
		if (l->grants[i].kind == kind && streq(l->grants[i].value, value)) {
			return true;
		}
	}
	return false;
}

static void add_undecided(struct lesson *l, const struct corral_denial *d, const char *reason) {
	auto_free char *remedy = d->remedy == NULL ? NULL : strdup(d->remedy);

	if (remedy != NULL) {
		str_hide_controls(remedy, false);
	}
	buf_printf(&l->undecided, "#   %s%s%s\n", reason, remedy == NULL ? "" : ": ",
		   remedy == NULL ? "" : remedy);
}

/* 1: a new grant was learned; 0: none; -1. */
static int learn_one(struct lesson *l, const struct corral_denial *d, struct corral_error *err) {
	const char *word = NULL;
	size_t kind = kind_of(d, &word);
	auto_free char *reason = describe(d);
	auto_free char *value = word == NULL ? NULL : unquote(word);

	if (reason == NULL || (word != NULL && value == NULL)) {
		return memory_error(err);
	}
	if (kind == ARRAY_LEN(grantable) || value == NULL || l->n == GRANTS_MAX) {
		add_undecided(l, d, reason);
		return 0;
	}
	if (is_known(l, kind, value)) {
		return 0;
	}
	l->grants[l->n++] = (struct grant){kind, value, reason};
	value = reason = NULL;
	return 1;
}

/* ---- runs ---- */

/* By one of the first n: a file that is granted for reading would stay read-only in a directory
 * that is granted for writing. */
static bool is_covered(const struct lesson *l, size_t n, const struct grant *g) {
	bool reads = streq(grantable[g->kind].option, "--read");

	for (size_t i = 0; reads && i < n; i++) {
		const struct grant *other = &l->grants[i];
		size_t len = strlen(other->value);
		if (streq(grantable[other->kind].option, "--write") &&
		    strncmp(g->value, other->value, len) == 0 &&
		    (g->value[len] == '/' || g->value[len] == '\0')) {
			return true;
		}
	}
	return false;
}

/* The policy of the next run: the caller's, and the grants so far. */
static struct corral_policy *policy_with(const struct invocation *inv, const struct lesson *l,
					 struct corral_error *err) {
	struct corral_policy *policy = corral_policy_derive(inv->policy);

	if (policy == NULL) {
		(void)memory_error(err);
		return NULL;
	}
	for (size_t i = 0; inv->replay && i < l->n; i++) {
		const struct grant *g = &l->grants[i];
		if (!is_covered(l, l->n, g) &&
		    corral_policy_set_from(policy, grantable[g->kind].key, g->value, ORIGIN, err) !=
			    0) {
			corral_policy_free(policy);
			return NULL;
		}
	}
	return policy;
}

/* Runs the command once and collects its refusals; *ret_new is the number of new grants. */
static int run_round(struct invocation *inv, const char *const *argv, struct lesson *l,
		     size_t *ret_new, struct corral_error *err) {
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_denial d = CORRAL_DENIAL_INIT;
	struct corral_policy *policy = policy_with(inv, l, err);
	size_t before = l->n;
	int rc = 0;

	if (policy == NULL) {
		return -1;
	}
	how.in = STDIN_FILENO;
	how.out = STDERR_FILENO; /* stdout has the proposal */
	how.err = STDERR_FILENO;
	how.forward = 1;
	int ran = corral_run(policy, argv, &how, &result, err);
	corral_policy_free(policy);
	if (ran != 0) {
		return -1;
	}
	l->rounds++;
	l->passed = corral_result_status(result) == 0;
	l->undecided.len = 0;
	for (size_t i = 0; rc >= 0 && corral_result_denial(result, i, &d) == 0; i++) {
		rc = learn_one(l, &d, err);
	}
	if (rc >= 0 && !corral_result_denials_recorded(result)) {
		print_note("warning: this run recorded no refusals of files: the host has no "
			   "broker");
	}
	const char *pending = corral_result_cow(result, NULL);
	if (rc >= 0 && pending != NULL && corral_cow_discard(pending, err) != 0) {
		rc = -1;
	}
	corral_result_free(result);
	*ret_new = l->n - before;
	return rc < 0 ? -1 : 0;
}

static int learn(struct invocation *inv, const char *const *argv, struct lesson *l,
		 struct corral_error *err) {
	size_t new = 0;

	if (corral_policy_set_from(inv->policy, "fs.cow", "true", ORIGIN, err) != 0 ||
	    corral_policy_set_from(inv->policy, "denials", "all", ORIGIN, err) != 0) {
		return -1;
	}
	do {
		size_t known = l->n;
		if (run_round(inv, argv, l, &new, err) != 0) {
			return -1;
		}
		l->needed = l->passed ? known : l->n;
		print_note("learn: run %u %s, %zu new grant%s", l->rounds,
			   l->passed ? "passed" : "failed", new, new == 1 ? "" : "s");
	} while (inv->replay && !l->passed && new > 0 && l->rounds < ROUNDS_MAX);
	return 0;
}

/* ---- the proposal ---- */

static void put_toml_string(struct buf *out, const char *s) {
	buf_puts(out, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\') {
			buf_printf(out, "\\%c", *s);
		} else if ((unsigned char)*s < ' ' || *s == 0x7f) {
			buf_printf(out, "\\u%04x", (unsigned)(unsigned char)*s);
		} else {
			buf_add(out, s, 1);
		}
	}
	buf_puts(out, "\"");
}

static void put_list(struct buf *out, const struct lesson *l, size_t kind) {
	bool any = false;

	for (size_t i = 0; i < l->needed; i++) {
		if (l->grants[i].kind != kind || is_covered(l, l->needed, &l->grants[i])) {
			continue;
		}
		if (!any) {
			buf_printf(out, "%s.%s = [\n", grantable[kind].table, grantable[kind].name);
		}
		any = true;
		buf_puts(out, "\t");
		put_toml_string(out, l->grants[i].value);
		buf_printf(out, ", # %s\n", l->grants[i].reason);
	}
	buf_puts(out, any ? "]\n" : "");
}

/* Grants that were refused in the run that passed are not needed. */
static void put_proposal(struct buf *out, const struct lesson *l) {
	if (l->passed && l->needed == 0) {
		buf_printf(out, "# The command passes without a further grant.\n");
	} else if (l->passed) {
		buf_printf(out, "# Proven: the command passed with these grants (run %u).\n",
			   l->rounds);
	} else {
		buf_printf(out, "# Not proven: the command failed%s.\n",
			   l->rounds > 1 ? " with these grants"
					 : "; --replay runs it again with these grants");
	}
	for (size_t kind = 0; kind < ARRAY_LEN(grantable); kind++) {
		put_list(out, l, kind);
	}
	if (l->needed < l->n) {
		buf_puts(out, "# Refused in the run that passed, so not needed:\n");
	}
	for (size_t i = l->needed; i < l->n; i++) {
		buf_printf(out, "#   %s\n", l->grants[i].reason);
	}
	if (l->undecided.len > 0) {
		buf_puts(out, "# Refused, and not proposed; decide for yourself:\n");
		buf_add(out, l->undecided.data, l->undecided.len);
	}
}

static void lesson_done(struct lesson *l) {
	for (size_t i = 0; i < l->n; i++) {
		free(l->grants[i].value);
		free(l->grants[i].reason);
	}
	buf_done(&l->undecided);
}

int verb_learn(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	struct lesson l = {.n = 0};
	struct buf out;

	if (command_argv(inv, &argv, err) != 0) {
		return -1;
	}
	if (argv == NULL) {
		return usage_error(err, "corral learn [options] [--] COMMAND [ARG...]",
				   "no command given");
	}
	buf_init(&out);
	buf_init(&l.undecided);
	int rc = learn(inv, argv, &l, err);
	if (rc == 0) {
		put_proposal(&out, &l);
		rc = buf_failed(&out) || buf_failed(&l.undecided) ? memory_error(err)
								  : print_text(out.data, err);
	}
	bool passed = l.passed;
	lesson_done(&l);
	buf_done(&out);
	return rc != 0 ? -1 : passed ? 0 : 1;
}
