/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, agents, tokens and activity in SQLite.
 *
 * Should:   commit before it returns (H1); make several changes in one transaction.
 * Must not: be used by two processes: the daemon's lock (session/places_take.c) prevents it.
 * Fails:    closed: after an error nothing of the call is in the database. */
#include "session/store.h"

#include "base/auto.h"
#include "base/str.h"
#include "session/store_late.h"
#include "session/store_migrate.h"
#include "session/store_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct store {
	sqlite3 *db;
	struct late *late; /* states that could not be recorded */
};

/* The file is created here, because SQLite would use the umask.  A symlink is refused. */
static int create_file(const char *path, struct err *e) {
	auto_fd fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		return err_sys_at(e, "database", "cannot open the database", path);
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		(void)err_set(e, ERR_SETUP, "database",
			      "%s is not a private file of this user (mode 0600)", path);
		return err_fix(e, "chmod 600 it if it is yours, or remove it");
	}
	return 0;
}

int store_open(const char *path, struct store **ret, struct err *e) {
	struct store *s = calloc(1, sizeof *s);

	if (s == NULL) {
		return err_memory(e, "database");
	}
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
	if (create_file(path, e) != 0) {
		free(s);
		return -1;
	}
	if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK) {
		(void)store_sql_fail(s->db, "cannot open the database", e);
		store_close(s);
		return -1;
	}
	if (store_sql_exec(
		    s->db,
		    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = "
		    "ON; PRAGMA secure_delete = ON",
		    e) != 0 ||
	    store_migrate(s->db, e) != 0) {
		store_close(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s) {
	if (s != NULL) {
		(void)store_settle(s); /* the next daemon finds the rest as FAILED */
		while (s->late != NULL) {
			store_late_remove(&s->late, s->late);
		}
		(void)sqlite3_close(s->db); /* every statement is finalized */
		free(s);
	}
}

/* Ends a transaction: commits after rc 0, else rolls back and keeps the first error. */
static int finish(struct store *s, int rc, struct err *e) {
	if (rc == 0 && store_sql_exec(s->db, "COMMIT", e) == 0) {
		return 0;
	}
	(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* the first error counts */
	return -1;
}

/* ---- sessions ---- */

#define LIVE_STATES "('CREATED', 'STARTING', 'RUNNING', 'STOPPING')"
#define ROW_COLUMNS                                                                                \
	"id, name, workspace, profile, agent, provider, level, reason, state, serial, created, "   \
	"started, ended, deadline, mode, net, policy"

static int check_name(struct store *s, const char *name, struct err *e) {
	auto_statement *st = NULL;

	if (name[0] == '\0') {
		return 0;
	}
	if (store_sql_prepare(s->db, &st, e,
			      "SELECT 1 FROM sessions WHERE name = ? AND state IN " LIVE_STATES,
			      "t", name) != 0) {
		return -1;
	}
	int found = store_sql_step(s->db, st, e);
	if (found <= 0) {
		return found;
	}
	(void)err_set(e, ERR_USAGE, "session", "a session called %s is alive", name);
	return err_fix(e, "choose another name, or stop that one: corral session stop %s", name);
}

static int insert_session(struct store *s, const struct session_row *row, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "INSERT INTO sessions (" ROW_COLUMNS
		    ") VALUES (?, ?, ?, ?, ?, ?, '', '', 'CREATED', ?, ?, 0, 0, ?, '', '', '')",
		    "ttttttiii", row->id, row->name, row->workspace, row->profile, row->agent,
		    row->provider, (int64_t)row->serial, row->created, row->deadline) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) == 1 ? 0 : -1;
}

static int insert_token(struct store *s, const char *session, const struct token_hash *token,
			int64_t expires, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "INSERT INTO tokens (hash, session, expires, revoked) VALUES (?, ?, ?, 0)",
		    "hti", token, session, expires) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) == 1 ? 0 : -1;
}

/* H4.  Tokens and activity of the removed sessions go with them. */
static int prune_sessions(struct store *s, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "DELETE FROM sessions WHERE state NOT IN " LIVE_STATES
		    " AND id NOT IN (SELECT id FROM sessions WHERE state NOT IN " LIVE_STATES
		    " ORDER BY id DESC LIMIT ?)",
		    "i", (int64_t)STORE_ENDED_MAX) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) < 0 ? -1 : 0;
}

