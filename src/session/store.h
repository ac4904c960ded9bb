/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's database: sessions, agents, tokens, activity (SQLite).
 *
 * Invariants H1 to H4 of session/daemon.h are its.
 *
 * Must not: store a value of the environment, or a policy with such a value. */
#ifndef CORRAL_SESSION_STORE_H
#define CORRAL_SESSION_STORE_H

#include "base/err.h"
#include "client/session_id.h"
#include "session/state.h"
#include "rpc/token.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one session; more are dropped, the oldest first. */
#define STORE_ACTIVITY_MAX 10000
/* Sessions that have ended. */
#define STORE_ENDED_MAX 10000
/* An id is what a client chose. */
#define STORE_AGENTS_MAX 10000

struct store;

/* Opens or creates the file, mode 0600, and migrates an older schema.  A newer one is an error. */
int store_open(const char *path, struct store **ret, struct err *e);
void store_close(struct store *s);

/* Times are milliseconds since 1970; 0: none.  Texts are never NULL. */
struct session_row {
	char id[SESSION_ID_LENGTH + 1];
	const char *name;      /* "": none */
	const char *workspace; /* on the host */
	const char *profile, *agent, *provider;
	const char *level;               /* "" until the sandbox exists */
	const char *mode, *net, *policy; /* likewise: resolved, and the SHA-256 of the policy */
	const char *reason;              /* of an end; "" */
	enum session_state state;
	bool serial; /* one command at a time */
	int64_t created, started, ended, deadline;
};

/* Records a session in state CREATED, and its token.  ERR_USAGE when a live session has the name.
 */
int store_add_session(struct store *s, const struct session_row *row,
		      const struct token_hash *token, int64_t token_expires, struct err *e);

/* A change of state (H2).  ERR_REFUSED when the session is not in state `from`. */
struct state_change {
	const char *id;
	enum session_state from;
	enum session_event event;
	const char *reason; /* kept if it is not "" */
	const char *level;  /* kept if it is not "" */
	int64_t now;
};
int store_change_state(struct store *s, const struct state_change *c, enum session_state *ret,
		       struct err *e);

/* Keeps in memory a change that could not be recorded, such as on a full disk: readers get it
 * instead of the row.  A failed allocation loses it; the next daemon reports the session as FAILED.
 */
void store_keep_state(struct store *s, const struct state_change *c, enum session_state to);
/* Whether a change of the session is kept that way. */
bool store_is_late(const struct store *s, const char *id);
/* Records what was kept; true: nothing is left. */
bool store_settle(struct store *s);

/* The values that the policy of a session resolved to; "" changes nothing. */
struct session_resolved {
	const char *workspace, *profile, *mode, *net, *policy;
	int64_t deadline; /* since 1970; 0: none */
};
int store_set_resolved(struct store *s, const char *id, const struct session_resolved *r,
		       struct err *e);

/* Calls found() for each row, the oldest first; the row's texts are valid during the call. */
struct session_reader {
	void (*found)(void *arg, const struct session_row *row);
	void *arg;
};
/* Part of the list, the newest first; "" is no restriction. */
struct store_page {
	const char *state;  /* "alive", or the name of a state */
	const char *before; /* an id: older ones */
	const char *search; /* a part of id, name, workspace or agent */
	int limit;
};
int store_page_sessions(struct store *s, const struct store_page *page,
			const struct session_reader *reader, struct err *e);
int store_each_session(struct store *s, const struct session_reader *reader, struct err *e);

/* By id, or by the name of a live session or else of the last one that had it.  1: there is none.
 */
int store_get_session(struct store *s, const char *id_or_name, const struct session_reader *reader,
		      struct err *e);

/* Ends every session that is not ended, because its daemon is gone: FAILED.  Calls found() for
 * each, with its state before. */
int store_recover(struct store *s, const char *reason, int64_t now,
		  const struct session_reader *reader, struct err *e);

/* An agent with a session, whose row may be gone. */
struct agent_row {
	const char *id;
	int64_t first; /* the creation of its first session */
	int64_t last;  /* the creation, start or end of one, the latest */
	int64_t sessions, alive;
};
struct agent_reader {
	void (*found)(void *arg, const struct agent_row *row);
	void *arg;
};
/* The one that was seen last first. */
int store_each_agent(struct store *s, const struct agent_reader *reader, struct err *e);

enum token_verdict { TOKEN_VALID, TOKEN_UNKNOWN, TOKEN_EXPIRED, TOKEN_REVOKED };

int store_add_token(struct store *s, const char *session, const struct token_hash *token,
		    int64_t expires, struct err *e);
/* *ret_count (may be NULL) is the number of tokens that were valid. */
int store_revoke_tokens(struct store *s, const char *session, int64_t now, int *ret_count,
			struct err *e);

struct token_check {
	enum token_verdict verdict;
	int64_t expires; /* of a valid one, since 1970; 0: never */
};
int store_check_token(struct store *s, const char *session, const struct token_hash *token,
		      int64_t now, struct token_check *ret, struct err *e);

struct activity_row {
	int64_t seq, time;
	const char *session, *kind, *text;
};
int store_add_activity(struct store *s, const struct activity_row *row, int64_t *ret_seq,
		       struct err *e);

/* The activities of a session after `seq`, at most `limit`, the oldest first. */
struct activity_reader {
	const char *session;
	int64_t after;
	int limit;
	bool newest; /* the newest first */
	void (*found)(void *arg, const struct activity_row *row);
	void *arg;
};
int store_each_activity(struct store *s, const struct activity_reader *reader, struct err *e);

#endif
