/* SPDX-License-Identifier: Apache-2.0 */
/* main(): the verb table, and the only place that prints an error and picks an exit code.
 *
 * Should:   have descriptors 0 to 2 open before anything else opens one; report
 *           a failure with its layer, its reason and its remedy.
 * Must not: print control characters that came from a file name or a policy.
 * Fails:    with the codes of corral(1): 2 usage error, 125 sandbox could not be set up,
 *           126 refused or not executable, 127 not found. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/errno_name.h"
#include "base/str.h"
#include "data/acts.h"
#include "data/container_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const struct verb verbs[] = {
	{"run", FOR_RUN, true, "[options] [--] COMMAND [ARG...]", "run a command in the sandbox",
	 verb_run},
	{"shell", FOR_SHELL, false, "[options]", "start an interactive shell in the sandbox",
	 verb_shell},
	{"explain", FOR_EXPLAIN, true, "[options] [--] [COMMAND [ARG...]]",
	 "print the resolved policy and plan; runs nothing", verb_explain},
	{"status", FOR_STATUS | FOR_POLICY, false, "[--json] | --snapshot [options]",
	 "print the protection that this host can enforce, and how to raise it", verb_status},
	{"test", FOR_TEST, false, "[options]", "plant bait and try to break out; exit 1 on failure",
	 verb_test},
	{"check", FOR_CHECK, false,
	 "path PATH [--write] [options] | url URL [options] | command [options] [-c STRING] [--] "
	 "[COMMAND]",
	 "is this path, URL or command allowed, and by which rule", verb_check},
	{"why", FOR_WHY, false,
	 "PATH [--write|--exec] [options] | HOST[:PORT] [options] | [options] [-c STRING] -- "
	 "COMMAND [ARG...]",
	 "is it allowed in a run, by which rule, and which option grants it", verb_why},
	{"learn", FOR_LEARN, true, "[options] [--replay] [--] COMMAND [ARG...]",
	 "run a command, and propose the grants that it needs as a policy file", verb_learn},
	{"scan", FOR_SCAN, false, "[FILE|DIR...] [--redact] [--staged] [--json|--sarif]",
	 "find secrets in files, in the staged change, or in stdin; exit 1 on findings", verb_scan},
	{"diff", FOR_DIFF, false, "[ID [PATH...]] [--json]",
	 "print the changes of a run with --cow; without ID, list pending runs", verb_diff},
	{"apply", FOR_APPLY, false, "ID [PATH...] [--force] [--json]",
	 "copy these changes into the workspace", verb_apply},
	{"discard", FOR_DISCARD, false, "ID...|--all", "delete these changes", verb_discard},
	{"ps", FOR_LIST, false, "[--json]", "list your runs that are alive", verb_ps},
	{"home list", FOR_LIST, false, "[--json]",
	 "list the private homes: size, last use, workspace", verb_home_list},
	{"home clean", FOR_CLEAN, false, "[HOME...|--all] [--yes] [--dry-run] [--json]",
	 "remove private homes; by default those whose workspace is gone", verb_home_clean},
	{"tool install", FOR_PLAIN, false, "NAME FILE",
	 "install a program for runs with --tool NAME, and record its hash", verb_tool_install},
	{"tool list", FOR_LIST, false, "[--json]",
	 "list the installed tools, and whether each is unchanged", verb_tool_list},
	{"tool rm", FOR_PLAIN, false, "NAME...", "remove installed tools", verb_tool_rm},
	{"secret set", FOR_SECRET_SET, false, "NAME [options]",
	 "store a secret in the vault; the value comes from stdin, a file or a prompt",
	 verb_secret_set},
	{"secret list", FOR_SECRET_LIST, false, "[--agent ID] [--json]",
	 "list names and scopes of the secrets, never values", verb_secret_list},
	{"secret rm", FOR_SECRET_RM, false, "NAME... [--agent ID]", "remove secrets",
	 verb_secret_rm},
	{"secret import", FOR_SECRET_IMPORT, false, "FILE [options]",
	 "store the secrets of a secrets.json or .env file", verb_secret_import},
	{"secret rekey", FOR_SECRET_REKEY, false, "[--key KIND]",
	 "encrypt the vault under a new key", verb_secret_rekey},
	{"secret export", FOR_SECRET_EXPORT, false, "[--agent ID] [--json] [--yes]",
	 "print names and values, for a backup", verb_secret_export},
	{"audit list", FOR_AUDIT_LIST, false, "[options]", "list the records of the audit log",
	 verb_audit_list},
	{"audit tail", FOR_AUDIT_TAIL, false, "[-f] [options]",
	 "list the last ten records, with -f also new ones", verb_audit_tail},
	{"audit show", FOR_LIST, false, "ID [--json]", "print all records of a run",
	 verb_audit_show},
	{"audit stats", FOR_AUDIT_LIST, false, "[options]",
	 "draw runs over time, denials by rule, hosts, the slowest runs", verb_audit_stats},
	{"audit verify", FOR_LIST, false, "[--json]",
	 "find records that were edited, removed, moved or cut off; exit 1 on findings",
	 verb_audit_verify},
	{"audit export", FOR_AUDIT_EXPORT, false, "--format otlp|ocsf [options]",
	 "print records for OpenTelemetry, or as OCSF events", verb_audit_export},
	{"policy show", FOR_POLICY, false, "[options]",
	 "print the resolved policy, each value with its origin", verb_policy_show},
	{"policy check", FOR_PLAIN, false, "FILE...", "validate policy files", verb_policy_check},
	{"policy schema", FOR_PLAIN, false, "[skill]",
	 "print the JSON Schema of a policy file, or of a skill.toml", verb_policy_schema},
	{"policy import", FOR_POLICY_IMPORT, false, "[--agent ID] FILE",
	 "print another product's sandbox settings as a policy file", verb_policy_import},
	{"policy trust", FOR_PLAIN, false, "FILE",
	 "trust a project file, so that it may widen the policy", verb_policy_trust},
	{"agents install", FOR_AGENTS, false, "NAME [--mcp] [--yes] [--dry-run]",
	 "enter the hook, or the MCP server, in the settings of an agent", verb_agents_install},
	{"agents uninstall", FOR_AGENTS, false, "NAME [--yes] [--dry-run]",
	 "remove these entries again", verb_agents_uninstall},
	{"agents check", FOR_PLAIN, false, "NAME",
	 "start the hook in an agent's settings as the agent does; exit 1 if it fails",
	 verb_agents_check},
	{"agents", FOR_LIST, false, "[--json]",
	 "list the agents that Corral knows, and what this host has of them", verb_agents},
	{"hook", FOR_PLAIN, false, "claude|codex|cursor|gemini [-- OPTION...]",
	 "answer an agent's hook: its command, rewritten to run in the sandbox", verb_hook},
	{"profile list", FOR_LIST, false, "[--json]", "list the built-in profiles",
	 verb_profile_list},
	{"profile show", FOR_LIST, false, "NAME [--json]",
	 "print a profile as a policy file, with a reason for each value", verb_profile_show},
	{"commands import", FOR_PLAIN, false, "COMMAND",
	 "print command rules from the output of COMMAND __manifest", verb_commands_import},
	{"mcp", FOR_MCP, false, "[options] [--tools NAME[,NAME]] [--http PORT | --session SESSION]",
	 "serve tools that run in the sandbox to an agent: MCP on stdin and stdout, or HTTP",
	 verb_mcp, true},
	{"session create", FOR_SESSION_CREATE, false, "[options] [--name NAME]",
	 "start a session: one sandbox for many commands; prints its id", verb_session_create,
	 true},
	{"session exec", FOR_SESSION_EXEC, true, "SESSION [options] [--] COMMAND [ARG...]",
	 "run a command in a session", verb_session_exec, true, 1},
	{"session attach", FOR_PLAIN, false, "SESSION [NUMBER]",
	 "use the terminal of a command that was left running", verb_session_attach, true},
	{"session list", FOR_SESSION_LIST, false, "[--all] [--json]",
	 "list the sessions that are alive, or all", verb_session_list, true},
	{"session agents", FOR_LIST, false, "[--json]",
	 "list the agents that have had sessions, the last one first", verb_session_agents, true},
	{"session show", FOR_LIST, false, "SESSION [--json]", "print one session",
	 verb_session_show, true},
	{"session stop", FOR_LIST, false, "SESSION [--json]", "end a session and all its processes",
	 verb_session_stop, true},
	{"session activity", FOR_SESSION_ACTIVITY, false, "SESSION [-f] [--json]",
	 "print the reports of a session, with -f also new ones", verb_session_activity, true},
	{"session token", FOR_LIST, false, "SESSION [TIME] [--json]",
	 "print a new token for the session", verb_session_token, true},
	{"session revoke", FOR_LIST, false, "SESSION [--json]",
	 "make all tokens of the session invalid", verb_session_revoke, true},
	{"daemon status", FOR_LIST, false, "[--json]",
	 "print the state of the daemon, and the policy files in force", verb_daemon_status, true},
	{"daemon metrics", FOR_PLAIN, false, "", "print the daemon's counters for Prometheus",
	 verb_daemon_metrics, true},
	{"daemon reload", FOR_PLAIN, false, "",
	 "let new sessions use the policy files as they are now", verb_daemon_reload, true},
	{"daemon questions", FOR_LIST, false, "[--json]",
	 "list the questions of runs that wait for an answer (--ask)", verb_daemon_questions, true},
	{"daemon answer", FOR_LIST, false, "QUESTION allow|allow-for-run|refuse [--json]",
	 "answer a question of a run", verb_daemon_answer, true},
	{"daemon stop", FOR_PLAIN, false, "", "end the daemon and its sessions", verb_daemon_stop,
	 true},
	{"daemon", FOR_DAEMON, false, "[--idle-exit TIME]",
	 "keep sessions, in the foreground, until SIGTERM", verb_daemon, true},
	{"ui", FOR_UI, false, "[--open | --print]",
	 "print the address of a page that shows what agents do, live, in a browser", verb_ui,
	 true},
	{"oci", FOR_OCI, true, "[--runtime PATH] [--container-policy FILE] [--pods] -- ARG...",
	 "be the runtime of a container engine: each process of a container in a sandbox", verb_oci,
	 true},
	{"completion", FOR_PLAIN, false, "bash|zsh|fish", "print a completion script for a shell",
	 verb_completion},
	{"help", FOR_PLAIN, false, "[VERB]", "print this text, or the help of a verb", verb_help},
};

const size_t verbs_count = ARRAY_LEN(verbs);

static const struct {
	int status;
	const char *why;
} exits[] = {
	[CORRAL_E_NONE] = {125, "a bug: every failure sets a kind"},
	[CORRAL_E_USAGE] = {2, "usage error, as in other tools"},
	[CORRAL_E_REFUSED] = {126, "refused by policy"},
	[CORRAL_E_SETUP] = {125, "the sandbox could not be set up"},
	[CORRAL_E_NOT_FOUND] = {127, "as in a shell"},
	[CORRAL_E_NOT_EXECUTABLE] = {126, "as in a shell"},
	[CORRAL_E_MEMORY] = {125, "the sandbox could not be set up"},
	[CORRAL_E_OUTSIDE] = {126, "refused by policy"},
	[CORRAL_E_SENSITIVE] = {126, "refused by policy"},
	[CORRAL_E_PROTECTED] = {126, "refused by policy"},
	[CORRAL_E_FILE_KIND] = {126, "the file tools do not support it"},
	[CORRAL_E_TOO_LARGE] = {126, "the file tools do not support it"},
	[CORRAL_E_NO_MATCH] = {126, "the file tools do not support it"},
	[CORRAL_E_SEVERAL] = {126, "the file tools do not support it"},
	[CORRAL_E_LEAK] = {126, "refused by policy"},
	[CORRAL_E_FILE] = {126, "the system refused it"},
};

/* With less, path and policy resolution could overflow the stack. */
#define STACK_MIN ((rlim_t)256 * 1024)

