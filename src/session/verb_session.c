/* SPDX-License-Identifier: Apache-2.0 */
/* `corral session`: creates, lists, shows and ends sessions.
 *
 * Should:   create a session with the policy that the same options give `corral run`.
 * Must not: print a token without a request for it, or pass one in an argument or a variable.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/token_file.h"
#include "client/client.h"
#include "session/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- create ---- */

static json_t *environment_json(void) {
	json_t *object = json_object();

	for (char **v = environ; object != NULL && v != NULL && *v != NULL; v++) {
		size_t n = strcspn(*v, "=");
		json_t *value = (*v)[n] == '\0' || n == 0 ? NULL : json_string(*v + n + 1);
		char name[256];
		if (value == NULL || n >= sizeof name) {
			json_decref(value); /* not UTF-8, or not a variable: a run drops it too */
			continue;
		}
		(void)snprintf(name, sizeof name, "%.*s", (int)n, *v);
		/* The first one of a name counts, as for getenv(3). */
		if (json_object_get(object, name) == NULL) {
			(void)json_object_set_new(object, name, value); /* NULL for bad UTF-8 */
		} else {
			json_decref(value);
		}
	}
	return object;
}

static int create_params(const struct invocation *inv, json_t **ret, struct corral_error *err) {
	auto_free char *saved = NULL, *cwd = getcwd(NULL, 0);
	json_int_t token = 0;

	if (cwd == NULL) {
		return usage_error(err, "change to a directory that exists: cd DIR",
				   "cannot read the current directory");
	}
	if (corral_policy_save(inv->policy, &saved, err) != 0 ||
	    verb_duration(inv->token_time, "--token-lifetime", &token, err) != 0) {
		return -1;
	}
	json_t *params = json_loads(saved, 0, NULL);
	if (params == NULL || json_object_set_new(params, "cwd", json_string(cwd)) != 0 ||
	    json_object_set_new(params, "environment", environment_json()) != 0 ||
	    json_object_set_new(params, "serial", json_boolean(inv->serial)) != 0 ||
	    (inv->bridge != NULL &&
	     json_object_set_new(params, "bridge", json_string(inv->bridge)) != 0) ||
	    (inv->copy != NULL &&
	     json_object_set_new(params, "copy", json_string(inv->copy)) != 0) ||
	    (inv->tools != NULL &&
	     json_object_set_new(params, "tools", json_string(inv->tools)) != 0) ||
	    (inv->session_name != NULL &&
	     json_object_set_new(params, "name", json_string(inv->session_name)) != 0) ||
	    (token != 0 &&
	     json_object_set_new(params, "token_lifetime_ms", json_integer(token)) != 0)) {
		json_decref(params);
		return usage_error(err, "", "a path or a value is not UTF-8, or memory is out");
	}
	if (json_is_null(json_object_get(params, "file"))) {
		(void)json_object_del(params, "file"); /* it is there */
	}
	*ret = params;
	return 0;
}

/* As a run does, also where stdout gets the object that has them. */
static void print_warnings(const json_t *made) {
	const json_t *text;
	size_t i;

	json_array_foreach(json_object_get(made, "warnings"), i, text) {
		print_note("warning: %s", json_string_value(text));
	}
}

/* Without its token the session would be of no use to the client that it was made for. */
static int keep_token(int fd, const char *path, json_t *made, struct corral_error *err) {
	const char *token = json_string_value(json_object_get(made, "token"));
	struct corral_error unused;
	json_t *answer = NULL;

	int rc = token_file_fill(fd, path, token == NULL ? "" : token, err);
	(void)json_object_del(made, "token"); /* shown once */
	if (rc != 0) {
		(void)verb_request("session.stop",
				   json_pack("{s:O}", "session", json_object_get(made, "id")),
				   &answer, &unused);
		json_decref(answer);
	}
	return rc;
}

