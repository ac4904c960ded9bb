/* The verb table, and the only place that prints an error and picks an exit code.
 *
 * Should:   have descriptors 0 to 2 open before anything else opens one; report
 *           a failure with its layer, its reason and its remedy.
 * Must not: print control characters that came from a file name or a policy.
 * Fails:    with the codes of corral(1): 2 wrong words, 125 no sandbox, 126
 *           refused or not executable, 127 not found. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/acts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const struct verb verbs[] = {
	{"run", FOR_RUN, true, "[options] [--] COMMAND [ARG...]", "run one command inside",
	 verb_run},
	{"shell", FOR_SHELL, false, "[options]", "an interactive shell inside", verb_shell},
	{"explain", FOR_EXPLAIN, true, "[options] [--] [COMMAND [ARG...]]",
	 "the resolved policy and plan; runs nothing", verb_explain},
	{"status", FOR_STATUS, false, "[--json]",
	 "what this host can enforce, and what would raise it", verb_status},
	{"test", FOR_TEST, false, "[options]", "plant bait, and prove that the boundary holds",
	 verb_test},
	{"check", FOR_CHECK, false, "path PATH [--write] [options] | url URL [options]",
	 "may this path be read or written, this URL be fetched; and which rule says so",
	 verb_check},
	{"diff", FOR_DIFF, false, "[ID [PATH...]] [--json]",
	 "what a run with --cow changed; without ID, what is pending", verb_diff},
	{"apply", FOR_APPLY, false, "ID [PATH...] [--force] [--json]",
	 "put those changes into the workspace", verb_apply},
	{"discard", FOR_DISCARD, false, "ID...|--all", "remove those changes", verb_discard},
	{"policy show", FOR_POLICY, false, "[options]",
	 "the resolved policy, each value with its origin", verb_policy_show},
	{"policy check", FOR_PLAIN, false, "FILE...", "validate policy files", verb_policy_check},
	{"policy schema", FOR_PLAIN, false, "", "the JSON Schema of a policy file",
	 verb_policy_schema},
	{"policy trust", FOR_PLAIN, false, "FILE", "pin a project file, so that it may widen",
	 verb_policy_trust},
	{"completion", FOR_PLAIN, false, "bash|zsh|fish", "a completion script for a shell",
	 verb_completion},
	{"help", FOR_PLAIN, false, "[VERB]", "this text, or that of a verb", verb_help},
};

const size_t verbs_count = ARRAY_LEN(verbs);

static const struct {
	int status;
	const char *why;
} exits[] = {
	[CORRAL_E_NONE] = {125, "a failure without a reason is a fault of ours"},
	[CORRAL_E_USAGE] = {2, "as every tool answers to wrong words"},
	[CORRAL_E_REFUSED] = {126, "refused by policy"},
	[CORRAL_E_SETUP] = {125, "the sandbox could not be set up"},
	[CORRAL_E_NOT_FOUND] = {127, "as a shell answers"},
	[CORRAL_E_NOT_EXECUTABLE] = {126, "as a shell answers"},
	[CORRAL_E_MEMORY] = {125, "the sandbox could not be set up"},
	[CORRAL_E_OUTSIDE] = {126, "refused by policy"},
	[CORRAL_E_SENSITIVE] = {126, "refused by policy"},
	[CORRAL_E_PROTECTED] = {126, "refused by policy"},
	[CORRAL_E_FILE_KIND] = {126, "the file tools do not do that"},
	[CORRAL_E_TOO_LARGE] = {126, "the file tools do not do that"},
	[CORRAL_E_NO_MATCH] = {126, "the file tools do not do that"},
	[CORRAL_E_SEVERAL] = {126, "the file tools do not do that"},
	[CORRAL_E_LEAK] = {126, "refused by policy"},
	[CORRAL_E_FILE] = {126, "the system refused it"},
};

/* With fewer than three open descriptors the next socket or file of ours would
 * become the command's stdin, stdout or stderr. */
static int open_stdio(void) {
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_NOCTTY); /* kept at 0 to 2: not close-on-exec */
	} while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

