/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a session: each has a thread, which relays its streams (libcorral).
 *
 * The threads take turns (leader and followers): one leads, that is it reads the daemon's messages
 * and serves the terminals.  When a message starts a command, the leader runs the command itself,
 * and passes the lead to an idle thread when another message comes while it waits for the command:
 * so no thread is woken for a command that runs alone.
 *
 * Should:   report every command that was accepted, once; let the first thread stay: the kernel
 *           ends the sandbox when the thread that created it ends.
 * Must not: touch a terminal's relay after the job has closed its end.
 * Fails:    closed: a command that cannot start is reported as an error. */
#include "session/supervisor.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <termios.h>

/* libcorral needs less than 64 KiB of stack. */
#define STACK_SIZE ((size_t)512 * 1024)
/* Threads that wait for the lead; more of them end. */
#define IDLE_MAX 2

/* ---- one command ---- */

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

char **jobs_variables(json_t *object) {
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

/* The modes of the client's terminal: four sets of flags, and the control characters. */
static const struct termios *read_modes(const json_t *list, struct termios *ret) {
	*ret = (struct termios){
		.c_iflag = (tcflag_t)json_integer_value(json_array_get(list, 0)),
		.c_oflag = (tcflag_t)json_integer_value(json_array_get(list, 1)),
		.c_cflag = (tcflag_t)json_integer_value(json_array_get(list, 2)),
		.c_lflag = (tcflag_t)json_integer_value(json_array_get(list, 3)),
	};
	for (size_t i = 0; i < NCCS; i++) {
		ret->c_cc[i] = (cc_t)json_integer_value(json_array_get(list, i + 4));
	}
	return json_array_size(list) == NCCS + 4 ? ret : NULL;
}

static void keep_output(void *arg, int stream, const char *bytes, size_t len) {
	struct job *j = arg;

	(void)stream;
	commands_slot_add(&j->slot, bytes, len);
}

static void keep_tool_output(void *arg, const char *bytes, size_t len) {
	keep_output(arg, 1, bytes, len);
}

static void send_decisions(void *arg, const char *json) {
	const struct job *j = arg;

	supervisor_send(j->owner->channel, WIRE_DECISIONS, j->call, json_loads(json, 0, NULL));
}

static void pass_lead(void *arg) {
	struct job *j = arg;
	struct supervisor *s = j->owner;

	if (!j->leads) {
		return;
	}
	j->leads = false;
	(void)pthread_mutex_lock(&s->lock);
	s->led = false;
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_cond_signal(&s->lead);
}

static void set_streams(struct job *j, struct corral_exec_options *how, struct termios *modes) {
	if (j->fds[0] >= 0) {
		how->in = j->fds[0];
		how->out = j->fds[j->terminal == NULL ? 1 : 0];
		how->err = j->terminal == NULL ? j->fds[2] : CORRAL_NULL;
	}
	if (j->terminal != NULL) {
		how->terminal = 1;
		how->rows = j->terminal->size.rows;
		how->columns = j->terminal->size.columns;
		how->modes = read_modes(json_object_get(j->request, "modes"), modes);
	}
	if (j->owner->output >= 0) {
		how->output = keep_output;
		how->output_arg = j;
		how->output_all = 1;
	}
}

/* While the command starts. */
static void was_sent(void *arg) {
	struct job *j = arg;

	if (j->owner->output >= 0) {
		commands_slot_begin(&j->slot, j->owner->output, j->call);
	}
	if (j->client >= 0) {
		supervisor_direct_started(j->owner);
	}
	/* These are served by the clock, and by other descriptors than ready_fd. */
	if (j->leads && (j->owner->nterminals > 0 || j->owner->cancels)) {
		pass_lead(j);
	}
}

static void read_request(struct job *j) {
	if (j->request != NULL) { /* else it came the short way, and was read */
		j->argv = texts_of(json_object_get(j->request, "argv"));
		j->directory = json_string_value(json_object_get(j->request, "cwd"));
		j->timeout_ms = json_integer_value(json_object_get(j->request, "timeout_ms"));
	}
}

/* The client of the short way waits: the daemon gets the result later. */
static void has_ended(void *arg, const struct corral_result *result) {
	struct job *j = arg;

	if (j->client >= 0) {
		jobs_report_limit(j, result);
		supervisor_direct_send_result(j, result);
	}
}

static void run_job(struct job *j) {
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	char **env = jobs_variables(json_object_get(j->request, "environment"));
	struct termios modes;

	read_request(j);
	set_streams(j, &how, &modes);
	how.env = j->request == NULL ? j->env : (const char *const *)env;
	how.directory = j->directory;
	how.timeout_ms = j->timeout_ms;
	how.key = j->call;
	how.decided = send_decisions;
	how.decided_arg = j;
	how.sent = was_sent;
	how.ready = pass_lead; /* not before: to wake a thread takes time */
	how.ended = has_ended;
	how.sent_arg = how.ready_arg = how.ended_arg = j;
	how.ready_fd = j->owner->events;
	if (j->argv == NULL || env == NULL) {
		err.kind = CORRAL_E_MEMORY;
		(void)snprintf(err.message, sizeof err.message, "out of memory");
		jobs_fail(j, &err);
	} else if (corral_session_run(j->owner->session, j->argv, &how, &result, &err) != 0) {
		jobs_fail(j, &err);
	} else if (j->client >= 0) {
		j->result = result; /* until the daemon gets it */
	} else {
		jobs_report_limit(j, result);
		jobs_send_result(j, result);
		corral_result_free(result);
	}
	free_variables(env);
}

static void send_progress(void *arg, json_t *value) {
	const struct job *j = arg;

	supervisor_send(j->owner->channel, WIRE_PROGRESS, j->call, value);
}

static void run_tool(struct job *j) {
	struct session_tool_call call = {
		.number = j->call, .request = j->request, .progress = send_progress, .arg = j};

	pass_lead(j);
	if (j->owner->output >= 0) {
		commands_slot_begin(&j->slot, j->owner->output, j->call);
		call.output = keep_tool_output;
		call.output_arg = j;
	}
	supervisor_send(j->owner->channel, WIRE_RESULT, j->call,
			session_tools_call(&j->owner->tools, &call));
}

static void refuse_job(struct job *j, const char *why) {
	struct corral_error err = {.kind = CORRAL_E_SETUP};

	(void)snprintf(err.layer, sizeof err.layer, "session");
	(void)snprintf(err.message, sizeof err.message, "%s", why);
	jobs_fail(j, &err);
}

static void close_all(struct job *j) {
	for (int i = 0; i < WIRE_FDS; i++) {
		drop_fd(&j->fds[i]);
	}
	drop_fd(&j->client);
}

void jobs_free(struct job *j) {
	close_all(j);
	json_decref(j->request);
	corral_result_free(j->result);
	free(j->argv);
	free(j->words);
	free(j);
}

/* Its descriptors are closed at once: a reader of its output waits for that. */
static void job_done(struct job *j) {
	bool direct = j->client >= 0;

	close_all(j);
	if (direct) {
		supervisor_direct_end(j);
	} else {
		jobs_free(j);
	}
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
	s->ndirect -= j->client >= 0;
	if (s->waiting != NULL && !atomic_load(&s->ending)) {
		next = s->waiting;
		s->waiting = next->next;
		next->next = s->jobs;
		s->jobs = next;
	} else {
		s->njobs--;
		atomic_store(&s->direct.counts->ended_at, clock_ms());
		atomic_store(&s->direct.counts->running, (uint32_t)s->njobs);
	}
	(void)pthread_mutex_unlock(&s->lock);
	job_done(j);
	return next;
}

/* Runs a job, and those of a serial session that wait for it.  Whether this thread still leads. */
static bool run_jobs(struct job *j) {
	bool leads = j->leads;

	while (j != NULL) {
		j->leads = leads;
		if (!atomic_load(&j->cancelled)) { /* else its client went away before it began */
			(j->tool ? run_tool : run_job)(j);
		} else {
			refuse_job(j, "the command was cancelled before it began");
		}
		leads = j->leads;
		j = job_ended(j);
	}
	return leads;
}

/* ---- the lead ---- */

static void *follow(void *arg) {
	jobs_follow(arg, false);
	return NULL;
}

static int start_thread(struct supervisor *s) {
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attributes, follow, s);
	(void)pthread_attr_destroy(&attributes);
	return rc;
}

