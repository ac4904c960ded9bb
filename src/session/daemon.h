/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: one process with an event loop, and one supervisor process for each session.
 *
 *   corral session … ──admin.sock──┐
 *   a client with a token ─s/ID.sock┤
 *                                   ▼
 *                                daemon ── SQLite
 *                                   │ one SOCK_SEQPACKET pair each (session/wire.h)
 *                 ┌─────────────────┼─────────────────┐
 *             supervisor        supervisor        supervisor      a fork of the daemon; libcorral
 *                 │  ▲
 *                 │  └──x/ID── corral session exec                the short way (client/direct.h)
 *               sandbox ── its commands ──s/ID.sock──► daemon     the socket is the capability
 *
 * Invariants of the daemon:
 *  H1  a change of the database is on the disk before a client reads an answer about it (WAL with
 *      synchronous=FULL): `kill -9` loses nothing that was acknowledged; an end that cannot be
 *      recorded is an error for the client, and is recorded as soon as it can be;
 *  H2  a session changes its state only by a row of session/state.c, and only from the state that
 *      the caller names: two changes at once cannot both happen;
 *  H3  tokens are stored as hashes, and compared in constant time;
 *  H4  the number of activities of a session, and of ended sessions, is limited: the oldest go;
 *  H5  a session's processes end when its supervisor ends, and a supervisor ends when the daemon
 *      does: a daemon never finds a process of an earlier one, only its rows in the database;
 *  H6  a request is served only if the row of its method (session/request.c) names the scope of the
 *      connection and the state of the session: a connection without a scope can only authenticate;
 *  H7  no client can make the daemon wait, or use more than its bounds of memory, descriptors,
 *      connections and pending calls;
 *  H8  the admin socket, and the short way to a session, serve no process of a sandbox of this
 *      daemon, also if one can reach them;
 *  H9  a session has its short way only while it is RUNNING; a request there has the rights of the
 *      admin socket, and is refused without having been run, or answered by its supervisor. */
#ifndef CORRAL_SESSION_DAEMON_H
#define CORRAL_SESSION_DAEMON_H

#include "corral.h"

#include "base/err.h"
#include "base/interrupt_timer.h"
#include "rpc/frame.h"
#include "session/cpu_total.h"
#include "session/daemon_loop.h"
#include "session/overview_events.h"
#include "session/places_take.h"
#include "session/policy_watch.h"
#include "session/questions.h"
#include "session/store.h"
#include "session/wire.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bounds of H7. */
#define ADMIN_CONNECTIONS_MAX 512
#define SESSION_CONNECTIONS_MAX 32 /* a session cannot take the connections of the others */
#define SESSIONS_MAX 5000
#define CALLS_MAX 64        /* pending, of one connection */
#define DESCRIPTORS_MAX 768 /* of clients, in pending calls of a session: 256 commands */
#define QUEUE_MAX 512       /* messages that a supervisor has not read */
#define LINE_MAX_BYTES ((size_t)1024 * 1024)
#define PENDING_MAX_BYTES ((size_t)8 * 1024 * 1024) /* of the pending requests of a session */
#define QUEUE_MAX_BYTES ((size_t)16 * 1024 * 1024)
#define MALFORMED_MAX 8          /* then the connection is closed */
#define SLOW_MS 20000            /* for the rest of a line, or to read an answer */
#define FAILURES_MAX 10          /* wrong tokens of a session … */
#define FAILURES_WINDOW_MS 60000 /* … in this time; then none is checked */
#define REPORTS_MAX 100          /* activities that a session reports … */
#define REPORTS_WINDOW_MS 10000 /* … in this time: each waits for the disk, and all wait for it */
#define DURATION_MAX_MS ((json_int_t)366 * 24 * 3600 * 1000) /* a time in a request */
#define TOKEN_LIFETIME_MS ((json_int_t)7 * 24 * 3600 * 1000) /* unless the request has one */

/* Codes of errors, besides those of JSON-RPC. */
enum fault_code {
	FAULT_FAILED = -32000,
	FAULT_FORBIDDEN = -32001,
	FAULT_NO_SESSION = -32002,
	FAULT_STATE = -32003,
	FAULT_LIMIT = -32004,
	FAULT_NO_TOKEN = -32005,
};

/* Why a request is refused. */
struct fault {
	int code;
	int kind; /* enum corral_error_kind; 0: that of e */
	struct err e;
};