/* H4.  Those that were seen last stay. */
static int prune_agents(struct store *s, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(s->db, &st, e,
			      "DELETE FROM agents WHERE id IN (SELECT id FROM agents"
			      " ORDER BY last DESC, id LIMIT -1 OFFSET ?)",
			      "i", (int64_t)STORE_AGENTS_MAX) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) < 0 ? -1 : 0;
}

int store_add_session(struct store *s, const struct session_row *row,
		      const struct token_hash *token, int64_t token_expires, struct err *e) {
	if (store_sql_exec(s->db, "BEGIN IMMEDIATE", e) != 0) {
		return -1;
	}
	bool done = check_name(s, row->name, e) == 0 && prune_sessions(s, e) == 0 &&
		    insert_session(s, row, e) == 0 && prune_agents(s, e) == 0 &&
		    insert_token(s, row->id, token, token_expires, e) == 0;
	return finish(s, done ? 0 : -1, e);
}

static const char *time_column(enum session_state to) {
	return to == SESSION_RUNNING ? "started" : state_is_final(to) ? "ended" : NULL;
}

int store_change_state(struct store *s, const struct state_change *c, enum session_state *ret,
		       struct err *e) {
	auto_statement *st = NULL;
	enum session_state to = c->from;
	char sql[256];

	if (!state_next(c->from, c->event, &to)) { /* H2 */
		return err_set(e, ERR_REFUSED, "session", "not possible in state %s",
			       state_name(c->from));
	}
	const char *column = time_column(to);
	(void)snprintf(sql, sizeof sql,
		       "UPDATE sessions SET state = ?, reason = iif(?2 = '', reason, ?2),"
		       " level = iif(?3 = '', level, ?3)%s%s%s WHERE id = ?5 AND state = ?6",
		       column == NULL ? "" : ", ", column == NULL ? "" : column,
		       column == NULL ? "" : " = ?4");
	if (store_sql_prepare(s->db, &st, e, sql, "tttitt", state_name(to), c->reason, c->level,
			      c->now, c->id, state_name(c->from)) != 0) {
		return -1;
	}
	int changed = store_sql_run(s->db, st, e);
	if (changed == 0) {
		return err_set(e, ERR_REFUSED, "session", "%s is not in state %s", c->id,
			       state_name(c->from));
	}
	if (changed > 0) {
		*ret = to;
	}
	return changed > 0 ? 0 : -1;
}

void store_keep_state(struct store *s, const struct state_change *c, enum session_state to) {
	store_late_put(&s->late, c, to);
}

bool store_is_late(const struct store *s, const char *id) {
	return store_late_find(s->late, id) != NULL;
}

/* The changes were made one by one in memory, by the table (H2); the row gets the last state. */
static int record_late(struct store *s, const struct late *entry) {
	auto_statement *st = NULL;
	struct err e = {0};

	if (store_sql_prepare(s->db, &st, &e,
			      "UPDATE sessions SET state = ?1, reason = iif(?2 = '', reason, ?2),"
			      " level = iif(?3 = '', level, ?3), started = max(started, ?4),"
			      " ended = max(ended, ?5) WHERE id = ?6 AND state IN " LIVE_STATES,
			      "tttiit", state_name(entry->state), entry->reason, entry->level,
			      entry->started, entry->ended, entry->id) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, &e) < 0 ? -1 : 0;
}

bool store_settle(struct store *s) {
	while (s->late != NULL && record_late(s, s->late) == 0) {
		store_late_remove(&s->late, s->late);
	}
	return s->late == NULL;
}

int store_set_resolved(struct store *s, const char *id, const struct session_resolved *r,
		       struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(s->db, &st, e,
			      "UPDATE sessions SET workspace = iif(?2 = '', workspace, ?2),"
			      " profile = iif(?3 = '', profile, ?3), mode = ?4, net = ?5,"
			      " policy = ?6, deadline = ?7 WHERE id = ?1",
			      "tttttti", id, r->workspace, r->profile, r->mode, r->net, r->policy,
			      r->deadline) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) < 0 ? -1 : 0;
}