/* If one of descriptors 0 to 2 is closed, the next socket or file that Corral opens would
 * become the command's stdin, stdout or stderr.  /dev/null is opened read-only for stdout and
 * stderr too, so that a write fails with EBADF as on a closed descriptor. */
static int open_stdio(struct corral_error *err) {
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* The lowest number that is free is this one; not close-on-exec. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY | O_NOCTTY) != fd) {
			int sys = errno;
			(void)setup_error(err, "open all three: </dev/null >FILE 2>&1",
					  "stdin, stdout or stderr is closed, and /dev/null cannot "
					  "be opened in its place");
			err->sys_errno = sys;
			return -1;
		}
	}
	return 0;
}

static int check_stack(struct corral_error *err) {
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= STACK_MIN) {
		return 0;
	}
	return setup_error(err, "raise it: ulimit -s 8192",
			   "the stack limit (ulimit -s) is below 256 KiB");
}

/* For an errno that musl does not know, strerror() returns the text of errno 0. */
static const char *error_text(int number) {
	const char *text = strerror(number);

	return streq(text, strerror(0)) ? errno_name(number) : text;
}

static void print_error(struct corral_error *err) {
	str_hide_controls(err->layer, false);
	str_hide_controls(err->message, true);
	str_hide_controls(err->remedy, true);
	(void)fprintf(stderr, "corral: %s: %s", err->layer, err->message);
	if (err->sys_errno != 0) {
		(void)fprintf(stderr, ": %s", error_text(err->sys_errno));
	}
	(void)fprintf(stderr, "\n");
	if (err->remedy[0] != '\0') {
		(void)fprintf(stderr, "  remedy: %s\n", err->remedy);
	}
}