/* fd: of the file for the token, or -1. */
static int create(const struct invocation *inv, int fd, struct corral_error *err) {
	json_t *params = NULL, *made = NULL;

	if (create_params(inv, &params, err) != 0 ||
	    verb_request("session.create", params, &made, err) != 0) {
		return -1;
	}
	const char *id = json_string_value(json_object_get(made, "id"));
	print_warnings(made);
	int rc = fd < 0 ? 0 : keep_token(fd, inv->token_file, made, err);
	if (rc == 0) {
		rc = inv->json ? verb_print_json(made, err) : print_text(id == NULL ? "" : id, err);
	}
	json_decref(made);
	return rc;
}

int verb_session_create(struct invocation *inv, struct corral_error *err) {
	auto_fd fd = -1;

	if (verb_no_words(inv, err) != 0 ||
	    (inv->token_file != NULL && token_file_create(inv->token_file, &fd, err) != 0)) {
		return -1;
	}
	int rc = create(inv, fd, err);
	if (rc != 0 && fd >= 0) {
		(void)unlink(inv->token_file); /* a second attempt can create it */
	}
	return rc;
}

/* ---- list, show, stop ---- */

static const char *text_of(const json_t *row, const char *key) {
	const char *text = json_string_value(json_object_get(row, key));
	return text == NULL || text[0] == '\0' ? "-" : text;
}

static void put_row(struct buf *out, const json_t *row) {
	char time[VERB_TIME_SIZE];

	buf_printf(out, "%-31s  %-8s  %-16s  %-24s  %s\n", text_of(row, "id"),
		   text_of(row, "state"), text_of(row, "name"),
		   verb_time_text(json_integer_value(json_object_get(row, "created")), time),
		   text_of(row, "workspace"));
}

static int print_buf(struct buf *out, struct corral_error *err) {
	int rc = buf_failed(out) ? memory_error(err)
				 : print_text(out->data == NULL ? "" : out->data, err);
	buf_done(out);
	return rc;
}

int verb_session_list(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL, *row;
	struct buf out;
	size_t i;

	if (verb_no_words(inv, err) != 0 ||
	    verb_request("session.list", json_pack("{s:b}", "all", (int)inv->all), &answer, err) !=
		    0) {
		return -1;
	}
	json_t *rows = json_object_get(answer, "sessions");
	if (inv->json) {
		int rc = verb_print_json(rows, err);
		json_decref(answer);
		return rc;
	}
	buf_init(&out);
	if (json_array_size(rows) == 0) {
		buf_puts(&out, inv->all ? "no sessions\n" : "no sessions are alive\n");
	} else {
		buf_printf(&out, "%-31s  %-8s  %-16s  %-24s  %s\n", "ID", "STATE", "NAME",
			   "CREATED", "WORKSPACE");
	}
	json_array_foreach(rows, i, row) {
		put_row(&out, row);
	}
	json_decref(answer);
	return print_buf(&out, err);
}

static void put_agent(struct buf *out, const json_t *row) {
	char first[VERB_TIME_SIZE], last[VERB_TIME_SIZE];

	buf_printf(out, "%-24s  %8lld  %5lld  %-24s  %s\n", text_of(row, "id"),
		   (long long)json_integer_value(json_object_get(row, "sessions")),
		   (long long)json_integer_value(json_object_get(row, "alive")),
		   verb_time_text(json_integer_value(json_object_get(row, "first")), first),
		   verb_time_text(json_integer_value(json_object_get(row, "last")), last));
}

int verb_session_agents(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL, *row;
	struct buf out;
	size_t i;

	if (verb_no_words(inv, err) != 0 ||
	    verb_request("session.agents", json_object(), &answer, err) != 0) {
		return -1;
	}
	json_t *rows = json_object_get(answer, "agents");
	if (inv->json) {
		int rc = verb_print_json(rows, err);
		json_decref(answer);
		return rc;
	}
	buf_init(&out);
	if (json_array_size(rows) == 0) {
		buf_puts(&out, "no session had an agent (session create --agent ID)\n");
	} else {
		buf_printf(&out, "%-24s  %8s  %5s  %-24s  %s\n", "AGENT", "SESSIONS", "ALIVE",
			   "FIRST SEEN", "LAST SEEN");
	}
	json_array_foreach(rows, i, row) {
		put_agent(&out, row);
	}
	json_decref(answer);
	return print_buf(&out, err);
}

