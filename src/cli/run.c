/* SPDX-License-Identifier: Apache-2.0 */
/* `corral run`: runs one command in the sandbox, for a person or (--json) for a program.
 *
 * Should:   pass a person's stdin, stdout and stderr through byte for byte, and print
 *           exactly one JSON object with --json, also when the run fails.
 * Must not: write to stdout without --json; write to stderr except notes about the end of
 *           the run, or with -v.
 * Fails:    closed, through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -c STRING is SHELL -c STRING; the arguments after it become $0, $1, … */
#define DEFAULT_SHELL "/bin/sh"
#define SHELL_WORDS 3

int command_argv(const struct invocation *inv, const char ***ret, struct corral_error *err) {
	size_t n = 0, extra = inv->command_string == NULL ? 0 : SHELL_WORDS;

	*ret = NULL;
	if (inv->shell != NULL && inv->command_string == NULL) {
		return usage_error(err, "corral run --shell PATH -c 'STRING'", "--shell needs -c");
	}
	if (inv->nwords + extra == 0) {
		return 0;
	}
	const char **argv = calloc(inv->nwords + extra + 1, sizeof *argv);
	if (argv == NULL) {
		return memory_error(err);
	}
	if (inv->command_string != NULL) {
		argv[n++] = inv->shell != NULL ? inv->shell : DEFAULT_SHELL;
		argv[n++] = "-c";
		argv[n++] = inv->command_string;
	}
	for (size_t i = 0; i < inv->nwords; i++) {
		argv[n++] = inv->words[i];
	}
	*ret = argv;
	return 0;
}

/* A command about which the command rules cannot decide. */
#define UNDECIDED "undecided:"

/* -v: prints the rules that the run enforces, before anything runs. */
static int announce(const struct invocation *inv, const char *const *argv,
		    struct corral_error *err) {
	auto_free char *line = NULL, *checked = NULL;

	if (corral_summary(inv->policy, &line, err) != 0) {
		return -1;
	}
	banner_begin(inv, argv);
	for (char *rest = line; rest != NULL;) {
		print_note("%s", strsep(&rest, "\n"));
	}
	if (corral_command_check(inv->policy, argv, CORRAL_TEXT, &checked, NULL, err) != 0) {
		return -1;
	}
	if (strncmp(checked, UNDECIDED, strlen(UNDECIDED)) == 0) {
		checked[strcspn(checked, "\n")] = '\0';
		str_hide_controls(checked, false);
		print_note("%s", checked);
	}
	return 0;
}

static void print_warning(void *arg, const char *text) {
	(void)arg;
	print_note("warning: %s", text);
}

/* Longer lists are not read. */
#define CREATED_SHOWN 3
#define LEAKS_SHOWN 5
#define DENIALS_SHOWN 5

static bool is_grave(const char *kind) {
	static const char *const kinds[] = {"setuid", "hook", "startup", "repository"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (streq(kind, kinds[i])) {
			return true;
		}
	}
	return false;
}

static size_t count_created(const struct corral_result *result) {
	const char *path, *kind;
	size_t n = 0;

	while (corral_result_created(result, n, &path, &kind) == 0) {
		n++;
	}
	return n;
}

/* The command chose the file name: control characters in it could forge output of Corral. */
static void append_created(struct buf *out, const char *path, const char *kind, bool first) {
	auto_free char *shown = strdup(path);

	if (shown != NULL) {
		str_hide_controls(shown, false);
		buf_printf(out, "%s%s (%s)", first ? "" : ", ", shown, kind);
	}
}

/* Lists the created files that run later on the host (hooks, startup files): with -v always,
 * without it only the grave kinds, and only on a terminal. */
