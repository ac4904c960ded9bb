/* SPDX-License-Identifier: Apache-2.0 */
/* `corral session exec`: runs a command in a session.  In both binaries: most of the time that it
 * took was the start of corrald.
 *
 * The supervisor of the session gets stdin, stdout and stderr, from this process (client/direct.h)
 * or through the daemon, and relays their bytes: the command gets none of these descriptors.  If
 * this process ends, the command is killed.  With a terminal (session/verb_session_terminal.c) it
 * does not.
 *
 * Should:   exit with the status of the command, as `corral run` does.
 * Must not: read a token from an argument or a variable.
 * Fails:    through the error of the daemon. */
#include "client/verbs.h"

#include "base/auto.h"
#include "base/str.h"
#include "client/client.h"
#include "client/direct.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int verb_connect(const struct invocation *inv, const char *session, struct client *c, bool *ret_own,
		 struct corral_error *err) {
	int rc = client_open_own(c, session, inv->token_file, err);

	*ret_own = rc != 1;
	return rc == 1 ? client_open_admin(c, err) : rc;
}

static json_t *argv_json(const char *const *argv) {
	json_t *array = json_array();

	for (size_t i = 0; array != NULL && argv[i] != NULL; i++) {
		if (json_array_append_new(array, json_string(argv[i])) != 0) {
			json_decref(array); /* not UTF-8, or out of memory */
			return NULL;
		}
	}
	return array;
}

