/* SPDX-License-Identifier: Apache-2.0 */
/* `corral session exec`: runs a command in a session.
 *
 * The daemon passes stdin, stdout and stderr to the supervisor of the session, which relays their
 * bytes: the command gets none of these descriptors.  If this process ends, the daemon kills the
 * command.  With a terminal (verb_session_terminal.c) it does not.
 *
 * Should:   exit with the status of the command, as `corral run` does.
 * Must not: read a token from an argument or a variable.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "session/client.h"
#include "session/id.h"
#include "session/places.h"
#include "session/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_token(const char *path, char ret[TOKEN_TEXT_LENGTH + 1], struct corral_error *err) {
	struct buf text;
	struct token_hash unused;

	buf_init(&text);
	int rc = streq(path, "-") ? fd_read_all(STDIN_FILENO, 1024, &text)
				  : fd_read_file(path, 1024, &text);
	if (rc != 0) {
		int sys = errno;
		buf_done(&text);
		(void)usage_error(err, "", "cannot read the token from %s", path);
		err->sys_errno = sys;
		return -1;
	}
	size_t len = text.data == NULL ? 0 : strcspn(text.data, "\n");
	(void)snprintf(ret, TOKEN_TEXT_LENGTH + 1, "%.*s", (int)len,
		       text.data == NULL ? "" : text.data);
	if (text.data != NULL) {
		sodium_memzero(text.data, text.len);
	}
	buf_done(&text);
	if (len != TOKEN_TEXT_LENGTH || token_hash_text(ret, &unused) != 0) {
		return usage_error(err, "make a new one: corral session token SESSION",
				   "%s does not contain a token", path);
	}
	return 0;
}

int verb_connect(const struct invocation *inv, const char *session, struct client *c, bool *ret_own,
		 struct corral_error *err) {
	const char *inside = getenv("CORRAL_SESSION_SOCKET"), *id = getenv("CORRAL_SESSION_ID");
	char token[TOKEN_TEXT_LENGTH + 1] = "", path[PATH_MAX];
	struct places p;
	struct err e = {0};

	*ret_own = true;
	if (inv->token_file == NULL && inside != NULL && id != NULL && streq(id, session)) {
		return client_open_session(c, inside, "", err);
	}
	if (inv->token_file == NULL) {
		*ret_own = false;
		return client_open_admin(c, err);
	}
	if (!session_id_is_valid(session)) {
		return usage_error(err, "", "--token-file needs the id of the session: %s",
				   session);
	}
	if (places_find(&p, &e) != 0 || places_session_socket(&p, session, path) != 0) {
		return setup_error(err, e.fix, e.what);
	}
	if (read_token(inv->token_file, token, err) != 0) {
		return -1;
	}
	int rc = client_open_session(c, path, token, err);
	sodium_memzero(token, sizeof token);
	return rc;
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
	*ret = json_pack("{s:o, s:s, s:s*, s:I, s:s*}", "argv", words, "streams",
			 inv->json ? "capture" : "pass", "cwd", inv->exec_dir, "timeout_ms",
			 timeout, "session", own ? NULL : inv->words[0]);
	return *ret == NULL ? memory_error(err) : 0;
}

int verb_exec_report(const struct invocation *inv, const json_t *answer, struct corral_error *err) {
	size_t i;
	json_t *note;

	if (inv->json) {
		return verb_print_json(json_object_get(answer, "result"), err);
	}
	json_array_foreach(json_object_get(answer, "notes"), i, note) {
		print_note("%s", json_string_value(note));
	}
	return (int)json_integer_value(json_object_get(answer, "status"));
}

static int run(const struct invocation *inv, const char *const *argv, struct corral_error *err) {
	static const int streams[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
	struct client c;
	json_t *answer = NULL;
	bool own = false;

	if (verb_connect(inv, inv->words[0], &c, &own, err) != 0) {
		return -1;
	}
	struct client_call call = {.method = "session.exec", .fds = streams};
	call.nfds = inv->json ? 0 : ARRAY_LEN(streams);
	int rc = verb_exec_params(inv, own, argv, &call.params, err);
	if (rc == 0) {
		rc = client_call(&c, &call, &answer, err);
	}
	client_close(&c);
	if (rc == 0) {
		rc = verb_exec_report(inv, answer, err);
	}
	json_decref(answer);
	return rc;
}

int verb_session_exec(struct invocation *inv, struct corral_error *err) {
	auto_free const char **argv = NULL;
	struct invocation command = *inv;

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
	return run(inv, argv, err);
}
