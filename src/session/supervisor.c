/* SPDX-License-Identifier: Apache-2.0 */
/* The process of one session: opens the sandbox, and runs the commands that the daemon sends.
 *
 * One thread at a time reads the daemon's messages (session/jobs.c).  When the daemon ends, the
 * channel ends, and with it this process and the sandbox (H5).
 *
 * Should:   report every command that it accepted.
 * Must not: read a policy that the request did not name, besides the daemon's version of the
 *           standing files.
 * Fails:    closed: it exits, and the kernel ends the sandbox. */
#include "session/supervisor.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "session/copy.h"
#include "session/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Between SIGTERM and SIGKILL at the end of a session. */
#define GRACE_MS 2000
/* For the results of commands that were killed. */
#define KILL_MS 200
#define STOP_STEP_MS 10
/* Between two attempts to kill a command that has just been started. */
#define CANCEL_STEP_MS 50

/* ---- stop ---- */

/* Clients get the last output of their terminals. */
static void relay_for_a_step(struct supervisor *s) {
	struct pollfd slots[2 * TERMINALS_MAX];
	size_t n = terminals_poll(s, slots);

	(void)poll(slots, n, STOP_STEP_MS); /* after EINTR the caller tries it again */
	terminals_step(s, slots);
}

/* A thread uses the session. */
static bool is_busy(struct supervisor *s) {
	return jobs_count(s) > 0 || atomic_load(&s->bridge_busy);
}

const char *supervisor_stopped(const struct supervisor *s) {
	return atomic_load(&s->ending) ? s->stopped : "";
}

/* SIGTERM for every process, a grace period, then the end of the sandbox.  Commands that the grace
 * period ended have time to send their results. */
static _Noreturn void stop(struct supervisor *s, const char *why) {
	int64_t until = clock_ms() + GRACE_MS;

	(void)snprintf(s->stopped, sizeof s->stopped, "the session was stopped: %s", why);
	atomic_store(&s->ending, true);
	jobs_refuse_waiting(s); /* the end of a command starts none of them */
	(void)corral_session_signal(s->session, SIGTERM); /* else they are killed */
	while (clock_ms() < until && corral_session_commands(s->session) > 0) {
		relay_for_a_step(s);
	}
	for (until = clock_ms() + KILL_MS; clock_ms() < until && is_busy(s);) {
		(void)jobs_cancel(s, 0, true); /* the loop repeats it */
		(void)corral_session_kill(s->session, BRIDGE_KEY);
		relay_for_a_step(s);
	}
	relay_for_a_step(s); /* the last output */
	supervisor_direct_flush(s);
	/* With commands that are not gone, closing would free memory that their threads use: the
	 * end of this process kills the sandbox as well. */
	if (!is_busy(s)) {
		corral_session_close(s->session);
	}
	_exit(0);
}

/* ---- start ---- */

/* Limits of the session: their names in requests, in the policy, and in WIRE_READY. */
static const struct {
	const char *param, *key;
} times[] = {
	{"timeout_ms", "session.timeout"},
	{"idle_timeout_ms", "session.idle_timeout"},
	{"cpu_total_ms", "session.cpu_total"},
};

static int apply_times(struct corral_policy *policy, const json_t *spec, struct corral_error *err) {
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		json_int_t ms = json_integer_value(json_object_get(spec, times[i].param));
		char text[32];
		(void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT "ms", ms);
		if (ms > 0 && corral_policy_set_from(policy, times[i].key, text, "session.create",
						     err) != 0) {
			return -1;
		}
	}
	return 0;
}

/* The values in force; without one of them the session has no such limit. */
static json_t *limits_of(const struct corral_session *session) {
	json_t *limits = json_object();

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		int64_t ms = corral_session_time(session, times[i].key);
		(void)json_object_set_new(limits, times[i].param, json_integer(ms < 0 ? 0 : ms));
	}
	return limits;
}