/* NULL: a name or value is not UTF-8, or out of memory.  The last of a name counts. */
static json_t *environment_json(const struct invocation *inv) {
	json_t *object = json_object();

	for (size_t i = 0; object != NULL && i < inv->nexec_env; i++) {
		const char *entry = inv->exec_env[i];
		size_t name = strcspn(entry, "=");
		if (json_object_setn_new(object, entry, name, json_string(entry + name + 1)) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

int verb_exec_params(const struct invocation *inv, bool own, const char *const *argv, json_t **ret,
		     struct corral_error *err) {
	json_int_t timeout = 0;

	if (verb_duration(inv->exec_time, "--timeout", &timeout, err) != 0) {
		return -1;
	}
	json_t *words = argv_json(argv);
	if (words == NULL) {
		return usage_error(err, "use a script for such names", "an argument is not UTF-8");
	}
	json_t *variables = environment_json(inv);
	if (variables == NULL) {
		json_decref(words);
		return usage_error(err, "set it in a script", "a variable is not UTF-8");
	}
	*ret = json_pack("{s:o, s:o, s:s, s:s*, s:I, s:s*, s:b}", "argv", words, "environment",
			 variables, "streams", inv->json ? "capture" : "pass", "cwd", inv->exec_dir,
			 "timeout_ms", timeout, "session", own ? NULL : inv->words[0], "result",
			 inv->json || inv->result_fd != NULL);
	return *ret == NULL ? memory_error(err) : 0;
}

/* --result-fd: the object there, and the status of the command. */
static int report_to(const struct result_place *place, const json_t *answer,
		     struct corral_error *err) {
	auto_free char *text = json_dumps(json_object_get(answer, "result"), JSON_COMPACT);

	if (text == NULL) {
		return memory_error(err);
	}
	return result_print(place, text, err) != 0
		       ? -1
		       : (int)json_integer_value(json_object_get(answer, "status"));
}

int verb_exec_report(const struct invocation *inv, const struct result_place *place,
		     const json_t *answer, struct corral_error *err) {
	size_t i;
	json_t *note;

	if (inv->json && inv->result_fd == NULL) {
		return verb_print_json(json_object_get(answer, "result"), err);
	}
	if (inv->result_fd != NULL) {
		return report_to(place, answer, err);
	}
	json_array_foreach(json_object_get(answer, "notes"), i, note) {
		print_note("%s", json_string_value(note));
	}
	return (int)json_integer_value(json_object_get(answer, "status"));
}

/* A program reads its failures where it reads results, as of a run; except usage errors. */
static int report_failure(struct invocation *inv, const struct result_place *place,
			  const struct corral_error *err) {
	struct corral_error unprintable;
	auto_free char *text = NULL;

	if ((inv->json || inv->result_fd != NULL) && err->kind != CORRAL_E_USAGE &&
	    corral_error_json(err, &text) == 0) {
		inv->reported = result_print(place, text, &unprintable) == 0;
	}
	return -1;
}

static int run(const struct invocation *inv, const char *const *argv,
	       const struct result_place *place, struct corral_error *err) {
	static const int streams[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	struct client c;
	json_t *answer = NULL;
	bool own = false;

	if (verb_connect(inv, inv->words[0], &c, &own, err) != 0) {
		return -1;
	}
	c.cancel = place->cancel;
	struct client_call call = {.method = "session.exec", .fds = streams};
	call.nfds = inv->json ? 0 : ARRAY_LEN(streams);
	int rc = verb_exec_params(inv, own, argv, &call.params, err);
	if (rc == 0) {
		rc = client_call(&c, &call, &answer, err);
	}
	client_close(&c);
	if (rc == 0) {
		rc = verb_exec_report(inv, place, answer, err);
	}
	json_decref(answer);
	return rc;
}

/* With the streams of this process, and no result object: the supervisor of the session runs it
 * without the daemon.  1: the daemon has to. */
static int run_direct(const struct invocation *inv, const char *const *argv, int *ret_status,
		      struct corral_error *err) {
	const char *id = getenv("CORRAL_SESSION_ID");
	json_int_t timeout = 0;

	if (inv->json || inv->result_fd != NULL || inv->token_file != NULL ||
	    (id != NULL && streq(id, inv->words[0]))) {
		return 1;
	}
	if (verb_duration(inv->exec_time, "--timeout", &timeout, err) != 0) {
		return -1;
	}
	const struct direct_command c = {.argv = argv,
					 .env = inv->exec_env,
					 .directory = inv->exec_dir,
					 .timeout_ms = timeout};
	return direct_exec(inv->words[0], &c, ret_status, err);
}

/* The words after the session; NULL: there are options, which this does not read, or no command. */
static const char *const *command_of(char **argv) {
	char **word = argv + 4;

	for (size_t i = 0; i < 4; i++) {
		if (argv[i] == NULL) {
			return NULL;
		}
	}
	if (!streq(argv[1], "session") || !streq(argv[2], "exec") || argv[3][0] == '-') {
		return NULL;
	}
	if (*word != NULL && streq(*word, "--")) {
		word++;
	} else if (*word != NULL && (*word)[0] == '-') {
		return NULL;
	}
	return *word == NULL ? NULL : (const char *const *)word;
}

/* execve(2) makes saved and file-system ids the effective ones, so these are all of them. */
static bool has_one_identity(void) {
	return getauxval(AT_SECURE) == 0 && getauxval(AT_UID) == getauxval(AT_EUID) &&
	       getauxval(AT_GID) == getauxval(AT_EGID);
}

bool verb_session_exec_quick(char **argv, int *ret_status, struct corral_error *err) {
	const char *const *command = command_of(argv);
	const char *inside = getenv("CORRAL_SESSION_ID");

	if (command == NULL || (inside != NULL && streq(inside, argv[3])) || !has_one_identity()) {
		return false;
	}
	const struct direct_command c = {.argv = command};
	int rc = direct_exec(argv[3], &c, ret_status, err);
	*ret_status = rc < 0 ? -1 : *ret_status;
	return rc != 1;
}

int verb_session_exec(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	struct invocation command = *inv;

	if (check_caller(err) != 0) {
		return -1;
	}
	if (inv->nwords == 0) {
		return usage_error(err, "list them: corral session list",
				   "the id or the name of a session is missing");
	}
	command.words++;
	command.nwords--;
	if (command_argv(&command, &argv, err) != 0) {
		return -1;
	}
	if (argv == NULL) {
		return usage_error(err, "corral session exec SESSION -- COMMAND",
				   "there is no command to run");
	}
	if (inv->detach || inv->terminal) {
		return verb_exec_terminal(inv, argv, err);
	}
	struct result_place place;
	int status = 0, rc = run_direct(inv, argv, &status, err);
	if (rc != 1) {
		return rc == 0 ? status : -1;
	}
	if (result_place(inv, &place, err) != 0) {
		return -1;
	}
	status = run(inv, argv, &place, err);
	return status >= 0 ? status : report_failure(inv, &place, err);
}