static void report_session(const struct store *s, sqlite3_stmt *st,
			   const struct session_reader *reader) {
	int state = state_by_name(store_sql_text(st, 8));
	struct session_row row = {
		.name = store_sql_text(st, 1),
		.workspace = store_sql_text(st, 2),
		.profile = store_sql_text(st, 3),
		.agent = store_sql_text(st, 4),
		.provider = store_sql_text(st, 5),
		.level = store_sql_text(st, 6),
		.reason = store_sql_text(st, 7),
		.state = state < 0 ? SESSION_FAILED : (enum session_state)state,
		.serial = sqlite3_column_int(st, 9) != 0,
		.created = sqlite3_column_int64(st, 10),
		.started = sqlite3_column_int64(st, 11),
		.ended = sqlite3_column_int64(st, 12),
		.deadline = sqlite3_column_int64(st, 13),
		.mode = store_sql_text(st, 14),
		.net = store_sql_text(st, 15),
		.policy = store_sql_text(st, 16),
	};
	(void)snprintf(row.id, sizeof row.id, "%s", store_sql_text(st, 0));
	store_late_apply(s->late, &row);
	reader->found(reader->arg, &row);
}

static int report_all(struct store *s, sqlite3_stmt *st, const struct session_reader *reader,
		      struct err *e) {
	int rc, count = 0;

	while ((rc = store_sql_step(s->db, st, e)) == 1) {
		report_session(s, st, reader);
		count++;
	}
	return rc < 0 ? -1 : count;
}

int store_each_session(struct store *s, const struct session_reader *reader, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(s->db, &st, e, "SELECT " ROW_COLUMNS " FROM sessions ORDER BY id",
			      "") != 0) {
		return -1;
	}
	return report_all(s, st, reader, e) < 0 ? -1 : 0;
}

int store_page_sessions(struct store *s, const struct store_page *page,
			const struct session_reader *reader, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "SELECT " ROW_COLUMNS " FROM sessions WHERE (?1 = '' OR id < ?1)"
		    " AND (?2 = '' OR state = ?2 OR (?2 = 'alive' AND state IN " LIVE_STATES
		    ")) AND (?3 = '' OR instr(lower(id || ' ' || name || ' ' ||"
		    " workspace || ' ' || agent), lower(?3)) > 0)"
		    " ORDER BY id DESC LIMIT ?4",
		    "ttti", page->before, page->state, page->search, (int64_t)page->limit) != 0) {
		return -1;
	}
	return report_all(s, st, reader, e) < 0 ? -1 : 0;
}

int store_get_session(struct store *s, const char *id_or_name, const struct session_reader *reader,
		      struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(s->db, &st, e,
			      "SELECT " ROW_COLUMNS
			      " FROM sessions WHERE id = ?1 OR (name = ?1 AND ?1 <> '')"
			      " ORDER BY state NOT IN " LIVE_STATES ", id DESC LIMIT 1",
			      "t", id_or_name) != 0) {
		return -1;
	}
	int count = report_all(s, st, reader, e);
	return count < 0 ? -1 : count == 0;
}

int store_recover(struct store *s, const char *reason, int64_t now,
		  const struct session_reader *reader, struct err *e) {
	auto_statement *list = NULL, *end = NULL;

	if (store_sql_exec(s->db, "BEGIN IMMEDIATE", e) != 0) {
		return -1;
	}
	bool done = store_sql_prepare(s->db, &list, e,
				      "SELECT " ROW_COLUMNS
				      " FROM sessions WHERE state IN " LIVE_STATES " ORDER BY id",
				      "") == 0 &&
		    report_all(s, list, reader, e) >= 0 &&
		    store_sql_prepare(s->db, &end, e,
				      "UPDATE sessions SET state = 'FAILED', reason = ?, ended = ?"
				      " WHERE state IN " LIVE_STATES,
				      "ti", reason, now) == 0 &&
		    store_sql_run(s->db, end, e) >= 0;
	return finish(s, done ? 0 : -1, e);
}

/* ---- agents ---- */

int store_each_agent(struct store *s, const struct agent_reader *reader, struct err *e) {
	auto_statement *st = NULL;
	int rc;

	if (store_sql_prepare(s->db, &st, e,
			      "SELECT id, first, last, sessions, (SELECT count(*) FROM sessions"
			      " WHERE agent = agents.id AND state IN " LIVE_STATES
			      ") FROM agents ORDER BY last DESC, id",
			      "") != 0) {
		return -1;
	}
	while ((rc = store_sql_step(s->db, st, e)) == 1) {
		struct agent_row row = {
			.id = store_sql_text(st, 0),
			.first = sqlite3_column_int64(st, 1),
			.last = sqlite3_column_int64(st, 2),
			.sessions = sqlite3_column_int64(st, 3),
			.alive = sqlite3_column_int64(st, 4),
		};
		reader->found(reader->arg, &row);
	}
	return rc;
}

/* ---- tokens ---- */

