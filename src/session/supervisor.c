/* SPDX-License-Identifier: Apache-2.0 */
/* The process of one session: opens the sandbox, and runs the commands that the daemon sends.
 *
 * The main thread reads the daemon's messages; each command has a thread, which relays its streams
 * (libcorral).  When the daemon ends, the channel ends, and with it this process and the sandbox
 * (H5).
 *
 * Should:   report every command that it accepted.
 * Must not: read a policy that the request did not name, besides the daemon's version of the
 *           standing files.
 * Fails:    closed: it exits, and the kernel ends the sandbox. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "session/supervisor_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Between SIGTERM and SIGKILL at the end of a session. */
#define GRACE_MS 2000
/* Between two attempts to kill a command that has just been started. */
#define CANCEL_STEP_MS 50
/* libcorral needs less than 64 KiB of stack. */
#define STACK_SIZE ((size_t)512 * 1024)

struct job {
	struct supervisor *owner;
	uint32_t call;
	json_t *request;
	bool tool;         /* a call of a tool, not a command */
	int fds[WIRE_FDS]; /* -1: captured */
	atomic_bool cancelled;
	struct job *next;
};

struct supervisor {
	int channel;
	bool serial;
	struct corral_session *session;
	struct session_tools tools;
	pthread_mutex_t lock;
	struct job *jobs;    /* running; with `lock` */
	struct job *waiting; /* of a serial session, the first one first; with `lock` */
	size_t njobs;
	bool cancels; /* a command that was cancelled may not be gone */
};

/* ---- messages ---- */

static void send_text(int channel, enum wire_kind kind, uint32_t call, char *text) {
	struct wire_message m = {
		.kind = kind, .call = call, .text = text, .len = text == NULL ? 0 : strlen(text)};
	struct pollfd room = {.fd = channel, .events = POLLOUT};

	int rc;

	/* The daemon always reads; when it is gone, this process ends soon. */
	while ((rc = session_wire_send(channel, &m)) == -EAGAIN) {
		(void)poll(&room, 1, -1); /* after EINTR it is tried again */
	}
	if (rc == -EMSGSIZE) {
		static char too_large[] = "{\"kind\":11,\"errno\":0,\"layer\":\"session\","
					  "\"message\":\"the result is larger "
					  "than "
					  "15 MiB\",\"remedy\":\"write the output to a file, or "
					  "lower limits.output\"}";
		send_text(channel, WIRE_ERROR, call, too_large);
	}
}

static void send_json(int channel, enum wire_kind kind, uint32_t call, json_t *value) {
	auto_free char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);

	json_decref(value);
	send_text(channel, kind, call, text);
}

static void send_error(int channel, enum wire_kind kind, uint32_t call,
		       const struct corral_error *err) {
	send_json(channel, kind, call,
		  json_pack("{s:i, s:i, s:s, s:s, s:s}", "kind", (int)err->kind, "errno",
			    err->sys_errno, "layer", err->layer, "message", err->message, "remedy",
			    err->remedy));
}

/* ---- one command ---- */

static void note(json_t *notes, const char *prefix, const char *text) {
	struct buf line;

	if (text[0] == '\0') {
		return;
	}
	buf_init(&line);
	buf_printf(&line, "%s%s", prefix, text);
	if (!buf_failed(&line)) {
		/* jansson ignores a NULL: text that is not UTF-8 */
		(void)json_array_append_new(notes, json_string(line.data));
	}
	buf_done(&line);
}

static void send_result(const struct job *j, const struct corral_result *result) {
	struct corral_error err = {0};
	auto_free char *text = NULL;
	json_t *notes = json_array();

	if (corral_result_json(result, &text, &err) != 0) {
		json_decref(notes);
		send_error(j->owner->channel, WIRE_ERROR, j->call, &err);
		return;
	}
	note(notes, "ended by ", corral_result_ending(result));
	note(notes, "hint: ", corral_result_hint(result));
	send_json(j->owner->channel, WIRE_RESULT, j->call,
		  json_pack("{s:i, s:s, s:o, s:o}", "status", corral_result_status(result),
			    "reason", corral_result_reason(result), "notes", notes, "result",
			    json_loads(text, JSON_ALLOW_NUL, NULL)));
}

