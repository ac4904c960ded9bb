/* SPDX-License-Identifier: Apache-2.0 */
/* `corral why PATH`, `corral why HOST[:PORT]` and `corral why -- COMMAND`: whether a run with these
 * options would be allowed it, by which rule, and the smallest grant.  `corral why --last` and
 * `--run ID`: what a run was refused.
 *
 * Should:   exit with 0 when it is allowed and 1 when it is refused; read one argument as a path
 *           or as a host by rules that corral(1) lists, and refuse to guess otherwise.
 * Must not: open the path, connect to the host or run the command.
 * Fails:    closed: an error is never status 0. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/hostname.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define USAGE                                                                                      \
	"corral why PATH [--write|--exec], corral why HOST[:PORT], or corral why -- COMMAND "      \
	"[ARG...]; corral why --last or --run ID for the refusals of a run"

static bool is_path(const char *word) {
	return word[0] == '.' || word[0] == '~' ||
	       (strchr(word, '/') != NULL && strstr(word, "://") == NULL) ||
	       faccessat(AT_FDCWD, word, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* An address, a name with a dot or a port, localhost, or a URL. */
static bool is_host(const char *word) {
	struct hostname host;
	uint16_t port = 0;

	if (strstr(word, "://") != NULL || streq(word, "localhost")) {
		return true;
	}
	enum host_kind kind = hostname_parse_port(word, strlen(word), &host, &port);
	return kind == HOST_IP || (kind == HOST_NAME && (port != 0 || strchr(word, '.') != NULL));
}

/* How the arguments are read: as the options say, or by their form.  -1 with *err. */
static int subject_of(const struct invocation *inv, struct corral_error *err) {
	bool file = inv->for_write || inv->for_exec;
	bool command = inv->as_command || inv->dashes || inv->command_string != NULL;

	if (inv->as_path + inv->as_host + inv->as_command > 1) {
		return usage_error(err, USAGE, "use only one of --path, --host and --command");
	}
	if (file && (command || inv->as_host)) {
		return usage_error(err, USAGE, "--write and --exec apply only to a path");
	}
	if (command && !inv->as_path && !inv->as_host) {
		return CORRAL_SUBJECT_COMMAND;
	}
	if (inv->nwords != 1) {
		return usage_error(err, USAGE,
				   "one path or host is needed; a command goes after --");
	}
	if (inv->as_path || inv->as_host) {
		return inv->as_host ? CORRAL_SUBJECT_HOST : CORRAL_SUBJECT_PATH;
	}
	if (file || is_path(inv->words[0])) {
		return CORRAL_SUBJECT_PATH;
	}
	if (is_host(inv->words[0])) {
		return CORRAL_SUBJECT_HOST;
	}
	return usage_error(err, "say which: --path, --host, or -- for a command",
			   "%s may be a path, a host or a command", inv->words[0]);
}

static int check_options(const struct invocation *inv, struct corral_error *err) {
	if (inv->for_write && inv->for_exec) {
		return usage_error(err, USAGE, "use only one of --write and --exec");
	}
	if (inv->json && inv->prompt) {
		return usage_error(err, USAGE, "use only one of --json and --prompt");
	}
	return 0;
}

static enum corral_format format_of(const struct invocation *inv) {
	return inv->json ? CORRAL_JSON : inv->prompt ? CORRAL_PROMPT : CORRAL_TEXT;
}

/* Status 0: nothing was refused. */
static int why_run(const struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;
	uint64_t count = 0;
	bool other = inv->nwords > 0 || inv->command_string != NULL || inv->for_write ||
		     inv->for_exec || inv->as_path || inv->as_host || inv->as_command;

	if (other || (inv->last_run && inv->run_id != NULL)) {
		return usage_error(err, USAGE, "--last and --run take no other question");
	}
	if (corral_why_run(inv->run_id, format_of(inv), &text, &count, err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return count > 0 ? 1 : 0;
}

int verb_why(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	auto_free char *text = NULL;
	int allowed = 0;

	if (check_options(inv, err) != 0) {
		return -1;
	}
	if (inv->last_run || inv->run_id != NULL) {
		return why_run(inv, err);
	}
	int subject = subject_of(inv, err);
	if (subject < 0) {
		return -1;
	}
	struct corral_question q = {.size = sizeof q, .subject = subject};
	if (subject != CORRAL_SUBJECT_COMMAND) {
		q.text = inv->words[0];
		q.access = inv->for_write  ? CORRAL_ACCESS_WRITE
			   : inv->for_exec ? CORRAL_ACCESS_EXEC
					   : CORRAL_ACCESS_READ;
	} else if (command_argv(inv, &argv, err) != 0) {
		return -1;
	} else if (argv == NULL) {
		return usage_error(err, USAGE, "no command given");
	}
	q.argv = argv;
	if (corral_why(inv->policy, &q, format_of(inv), &text, &allowed, err) != 0 ||
	    print_text(text, err) != 0) {
		return -1;
	}
	return allowed ? 0 : 1;
}
