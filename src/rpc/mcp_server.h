/* SPDX-License-Identifier: Apache-2.0 */
/* The server's state: the lock, the output, the calls. */
#ifndef CORRAL_RPC_MCP_SERVER_H
#define CORRAL_RPC_MCP_SERVER_H

#include "rpc/frame.h"
#include "rpc/mcp_call.h"
#include "rpc/message.h"

#include <pthread.h>
#include <stdint.h>

/* Calls at the same time; further ones wait. */
#define MCP_PARALLEL 16
/* Calls that wait, and the bytes of their requests; more are refused. */
#define MCP_WAITING_MAX 4096
#define MCP_WAITING_BYTES ((size_t)64 * 1024 * 1024)

/* Queued output.  The largest result is a file of send_file: 25 MiB in base64.  Beyond HIGH no
 * request is read; the main thread's short messages have the room between RESULTS and MAX. */
#define MCP_QUEUE_HIGH ((size_t)4 * 1024 * 1024)
#define MCP_QUEUE_RESULTS ((size_t)64 * 1024 * 1024)
#define MCP_QUEUE_MAX ((size_t)80 * 1024 * 1024)

/* The responses to a batch, which are sent together. */
struct mcp_batch {
	json_t *answers;
	size_t open; /* requests without an answer; 1 more while the batch is read */
};

enum mcp_task_state { MCP_TASK_WAITING, MCP_TASK_RUNNING, MCP_TASK_ENDED };

/* The output of a command on its way to the client, as progress. */
struct mcp_progress {
	json_t *token;      /* NULL: the client wants none */
	struct buf pending; /* not sent yet */
	uint64_t count;     /* of bytes: it grows with each notification */
	int64_t sent_ms;    /* time of the last; 0: none yet */
};

struct mcp_server;

/* A tools/call request. */
struct mcp_task {
	struct mcp_task *next;
	struct mcp_server *server;
	struct mcp_call call;
	const struct mcp_tool *tool;
	const struct mcp_revision *revision;
	json_t *root; /* owns id and arguments */
	const json_t *id;
	size_t bytes;            /* of the request */
	struct mcp_batch *batch; /* or NULL */
	struct mcp_progress progress;
	enum mcp_task_state state;
	bool cancelled; /* no response */
	pthread_t thread;
};

struct mcp_server {
	const struct mcp_config *config;
	struct frame_reader in;            /* the main thread's */
	const struct mcp_revision *agreed; /* by initialize; NULL: none yet; the main thread's */
	int wake;                          /* an eventfd: a thread has queued output or ended */
	pthread_mutex_t lock;              /* of everything that follows */
	pthread_cond_t room;               /* the queue of output has become shorter */
	struct frame_writer out;
	struct mcp_task *tasks; /* the oldest first */
	size_t running, waiting, waiting_bytes;
	bool closing; /* no more output is wanted: the client is gone */
	bool failed;  /* out of memory, or the client is gone */
};

/* All of these: with the lock held. */

/* Sends a message, or adds it to the batch; steals it. */
void mcp_server_send(struct mcp_server *s, struct mcp_batch *batch, json_t *message);
/* A request of the batch is answered, or never will be. */
void mcp_server_close_one(struct mcp_server *s, struct mcp_batch *batch);

/* Takes a line of the client's: a message or a batch. */
void mcp_server_line(struct mcp_server *s, const char *line, size_t len);

/* A result with the members that the revision demands; steals it. */
json_t *mcp_server_result(const struct mcp_revision *revision, json_t *result);

/* ---- mcp_tasks.c ---- */

struct mcp_request {
	const struct message *message;
	json_t *root;
	size_t bytes;
	const struct mcp_revision *revision;
	struct mcp_batch *batch;
};

/* Starts a call, or lets it wait: 0, or -1 with *fault. */
int mcp_tasks_add(struct mcp_server *s, const struct mcp_request *request,
		  const struct mcp_tool *tool, struct message_fault *fault);

/* Whether a call with this id is open. */
bool mcp_tasks_has(const struct mcp_server *s, const json_t *id);

/* Ends the call with this id without a response. */
void mcp_tasks_cancel(struct mcp_server *s, const json_t *id);
void mcp_tasks_cancel_all(struct mcp_server *s);

/* Joins the threads that have ended, starts calls that wait, sends progress that is due.  Returns
 * the milliseconds until the next progress is due; -1: none. */
int mcp_tasks_turn(struct mcp_server *s);

#endif