static void note_created(const struct invocation *inv, const struct corral_result *result) {
	const char *path, *kind;
	size_t n = count_created(result);
	uint64_t more = corral_result_created_more(result);

	/* The gravest comes first. */
	if (n == 0 || corral_result_created(result, 0, &path, &kind) != 0 ||
	    (!inv->verbose && !(is_grave(kind) && isatty(STDERR_FILENO)))) {
		return;
	}
	struct buf line;
	buf_init(&line);
	for (size_t i = 0; i < n && i < CREATED_SHOWN; i++) {
		if (corral_result_created(result, i, &path, &kind) == 0) {
			append_created(&line, path, kind, i == 0);
		}
	}
	more += n > CREATED_SHOWN ? n - CREATED_SHOWN : 0;
	if (more > 0) {
		buf_printf(&line, " and %llu more", (unsigned long long)more);
	}
	if (!buf_failed(&line)) {
		print_note("the command created files that run later on the host: %s", line.data);
	}
	buf_done(&line);
}

/* Lists the secrets that the leak scanner found; never their values. */
static void note_leaks(const struct corral_result *result) {
	struct corral_leak leak = CORRAL_LEAK_INIT;
	struct buf line;

	buf_init(&line);
	for (size_t i = 0; corral_result_leak(result, i, &leak) == 0; i++) {
		if (i == LEAKS_SHOWN) {
			buf_puts(&line, ", ...");
			break;
		}
		buf_printf(&line, "%s%s in %s%s%s (%s", i == 0 ? "" : ", ", leak.kind, leak.stream,
			   leak.host[0] == '\0' ? "" : " to ", leak.host, leak.action);
		if (leak.count > 1) {
			buf_printf(&line, ", %llu times", (unsigned long long)leak.count);
		}
		buf_puts(&line, ")");
	}
	if (line.len > 0 && !buf_failed(&line)) {
		str_hide_controls(line.data, false);
		print_note("warning: the leak scanner found: %s", line.data);
	}
	buf_done(&line);
}

/* "open for write (EROFS, 3 times): /etc/x is read-only; grant it: --write /etc/x" */
static void put_denial(struct buf *line, const struct corral_denial *d) {
	buf_printf(line, "%s", d->op);
	if (strcmp(d->op, "open") == 0) {
		buf_printf(line, " for %s", d->access);
	}
	if (d->path == NULL && d->host != NULL) {
		buf_printf(line, " %s", d->host);
	} else if (d->resolved != NULL) { /* the reason names that path */
		buf_printf(line, " %s", d->path);
	}
	if (d->path == NULL && d->port != 0) {
		buf_printf(line, ":%d", d->port);
	}
	buf_printf(line, " (%s", d->errno_name == NULL ? "refused" : d->errno_name);
	if (d->count > 1) {
		buf_printf(line, ", %llu times", (unsigned long long)d->count);
	}
	buf_printf(line, "): %s", d->why == NULL ? "" : d->why);
	if (d->remedy != NULL || d->allow_with != NULL) {
		buf_printf(line, "; %s", d->remedy != NULL ? d->remedy : d->allow_with);
	}
}

/* The path, or its last two names, as programs print a path in the workspace. */
static bool names_path(const char *text, const char *path) {
	const char *from = path;

	if (path == NULL) {
		return false;
	}
	for (const char *p = path, *next; (next = strchr(p, '/')) != NULL; p = next + 1) {
		const char *after = strchr(next + 1, '/');
		if (after != NULL && strchr(after + 1, '/') == NULL) {
			from = next + 1;
		}
	}
	return strstr(text, path) != NULL || strstr(text, from) != NULL;
}

/* The hint is about this refusal. */
static bool is_in_hint(const char *hint, const struct corral_denial *d) {
	bool path = names_path(hint, d->path) || names_path(hint, d->resolved);

	return path || (d->host != NULL && strncmp(hint, "net.", 4) == 0);
}