static int one_session(const struct invocation *inv, size_t most, struct corral_error *err) {
	if (inv->nwords >= 1 && inv->nwords <= most) {
		return 0;
	}
	return usage_error(err, "list them: corral session list",
			   "`corral %s` takes the id or the name of a session", inv->verb->name);
}

/* A request about one session. */
static int about(const struct invocation *inv, const char *method, json_t *params, json_t **ret,
		 struct corral_error *err) {
	if (params == NULL ||
	    json_object_set_new(params, "session", json_string(inv->words[0])) != 0) {
		json_decref(params);
		return usage_error(err, "", "the name of the session is not UTF-8");
	}
	return verb_request(method, params, ret, err);
}

/* A command of the session asks by its own socket, where the request names none. */
static int read_session(const struct invocation *inv, json_t **ret, struct corral_error *err) {
	struct client c;
	bool own = false;

	if (verb_connect(inv, inv->words[0], &c, &own, err) != 0) {
		return -1;
	}
	struct client_call call = {.method = "session.show",
				   .params = own ? json_object()
						 : json_pack("{s:s}", "session", inv->words[0])};
	int rc = client_call(&c, &call, ret, err);
	client_close(&c);
	return rc;
}

static void put_cpu(struct buf *out, const json_t *cpu) {
	long long ms = json_integer_value(json_object_get(cpu, "ms"));
	long long limit = json_integer_value(json_object_get(cpu, "limit_ms"));

	if (cpu == NULL) {
		return; /* it has ended */
	}
	buf_printf(out, "%-10s %lld.%03lld s (%s)", "cpu", ms / 1000, ms % 1000,
		   text_of(cpu, "by"));
	if (limit != 0) {
		buf_printf(out, ", the limit is %lld.%03lld s", limit / 1000, limit % 1000);
	}
	buf_puts(out, "\n");
}