static void print_error(struct corral_error *err) {
	hide_controls(err->layer, false);
	hide_controls(err->message, true);
	hide_controls(err->remedy, true);
	(void)fprintf(stderr, "corral: %s: %s", err->layer, err->message);
	if (err->sys_errno != 0) {
		(void)fprintf(stderr, ": %s", strerror(err->sys_errno));
	}
	(void)fprintf(stderr, "\n");
	if (err->remedy[0] != '\0') {
		(void)fprintf(stderr, "  remedy: %s\n", err->remedy);
	}
}

/* True when the words begin with the verb's own one or two words. */
static bool verb_matches(const struct verb *verb, char **words, size_t nwords, size_t *ret_used) {
	const char *second = strchr(verb->name, ' ');
	size_t first_len = second == NULL ? strlen(verb->name) : (size_t)(second - verb->name);

	if (strlen(words[0]) != first_len || strncmp(words[0], verb->name, first_len) != 0) {
		return false;
	}
	if (second != NULL && (nwords < 2 || !streq(words[1], second + 1))) {
		return false;
	}
	*ret_used = second == NULL ? 1 : 2;
	return true;
}

static int unknown_verb(char **words, size_t nwords, struct corral_error *err) {
	struct nearest n;
	char asked[128], remedy[160];
	/* "policy" alone is half a verb; what follows it decides. */
	bool two = streq(words[0], "policy") && nwords > 1 && words[1][0] != '-';

	(void)snprintf(asked, sizeof asked, "%s%s%s", words[0], two ? " " : "",
		       two ? words[1] : "");
	nearest_init(&n, asked);
	for (size_t i = 0; i < verbs_count; i++) {
		nearest_offer(&n, verbs[i].name);
	}
	nearest_offer(&n, "policy");
	if (streq(asked, "policy")) {
		return usage_error(err, "corral policy show|check|schema|trust",
				   "policy needs a second word");
	}
	if (n.best != NULL) {
		(void)snprintf(remedy, sizeof remedy, "did you mean `corral %s`?", n.best);
	} else {
		(void)snprintf(remedy, sizeof remedy,
			       "`corral help` lists the verbs; a command needs `corral run`");
	}
	return usage_error(err, remedy, "%s is not a verb", asked);
}

const struct verb *verb_find(char **words, size_t nwords, size_t *ret_used,
			     struct corral_error *err) {
	for (size_t i = 0; i < verbs_count; i++) {
		if (verb_matches(&verbs[i], words, nwords, ret_used)) {
			return &verbs[i];
		}
	}
	(void)unknown_verb(words, nwords, err);
	return NULL;
}

static int invoke(struct invocation *inv, char **words, size_t nwords, struct corral_error *err) {
	size_t used = 0;

	if (nwords == 0) {
		return usage_error(err, "corral run -- COMMAND; `corral help` tells more",
				   "no verb given");
	}
	if (streq(words[0], "--help") || streq(words[0], "-h")) {
		return help_print(NULL, err);
	}
	if (streq(words[0], "--version")) {
		return print_text("corral " CORRAL_VERSION, err);
	}
	if (streq(words[0], PROBE_WORD)) {
		return probe_main(words + 1, nwords - 1);
	}
	if (words[0][0] == '-') {
		return usage_error(err, "options follow the verb: corral run [options] -- COMMAND",
				   "%s is not a verb", words[0]);
	}
	inv->verb = verb_find(words, nwords, &used, err);
	if (inv->verb == NULL || options_parse(inv, words + used, nwords - used, err) != 0) {
		return -1;
	}
	return inv->help ? help_print(inv->verb, err) : inv->verb->run(inv, err);
}

int main(int argc, char **argv) {
	struct corral_error err = {0};

	if (open_stdio() != 0) {
		return exits[CORRAL_E_SETUP].status; /* there may be no stderr to say it on */
	}
	struct invocation inv = {.policy = corral_policy_new()};
	int status = -1;
	if (inv.policy == NULL) {
		(void)memory_error(&err);
	} else {
		status = invoke(&inv, argv + 1, argc < 1 ? 0 : (size_t)argc - 1, &err);
	}
	corral_policy_free(inv.policy);
	if (status >= 0) {
		return status;
	}
	if (!inv.reported) {
		print_error(&err);
	}
	return exits[err.kind].status;
}