/* After a failure: the first refusals, each with its rule and remedy. */
static void note_denials(const struct corral_result *result) {
	struct corral_denial d = CORRAL_DENIAL_INIT;
	const char *hint = corral_result_hint(result);
	size_t shown = 0, more = 0;

	if (corral_result_exit_code(result) == 0 ||
	    strcmp(corral_result_reason(result), "exit") != 0) {
		return;
	}
	for (size_t i = 0; corral_result_denial(result, i, &d) == 0; i++) {
		struct buf line;

		if (is_in_hint(hint, &d)) {
			continue;
		}
		if (shown == DENIALS_SHOWN) {
			more++;
			continue;
		}
		shown++;
		buf_init(&line);
		put_denial(&line, &d);
		if (!buf_failed(&line)) {
			str_hide_controls(line.data, false);
			print_note("refused: %s", line.data);
		}
		buf_done(&line);
	}
	if (more > 0) {
		print_note("refused: %zu more; --json lists them", more);
	}
}

/* --cow kept the changes apart; the user has to know their id. */
static void note_pending(const struct corral_result *result) {
	int64_t changes = 0;
	const char *id = corral_result_cow(result, &changes);

	if (id == NULL) {
		return;
	}
	char count[32] = "some";
	if (changes >= 0) {
		(void)snprintf(count, sizeof count, "%lld", (long long)changes);
	}
	print_note("%s change%s pending: corral diff %s, corral apply %s, corral discard %s", count,
		   changes == 1 ? "" : "s", id, id, id);
}

/* The log is complete only if a missing record is noticed. */
static void note_audit(const struct corral_result *result) {
	const char *why = "";

	if (corral_result_audited(result, &why) < 0) {
		print_note("warning: the run is not in the audit log: %s", why);
	}
}

static void note_person(const struct invocation *inv, const struct corral_result *result) {
	const char *ending = corral_result_ending(result);

	if (ending[0] != '\0') {
		print_note("ended by %s", ending);
	}
	note_leaks(result);
	note_pending(result);
	note_audit(result);
	note_strays(result);
	note_denials(result);
	if (corral_result_hint(result)[0] != '\0') {
		print_note("hint: %s", corral_result_hint(result));
	}
	note_created(inv, result);
}

static void print_notes(const struct invocation *inv, const struct corral_result *result) {
	if (!inv->json && inv->result_fd == NULL) { /* a program has them in the object */
		note_person(inv, result);
	}
	if (inv->verbose && !banner_end(inv, result)) {
		print_note("%s, status %d, after %lld ms at level %s", corral_result_reason(result),
			   corral_result_status(result),
			   (long long)corral_result_duration_ms(result),
			   corral_result_level(result));
	}
	if (inv->timings && !inv->json && inv->result_fd == NULL) {
		timings_print(result);
	}
}

static int person_status(const struct corral_result *result) {
	char note[LOST_NOTE];
	int status = lost_status(result, note);

	if (note[0] != '\0') {
		print_note("%s", note);
	}
	return status;
}

static bool has_terminal(void) {
	auto_fd fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0;
}

/* --ask, --ask-daemon and --ask-fd. */
static int set_ask(const struct invocation *inv, struct corral_options *how,
		   struct corral_error *err) {
	if (inv->ask + inv->ask_daemon + (inv->ask_fd != NULL) > 1) {
		return usage_error(err, "use one of them",
				   "--ask, --ask-daemon and --ask-fd cannot be combined");
	}
	if (inv->ask_fd == NULL) {
		how->ask = inv->ask_daemon  ? CORRAL_ASK_DAEMON
			   : !inv->ask      ? CORRAL_ASK_NO
			   : has_terminal() ? CORRAL_ASK_TERMINAL
					    : CORRAL_ASK_DAEMON;
		return 0;
	}
	how->ask = CORRAL_ASK_FD;
	return descriptor_of("--ask-fd", inv->ask_fd,
			     "pass a socket of the calling program: --ask-fd 3", &how->ask_fd, err);
}