int fault_set(struct fault *f, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define fault_set(...) err_failed(fault_set(__VA_ARGS__))

/* Which requests a connection may send. */
enum scope {
	SCOPE_NONE = 1,    /* a session's socket, before its token */
	SCOPE_SESSION = 2, /* a process of the session, or a client with its token */
	SCOPE_ADMIN = 4,
};

/* Memory that daemon and supervisor of a session share. */
struct direct_counts {
	_Atomic uint32_t last_call; /* number of the last command or call */
	_Atomic uint32_t answered;  /* commands of the short way whose client has an answer */
	_Atomic uint32_t running;   /* commands and calls of tools */
	_Atomic int64_t ended_at;   /* the last of them, CLOCK_MONOTONIC; 0: none has ended */
};

struct daemon;
struct live;
struct mcp_conn;
struct tool_call;
struct daemon_page;

#define CONN_FDS 6
#define POOL_KEY_LENGTH 32
#define POOLS_MAX 32

struct conn {
	struct daemon *daemon;
	struct watch watch;
	struct frame_reader in;
	struct frame_writer out;
	int fds[CONN_FDS]; /* received, and not yet taken by a request */
	size_t nfds;
	enum scope scope;
	bool inside;       /* a process of the session itself */
	int64_t expires;   /* its token, since 1970; 0: never, or it needs none */
	struct live *live; /* of a session's socket; NULL after the end of the session */
	bool of_session;
	unsigned malformed;
	size_t calls;
	int64_t line_since;  /* the first byte of an incomplete line; 0: none */
	int64_t write_since; /* the queue has not moved since; 0: empty */
	json_t *follow;      /* the id of a session.activity request that follows; or NULL */
	char followed[SESSION_ID_LENGTH + 1];
	int64_t follow_after;
	bool closing;                   /* after the queue was written */
	struct mcp_conn *mcp;           /* the connection speaks MCP; or NULL */
	char pool[POOL_KEY_LENGTH + 1]; /* the pool that its process keeps (linux/parked.h); "" */
	size_t pool_count;
	struct overview_subscriber *feed; /* of ui.follow; or NULL */
	struct conn *prev, *next;
};

/* A request whose answer comes later. */
struct call {
	struct conn *conn;      /* NULL: the client is gone */
	json_t *id;             /* NULL: a notification */
	uint32_t number;        /* of wire messages; 0: of the session itself */
	bool stops;             /* waits for the end of the session */
	size_t bytes;           /* of the request, as the supervisor keeps it */
	size_t fds;             /* of the client, that daemon or supervisor hold for it */
	struct tool_call *tool; /* a call of a tool; or NULL */
	bool silent;            /* cancelled: no answer */
	bool keeps;             /* the command outlives the client: it has a terminal */
	bool brief;             /* the answer has no result object */
	struct call *next;
};

/* Requests with a method that were refused for one reason. */
#define DENIED_METHODS 48
#define DENIED_REASONS 2
struct denied {
	const char *method;
	uint64_t count; /* without a record */
	int64_t due;    /* of the next record, CLOCK_MONOTONIC; 0: there was none */
};

/* A session that has not ended. */
struct live {
	struct daemon *daemon;
	char id[SESSION_ID_LENGTH + 1];
	char name[SESSION_NAME_MAX + 1]; /* "": none */
	char run[CORRAL_ID_SIZE];        /* as `corral ps` has it; "" until it is ready */
	char net[16];                    /* likewise; "" until a front end wants it */
	struct command_table *commands;  /* session/commands.h; or NULL */
	char socket[PATH_MAX];
	enum session_state state;
	pid_t supervisor;
	struct watch channel, ended, listener;
	int64_t began;                     /* CLOCK_MONOTONIC */
	int64_t deadline;                  /* of the session, CLOCK_MONOTONIC; 0: none */
	int64_t kill_at;                   /* while stopping, CLOCK_MONOTONIC; 0: not stopping */
	int64_t ready_at;                  /* CLOCK_MONOTONIC */
	int64_t idle_limit_ms;             /* without a command; 0: none */
	int64_t cpu_limit_ms;              /* of all its processes together; 0: none */
	int64_t cpu_at;                    /* of the next sample, with a limit; CLOCK_MONOTONIC */
	struct cpu_total cpu;              /* the largest sample */
	char reason[360];                  /* why it stops */
	char token[TOKEN_TEXT_LENGTH + 1]; /* until the answer to session.create */
	char *tools;                       /* that its clients get (--tools); NULL: all */
	struct call *calls;
	size_t pending_bytes; /* of their requests */
	size_t pending_fds;   /* of their clients */
	/* That the supervisor has no room for yet, the first one first. */
	struct wire_message queue[QUEUE_MAX];
	size_t nqueued;
	struct direct_counts *counts; /* shared with the supervisor */
	uint32_t reported;            /* ends of commands of the short way */
	int direct;                   /* its listener, until the supervisor has it; -1 */
	bool published;
	size_t connections;
	unsigned failures;
	int64_t failures_since;
	unsigned reports;
	int64_t reports_since;
	/* Refused requests, by the row of the method and the reason (session/denied.c). */
	struct denied denied[DENIED_METHODS][DENIED_REASONS];
	int64_t denied_due; /* of the next record about them; 0: all have one */
	struct live *next;
};

struct counters {
	uint64_t created, failed, stopped, execs, exec_errors, requests, refused, malformed,
		connections, connections_refused, token_failures, reloads, reload_failures;
};

struct daemon {
	struct daemon_loop loop;
	struct places places;
	struct store *store;
	struct watch admin, signals;
	int spare; /* a descriptor that is closed to refuse a client when there are no others */
	struct conn *conns;
	size_t nadmin;
	struct live *lives;
	size_t nlives;
	struct counters counters;
	int64_t started;
	bool stopping, activated;
	int64_t idle_ms;    /* ends after this time without sessions and clients; 0: never */
	int64_t idle_since; /* CLOCK_MONOTONIC; 0: not idle */
	int64_t settle_at;  /* when to record late states, CLOCK_MONOTONIC; 0: all are */
	struct corral_config *config; /* the policy files in force */
	char reload_error[512];       /* of the last reload; "" */
	int64_t reloaded, reload_failed;
	uint64_t generation; /* of the files in force: 1 at the start, one more for each change */
	struct policy_watch policy;
	struct overview_feed feed;
	struct command_table *ended; /* of sessions that have ended, the newest first */
	struct asker_run *askers;    /* session/questions.h */
	uint64_t last_question;
	struct daemon_page *page; /* session/ui_page.h; NULL until page.open */
};

/* ---- conn.c ---- */
void conn_accept(struct daemon *d, int listener, struct live *live);
void conn_close(struct conn *c);
/* Queues a line; steals the reference.  A client that does not read is disconnected. */
void conn_send(struct conn *c, json_t *message);
/* The same with a message as text. */
void conn_send_line(struct conn *c, const char *line, size_t len);
void conn_send_error(struct conn *c, const json_t *id, const struct fault *f);
/* Closes connections that are too slow; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t conns_check(struct daemon *d, int64_t now);
/* Sends new activities to the clients that follow the session. */
void conns_follow(struct daemon *d, const char *session);

/* ---- conn_token.c ---- */
/* The token of a connection is not valid any more. */
void conn_token_end(struct conn *c, const char *why);
/* Ends the scopes whose token has expired; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t conn_tokens_check(struct daemon *d, int64_t now);

/* ---- request.c ---- */
struct request {
	struct conn *conn;
	const json_t *id;
	json_t *params;    /* an object, never NULL */
	struct live *live; /* of a method about one session that has not ended; or NULL */
	char session[SESSION_ID_LENGTH + 1];
	const char *tool; /* of the row, for method_tool() */
	bool deferred;    /* the answer comes later */
};

/* Each returns 0 with *ret, or -1 with *f. */
typedef int request_fn(struct request *r, json_t **ret, struct fault *f);

/* Answers one line. */
void request_line(struct conn *c, const char *line, size_t len);

/* Checks and unpacks params: json_unpack() with unknown keys refused. */
int request_unpack(const struct request *r, struct fault *f, const char *format, ...);

/* ---- methods.c ---- */
request_fn method_ping, method_status, method_metrics, method_reload, method_shutdown,
	method_create, method_list, method_agents, method_show, method_stop, method_exec,
	method_attach, method_activity, method_report, method_token, method_revoke,
	method_authenticate, method_tool;

/* A token without an end would outlive its purpose. */
int session_token_lifetime(json_int_t ms, struct fault *f);

/* The JSON of a row, NULL out of memory. */
json_t *session_row_json(const struct session_row *row);
/* {"ms", "by", "limit_ms"}: samples it. */
json_t *session_cpu_json(struct live *l);
json_t *session_activity_json(const struct activity_row *row);

/* ---- method_ui.c, questions.c ---- */
request_fn method_ui_view, method_ui_overview, method_ui_answer, method_ui_apply, method_ui_discard,
	method_ui_follow, questions_hold;
/* A connection closes: it follows no events any more. */
void method_ui_closed(struct conn *c);

/* method_run.c: sends a command or a call to the supervisor, with its bounds (H7); NULL with *f. */
struct call *method_run_send(struct request *r, struct wire_message *m, struct fault *f);

/* ---- pool.c ---- */
request_fn pool_hold;
size_t pool_total(const struct daemon *d, size_t *ret_sandboxes);
/* A connection closes: removes the socket of its pool. */
void pool_released(const struct conn *c);

/* ---- live.c ---- */
struct live *live_named(const struct daemon *d, const char *id_or_name);
struct live *live_find(const struct daemon *d, const char *id);
/* Receives one message of the supervisor, if there is one. */
void live_receive(struct live *l);
/* Starts the supervisor of a session that is in the database; spec is the request. */
int live_start(struct daemon *d, const struct session_row *row, const char *token, json_t *spec,
	       struct live **ret, struct err *e);
/* live_values.c: samples the processor time of a session; and ends it at its limit, when a sample
 * is due. */
const struct cpu_total *live_cpu(struct live *l);
void live_check_cpu(struct live *l, int64_t now);
/* Ends it when no command has run for session.idle_timeout; returns when to look again, or 0. */
int64_t live_check_idle(struct live *l, int64_t now);
/* Sets its limits, which its policy has (WIRE_READY). */
void live_set_limits(struct live *l, const json_t *value);
/* Stores the values that its policy resolved to, and its deadline (WIRE_READY). */
void live_record_resolved(struct live *l, const json_t *value);
/* Those of its policy, which a run prints, for clients other than the one that created it. */
void live_record_warnings(const struct live *l, const json_t *warnings);
/* Records a change of state, at once or, after an error, later. */
void live_change_state(struct live *l, enum session_event event, const char *reason,
		       const char *level);
/* Something that its supervisor reports (WIRE_ACTIVITY). */
void live_record_activity(const struct live *l, const char *message);
/* A limit has ended its sandbox (WIRE_ENDING); the end of the supervisor follows. */
void live_record_ending(struct live *l, const char *text);
/* Begins to end a session; a second call does nothing. */
void live_stop(struct live *l, const char *reason);
void live_stop_all(struct daemon *d, const char *reason);
/* Enforces time-outs; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t lives_check(struct daemon *d, int64_t now);
/* Sends or queues a message for the supervisor; takes its text and descriptors.  -errno. */
int live_send(struct live *l, struct wire_message *m);

/* ---- direct_socket.c ---- */
/* The socket of the short way: created before the supervisor, visible from RUNNING on. */
int direct_socket_open(struct live *l, struct err *e);
void direct_socket_publish(struct live *l);
void direct_socket_withdraw(struct live *l);
/* After the fork: the listener is the supervisor's alone. */
void direct_socket_passed(struct live *l);
void direct_socket_done(struct live *l);
/* The number of the next command or call of a session, never 0; in both processes. */
uint32_t direct_socket_number(struct direct_counts *c);
/* Receives the ends of commands of the short way that their clients know: a request that comes
 * after such an answer is served with them. */
void direct_settle(struct daemon *d);

/* ---- denied.c ---- */
/* A request on the socket of the session was refused: for the audit log, if it was for its scope or
 * token.  row: of the method, below DENIED_METHODS. */
void denied_add(struct live *l, size_t row, const char *method, const struct fault *f);
/* Records those that are due, or all; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t denied_flush(struct live *l, int64_t now, bool all);

/* ---- live_messages.c ---- */
struct wire_message;
void live_take_message(struct live *l, const struct wire_message *m);

/* ---- live_calls.c ---- */
struct call *live_call(struct live *l, const struct request *r);
void live_drop_call(struct live *l, const struct call *call);
struct call *live_find_call(struct live *l, uint32_t number);
/* Each answers and frees the call; result is stolen. */
void live_answer(struct live *l, struct call *call, json_t *result);
void live_refuse(struct live *l, struct call *call, const struct fault *f);
/* The answer to a command's request, put together from the supervisor's texts: it is the longest
 * message, and the daemon needs nothing of it.  The supervisor writes JSON without newlines. */
void live_answer_text(struct live *l, struct call *call, const char *head, const char *result);
/* A client is gone, or with a fault may not wait any longer: its commands are killed. */
void live_forget(struct daemon *d, struct conn *c, const struct fault *f);

/* ---- supervisor.c ---- */
/* The process of one session.  Never returns. */
struct supervised {
	const char *id, *socket;
	const struct corral_config *config;
	const json_t *spec;
	int channel;
	int output; /* the file of session/commands.h; -1 */
	int direct; /* the listener of the short way */
	struct direct_counts *counts;
	pid_t daemon;
};
_Noreturn void supervisor_main(const struct supervised *with);

/* ---- metrics.c ---- */
char *metrics_text(const struct daemon *d);

/* Around calls that close descriptors of clients, or sockets with unread descriptors (H7): the
 * daemon may have the last reference to a socket with SO_LINGER, whose close(2) waits.  The handler
 * of the signal is set by daemon.c. */
#define CLOSE_US 2000
static inline void daemon_closes(void) {
	interrupt_timer_set(CLOSE_US);
}
static inline void daemon_closed(void) {
	interrupt_timer_stop();
}

/* Milliseconds since 1970. */
int64_t daemon_now(void);
void daemon_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void daemon_activity(struct daemon *d, const char *session, const char *kind, const char *text);
int daemon_reload(struct daemon *d);

#endif