static int apply_settings(struct corral_policy *policy, const json_t *spec,
			  struct corral_error *err) {
	const char *file = json_string_value(json_object_get(spec, "file"));
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(spec, "settings"), i, row) {
		const char *origin = json_string_value(json_array_get(row, 2));
		if (corral_policy_set_from(policy, json_string_value(json_array_get(row, 0)),
					   json_string_value(json_array_get(row, 1)),
					   origin == NULL ? "session.create" : origin, err) != 0) {
			return -1;
		}
	}
	if (apply_times(policy, spec, err) != 0) {
		return -1;
	}
	if (json_is_true(json_object_get(spec, "no_config"))) {
		corral_policy_no_config(policy);
	}
	return file == NULL ? 0 : corral_policy_file(policy, file, err);
}

/* The id and the socket of the session, for its commands. */
static int apply_session(struct corral_policy *policy, const struct supervised *with,
			 struct corral_error *err) {
	char label[PATH_MAX + 32];

	(void)snprintf(label, sizeof label, "SESSION_ID=%s", with->id);
	if (corral_policy_set_from(policy, "env.labels", label, "session", err) != 0) {
		return -1;
	}
	(void)snprintf(label, sizeof label, "SESSION_SOCKET=%s", with->socket);
	if (corral_policy_set_from(policy, "env.labels", label, "session", err) != 0) {
		return -1;
	}
	return corral_policy_set_from(policy, "net.sockets", with->socket, "session", err);
}

/* The directory of the bridge's socket, for its commands and for the host. */
static int apply_bridge(struct corral_policy *policy, const struct supervised *with,
			struct corral_error *err) {
	char dir[PATH_MAX], label[PATH_MAX + 64];

	if (json_object_get(with->spec, "bridge") == NULL) {
		return 0;
	}
	if (bridge_directory(with, dir) != 0) {
		*err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = errno};
		(void)snprintf(err->layer, sizeof err->layer, "bridge");
		(void)snprintf(err->message, sizeof err->message,
			       "cannot create the directory of its socket");
		return -1;
	}
	(void)snprintf(label, sizeof label, "BRIDGE_PATH=%s/bridge.sock", dir);
	return corral_policy_set_from(policy, "env.labels", label, "session", err) != 0
		       ? -1
		       : corral_policy_set_from(policy, "fs.write", dir, "session", err);
}

/* The copy of an agent's files; its path is in a variable. */
static int apply_copy(struct corral_policy *policy, const struct supervised *with,
		      struct copy_report *ret, struct corral_error *err) {
	const char *dir = json_string_value(json_object_get(with->spec, "copy"));
	char label[PATH_MAX + 64];

	if (dir == NULL) {
		return 0;
	}
	if (copy_make(with, policy, dir, ret, err) != 0) {
		return -1;
	}
	(void)snprintf(label, sizeof label, "COPY_PATH=%s", ret->path);
	return corral_policy_set_from(policy, "env.labels", label, "session", err) != 0
		       ? -1
		       : corral_policy_set_from(policy, "fs.write", ret->path, "session", err);
}

/* The caller's environment and directory take the place of the daemon's, as in a run. */
static int become_caller(const json_t *spec, struct corral_error *err) {
	const char *cwd = json_string_value(json_object_get(spec, "cwd"));
	json_t *environment = json_object_get(spec, "environment");

	if (environment != NULL) {
		char **variables = jobs_variables(environment);
		if (variables == NULL) {
			err->kind = CORRAL_E_MEMORY;
			return -1;
		}
		environ = variables;
	}
	if (chdir(cwd) != 0) {
		*err = (struct corral_error){.kind = CORRAL_E_USAGE, .sys_errno = errno};
		(void)snprintf(err->layer, sizeof err->layer, "session");
		(void)snprintf(err->message, sizeof err->message, "cannot change to %s", cwd);
		return -1;
	}
	return 0;
}

static void keep_warning(void *arg, const char *text) {
	(void)json_array_append_new(arg, json_string(text)); /* jansson drops a NULL */
}