/* A NULL-terminated array whose texts belong to the JSON. */
static const char **texts_of(const json_t *array) {
	const char **list = calloc(json_array_size(array) + 1, sizeof *list);

	if (list != NULL) {
		size_t i;
		const json_t *text;
		json_array_foreach(array, i, text) {
			list[i] = json_string_value(text);
		}
	}
	return list;
}

/* "NAME=value" for each member; the caller frees the texts and the array. */
static char **variables_of(json_t *object) {
	char **list = calloc(json_object_size(object) + 1, sizeof *list);
	const char *name;
	json_t *value;
	size_t n = 0;

	if (list == NULL) {
		return NULL;
	}
	json_object_foreach(object, name, value) {
		if (asprintf(&list[n], "%s=%s", name, json_string_value(value)) >= 0) {
			n++;
		}
	}
	list[n] = NULL;
	return list;
}

static void free_variables(char **list) {
	for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
		free(list[i]);
	}
	free(list);
}

static void run_job(struct job *j) {
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	auto_free const char **argv = texts_of(json_object_get(j->request, "argv"));
	char **env = variables_of(json_object_get(j->request, "environment"));

	if (j->fds[0] >= 0) {
		how.in = j->fds[0];
		how.out = j->fds[1];
		how.err = j->fds[2];
	}
	how.env = (const char *const *)env;
	how.directory = json_string_value(json_object_get(j->request, "cwd"));
	how.timeout_ms = json_integer_value(json_object_get(j->request, "timeout_ms"));
	how.key = j->call;
	if (argv == NULL || env == NULL) {
		err.kind = CORRAL_E_MEMORY;
		(void)snprintf(err.message, sizeof err.message, "out of memory");
		send_error(j->owner->channel, WIRE_ERROR, j->call, &err);
	} else if (corral_session_run(j->owner->session, argv, &how, &result, &err) != 0) {
		send_error(j->owner->channel, WIRE_ERROR, j->call, &err);
	} else {
		send_result(j, result);
		corral_result_free(result);
	}
	free_variables(env);
}

static void send_progress(void *arg, json_t *value) {
	const struct job *j = arg;

	send_json(j->owner->channel, WIRE_PROGRESS, j->call, value);
}

static void run_tool(struct job *j) {
	struct session_tool_call call = {
		.number = j->call, .request = j->request, .progress = send_progress, .arg = j};

	send_json(j->owner->channel, WIRE_RESULT, j->call,
		  session_tools_call(&j->owner->tools, &call));
}

static void refuse_job(const struct job *j, const char *why) {
	struct corral_error err = {.kind = CORRAL_E_SETUP};

	(void)snprintf(err.layer, sizeof err.layer, "session");
	(void)snprintf(err.message, sizeof err.message, "%s", why);
	send_error(j->owner->channel, WIRE_ERROR, j->call, &err);
}

static void job_free(struct job *j) {
	for (int i = 0; i < WIRE_FDS; i++) {
		drop_fd(&j->fds[i]);
	}
	json_decref(j->request);
	free(j);
}

/* Removes a job that ran; returns the next one of a serial session, which runs in this thread. */
static struct job *job_ended(struct job *j) {
	struct supervisor *s = j->owner;
	struct job *next = NULL;

	(void)pthread_mutex_lock(&s->lock);
	for (struct job **at = &s->jobs; *at != NULL; at = &(*at)->next) {
		if (*at == j) {
			*at = j->next;
			break;
		}
	}
	if (s->waiting != NULL) {
		next = s->waiting;
		s->waiting = next->next;
		next->next = s->jobs;
		s->jobs = next;
	} else {
		s->njobs--;
	}
	(void)pthread_mutex_unlock(&s->lock);
	job_free(j);
	return next;
}

