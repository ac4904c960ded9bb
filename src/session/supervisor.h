/* SPDX-License-Identifier: Apache-2.0 */
/* The process of one session, in parts: its commands, their terminals, its main loop. */
#ifndef CORRAL_SESSION_SUPERVISOR_H
#define CORRAL_SESSION_SUPERVISOR_H

#include "corral.h"

#include "session/commands.h"
#include "session/daemon.h"
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

struct job {
	struct supervisor *owner;
	uint32_t call;
	json_t *request;
	bool tool;                       /* a call of a tool, not a command */
	bool leads;                      /* its thread reads the daemon's messages */
	int fds[WIRE_FDS];               /* -1: captured */
	struct terminal_relay *terminal; /* or NULL; the leader's, but for its answer */
	atomic_bool cancelled;
	struct commands_slot slot; /* where its output is kept */
	struct job *next;
};

struct supervisor {
	int channel;
	int output; /* the file of session/commands.h; -1 */
	bool serial;
	struct corral_session *session;
	struct session_tools tools;
	pthread_mutex_t lock;
	pthread_cond_t lead; /* no thread leads */
	bool led;            /* with `lock`, as idle */
	size_t idle;         /* threads that wait for the lead */
	struct job *jobs;    /* running; with `lock` */
	struct job *waiting; /* of a serial session, the first one first; with `lock` */
	size_t njobs;
	bool cancels;                     /* a command that was cancelled may not be gone */
	struct terminal_relay *terminals; /* of the thread that leads */
	size_t nterminals;
	atomic_bool ending;      /* no bridge is started again */
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

/* Waits for events once, and serves them; the command that this thread has to run, or NULL.  Of the
 * thread that leads. */
struct job *supervisor_lead(struct supervisor *s);

/* ---- jobs.c ---- */

/* "NAME=value" for each member; the caller frees the texts and the array. */
char **jobs_variables(json_t *object);

/* The command of a WIRE_EXEC message, or call of a WIRE_TOOL message: the caller runs it.  NULL: it
 * waits for its turn, or was refused. */
struct job *jobs_start(struct supervisor *s, struct wire_message *m);

/* What each thread does: waits for the lead, leads, and runs the command that comes.  Returns when
 * enough others wait, unless this is the first thread. */
void jobs_follow(struct supervisor *s, bool first);

/* Kills one command, or all, and repeats it for commands that were cancelled before their thread
 * had started them.  Returns whether one is left. */
bool jobs_cancel(struct supervisor *s, uint32_t call, bool all);
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