/* Warnings, which a run prints, are added to the array. */
static int open_session(struct supervisor *s, const struct supervised *with,
			struct copy_report *copied, json_t *warnings, struct corral_error *err) {
	struct corral_policy *policy = corral_policy_new(); /* lives as long as this process */
	struct corral_session_options options = CORRAL_SESSION_OPTIONS_INIT;

	if (policy == NULL) {
		err->kind = CORRAL_E_MEMORY;
		(void)snprintf(err->message, sizeof err->message, "out of memory");
		return -1;
	}
	corral_policy_use_config(policy, with->config);
	if (become_caller(with->spec, err) != 0 || apply_settings(policy, with->spec, err) != 0 ||
	    apply_session(policy, with, err) != 0 || apply_bridge(policy, with, err) != 0 ||
	    apply_copy(policy, with, copied, err) != 0) {
		return -1;
	}
	options.warn = keep_warning;
	options.warn_arg = warnings;
	if (corral_session_open(policy, &options, &s->session, err) != 0) {
		return -1;
	}
	s->tools.config = (struct mcp_config){.policy = policy, .session = s->session};
	return 0;
}

/* The values that the database keeps: of the policy that this session has, and no secret. */
static json_t *resolved(const struct corral_policy *policy) {
	static const struct {
		const char *key, *name;
	} rows[] = {{"workspace", "workspace"},
		    {"profile", "profile"},
		    {"mode", "mode"},
		    {"net.mode", "net"}};
	struct corral_error err = {0};
	auto_free char *text = NULL;
	json_t *kept = json_object();

	if (corral_policy_show(policy, CORRAL_JSON, &text, &err) != 0) {
		return kept; /* a file of the policy is gone already: the session has its plan */
	}
	json_t *shown = json_loads(text, 0, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *row = json_object_get(json_object_get(shown, "values"), rows[i].key);
		json_t *value = json_object_get(row, "value");
		if (json_is_string(value)) {
			(void)json_object_set(kept, rows[i].name, value);
		}
	}
	json_t *sha256 = json_object_get(shown, "sha256");
	if (json_is_string(sha256)) {
		(void)json_object_set(kept, "policy", sha256);
	}
	json_decref(shown);
	return kept;
}

/* The sandbox has ended by itself: its commands are lost, and their threads report it. */
static _Noreturn void end(struct supervisor *s) {
	int64_t until = clock_ms() + GRACE_MS;
	const char *limit = corral_session_ending(s->session);

	if (limit[0] != '\0') {
		supervisor_send(s->channel, WIRE_ENDING, 0, json_pack("{s:s}", "text", limit));
	}
	while (clock_ms() < until && jobs_count(s) > 0) {
		relay_for_a_step(s);
	}
	supervisor_direct_flush(s);
	_exit(0);
}

/* The daemon does not know the session's policy, which says whether there is an audit log. */
static void record_denial(struct supervisor *s, const char *text) {
	json_t *value = json_loads(text, 0, NULL);

	corral_session_refused(s->session, json_string_value(json_object_get(value, "method")),
			       json_string_value(json_object_get(value, "why")),
			       (uint64_t)json_integer_value(json_object_get(value, "count")));
	json_decref(value);
}

static struct job *serve_channel(struct supervisor *s) {
	struct wire_message m;
	struct job *job = NULL;
	int rc = session_wire_receive(s->channel, &m);

	if (rc == -EAGAIN) {
		return NULL;
	}
	if (rc != 0) {
		_exit(0); /* the daemon is gone: H5 */
	}
	switch (m.kind) {
	case WIRE_EXEC:
	case WIRE_TOOL:
		job = jobs_start(s, &m);
		break;
	case WIRE_ATTACH:
		terminals_attach(s, &m);
		break;
	case WIRE_CANCEL:
		s->cancels = jobs_cancel(s, m.call, false);
		break;
	case WIRE_DENIED:
		record_denial(s, m.text);
		break;
	case WIRE_STOP:
		stop(s, m.text == NULL ? "" : m.text);
	default:
		break;
	}
	session_wire_done(&m);
	return job;
}