/* Whether another thread will take the lead when it is passed; without one it is created. */
static bool has_follower(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	bool has = s->idle > 0 || start_thread(s) == 0; /* a new one waits, as others do */
	(void)pthread_mutex_unlock(&s->lock);
	return has;
}

/* Waits for the lead.  False: enough threads wait for it. */
static bool take_lead(struct supervisor *s, bool first) {
	(void)pthread_mutex_lock(&s->lock);
	bool leads = first || !s->led || s->idle < IDLE_MAX;
	while (leads && s->led) {
		s->idle++;
		(void)pthread_cond_wait(&s->lead, &s->lock);
		s->idle--;
	}
	s->led = s->led || leads;
	(void)pthread_mutex_unlock(&s->lock);
	return leads;
}

void jobs_follow(struct supervisor *s, bool first) {
	for (bool leads = false; leads || take_lead(s, first);) {
		struct job *j = NULL;
		while (j == NULL) {
			j = supervisor_lead(s);
		}
		if (has_follower(s)) {
			j->leads = true;
			leads = run_jobs(j);
			continue;
		}
		refuse_job(j, "the supervisor cannot create a thread");
		(void)job_ended(j); /* of a serial session none waits: this one was to run */
		leads = true;
	}
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
		atomic_store(&s->direct.counts->running, (uint32_t)s->njobs);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return waits;
}

