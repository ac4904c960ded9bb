/* SPDX-License-Identifier: Apache-2.0 */
/* The process of one session, in parts: its commands, their terminals, the short way, its main
 * loop. */
#ifndef CORRAL_SESSION_SUPERVISOR_H
#define CORRAL_SESSION_SUPERVISOR_H

#include "corral.h"

#include "session/commands.h"
#include "session/daemon.h"
#include "session/peer.h"
#include "session/supervisor_tool.h"
#include "session/terminal_relay.h"
#include "session/wire.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Commands with a terminal, of one session. */
#define TERMINALS_MAX 32

/* Bounds of the short way (H7): connections that have not sent a request, and commands. */
#define DIRECT_WAITING_MAX 16
#define DIRECT_JOBS_MAX 128

struct job {
	struct supervisor *owner;
	uint32_t call;
	json_t *request;                 /* of the daemon; NULL: it came the short way */
	bool tool;                       /* a call of a tool, not a command */
	bool leads;                      /* its thread reads the daemon's messages */
	int fds[WIRE_FDS];               /* -1: captured */
	struct terminal_relay *terminal; /* or NULL; the leader's, but for its answer */
	atomic_bool cancelled;
	struct commands_slot slot; /* where its output is kept */
	/* Of the short way: */
	int client;     /* its connection; -1: the request came from the daemon */
	char *words;    /* the texts of the request */
	bool announced; /* the daemon knows it; with `lock` */
	int64_t started;
	struct corral_result *result; /* after its end; NULL: it did not run */
	struct corral_error error;    /* then the reason */
	/* Texts of the request. */
	const char **argv;
	const char *const *env; /* of the short way, in the memory of argv; NULL: none */
	const char *directory;
	int64_t timeout_ms;
	struct job *next;
};

/* The short way to this session; of the thread that leads. */
struct direct {
	int listener;
	bool paused; /* the listener is not watched: there was no descriptor for a client */
	int timer;   /* the daemon learns of commands that run longer */
	pid_t daemon;
	struct peer_known known; /* the parent of the last client */
	struct direct_counts *counts;
	char *inbox; /* DIRECT_BYTES */
	int waiting[DIRECT_WAITING_MAX];
	size_t next; /* place of the next one that waits */
};

/* Of the reason for a stop, with the words before it. */
#define STOP_NOTE 400

struct supervisor {
	int channel;
	int events; /* epoll: the channel, and the descriptors of the short way */
	int output; /* the file of session/commands.h; -1 */
	bool serial;
	struct direct direct;
	struct corral_session *session;
	struct session_tools tools;
	pthread_mutex_t lock;
	pthread_cond_t lead; /* no thread leads */
	bool led;            /* with `lock`, as idle */
	size_t idle;         /* threads that wait for the lead */
	struct job *jobs;    /* running; with `lock` */
	struct job *waiting; /* of a serial session, the first one first; with `lock` */
	size_t njobs;
	size_t ndirect; /* jobs of the short way, running or waiting; with `lock` */
	bool timed;     /* the timer of the short way runs; with `lock` */
	/* Jobs that the daemon does not know yet, the first one first; with `lock`. */
	struct job *ended, **ended_last;
	size_t nended;
	bool cancels;                     /* a command that was cancelled may not be gone */
	struct terminal_relay *terminals; /* of the thread that leads */
	size_t nterminals;
	atomic_bool ending;      /* no bridge is started again */
	char stopped[STOP_NOTE]; /* with `ending`: for the clients of commands that this ends */
	atomic_bool bridge_busy; /* its thread uses the session */
};

/* ---- supervisor_send.c ---- */

/* Each waits until the daemon's socket has room; value is stolen. */
void supervisor_send_text(int channel, enum wire_kind kind, uint32_t call, char *text, size_t len);
void supervisor_send(int channel, enum wire_kind kind, uint32_t call, json_t *value);
void supervisor_send_error(int channel, enum wire_kind kind, uint32_t call,
			   const struct corral_error *err);
void supervisor_send_refusal(int channel, uint32_t call, enum corral_error_kind kind,
			     const char *why);

