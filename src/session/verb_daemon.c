/* SPDX-License-Identifier: Apache-2.0 */
/* `corral daemon`: runs the daemon, and prints or changes its state.
 *
 * Should:   run in the foreground: systemd, or a shell, puts it in the background.
 * Must not: start a second daemon.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/auto.h"
#include "base/rfc3339.h"
#include "client/client.h"

#include <stdio.h>

int verb_no_words(const struct invocation *inv, struct corral_error *err) {
	char fix[64];

	if (inv->nwords == 0) {
		return 0;
	}
	(void)snprintf(fix, sizeof fix, "leave it out: corral %s --help", inv->verb->name);
	return usage_error(err, fix, "`corral %s` takes no argument: %s", inv->verb->name,
			   inv->words[0]);
}

int verb_daemon(struct invocation *inv, struct corral_error *err) {
	struct err e = {0};

	json_int_t idle = 0;

	if (verb_no_words(inv, err) != 0 || check_caller(err) != 0 ||
	    verb_duration(inv->idle_exit, "--idle-exit", &idle, err) != 0) {
		return -1;
	}
	if (daemon_main(idle, &e, err) == 0) {
		return 0;
	}
	return e.kind == ERR_NONE ? -1 : internal_error(&e, err); /* ERR_NONE: err is filled */
}

static int request(int (*connect_to)(struct client *, struct corral_error *),
		   const struct client_call *call, json_t **ret, struct corral_error *err) {
	struct client c;

	if (connect_to(&c, err) != 0) {
		json_decref(call->params);
		return -1;
	}
	int rc = client_call(&c, call, ret, err);
	client_close(&c);
	return rc;
}

int verb_request(const char *method, json_t *params, json_t **ret, struct corral_error *err) {
	const struct client_call call = {.method = method, .params = params};

	return request(client_open_admin, &call, ret, err);
}

/* Of the daemon that runs: none is started to be asked about itself, or to be stopped. */
static int request_running(const struct invocation *inv, const char *method, json_t **ret,
			   struct corral_error *err) {
	const struct client_call call = {.method = method};

	return verb_no_words(inv, err) == 0 ? request(client_open_running, &call, ret, err) : -1;
}

const char *verb_time_text(json_int_t ms, char ret[VERB_TIME_SIZE]) {
	if (ms == 0) {
		(void)snprintf(ret, VERB_TIME_SIZE, "-");
	} else {
		rfc3339_text(ms, ret);
	}
	return ret;
}

static void print_files(struct buf *out, const json_t *policy) {
	char time[VERB_TIME_SIZE];
	const json_t *error = json_object_get(policy, "error");
	size_t i;
	json_t *file;

	buf_printf(out, "policy:    generation %lld, loaded %s%s\n",
		   (long long)json_integer_value(json_object_get(policy, "generation")),
		   verb_time_text(json_integer_value(json_object_get(policy, "loaded")), time),
		   json_is_true(json_object_get(policy, "watched")) ? ", files watched" : "");
	json_array_foreach(json_object_get(policy, "files"), i, file) {
		const char *sha256 = json_string_value(json_object_get(file, "sha256"));
		buf_printf(out, "  %s: %.16s\n", json_string_value(json_object_get(file, "path")),
			   sha256 == NULL ? "does not exist" : sha256);
	}
	if (json_is_string(error)) {
		buf_printf(out, "  the last reload failed: %s (%s)\n", json_string_value(error),
			   verb_time_text(json_integer_value(json_object_get(policy, "failed")),
					  time));
	}
}

static int print_status(const json_t *s, struct corral_error *err) {
	struct buf out;
	char time[VERB_TIME_SIZE];

	buf_init(&out);
	buf_printf(&out,
		   "daemon:    pid %lld, since %s\nsessions:  %lld\npools:     %lld, with %lld "
		   "sandboxes\nsocket:    %s\n",
		   (long long)json_integer_value(json_object_get(s, "pid")),
		   verb_time_text(json_integer_value(json_object_get(s, "started")), time),
		   (long long)json_integer_value(json_object_get(s, "sessions")),
		   (long long)json_integer_value(json_object_get(s, "pools")),
		   (long long)json_integer_value(json_object_get(s, "pool_size")),
		   json_string_value(json_object_get(s, "socket")));
	buf_printf(&out, "database:  %s\n", json_string_value(json_object_get(s, "database")));
	print_files(&out, json_object_get(s, "policy"));
	int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
	buf_done(&out);
	return rc;
}

int verb_daemon_status(struct invocation *inv, struct corral_error *err) {
	json_t *s = NULL;

	if (request_running(inv, "daemon.status", &s, err) != 0) {
		return -1;
	}
	int rc = inv->json ? verb_print_json(s, err) : print_status(s, err);
	json_decref(s);
	return rc;
}

int verb_daemon_metrics(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL;

	if (request_running(inv, "daemon.metrics", &answer, err) != 0) {
		return -1;
	}
	const char *text = json_string_value(json_object_get(answer, "text"));
	int rc = print_text(text == NULL ? "" : text, err);
	json_decref(answer);
	return rc;
}

static int order(struct invocation *inv, const char *method, struct corral_error *err) {
	json_t *answer = NULL;

	if (request_running(inv, method, &answer, err) != 0) {
		return -1;
	}
	json_decref(answer);
	return 0;
}

int verb_daemon_reload(struct invocation *inv, struct corral_error *err) {
	return order(inv, "daemon.reload", err);
}

int verb_daemon_stop(struct invocation *inv, struct corral_error *err) {
	return order(inv, "daemon.shutdown", err);
}