/* One event: a message that starts a command makes this thread run it. */
static struct job *serve(struct supervisor *s) {
	struct epoll_event event;

	if (epoll_wait(s->events, &event, 1, 0) != 1) {
		return NULL;
	}
	uint32_t n = (uint32_t)event.data.u64;
	switch ((enum supervisor_event)(event.data.u64 >> 32)) {
	case EVENT_CHANNEL:
		return serve_channel(s);
	case EVENT_LISTENER:
		return supervisor_direct_accept(s);
	case EVENT_WAITING:
		return supervisor_direct_receive(s, n);
	case EVENT_CLIENT:
		s->cancels = jobs_cancel(s, n, false);
		break;
	case EVENT_TIMER:
		supervisor_direct_timer(s);
		break;
	}
	return NULL;
}

struct job *supervisor_lead(struct supervisor *s) {
	struct job *job = NULL;
	struct pollfd slots[2 + 2 * TERMINALS_MAX] = {
		{.fd = s->events, .events = POLLIN},
		{.fd = corral_session_fd(s->session), .events = POLLIN},
	};
	size_t n = 2 + terminals_poll(s, slots + 2);

	/* After EINTR it is tried again. */
	if (poll(slots, n, s->cancels ? CANCEL_STEP_MS : -1) == 0) {
		s->cancels = jobs_cancel(s, 0, false);
	}
	terminals_step(s, slots + 2); /* before a message adds one */
	if (slots[0].revents != 0) {
		job = serve(s);
	}
	if (job == NULL && slots[1].revents != 0 && !corral_session_alive(s->session)) {
		end(s);
	}
	return job;
}

static void start_bridge(struct supervisor *s, const char *command) {
	if (command != NULL && bridge_start(s, command) != 0) {
		supervisor_send(s->channel, WIRE_ACTIVITY, 0,
				json_pack("{s:s, s:s}", "kind", "bridge", "text",
					  "did not start: the supervisor cannot create a thread"));
	}
}

_Noreturn void supervisor_main(const struct supervised *with) {
	struct supervisor s = {.channel = with->channel,
			       .output = with->output,
			       .serial = json_is_true(json_object_get(with->spec, "serial")),
			       .tools = {.lock = PTHREAD_MUTEX_INITIALIZER},
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .lead = PTHREAD_COND_INITIALIZER};
	struct corral_error err = {0};
	struct copy_report copied = {.path = ""};
	json_t *warnings = json_array();

	/* A hook of an agent looks for this name; fails only for a bad pointer. */
	(void)prctl(PR_SET_NAME, "corral");
	if (supervisor_direct_init(&s, with) != 0) {
		err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = errno};
		(void)snprintf(err.layer, sizeof err.layer, "session");
		(void)snprintf(err.message, sizeof err.message,
			       "cannot watch the sockets of the session");
		supervisor_send_error(s.channel, WIRE_FAILED, 0, &err);
		_exit(1);
	}
	if (open_session(&s, with, &copied, warnings, &err) != 0) {
		supervisor_send_error(s.channel, WIRE_FAILED, 0, &err);
		_exit(1);
	}
	supervisor_send(
		s.channel, WIRE_READY, 0,
		json_pack("{s:s, s:s, s:o, s:o, s:o}", "level", corral_session_level(s.session),
			  "run", corral_session_id(s.session), "limits", limits_of(s.session),
			  "resolved", resolved(s.tools.config.policy), "warnings", warnings));
	if (copied.path[0] != '\0') {
		supervisor_send(s.channel, WIRE_ACTIVITY, 0,
				json_pack("{s:s, s:s}", "kind", "copy", "text", copied.text));
	}
	start_bridge(&s, json_string_value(json_object_get(with->spec, "bridge")));
	jobs_follow(&s, true);
	_exit(0); /* the first thread leads or waits for ever */
}