/* ---- supervisor.c ---- */

/* Why the session is stopped, for the result of a command that ends meanwhile; "": it is not. */
const char *supervisor_stopped(const struct supervisor *s);

/* Waits for events once, and serves them; the command that this thread has to run, or NULL.  Of the
 * thread that leads. */
struct job *supervisor_lead(struct supervisor *s);

/* ---- supervisor_direct.c ---- */

/* The subject of an event of s->events, in the upper half of its data; a number in the lower. */
enum supervisor_event {
	EVENT_CHANNEL,
	EVENT_LISTENER, /* a client connects the short way */
	EVENT_WAITING,  /* its request, or its end; the place in direct.waiting */
	EVENT_CLIENT,   /* its end, while its command runs; the call */
	EVENT_TIMER,
};

int supervisor_watch(const struct supervisor *s, int fd, enum supervisor_event what, uint32_t n);

int supervisor_direct_init(struct supervisor *s, const struct supervised *with);

/* Each serves an event; the command that this thread has to run, or NULL. */
struct job *supervisor_direct_accept(struct supervisor *s);
struct job *supervisor_direct_receive(struct supervisor *s, uint32_t place);
void supervisor_direct_timer(struct supervisor *s);

/* A command was sent to the sandbox, or waits for its turn. */
void supervisor_direct_started(struct supervisor *s);

/* Answer the client of a job. */
void supervisor_direct_send_result(const struct job *j, const struct corral_result *result);
void supervisor_direct_send_error(const struct job *j, const struct corral_error *err);

/* Keeps a job that has ended until the daemon learns of it, soon or now. */
void supervisor_direct_end(struct job *j);
void supervisor_direct_flush(struct supervisor *s);

/* ---- jobs_result.c ---- */

/* The messages about the end of a command that ran, or that could not. */
void jobs_send_result(struct job *j, const struct corral_result *result);
void jobs_fail(struct job *j, const struct corral_error *err);
/* A limit of the session ended the command: this is in the session's record too. */
void jobs_report_limit(const struct job *j, const struct corral_result *result);

/* ---- jobs.c ---- */

/* "NAME=value" for each member; the caller frees the texts and the array. */
char **jobs_variables(json_t *object);

/* The command of a WIRE_EXEC message, or call of a WIRE_TOOL message: the caller runs it.  NULL: it
 * waits for its turn, or was refused. */
struct job *jobs_start(struct supervisor *s, struct wire_message *m);

void jobs_free(struct job *j);

/* The same for a command of the short way; takes the job. */
struct job *jobs_start_direct(struct supervisor *s, struct job *j);

/* What each thread does: waits for the lead, leads, and runs the command that comes.  Returns when
 * enough others wait, unless this is the first thread. */
void jobs_follow(struct supervisor *s, bool first);

/* Kills one command, or all, and repeats it for commands that were cancelled before their thread
 * had started them.  Returns whether one is left. */
bool jobs_cancel(struct supervisor *s, uint32_t call, bool all);
/* Commands of a serial session that have not begun. */
void jobs_refuse_waiting(struct supervisor *s);
size_t jobs_count(struct supervisor *s);

/* ---- bridge.c ---- */

/* Of corral_session_kill(); jobs have smaller ones. */
#define BRIDGE_KEY UINT64_MAX

/* Creates the directory of the bridge's socket, beside that of the session. */
int bridge_directory(const struct supervised *with, char ret[PATH_MAX]);
int bridge_start(struct supervisor *s, const char *command);

/* ---- terminals.c ---- */

/* Gives a job its terminal: the relay, and the job's own end in j->fds.  -1: the job was refused.
 */
int terminals_add(struct supervisor *s, struct job *j, int client);

/* Connects a client to a terminal, for a WIRE_ATTACH message. */
void terminals_attach(struct supervisor *s, struct wire_message *m);

/* Two slots for each terminal. */
size_t terminals_poll(struct supervisor *s, struct pollfd *slots);
void terminals_step(struct supervisor *s, const struct pollfd *slots);

/* The call that waits for the end of the job's command; 0: none. */
uint32_t terminals_end(struct job *j);

#endif
