/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose calls run in threads: the lock, the calls. */
#ifndef CORRAL_RPC_MCP_SERVER_H
#define CORRAL_RPC_MCP_SERVER_H

#include "rpc/mcp_client.h"

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
/* With more queued output no progress is sent: the response has the whole output. */
#define MCP_QUEUE_PROGRESS ((size_t)1024 * 1024)

/* A file of a few MiB for write_file, escaped. */
#define MCP_MESSAGE_BYTES ((size_t)16 * 1024 * 1024)

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
	const struct mcp_client *client; /* NULL: gone, the call is cancelled */
	struct mcp_sink *sink;           /* likewise */
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

/* Shared by the threads of the calls, over stdio and HTTP. */
struct mcp_server {
	const struct mcp_config *config;
	int wake;             /* an eventfd: a thread has queued output or ended */
	pthread_mutex_t lock; /* of everything that follows, and of the sinks */
	pthread_cond_t room;  /* the queue of output has become shorter, or a call was cancelled */
	struct mcp_task *tasks; /* the oldest first */
	size_t running, waiting, waiting_bytes;
	bool closing; /* no more output is wanted: the client is gone */
};

/* Descriptors, lock and signals: 0, or -1 with *err.  *ret_signals is a signalfd for SIGINT,
 * SIGTERM and SIGHUP, which are blocked from then on. */
int mcp_server_init(struct mcp_server *s, const struct mcp_config *config, int *ret_signals,
		    struct corral_error *err);
void mcp_server_done(struct mcp_server *s);

/* A client whose calls are tasks of this server. */
struct mcp_client mcp_server_client(struct mcp_server *s);

/* ---- mcp_tasks.c: all of these with the lock held ---- */

extern const struct mcp_calls mcp_tasks;

/* The client, or a sink of it, is gone: its calls end without a response. */
void mcp_tasks_cancel_client(struct mcp_server *s, const struct mcp_client *client);
void mcp_tasks_cancel_sink(struct mcp_server *s, const struct mcp_sink *sink);
void mcp_tasks_cancel_all(struct mcp_server *s);

/* Joins the threads that have ended, starts calls that wait, sends progress that is due.  Returns
 * the milliseconds until the next progress is due; -1: none. */
int mcp_tasks_turn(struct mcp_server *s);

#endif