int store_add_token(struct store *s, const char *session, const struct token_hash *token,
		    int64_t expires, struct err *e) {
	return insert_token(s, session, token, expires, e);
}

int store_revoke_tokens(struct store *s, const char *session, int64_t now, int *ret_count,
			struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(s->db, &st, e,
			      "UPDATE tokens SET revoked = ? WHERE session = ? AND revoked = 0",
			      "it", now, session) != 0) {
		return -1;
	}
	int changed = store_sql_run(s->db, st, e);
	if (changed >= 0 && ret_count != NULL) {
		*ret_count = changed;
	}
	return changed < 0 ? -1 : 0;
}

/* H3.  Compares with every token of the session, also after a match: the time does not depend on
 * the bytes.  An index look-up of the hash would compare byte by byte. */
int store_check_token(struct store *s, const char *session, const struct token_hash *token,
		      int64_t now, struct token_check *ret, struct err *e) {
	auto_statement *st = NULL;
	struct token_check found = {.verdict = TOKEN_UNKNOWN};
	int rc;

	if (store_sql_prepare(s->db, &st, e,
			      "SELECT hash, expires, revoked FROM tokens WHERE session = ?", "t",
			      session) != 0) {
		return -1;
	}
	while ((rc = store_sql_step(s->db, st, e)) == 1) {
		struct token_hash have;
		const void *blob = sqlite3_column_blob(st, 0);
		if (blob == NULL || sqlite3_column_bytes(st, 0) != (int)sizeof have.bytes) {
			continue;
		}
		memcpy(have.bytes, blob, sizeof have.bytes);
		int64_t expires = sqlite3_column_int64(st, 1);
		if (token_hash_equal(&have, token)) {
			found.expires = expires;
			found.verdict = sqlite3_column_int64(st, 2) != 0 ? TOKEN_REVOKED
					: expires != 0 && expires <= now ? TOKEN_EXPIRED
									 : TOKEN_VALID;
		}
	}
	if (rc == 0) {
		*ret = found;
	}
	return rc;
}

/* ---- activity ---- */

static int insert_activity(struct store *s, const struct activity_row *row, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "INSERT INTO activity (session, time, kind, text) VALUES (?, ?, ?, ?)", "titt",
		    row->session, row->time, row->kind, row->text) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) == 1 ? 0 : -1;
}

/* H4.  `seq` counts all sessions, so the limit is found by an offset in the index. */
static int prune_activity(struct store *s, const char *session, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(
		    s->db, &st, e,
		    "DELETE FROM activity WHERE session = ?1 AND seq <= (SELECT seq FROM activity"
		    " WHERE session = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
		    "ti", session, (int64_t)STORE_ACTIVITY_MAX) != 0) {
		return -1;
	}
	return store_sql_run(s->db, st, e) < 0 ? -1 : 0;
}

int store_add_activity(struct store *s, const struct activity_row *row, int64_t *ret_seq,
		       struct err *e) {
	if (store_sql_exec(s->db, "BEGIN IMMEDIATE", e) != 0) {
		return -1;
	}
	int rc = insert_activity(s, row, e);
	int64_t seq = sqlite3_last_insert_rowid(s->db);
	/* The offset walks the index: only now and then. */
	if (rc == 0 && seq % 256 == 0) {
		rc = prune_activity(s, row->session, e);
	}
	if (finish(s, rc, e) != 0) {
		return -1;
	}
	if (ret_seq != NULL) {
		*ret_seq = seq;
	}
	return 0;
}

int store_each_activity(struct store *s, const struct activity_reader *reader, struct err *e) {
	auto_statement *st = NULL;
	int rc;

	if (store_sql_prepare(s->db, &st, e,
			      reader->newest
				      ? "SELECT seq, time, session, kind, text FROM activity"
					" WHERE session = ? AND seq > ? ORDER BY seq DESC LIMIT ?"
				      : "SELECT seq, time, session, kind, text FROM activity"
					" WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?",
			      "tii", reader->session, reader->after, (int64_t)reader->limit) != 0) {
		return -1;
	}
	while ((rc = store_sql_step(s->db, st, e)) == 1) {
		struct activity_row row = {
			.seq = sqlite3_column_int64(st, 0),
			.time = sqlite3_column_int64(st, 1),
			.session = store_sql_text(st, 2),
			.kind = store_sql_text(st, 3),
			.text = store_sql_text(st, 4),
		};
		reader->found(reader->arg, &row);
	}
	return rc;
}
