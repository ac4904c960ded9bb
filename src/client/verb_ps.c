/* SPDX-License-Identifier: Apache-2.0 */
/* `corral ps`: lists the user's live runs, and the commands in the sessions of the daemon.
 *
 * Should:   print one line a run and one a command of a session, or JSON.
 * Must not: start or change a run, or start a daemon.
 * Fails:    through the library's error; without a daemon there are no sessions. */
#include "client/verbs.h"

#include "base/auto.h"
#include "base/rfc3339.h"
#include "base/str.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key) {
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

/* The live sessions, with their commands; empty without a daemon. */
static json_t *read_sessions(void) {
	struct client c;
	struct corral_error unused;
	json_t *answer = NULL;
	struct client_call call = {.method = "session.list"};

	if (client_open_running(&c, &unused) != 0) {
		return json_array();
	}
	call.params = json_pack("{s:b}", "commands", 1);
	if (client_call(&c, &call, &answer, &unused) != 0) { /* it ends, or is an older one */
		answer = NULL;
	}
	client_close(&c);
	json_t *rows = json_incref(json_object_get(answer, "sessions"));
	json_decref(answer);
	return rows == NULL ? json_array() : rows;
}

/* ---- JSON ---- */

static json_t *name_of(const json_t *session) {
	const char *name = text_of(session, "name");

	return name[0] == '\0' ? json_null() : json_string(name);
}

static json_t *command_json(const json_t *session, const json_t *command) {
	char since[RFC3339_LENGTH + 1];

	rfc3339_text(json_integer_value(json_object_get(command, "started")), since);
	return json_pack("{s:O, s:o, s:O, s:O?, s:O?, s:s}", "session",
			 json_object_get(session, "id"), "session_name", name_of(session), "id",
			 json_object_get(command, "id"), "command",
			 json_object_get(command, "argv"), "tool", json_object_get(command, "tool"),
			 "since", since);
}

/* The session whose sandbox this run is; NULL: none. */
static const json_t *session_of(const json_t *sessions, const json_t *run) {
	json_int_t pid = json_integer_value(json_object_get(run, "pid"));
	size_t i;
	const json_t *session;

	json_array_foreach(sessions, i, session) {
		if (json_integer_value(json_object_get(session, "supervisor")) == pid) {
			return session;
		}
	}
	return NULL;
}

/* Running commands that the daemon does not list: they began before many others, or just now. */
static json_int_t more_of(const json_t *session) {
	json_int_t runs = json_integer_value(json_object_get(session, "running"));
	json_int_t listed = (json_int_t)json_array_size(json_object_get(session, "commands"));

	return runs > listed ? runs - listed : 0;
}

/* Adds the sessions to the library's object. */
static int add_sessions(json_t *whole, const json_t *sessions) {
	json_t *commands = json_array(), *run, *command;
	const json_t *session;
	json_int_t more = 0;
	size_t i, k;

	json_array_foreach(json_object_get(whole, "runs"), i, run) {
		session = session_of(sessions, run);
		(void)json_object_set_new(run, "session",
					  session == NULL
						  ? json_null()
						  : json_incref(json_object_get(session, "id")));
		(void)json_object_set_new(run, "session_name",
					  session == NULL ? json_null() : name_of(session));
	}
	json_array_foreach(sessions, i, session) {
		json_array_foreach(json_object_get(session, "commands"), k, command) {
			(void)json_array_append_new(commands, command_json(session, command));
		}
		more += more_of(session);
	}
	return json_object_set_new(whole, "commands", commands) != 0
		       ? -1
		       : json_object_set_new(whole, "commands_more", json_integer(more));
}

static int print_json(const char *text, const json_t *sessions, struct corral_error *err) {
	json_t *whole = json_loads(text, 0, NULL);

	if (whole == NULL || add_sessions(whole, sessions) != 0) {
		json_decref(whole);
		return memory_error(err);
	}
	int rc = verb_print_json(whole, err);
	json_decref(whole);
	return rc;
}

/* ---- text ---- */

static void put_word(struct buf *out, const char *word) {
	bool quote = word[0] == '\0' || strpbrk(word, " '") != NULL;

	buf_printf(out, quote ? " '%s'" : " %s", word);
}

static void put_command(struct buf *out, const json_t *session, const json_t *command) {
	const json_t *argv = json_object_get(command, "argv");
	const char *name = text_of(session, "name");
	char since[RFC3339_LENGTH + 1];
	struct buf line;
	size_t i;
	const json_t *word;

	rfc3339_text(json_integer_value(json_object_get(command, "started")), since);
	buf_init(&line);
	buf_printf(&line, "%-31s  %-16s  %s ", text_of(session, "id"), name[0] == '\0' ? "-" : name,
		   since);
	if (argv == NULL) {
		put_word(&line, text_of(command, "tool"));
	}
	json_array_foreach(argv, i, word) {
		put_word(&line, json_string_value(word));
	}
	if (!buf_failed(&line)) {
		str_hide_controls(line.data, false);
		buf_printf(out, "%s\n", line.data);
	}
	buf_done(&line);
}

static void put_session(struct buf *out, const json_t *session) {
	json_int_t more = more_of(session);
	size_t i;
	const json_t *command;

	json_array_foreach(json_object_get(session, "commands"), i, command) {
		put_command(out, session, command);
	}
	if (more > 0) {
		buf_printf(out, "%-31s  %-16s  %-24s  and %lld more\n", text_of(session, "id"), "",
			   "", (long long)more);
	}
}

static void put_sessions(struct buf *out, const json_t *sessions) {
	const json_t *session;
	bool headed = false;
	size_t i;

	json_array_foreach(sessions, i, session) {
		bool runs = json_array_size(json_object_get(session, "commands")) > 0 ||
			    more_of(session) > 0;
		if (runs && !headed) {
			buf_printf(out, "\n%-31s  %-16s  %-24s  %s\n", "SESSION", "NAME", "SINCE",
				   "COMMAND");
		}
		headed = headed || runs;
		put_session(out, session);
	}
}

static int print_all(const char *runs, const json_t *sessions, struct corral_error *err) {
	struct buf out;

	buf_init(&out);
	buf_puts(&out, runs);
	put_sessions(&out, sessions);
	int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
	buf_done(&out);
	return rc;
}

int verb_ps(struct invocation *inv, struct corral_error *err) {
	auto_free char *text = NULL;

	if (inv->nwords > 0) {
		return usage_error(err, "corral ps [--json]", "`corral ps` takes no argument: %s",
				   inv->words[0]);
	}
	if (corral_runs(inv->json ? CORRAL_JSON : CORRAL_TEXT, &text, err) != 0) {
		return -1;
	}
	json_t *sessions = read_sessions();
	int rc = (inv->json ? print_json : print_all)(text, sessions, err);
	json_decref(sessions);
	return rc;
}