static void *job_thread(void *arg) {
	for (struct job *j = arg; j != NULL;) {
		if (!atomic_load(&j->cancelled)) { /* else its client went away before it began */
			(j->tool ? run_tool : run_job)(j);
		} else {
			refuse_job(j, "the command was cancelled before it began");
		}
		j = job_ended(j);
	}
	return NULL;
}

static int start_thread(struct job *j) {
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attributes, job_thread, j);
	(void)pthread_attr_destroy(&attributes);
	return rc;
}

/* True when the job has to wait for another one. */
static bool enqueue(struct supervisor *s, struct job *j) {
	bool waits;

	(void)pthread_mutex_lock(&s->lock);
	waits = s->serial && s->njobs > 0;
	if (waits) {
		struct job **last = &s->waiting;
		while (*last != NULL) {
			last = &(*last)->next;
		}
		*last = j;
	} else {
		j->next = s->jobs;
		s->jobs = j;
		s->njobs++;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return waits;
}

static void start_job(struct supervisor *s, struct wire_message *m) {
	struct job *j = calloc(1, sizeof *j);

	if (j == NULL) {
		return; /* the daemon's client waits until the session ends */
	}
	*j = (struct job){.owner = s,
			  .call = m->call,
			  .request = json_loads(m->text, JSON_ALLOW_NUL, NULL),
			  .tool = m->kind == WIRE_TOOL,
			  .fds = {-1, -1, -1}};
	if (m->nfds == WIRE_FDS) {
		memcpy(j->fds, m->fds, sizeof j->fds);
		m->nfds = 0;
	}
	if (j->request == NULL) {
		refuse_job(j, "the supervisor has too little memory");
		job_free(j);
		return;
	}
	if (!enqueue(s, j) && start_thread(j) != 0) {
		refuse_job(j, "the supervisor cannot create a thread");
		(void)job_ended(j); /* of a serial session none waits: this one was to run */
	}
}

/* ---- cancel and stop ---- */

/* Takes commands that wait for their turn out of the list: they must not stay until the one before
 * them ends.  With `lock`. */
static struct job *take_waiting(struct supervisor *s, uint32_t call, bool all) {
	struct job *taken = NULL;

	for (struct job **at = &s->waiting; *at != NULL;) {
		struct job *j = *at;
		if (!all && j->call != call) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		j->next = taken;
		taken = j;
	}
	return taken;
}

/* Kills one command, or all (call 0), and repeats it for commands that were cancelled before their
 * thread had started them.  Returns whether one is left. */
static bool cancel_jobs(struct supervisor *s, uint32_t call, bool all) {
	bool left = false;

	(void)pthread_mutex_lock(&s->lock);
	struct job *dropped = take_waiting(s, call, all);
	for (struct job *j = s->jobs; j != NULL; j = j->next) {
		if (all || j->call == call) {
			atomic_store(&j->cancelled, true);
		}
		if (atomic_load(&j->cancelled)) {
			(void)corral_session_kill(s->session, j->call); /* 0: not started yet */
			left = true;
		}
	}
	(void)pthread_mutex_unlock(&s->lock);
	for (struct job *next; dropped != NULL; dropped = next) {
		next = dropped->next;
		refuse_job(dropped, "the command was cancelled before it began");
		job_free(dropped);
	}
	return left;
}

static size_t count_jobs(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	size_t n = s->njobs;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

/* SIGTERM for every process, a grace period, then the end of the sandbox.  Commands that the grace
 * period ended have time to send their results. */
static _Noreturn void stop(struct supervisor *s) {
	const struct timespec step = {.tv_nsec = 10000000L};

	(void)corral_session_signal(s->session, SIGTERM); /* else they are killed */
	for (int i = 0; i < GRACE_MS / 10 && corral_session_commands(s->session) > 0; i++) {
		(void)nanosleep(&step, NULL);
	}
	for (int i = 0; i < GRACE_MS / 100 && count_jobs(s) > 0; i++) {
		(void)cancel_jobs(s, 0, true); /* the loop repeats it */
		(void)nanosleep(&step, NULL);
	}
	/* With commands that are not gone, closing would free memory that their threads use: the
	 * end of this process kills the sandbox as well. */
	if (count_jobs(s) == 0) {
		corral_session_close(s->session);
	}
	_exit(0);
}

/* ---- start ---- */

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

/* The caller's environment and directory take the place of the daemon's, as in a run. */
static int become_caller(const json_t *spec, struct corral_error *err) {
	const char *cwd = json_string_value(json_object_get(spec, "cwd"));
	json_t *environment = json_object_get(spec, "environment");

	if (environment != NULL) {
		char **variables = variables_of(environment);
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

static int open_session(struct supervisor *s, const struct supervised *with,
			struct corral_error *err) {
	struct corral_policy *policy = corral_policy_new(); /* lives as long as this process */

	if (policy == NULL) {
		err->kind = CORRAL_E_MEMORY;
		(void)snprintf(err->message, sizeof err->message, "out of memory");
		return -1;
	}
	corral_policy_use_config(policy, with->config);
	if (become_caller(with->spec, err) != 0 || apply_settings(policy, with->spec, err) != 0 ||
	    apply_session(policy, with, err) != 0) {
		return -1;
	}
	if (corral_session_open(policy, NULL, &s->session, err) != 0) {
		return -1;
	}
	s->tools.config = (struct mcp_config){.policy = policy, .session = s->session};
	return 0;
}

/* The sandbox has ended by itself: its commands are lost, and their threads report it. */
static _Noreturn void end(struct supervisor *s) {
	const struct timespec step = {.tv_nsec = 10000000L};

	for (int i = 0; i < GRACE_MS / 10 && count_jobs(s) > 0; i++) {
		(void)nanosleep(&step, NULL);
	}
	_exit(0);
}

static void serve(struct supervisor *s) {
	struct wire_message m;
	int rc = session_wire_receive(s->channel, &m);

	if (rc == -EAGAIN) {
		return;
	}
	if (rc != 0) {
		_exit(0); /* the daemon is gone: H5 */
	}
	switch (m.kind) {
	case WIRE_EXEC:
	case WIRE_TOOL:
		start_job(s, &m);
		break;
	case WIRE_CANCEL:
		s->cancels = cancel_jobs(s, m.call, false);
		break;
	case WIRE_STOP:
		stop(s);
	default:
		break;
	}
	session_wire_done(&m);
}

_Noreturn void supervisor_main(const struct supervised *with) {
	struct supervisor s = {.channel = with->channel,
			       .serial = json_is_true(json_object_get(with->spec, "serial")),
			       .tools = {.lock = PTHREAD_MUTEX_INITIALIZER},
			       .lock = PTHREAD_MUTEX_INITIALIZER};
	struct corral_error err = {0};

	/* A hook of an agent looks for this name; fails only for a bad pointer. */
	(void)prctl(PR_SET_NAME, "corral");
	if (open_session(&s, with, &err) != 0) {
		send_error(s.channel, WIRE_FAILED, 0, &err);
		_exit(1);
	}
	send_json(s.channel, WIRE_READY, 0,
		  json_pack("{s:s, s:s}", "level", corral_session_level(s.session), "run",
			    corral_session_id(s.session)));
	for (;;) {
		struct pollfd slots[] = {
			{.fd = s.channel, .events = POLLIN},
			{.fd = corral_session_fd(s.session), .events = POLLIN},
		};
		/* After EINTR it is tried again. */
		if (poll(slots, ARRAY_LEN(slots), s.cancels ? CANCEL_STEP_MS : -1) == 0) {
			s.cancels = cancel_jobs(&s, 0, false);
		}
		if (slots[0].revents != 0) {
			serve(&s);
		}
		if (slots[1].revents != 0 && !corral_session_alive(s.session)) {
			end(&s);
		}
	}
}