int run_for_person(struct invocation *inv, const char *const *argv, bool terminal,
		   struct corral_error *err) {
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_timing own[TIMINGS_OWN];
	struct corral_result *result = NULL;

	corral_policy_for_person(inv->policy);
	how.in = STDIN_FILENO;
	how.out = STDOUT_FILENO;
	how.err = STDERR_FILENO;
	how.forward = 1;
	how.last = how.pool = 1;
	how.terminal = terminal;
	how.warn = print_warning;
	how.live = banner_is_live(inv);
	timings_request(inv, own, &how);
	if (set_ask(inv, &how, err) != 0 || (inv->verbose && announce(inv, argv, err) != 0) ||
	    corral_run(inv->policy, argv, &how, &result, err) != 0) {
		return -1;
	}
	print_notes(inv, result);
	int status = person_status(result);
	corral_result_free(result);
	return status;
}

/* A usage error goes to stderr alone; every other failure is a JSON result. */
static int report_failure(struct invocation *inv, const struct corral_options *how,
			  const struct result_place *place, struct corral_error *err) {
	struct corral_error unprintable;
	auto_free char *text = *how->failure;

	if (err->kind != CORRAL_E_USAGE &&
	    (text != NULL || corral_failure_json(err, how->id, &text) == 0)) {
		inv->reported = result_print(place, text, &unprintable) == 0;
	}
	return -1;
}

/* With --json the output is captured; with --result-fd alone it is the caller's, and so are the
 * defaults of time and size. */
static void set_streams(struct invocation *inv, bool terminal, struct corral_options *how) {
	if (inv->json) {
		how->in = inv->pass_stdin ? STDIN_FILENO : CORRAL_NULL;
		return;
	}
	corral_policy_for_person(inv->policy);
	how->in = STDIN_FILENO;
	how->out = STDOUT_FILENO;
	how->err = STDERR_FILENO;
	how->terminal = terminal;
}

static int run_tool_call(struct invocation *inv, const char *const *argv, bool terminal,
			 struct corral_error *err) {
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_timing own[TIMINGS_OWN];
	struct corral_result *result = NULL;
	struct result_place place;
	char id[CORRAL_ID_SIZE] = "", *failure = NULL;

	if (result_place(inv, &place, err) != 0) {
		return -1;
	}
	how.id = id;
	how.failure = &failure;
	how.forward = 1;
	how.last = how.pool = 1;
	how.cancel_fd = place.cancel;
	set_streams(inv, terminal, &how);
	timings_request(inv, own, &how);
	if (set_ask(inv, &how, err) != 0 || (inv->verbose && announce(inv, argv, err) != 0) ||
	    corral_run(inv->policy, argv, &how, &result, err) != 0) {
		return report_failure(inv, &how, &place, err);
	}
	print_notes(inv, result);
	int status = inv->json ? corral_result_status(result) : person_status(result);
	auto_free char *text = NULL;
	int rc = corral_result_json(result, &text, err);
	corral_result_free(result);
	return rc == 0 && result_print(&place, text, err) == 0 ? status : -1;
}

static bool at_terminal(void) {
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int check_streams(const struct invocation *inv, struct corral_error *err) {
	if (inv->pass_stdin && !inv->json) {
		return usage_error(err, "remove --stdin: without --json, stdin is always passed on",
				   "--stdin needs --json");
	}
	if (inv->json && inv->result_fd == NULL &&
	    (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		return setup_error(err, "redirect it: --json >FILE",
				   "--json: stdout is closed or not open for writing");
	}
	if (inv->tty == TTY_ALWAYS && inv->json) {
		return usage_error(err, "remove --tty always, or --json",
				   "--tty always and --json cannot be combined");
	}
	if (inv->tty == TTY_ALWAYS && !at_terminal()) {
		return usage_error(err, "use --tty auto",
				   "--tty always: stdin or stdout is not a terminal");
	}
	return 0;
}

int verb_run(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;

	if (check_streams(inv, err) != 0 || command_argv(inv, &argv, err) != 0) {
		return -1;
	}
	if (argv == NULL) {
		return usage_error(err, "corral run [options] [--] COMMAND [ARG...]",
				   "no command given");
	}
	bool terminal = !inv->json && inv->tty != TTY_NEVER && at_terminal();
	return inv->json || inv->result_fd != NULL ? run_tool_call(inv, argv, terminal, err)
						   : run_for_person(inv, argv, terminal, err);
}