int verb_session_show(struct invocation *inv, struct corral_error *err) {
	static const char *const keys_shown[] = {"id",       "name",      "state",   "reason",
						 "level",    "workspace", "profile", "agent",
						 "provider", "socket"};
	static const char *const times[] = {"created", "started", "ended", "deadline"};
	json_t *row = NULL;
	struct buf out;
	char time[VERB_TIME_SIZE];

	if (one_session(inv, 1, err) != 0 || read_session(inv, &row, err) != 0) {
		return -1;
	}
	if (inv->json) {
		int rc = verb_print_json(row, err);
		json_decref(row);
		return rc;
	}
	buf_init(&out);
	for (size_t i = 0; i < ARRAY_LEN(keys_shown); i++) {
		buf_printf(&out, "%-10s %s\n", keys_shown[i], text_of(row, keys_shown[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		buf_printf(
			&out, "%-10s %s\n", times[i],
			verb_time_text(json_integer_value(json_object_get(row, times[i])), time));
	}
	put_cpu(&out, json_object_get(row, "cpu"));
	json_decref(row);
	return print_buf(&out, err);
}

static int simple(struct invocation *inv, const char *method, struct corral_error *err) {
	json_t *answer = NULL;

	if (one_session(inv, 1, err) != 0 || about(inv, method, json_object(), &answer, err) != 0) {
		return -1;
	}
	int rc = inv->json ? verb_print_json(answer, err) : 0;
	json_decref(answer);
	return rc;
}

int verb_session_stop(struct invocation *inv, struct corral_error *err) {
	return simple(inv, "session.stop", err);
}

int verb_session_revoke(struct invocation *inv, struct corral_error *err) {
	return simple(inv, "session.revoke", err);
}

int verb_session_token(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL;
	json_int_t lifetime = 0;

	if (one_session(inv, 2, err) != 0 ||
	    verb_duration(inv->nwords == 2 ? inv->words[1] : "7d", "TIME", &lifetime, err) != 0 ||
	    about(inv, "session.token", json_pack("{s:I}", "lifetime_ms", lifetime), &answer,
		  err) != 0) {
		return -1;
	}
	int rc = inv->json ? verb_print_json(answer, err)
			   : print_text(text_of(answer, "token"), err);
	json_decref(answer);
	return rc;
}

/* ---- activity ---- */

static int print_activity(const struct invocation *inv, const json_t *row,
			  struct corral_error *err) {
	struct buf out;
	char time[VERB_TIME_SIZE];

	if (inv->json) {
		return verb_print_json(row, err);
	}
	auto_free char *text = strdup(text_of(row, "text"));
	if (text == NULL) {
		return memory_error(err);
	}
	str_hide_controls(text, false); /* a process of the sandbox wrote it */
	buf_init(&out);
	buf_printf(&out, "%s  %-12s  %s\n",
		   verb_time_text(json_integer_value(json_object_get(row, "time")), time),
		   text_of(row, "kind"), text);
	return print_buf(&out, err);
}

/* The last row of a session.  Only the daemon writes rows of this kind. */
static bool is_end(const json_t *row) {
	return streq(text_of(row, "kind"), "state") &&
	       (streq(text_of(row, "text"), "STOPPED") || streq(text_of(row, "text"), "FAILED"));
}

static int print_activities(const struct invocation *inv, const json_t *answer, bool *ret_ended,
			    struct corral_error *err) {
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(answer, "activity"), i, row) {
		*ret_ended = *ret_ended || is_end(row);
		if (print_activity(inv, row, err) != 0) {
			return -1;
		}
	}
	return 0;
}

static int follow(const struct invocation *inv, struct client *c, struct corral_error *err) {
	json_t *row = NULL;
	bool ended = false;
	int rc = 0;

	while (rc == 0 && !ended && (rc = client_next(c, &row, err)) == 0) {
		ended = is_end(row);
		rc = print_activity(inv, row, err);
		json_decref(row);
	}
	return rc == 1 ? client_lost(err) : rc;
}

struct paging {
	json_int_t after;
	size_t n;   /* rows of the last page */
	bool ended; /* no row follows */
};

/* The daemon returns a thousand rows at once; the last page, which is empty, is followed. */
static int page(const struct invocation *inv, struct client *c, struct paging *p,
		struct corral_error *err) {
	json_t *answer = NULL;
	struct client_call call = {
		.method = "session.activity",
		.params = json_pack("{s:s, s:I, s:b}", "session", inv->words[0], "after", p->after,
				    "follow", (int)(inv->follow && !p->ended && p->n == 0))};

	if (client_call(c, &call, &answer, err) != 0) {
		return -1;
	}
	p->n = json_array_size(json_object_get(answer, "activity"));
	p->after = json_integer_value(json_object_get(answer, "last"));
	int rc = print_activities(inv, answer, &p->ended, err);
	json_decref(answer);
	return rc;
}

/* Before the rows: a session of a daemon that was killed has none about its end. */
static int has_ended(const struct invocation *inv, bool *ret, struct corral_error *err) {
	json_t *row = NULL;

	if (about(inv, "session.show", json_object(), &row, err) != 0) {
		return -1;
	}
	int state = state_by_name(text_of(row, "state"));
	*ret = state >= 0 && state_is_final((enum session_state)state);
	json_decref(row);
	return 0;
}

int verb_session_activity(struct invocation *inv, struct corral_error *err) {
	struct client c;
	struct paging p = {.n = 1};

	if (one_session(inv, 1, err) != 0 || (inv->follow && has_ended(inv, &p.ended, err) != 0) ||
	    client_open_admin(&c, err) != 0) {
		return -1;
	}
	int rc = 0;
	while (rc == 0 && p.n > 0) {
		rc = page(inv, &c, &p, err);
	}
	if (rc == 0 && inv->follow && !p.ended) {
		rc = page(inv, &c, &p, err) != 0 ? -1 : p.ended ? 0 : follow(inv, &c, err);
	}
	client_close(&c);
	return rc;
}