struct job *jobs_start(struct supervisor *s, struct wire_message *m) {
	struct job *j = calloc(1, sizeof *j);

	if (j == NULL) {
		return NULL; /* the daemon's client waits until the session ends */
	}
	*j = (struct job){.owner = s,
			  .call = m->call,
			  .request = json_loads(m->text, JSON_ALLOW_NUL, NULL),
			  .tool = m->kind == WIRE_TOOL,
			  .client = -1,
			  .fds = {-1, -1, -1}};
	bool terminal =
		!j->tool && json_is_string(json_object_get(j->request, "streams")) &&
		streq(json_string_value(json_object_get(j->request, "streams")), "terminal");
	if (m->nfds == WIRE_FDS) {
		memcpy(j->fds, m->fds, sizeof j->fds);
		m->nfds = 0;
	}
	if (j->request == NULL) {
		refuse_job(j, "the supervisor has too little memory");
		jobs_free(j);
		return NULL;
	}
	if (terminal && terminals_add(s, j, m->nfds == 1 ? m->fds[0] : -1) != 0) {
		m->nfds = 0;
		jobs_free(j);
		return NULL;
	}
	m->nfds = terminal ? 0 : m->nfds;
	return enqueue(s, j) ? NULL : j;
}

struct job *jobs_start_direct(struct supervisor *s, struct job *j) {
	j->owner = s;
	(void)pthread_mutex_lock(&s->lock);
	s->ndirect++;
	(void)pthread_mutex_unlock(&s->lock);
	if (enqueue(s, j)) {
		supervisor_direct_started(s);
		return NULL;
	}
	return j;
}

/* ---- cancel ---- */

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
		s->ndirect -= j->client >= 0;
		j->next = taken;
		taken = j;
	}
	return taken;
}

static void refuse_all(struct job *dropped) {
	for (struct job *next; dropped != NULL; dropped = next) {
		next = dropped->next;
		refuse_job(dropped, "the command was cancelled before it began");
		job_done(dropped);
	}
}

void jobs_refuse_waiting(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	struct job *dropped = take_waiting(s, 0, true);
	(void)pthread_mutex_unlock(&s->lock);
	refuse_all(dropped);
}

bool jobs_cancel(struct supervisor *s, uint32_t call, bool all) {
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
	refuse_all(dropped);
	return left;
}

size_t jobs_count(struct supervisor *s) {
	(void)pthread_mutex_lock(&s->lock);
	size_t n = s->njobs;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}