/* True when the first one or two arguments are the verb's name. */
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

bool verb_is_group(const char *word) {
	size_t len = strlen(word);

	for (size_t i = 0; i < verbs_count; i++) {
		if (strncmp(verbs[i].name, word, len) == 0 && verbs[i].name[len] == ' ') {
			return true;
		}
	}
	return false;
}

#define SECOND_WORDS 160

/* "corral policy show|check|…" */
static void list_second_words(const char *group, char ret[SECOND_WORDS]) {
	size_t at = (size_t)snprintf(ret, SECOND_WORDS, "corral %s", group);
	char gap = ' ';

	for (size_t i = 0; i < verbs_count && at < SECOND_WORDS; i++) {
		if (str_starts(verbs[i].name, group) && verbs[i].name[strlen(group)] == ' ') {
			at += (size_t)snprintf(ret + at, SECOND_WORDS - at, "%c%s", gap,
					       strchr(verbs[i].name, ' ') + 1);
			gap = '|';
		}
	}
}

static int needs_second_word(const char *group, struct corral_error *err) {
	char remedy[SECOND_WORDS];

	list_second_words(group, remedy);
	return usage_error(err, remedy, "`corral %s` needs a subcommand", group);
}

static int unknown_verb(char **words, size_t nwords, struct corral_error *err) {
	struct nearest n;
	char given[128], remedy[SECOND_WORDS];
	/* "policy" alone is half a verb; the next argument is the other half. */
	bool group = verb_is_group(words[0]);
	bool two = group && nwords > 1 && words[1][0] != '-' && words[1][0] != '\0';

	if (group && !two) {
		return needs_second_word(words[0], err);
	}
	(void)snprintf(given, sizeof given, "%s%s%s", words[0], two ? " " : "",
		       two ? words[1] : "");
	nearest_init(&n, given);
	for (size_t i = 0; i < verbs_count; i++) {
		nearest_offer(&n, verbs[i].name);
	}
	if (!two) { /* such a word alone is half a verb */
		nearest_offer(&n, "policy");
		nearest_offer(&n, "profile");
		nearest_offer(&n, "home");
		nearest_offer(&n, "secret");
		nearest_offer(&n, "commands");
	}
	if (n.best != NULL) {
		(void)snprintf(remedy, sizeof remedy, "did you mean `corral %s`?", n.best);
	} else if (two) {
		list_second_words(words[0], remedy);
	} else {
		(void)snprintf(remedy, sizeof remedy,
			       "run a command: corral run -- COMMAND; list the verbs: corral help");
	}
	return usage_error(err, remedy, "%s is not a verb", given[0] == '\0' ? "\"\"" : given);
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

/* options_parse() changes the order of the arguments; hand_over.c needs the first one. */
static int keep_argv(struct invocation *inv, struct corral_error *err) {
	size_t n = 0;

	while (inv->argv[n] != NULL) {
		n++;
	}
	char **copy = calloc(n + 1, sizeof *copy);
	if (copy == NULL) {
		return memory_error(err);
	}
	memcpy(copy, inv->argv, n * sizeof *copy);
	inv->argv = copy; /* until exit */
	return 0;
}

static bool is_help(const char *word) {
	return streq(word, "--help") || streq(word, "-h");
}

static int invoke(struct invocation *inv, char **words, size_t nwords, struct corral_error *err) {
	size_t used = 0;

	if (nwords == 0) {
		return usage_error(
			err, "run a command: corral run -- COMMAND; list the verbs: corral help",
			"no verb given");
	}
	if (is_help(words[0])) {
		return help_print(NULL, err);
	}
	if (streq(words[0], "--version")) {
		return print_text("corral " CORRAL_VERSION, err);
	}
	if (streq(words[0], PROBE_WORD)) {
		/* A set-user-id copy reports its identity, and does nothing else. */
		bool says = nwords == 2 && streq(words[1], ACT_IDENTITY);
		return says || check_caller(err) == 0 ? probe_main(words + 1, nwords - 1) : -1;
	}
	if (streq(words[0], CONTAINER_START_WORD)) {
		return check_caller(err) == 0 ? container_start_main(words + 1, nwords - 1) : -1;
	}
	if (nwords == 2 && is_help(words[1]) && help_is_of_group(words[0])) {
		return help_print_group(words[0], err);
	}
	if (words[0][0] == '-') {
		return usage_error(err, "options follow the verb: corral run [options] -- COMMAND",
				   "%s is not a verb", words[0]);
	}
	inv->verb = verb_find(words, nwords, &used, err);
	if (inv->verb != NULL && inv->verb->service && keep_argv(inv, err) != 0) {
		return -1;
	}
	if (inv->verb == NULL || options_parse(inv, words + used, nwords - used, err) != 0) {
		return -1;
	}
	secret_offer_passphrase(inv);
	return inv->help ? help_print(inv->verb, err) : inv->verb->run(inv, err);
}

static int invoke_words(int argc, char **argv, bool *ret_reported, struct corral_error *err) {
	struct invocation inv = {.policy = corral_policy_new(), .argv = argv};
	int status = -1;

	if (inv.policy == NULL) {
		(void)memory_error(err);
	} else {
		status = invoke(&inv, argv + 1, argc < 1 ? 0 : (size_t)argc - 1, err);
	}
	corral_policy_free(inv.policy);
	*ret_reported = inv.reported;
	return status;
}

int main(int argc, char **argv) {
	struct corral_error err = {0};

	if (open_stdio(&err) != 0 || check_stack(&err) != 0) {
		print_error(&err); /* not visible when stderr is the closed one */
		return exits[CORRAL_E_SETUP].status;
	}
	int status = -1;
	bool reported = false;
	if (verb_session_exec_quick(argv, &status, &err)) {
		if (status >= 0) {
			_exit(status); /* nothing is buffered */
		}
	} else {
		status = invoke_words(argc, argv, &reported, &err);
	}
	if (status >= 0) {
		return status;
	}
	if (!reported) {
		print_error(&err);
	}
	return exits[err.kind].status;
}
