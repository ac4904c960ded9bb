/* SPDX-License-Identifier: Apache-2.0 */
/* The last commands of each session: arguments, result, and the end of the output.
 *
 * The output is in one unlinked file a session, which daemon and supervisor share: a slot for each
 * of the last COMMANDS_KEPT commands, a ring of COMMANDS_OUTPUT bytes.  The supervisor writes, the
 * daemon reads on request.  So output costs the daemon no memory, at most COMMANDS_KEPT *
 * COMMANDS_OUTPUT bytes of disk a session, and nothing of it is left when the daemon is killed. */
#ifndef CORRAL_SESSION_COMMANDS_H
#define CORRAL_SESSION_COMMANDS_H

#include "session/daemon.h"

#include <jansson.h>
#include <stdint.h>

#define COMMANDS_KEPT 8U
#define COMMANDS_OUTPUT ((size_t)256 * 1024)
/* Sessions that have ended whose commands are kept; the oldest go. */
#define COMMANDS_ENDED_MAX 32

/* ---- the file: commands_file.c ---- */

/* A private file without a name; -1 with errno. */
int commands_file_open(const char *dir);

/* Supervisor: begins a slot, or appends to it; a command takes its slot with its first bytes, and
 * bytes of a command whose slot a later one has go nowhere.  Several threads may call it for
 * different commands. */
struct commands_slot {
	int fd; /* -1: output is not kept */
	uint32_t call;
	uint64_t total;
};
void commands_slot_begin(struct commands_slot *s, int fd, uint32_t call);
void commands_slot_add(struct commands_slot *s, const char *bytes, size_t len);

/* Daemon: the newest bytes of a command's output from `from` on, at most `cap`; the number of them.
 * The call moves `from` to the first one, and sets `total` to the size of the whole output. */
struct commands_reading {
	uint32_t call;
	uint64_t from, total;
};
size_t commands_file_read(int fd, struct commands_reading *r, char *out, size_t cap);

/* ---- the table: commands.c ---- */

struct command {
	uint32_t call; /* 0: the entry is free */
	bool ended;
	int64_t started, finished; /* since 1970 */
	char *request;             /* JSON: {"argv": […]} or {"tool", "arguments"}, bounded */
	char *result;              /* JSON of the result, bounded; NULL until it ended */
	json_t *decisions;         /* of the gate so far, bounded; NULL: none, or it has ended */
	uint64_t undecided;        /* decisions that are only counted */
	uint64_t shown;            /* bytes of output that events have reported */
};

struct command_table {
	char session[SESSION_ID_LENGTH + 1];
	int output; /* the file; -1 */
	struct command items[COMMANDS_KEPT];
	struct command_table *next; /* of the sessions that have ended */
};

/* NULL out of memory: the session works without. */
struct command_table *commands_new(const struct daemon *d, const char *session);
void commands_free(struct command_table *c);
/* The session has ended: its commands are kept for a while. */
void commands_keep(struct daemon *d, struct command_table *c);
void commands_free_ended(struct daemon *d);

/* A command was sent to the supervisor, and it has ended; text is its result. */
void commands_started(struct live *l, uint32_t call, const json_t *request);
void commands_finished(struct live *l, uint32_t call, const char *text);
/* New decisions of the gate while it runs; text as of struct corral_exec_options. */
void commands_decided(struct live *l, uint32_t call, const char *text);

/* commands_decisions.c: keeps them for the view, and sends them to the subscribers. */
void commands_decisions_add(const struct live *l, struct command *c, const json_t *news);

/* Those of a session: running ones, or all. */
json_t *commands_list(const struct live *l, bool all);
json_t *commands_ended_list(const struct daemon *d, const char *session);

/* "SESSION.NUMBER", or the id of the run; NULL: no command of a session has it. */
json_t *commands_show(struct daemon *d, const char *id);

/* New output of running commands, as events; returns whether one runs. */
bool commands_report_output(struct daemon *d);

#endif
