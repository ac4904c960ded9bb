/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's database: states, tokens, activity, migrations, and writers that are killed. */
#include "test.h"

#include "base/auto.h"
#include "base/remove_tree.h"
#include "session/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
	char dir[64], file[96];
};

static struct place make_place(void) {
	struct place p;
	if (sodium_init() < 0) {
		abort();
	}
	(void)snprintf(p.dir, sizeof p.dir, "/tmp/corral-test-store.XXXXXX");
	if (mkdtemp(p.dir) == NULL) {
		abort();
	}
	(void)snprintf(p.file, sizeof p.file, "%s/sessions.db", p.dir);
	return p;
}

static void remove_place(const struct place *p) {
	int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(remove_tree(tmp, p->dir + strlen("/tmp/")), 0);
	(void)close(tmp);
}

static struct store *open_store(const struct place *p) {
	struct store *s = NULL;
	struct err e = {0};
	if (store_open(p->file, &s, &e) != 0) {
		printf("# %s\n", e.what);
		abort();
	}
	return s;
}

static struct session_row make_row(int64_t ms, const char *name) {
	struct session_row row = {.name = name,
				  .workspace = "/ws",
				  .profile = "",
				  .agent = "bot",
				  .provider = "",
				  .level = "",
				  .reason = "",
				  .created = ms};
	session_id_make(ms, row.id);
	return row;
}

static int add(struct store *s, struct session_row *row, char token[TOKEN_TEXT_LENGTH + 1],
	       struct err *e) {
	struct token_hash hash;
	token_make(token, &hash);
	return store_add_session(s, row, &hash, 1000, e);
}

struct seen {
	int count;
	enum session_state state;
	char id[SESSION_ID_LENGTH + 1], reason[80], level[16];
	int64_t started, ended;
};

static void see(void *arg, const struct session_row *row) {
	struct seen *seen = arg;
	seen->count++;
	seen->state = row->state;
	seen->started = row->started;
	seen->ended = row->ended;
	(void)snprintf(seen->id, sizeof seen->id, "%s", row->id);
	(void)snprintf(seen->reason, sizeof seen->reason, "%s", row->reason);
	(void)snprintf(seen->level, sizeof seen->level, "%s", row->level);
}

TEST(every_pair_of_state_and_event_has_one_result) {
	/* The rows of the table as text, so that a change of it has to be written twice. */
	static const char *const want[SESSION_STATES][SESSION_EVENTS] = {
		[SESSION_CREATED] = {"STARTING", NULL, "STOPPED", NULL, "FAILED"},
		[SESSION_STARTING] = {NULL, "RUNNING", "STOPPING", NULL, "FAILED"},
		[SESSION_RUNNING] = {NULL, NULL, "STOPPING", NULL, "FAILED"},
		[SESSION_STOPPING] = {NULL, NULL, NULL, "STOPPED", "FAILED"},
	};
	for (int s = 0; s < SESSION_STATES; s++) {
		for (int v = 0; v < SESSION_EVENTS; v++) {
			enum session_state to = SESSION_STATES;
			bool is = state_next((enum session_state)s, (enum session_event)v, &to);
			CHECK(is == (want[s][v] != NULL));
			if (is && want[s][v] != NULL) {
				CHECK_STR(state_name(to), want[s][v]);
			}
		}
		CHECK_INT(state_by_name(state_name((enum session_state)s)), s);
	}
	CHECK_INT(state_by_name("running"), -1);
}

TEST(ids_have_a_grammar_and_sort_by_time) {
	char a[SESSION_ID_LENGTH + 1], b[SESSION_ID_LENGTH + 1];
	static const char *const bad[] = {"",
					  "sess_",
					  "../../x",
					  "/etc/passwd",
					  "sess_01JMXYZ",
					  "sess_01JMXYZ01JMXYZ01JMXYZ01JM/",
					  "sess_01jmxyz01jmxyz01jmxyz01jmx"};
	static const char *const names[] = {"a", "build-1", "A.b_c"};
	static const char *const no_names[] = {"",    ".",   "..",     "-x",      "a/b",
					       "a b", "a\n", "sess_x", "\xc3\xa4"};
	session_id_make(1000, a);
	session_id_make(2000, b);
	CHECK(session_id_is_valid(a) && session_id_is_valid(b) && strcmp(a, b) < 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(!session_id_is_valid(bad[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(session_name_is_valid(names[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(no_names); i++) {
		CHECK(!session_name_is_valid(no_names[i]));
	}
}

TEST(a_session_goes_through_its_states_and_no_others) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row row = make_row(5, "one");
	struct err e = {0};
	char token[TOKEN_TEXT_LENGTH + 1];
	enum session_state state = SESSION_CREATED;
	struct seen seen = {0};
	struct session_reader reader = {see, &seen};
	REQUIRE(add(s, &row, token, &e) == 0);
	static const enum session_event events[] = {EVENT_START, EVENT_READY, EVENT_STOP,
						    EVENT_ENDED};
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		struct state_change c = {.id = row.id,
					 .from = state,
					 .event = events[i],
					 .reason = events[i] == EVENT_ENDED ? "stopped" : "",
					 .level = events[i] == EVENT_READY ? "full" : "",
					 .now = 10 + (int64_t)i};
		REQUIRE(store_change_state(s, &c, &state, &e) == 0);
	}
	CHECK_INT(store_get_session(s, "one", &reader, &e), 0);
	CHECK_INT(seen.state, SESSION_STOPPED);
	CHECK_STR(seen.level, "full");
	CHECK_STR(seen.reason, "stopped");
	CHECK_INT(seen.started, 11);
	CHECK_INT(seen.ended, 13);
	/* H2: the state that the caller believes in is not the state. */
	struct state_change wrong = {.id = row.id,
				     .from = SESSION_RUNNING,
				     .event = EVENT_STOP,
				     .reason = "",
				     .level = ""};
	CHECK_INT(store_change_state(s, &wrong, &state, &e), -1);
	CHECK_INT(e.kind, ERR_REFUSED);
	CHECK_INT(store_get_session(s, "two", &reader, &e), 1);
	store_close(s);
	remove_place(&p);
}

TEST(a_state_that_could_not_be_recorded_is_read_and_recorded_later) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row row = make_row(5, "one"), other = make_row(6, "two");
	struct err e = {0};
	char token[TOKEN_TEXT_LENGTH + 1];
	enum session_state state = SESSION_CREATED;
	struct seen seen = {0};
	struct session_reader reader = {see, &seen};
	sqlite3 *writer = NULL;
	REQUIRE(add(s, &row, token, &e) == 0 && add(s, &other, token, &e) == 0);
	REQUIRE(sqlite3_open(p.file, &writer) == SQLITE_OK);
	REQUIRE(sqlite3_exec(writer, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	static const enum session_event events[] = {EVENT_START, EVENT_READY, EVENT_STOP,
						    EVENT_ENDED};
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		struct state_change c = {.id = row.id,
					 .from = state,
					 .event = events[i],
					 .reason = events[i] == EVENT_STOP ? "stopped" : "",
					 .level = events[i] == EVENT_READY ? "full" : "",
					 .now = 10 + (int64_t)i};
		CHECK_INT(store_change_state(s, &c, &state, &e), -1);
		REQUIRE(state_next(state, events[i], &state));
		store_keep_state(s, &c, state);
		CHECK(!store_settle(s) && store_is_late(s, row.id) && !store_is_late(s, other.id));
	}
	for (int settled = 0; settled < 2; settled++) { /* from memory, then from the file */
		CHECK_INT(store_get_session(s, row.id, &reader, &e), 0);
		CHECK_INT(seen.state, SESSION_STOPPED);
		CHECK_STR(seen.level, "full");
		CHECK_STR(seen.reason, "stopped");
		CHECK_INT(seen.started, 11);
		CHECK_INT(seen.ended, 13);
		CHECK_INT(store_get_session(s, other.id, &reader, &e), 0);
		CHECK_INT(seen.state, SESSION_CREATED);
		if (settled == 0) {
			(void)sqlite3_exec(writer, "ROLLBACK", NULL, NULL,
					   NULL); /* CHECKed below */
			CHECK(store_settle(s) && !store_is_late(s, row.id));
			store_close(s);
			s = open_store(&p);
		}
	}
	(void)sqlite3_close(writer); /* no statement is left */
	store_close(s);
	remove_place(&p);
}

TEST(the_name_of_a_live_session_is_taken) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row first = make_row(5, "x"), second = make_row(6, "x");
	struct err e = {0};
	char token[TOKEN_TEXT_LENGTH + 1];
	enum session_state state;
	REQUIRE(add(s, &first, token, &e) == 0);
	CHECK_INT(add(s, &second, token, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
	struct state_change stop = {.id = first.id,
				    .from = SESSION_CREATED,
				    .event = EVENT_STOP,
				    .reason = "",
				    .level = ""};
	CHECK_INT(store_change_state(s, &stop, &state, &e), 0);
	CHECK_INT(add(s, &second, token, &e), 0);
	struct seen seen = {0};
	struct session_reader reader = {see, &seen};
	CHECK_INT(store_get_session(s, "x", &reader, &e), 0);
	CHECK_STR(seen.id, second.id); /* the live one */
	store_close(s);
	remove_place(&p);
}

static enum token_verdict check(struct store *s, const char *session, const char *text,
				int64_t now) {
	struct token_hash hash;
	struct token_check found = {.verdict = TOKEN_UNKNOWN};
	struct err e = {0};
	CHECK_INT(token_hash_text(text, &hash), 0);
	CHECK_INT(store_check_token(s, session, &hash, now, &found, &e), 0);
	return found.verdict;
}

TEST(a_token_is_valid_for_its_session_until_it_expires_or_is_revoked) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a"), b = make_row(6, "b");
	char of_a[TOKEN_TEXT_LENGTH + 1], of_b[TOKEN_TEXT_LENGTH + 1], other[TOKEN_TEXT_LENGTH + 1];
	struct token_hash hash;
	struct err e = {0};
	int revoked = 0;
	REQUIRE(add(s, &a, of_a, &e) == 0 && add(s, &b, of_b, &e) == 0);
	token_make(other, &hash);
	CHECK_INT(check(s, a.id, of_a, 999), TOKEN_VALID);
	CHECK_INT(check(s, b.id, of_b, 999), TOKEN_VALID);
	CHECK_INT(check(s, a.id, of_b, 999), TOKEN_UNKNOWN);
	CHECK_INT(check(s, a.id, other, 999), TOKEN_UNKNOWN);
	CHECK_INT(check(s, a.id, of_a, 1000), TOKEN_EXPIRED);
	CHECK_INT(store_revoke_tokens(s, a.id, 7, &revoked, &e), 0);
	CHECK_INT(revoked, 1);
	CHECK_INT(check(s, a.id, of_a, 999), TOKEN_REVOKED);
	CHECK_INT(check(s, b.id, of_b, 999), TOKEN_VALID);
	CHECK_INT(store_add_token(s, a.id, &hash, 0, &e), 0);
	CHECK_INT(check(s, a.id, other, INT64_MAX), TOKEN_VALID); /* 0: does not expire */
	CHECK_INT(token_hash_text("corral_12", &hash), -1);
	CHECK_INT(token_hash_text("", &hash), -1);
	other[10] = 'g'; /* not hexadecimal */
	CHECK_INT(token_hash_text(other, &hash), -1);
	store_close(s);
	remove_place(&p);
}

TEST(the_files_hold_no_token) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a");
	char token[TOKEN_TEXT_LENGTH + 1], command[256], wal[128];
	struct err e = {0};
	REQUIRE(add(s, &a, token, &e) == 0);
	(void)snprintf(wal, sizeof wal, "%s-wal", p.file);
	CHECK_INT(access(wal, F_OK), 0);
	pid_t child = fork();
	if (child == 0) {
		(void)snprintf(command, sizeof command, "%s", token + 7);
		(void)execlp("grep", "grep", "-raq", command, p.dir, (char *)NULL);
		_exit(2);
	}
	int status = 0;
	(void)waitpid(child, &status, 0);
	CHECK_INT(WEXITSTATUS(status), 1); /* grep: no match */
	store_close(s);
	remove_place(&p);
}

static void count_activity(void *arg, const struct activity_row *row) {
	int64_t *next = arg;
	if (row->seq >= *next) {
		*next = row->seq + 1;
	} else {
		*next = INT64_MAX; /* not in order */
	}
}

TEST(activity_is_read_in_order_and_in_parts) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a"), b = make_row(6, "b");
	char token[TOKEN_TEXT_LENGTH + 1];
	struct err e = {0};
	int64_t seq = 0, next = 0;
	REQUIRE(add(s, &a, token, &e) == 0 && add(s, &b, token, &e) == 0);
	for (int i = 0; i < 20; i++) {
		struct activity_row row = {.session = i % 2 ? b.id : a.id,
					   .time = i,
					   .kind = "k",
					   .text = "'); DROP TABLE activity; --"};
		CHECK_INT(store_add_activity(s, &row, &seq, &e), 0);
	}
	struct activity_reader reader = {
		.session = a.id, .after = 0, .limit = 4, .found = count_activity, .arg = &next};
	CHECK_INT(store_each_activity(s, &reader, &e), 0);
	CHECK_INT(next, 8); /* 1, 3, 5, 7 */
	reader.after = next - 1;
	reader.limit = 100;
	CHECK_INT(store_each_activity(s, &reader, &e), 0);
	CHECK_INT(next, 20);
	struct activity_row lost = {.session = "sess_x", .time = 1, .kind = "k", .text = ""};
	CHECK_INT(store_add_activity(s, &lost, &seq, &e), -1); /* no such session */
	store_close(s);
	remove_place(&p);
}

TEST(a_newer_schema_and_a_foreign_file_are_refused) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct err e = {0};
	store_close(s);
	sqlite3 *db = NULL;
	REQUIRE(sqlite3_open(p.file, &db) == SQLITE_OK);
	CHECK_INT(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
	CHECK_INT(store_open(p.file, &s, &e), -1);
	CHECK(strstr(e.what, "version 99") != NULL);
	REQUIRE(unlink(p.file) == 0 && symlink("/dev/null", p.file) == 0);
	CHECK_INT(store_open(p.file, &s, &e), -1);
	REQUIRE(unlink(p.file) == 0);
	int fd = open(p.file, O_CREAT | O_WRONLY, 0644);
	REQUIRE(fd >= 0 && fchmod(fd, 0644) == 0 &&
		write(fd, "not a database, really\n", 23) == 23);
	(void)close(fd);
	CHECK_INT(store_open(p.file, &s, &e), -1); /* others can read it */
	REQUIRE(chmod(p.file, 0600) == 0);
	CHECK_INT(store_open(p.file, &s, &e), -1); /* not a database */
	remove_place(&p);
}

static void count_row(void *arg, const struct session_row *row) {
	(void)row;
	++*(int *)arg;
}

static void count_one(void *arg, const struct activity_row *row) {
	(void)row;
	++*(int *)arg;
}

/* H4, on a database whose disk is memory: ten thousand commits with fsync take a minute. */
TEST(old_activities_and_ended_sessions_are_dropped) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a");
	char token[TOKEN_TEXT_LENGTH + 1];
	struct err e = {0};
	int rows = 0, sessions = 0;
	REQUIRE(add(s, &a, token, &e) == 0);
	store_close(s);
	sqlite3 *db = NULL;
	REQUIRE(sqlite3_open(p.file, &db) == SQLITE_OK);
	CHECK_INT(
		sqlite3_exec(
			db,
			"BEGIN; WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
			" WHERE i < 12000) INSERT INTO activity (session, time, kind, text)"
			" SELECT (SELECT id FROM sessions), i, 'k', 't' FROM n;"
			"WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i <"
			" 12000) INSERT INTO sessions SELECT printf('sess_%026d', i), '', '/', '',"
			" '', '', '', '', 'STOPPED', 0, i, 0, i, 0, '', '', '' FROM n; COMMIT",
			NULL, NULL, NULL),
		SQLITE_OK);
	(void)sqlite3_close(db);
	s = open_store(&p);
	for (int i = 0; i < 256; i++) { /* it prunes now and then */
		struct activity_row row = {.session = a.id, .time = i, .kind = "k", .text = "new"};
		CHECK_INT(store_add_activity(s, &row, NULL, &e), 0);
	}
	struct activity_reader reader = {
		.session = a.id, .limit = 100000, .found = count_one, .arg = &rows};
	CHECK_INT(store_each_activity(s, &reader, &e), 0);
	CHECK(rows >= STORE_ACTIVITY_MAX && rows < STORE_ACTIVITY_MAX + 256);
	struct session_row b = make_row(6, "b");
	CHECK_INT(add(s, &b, token, &e), 0);
	struct session_reader all = {count_row, &sessions};
	CHECK_INT(store_each_session(s, &all, &e), 0);
	CHECK_INT(sessions, STORE_ENDED_MAX + 2); /* and the live ones */
	store_close(s);
	remove_place(&p);
}

struct agents_seen {
	int count;
	char ids[64];
	int64_t first, last, sessions, alive; /* of the last one */
};

static void see_agent(void *arg, const struct agent_row *row) {
	struct agents_seen *seen = arg;
	size_t len = strlen(seen->ids);
	seen->count++;
	(void)snprintf(seen->ids + len, sizeof seen->ids - len, "%s ", row->id);
	seen->first = row->first;
	seen->last = row->last;
	seen->sessions = row->sessions;
	seen->alive = row->alive;
}

static struct agents_seen agents_of(struct store *s) {
	struct agents_seen seen = {0};
	struct agent_reader reader = {see_agent, &seen};
	struct err e = {0};
	CHECK_INT(store_each_agent(s, &reader, &e), 0);
	return seen;
}

static void end_session_at(struct store *s, const char *id, int64_t now) {
	struct state_change stop = {.id = id,
				    .from = SESSION_CREATED,
				    .event = EVENT_STOP,
				    .reason = "",
				    .level = "",
				    .now = now};
	enum session_state state;
	struct err e = {0};
	CHECK_INT(store_change_state(s, &stop, &state, &e), 0);
}

TEST(an_agent_changes_in_the_transaction_of_its_session) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a"), b = make_row(7, "b"), same = make_row(9, "a"),
			   other = make_row(11, "c"), none = make_row(13, "d");
	struct err e = {0};
	char token[TOKEN_TEXT_LENGTH + 1];
	CHECK_INT(agents_of(s).count, 0);
	REQUIRE(add(s, &a, token, &e) == 0 && add(s, &b, token, &e) == 0);
	CHECK_INT(add(s, &same, token, &e), -1); /* the name is taken: rolled back */
	struct agents_seen seen = agents_of(s);
	CHECK_STR(seen.ids, "bot ");
	CHECK_INT(seen.first, 5);
	CHECK_INT(seen.last, 7);
	CHECK_INT(seen.sessions, 2);
	CHECK_INT(seen.alive, 2);
	end_session_at(s, a.id, 20);
	seen = agents_of(s);
	CHECK_INT(seen.last, 20);
	CHECK_INT(seen.sessions, 2);
	CHECK_INT(seen.alive, 1);
	other.agent = "'); DROP TABLE agents; --";
	none.agent = "";
	REQUIRE(add(s, &other, token, &e) == 0 && add(s, &none, token, &e) == 0);
	CHECK_STR(agents_of(s).ids, "bot '); DROP TABLE agents; -- ");
	struct seen ended = {0};
	struct session_reader all = {see, &ended};
	CHECK_INT(store_recover(s, "the daemon died", 99, &all, &e), 0);
	seen = agents_of(s); /* both were seen at the end: by name */
	CHECK_INT(seen.last, 99);
	CHECK_INT(seen.alive, 0);
	store_close(s);
	s = open_store(&p);
	CHECK_INT(agents_of(s).count, 2);
	store_close(s);
	remove_place(&p);
}

/* H4: of agents, and of sessions, which an agent outlives. */
TEST(old_agents_are_dropped_and_an_agent_outlives_its_sessions) {
	struct place p = make_place();
	struct store *s = open_store(&p);
	struct session_row a = make_row(5, "a"), b = make_row(30000, "b");
	char token[TOKEN_TEXT_LENGTH + 1];
	struct err e = {0};
	REQUIRE(add(s, &a, token, &e) == 0);
	end_session_at(s, a.id, 20000);
	store_close(s);
	sqlite3 *db = NULL;
	REQUIRE(sqlite3_open(p.file, &db) == SQLITE_OK);
	CHECK_INT(sqlite3_exec(db,
			       "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
			       " WHERE i < 12000) INSERT INTO agents SELECT 'agent-' || i, i, i, 1"
			       " FROM n; DELETE FROM sessions",
			       NULL, NULL, NULL),
		  SQLITE_OK);
	(void)sqlite3_close(db);
	s = open_store(&p);
	CHECK_INT(agents_of(s).count, 12001);
	b.agent = "new";
	REQUIRE(add(s, &b, token, &e) == 0);
	struct agents_seen seen = agents_of(s);
	CHECK_INT(seen.count, STORE_AGENTS_MAX);
	CHECK(strncmp(seen.ids, "new bot agent-12000 agent-11999 ", 32) == 0);
	store_close(s);
	remove_place(&p);
}

/* ---- migrations ---- */

/* What each release added, as it was released: a row of store_migrate.c that changes fails here. */
static const char *const released[] = {
	"CREATE TABLE sessions ("
	" id TEXT PRIMARY KEY, name TEXT NOT NULL, workspace TEXT NOT NULL, profile TEXT NOT NULL,"
	" agent TEXT NOT NULL, provider TEXT NOT NULL, level TEXT NOT NULL, reason TEXT NOT NULL,"
	" state TEXT NOT NULL, serial INTEGER NOT NULL, created INTEGER NOT NULL,"
	" started INTEGER NOT NULL, ended INTEGER NOT NULL, deadline INTEGER NOT NULL"
	") WITHOUT ROWID;"
	"CREATE INDEX sessions_by_name ON sessions (name) WHERE name <> '';"
	"CREATE TABLE tokens ("
	" hash BLOB PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
	" expires INTEGER NOT NULL, revoked INTEGER NOT NULL"
	") WITHOUT ROWID;"
	"CREATE INDEX tokens_by_session ON tokens (session);"
	"CREATE TABLE activity ("
	" seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	" session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
	" time INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL"
	");"
	"CREATE INDEX activity_by_session ON activity (session, seq);",
	"ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE sessions ADD COLUMN net TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE sessions ADD COLUMN policy TEXT NOT NULL DEFAULT '';",
};

#define OLD_ID "sess_00000000000000000000000001"
static const char old_rows[] =
	"INSERT INTO sessions (id, name, workspace, profile, agent, provider, level, reason, state,"
	" serial, created, started, ended, deadline) VALUES ('" OLD_ID "', 'old', '/ws', 'p',"
	" 'bot', 'v', 'full', 'why', 'RUNNING', 1, 5, 6, 0, 70),"
	" ('sess_00000000000000000000000002', '', '/ws', '', 'bot', '', 'full', '', 'STOPPED', 0,"
	" 8, 9, 40, 0), ('sess_00000000000000000000000003', '', '/ws', '', '', '', '', '',"
	" 'FAILED', 0, 50, 0, 51, 0);"
	"INSERT INTO activity (session, time, kind, text) VALUES ('" OLD_ID "', 6, 'k', 'one'),"
	" ('" OLD_ID "', 7, 'k', 'two')";

static void exec_sql(sqlite3 *db, const char *sql) {
	char *why = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
		printf("# %s\n", why);
		abort();
	}
}

/* A database as the release with this version left it, with rows and one token. */
static void make_old(const struct place *p, size_t version, char token[TOKEN_TEXT_LENGTH + 1]) {
	struct token_hash hash;
	sqlite3 *db = NULL;
	char text[512], hex[2 * sizeof hash.bytes + 1];
	int fd = open(p->file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	(void)close(fd);
	if (fd < 0 || sqlite3_open(p->file, &db) != SQLITE_OK) {
		abort();
	}
	exec_sql(db, "PRAGMA journal_mode = WAL");
	for (size_t i = 0; i < version; i++) {
		exec_sql(db, released[i]);
	}
	(void)snprintf(text, sizeof text, "PRAGMA user_version = %zu", version);
	exec_sql(db, text);
	exec_sql(db, old_rows);
	token_make(token, &hash);
	(void)sodium_bin2hex(hex, sizeof hex, hash.bytes, sizeof hash.bytes);
	(void)snprintf(text, sizeof text,
		       "INSERT INTO tokens VALUES (x'%s', '" OLD_ID "', 1000, 0)", hex);
	exec_sql(db, text);
	(void)sqlite3_close(db); /* no statement is left */
}

static int version_of(const struct place *p) {
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	if (sqlite3_open(p->file, &db) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW) {
		abort();
	}
	int version = sqlite3_column_int(st, 0);
	(void)sqlite3_finalize(st); /* it succeeded */
	(void)sqlite3_close(db);
	return version;
}

/* Opens the database and reads what make_old() wrote. */
static void check_old(const struct place *p, const char *token) {
	struct store *s = open_store(p);
	struct seen seen = {0}, all = {0};
	struct session_reader reader = {see, &seen}, counter = {see, &all};
	struct err e = {0};
	int acts = 0;
	struct activity_reader activity = {
		.session = OLD_ID, .limit = 9, .found = count_one, .arg = &acts};
	CHECK_INT(store_get_session(s, "old", &reader, &e), 0);
	CHECK_STR(seen.id, OLD_ID);
	CHECK_INT(seen.state, SESSION_RUNNING);
	CHECK_STR(seen.level, "full");
	CHECK_STR(seen.reason, "why");
	CHECK_INT(seen.started, 6);
	CHECK_INT(store_each_session(s, &counter, &e), 0);
	CHECK_INT(all.count, 3);
	CHECK_INT(store_each_activity(s, &activity, &e), 0);
	CHECK_INT(acts, 2);
	CHECK_INT(check(s, OLD_ID, token, 999), TOKEN_VALID);
	CHECK_INT(check(s, OLD_ID, token, 1000), TOKEN_EXPIRED);
	struct agents_seen agents = agents_of(s);
	CHECK_STR(agents.ids, "bot ");
	CHECK_INT(agents.first, 5);
	CHECK_INT(agents.last, 40);
	CHECK_INT(agents.sessions, 2);
	CHECK_INT(agents.alive, 1);
	store_close(s);
}

/* And what this release has added works with it. */
static void change_old(const struct place *p) {
	struct store *s = open_store(p);
	struct seen seen = {0};
	struct session_reader reader = {see, &seen};
	struct session_resolved values = {
		.workspace = "", .profile = "", .mode = "read-only", .net = "n", .policy = "p"};
	struct err e = {0};
	CHECK_INT(store_set_resolved(s, OLD_ID, &values, &e), 0);
	CHECK_INT(store_recover(s, "the daemon died", 60, &reader, &e), 0);
	CHECK_INT(seen.count, 1);
	CHECK_INT(store_get_session(s, OLD_ID, &reader, &e), 0);
	CHECK_INT(seen.state, SESSION_FAILED);
	CHECK_INT(agents_of(s).last, 60);
	store_close(s);
}

TEST(a_database_of_each_release_is_migrated_with_its_rows) {
	for (size_t version = 1; version <= ARRAY_LEN(released); version++) {
		struct place p = make_place();
		char token[TOKEN_TEXT_LENGTH + 1];
		make_old(&p, version, token);
		CHECK_INT(version_of(&p), (int)version);
		check_old(&p, token);
		CHECK(version_of(&p) > (int)version);
		check_old(&p, token); /* once is enough */
		change_old(&p);
		remove_place(&p);
	}
}

static int statements_left; /* until the process is killed */

static int kill_at_statement(unsigned type, void *arg, void *st, void *text) {
	(void)type;
	(void)arg;
	(void)st;
	(void)text;
	if (statements_left-- == 0) {
		(void)kill(getpid(), SIGKILL);
	}
	return 0;
}

static int trace_statements(sqlite3 *db, const char **why, const void *api) {
	(void)why;
	(void)api;
	return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, kill_at_statement, NULL);
}

/* Opens the database in a process that SQLite's trace kills before the statement `at`; false: there
 * are fewer, and it was opened. */
static bool open_and_kill(const struct place *p, int at) {
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		struct store *s = NULL;
		struct err e = {0};
		statements_left = at;
		(void)sqlite3_auto_extension((void (*)(void))trace_statements);
		int rc = store_open(p->file, &s, &e);
		_exit(rc == 0 ? 0 : 3);
	}
	(void)waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	return WIFSIGNALED(status);
}

TEST(a_migration_that_is_killed_at_any_statement_goes_on_at_the_next_start) {
	int at = 0, versions[8] = {0};
	for (bool killed = true; killed && at < 100; at++) {
		struct place p = make_place();
		char token[TOKEN_TEXT_LENGTH + 1];
		make_old(&p, 1, token);
		killed = open_and_kill(&p, at);
		int version = version_of(&p);
		if (killed && version >= 0 && (size_t)version < ARRAY_LEN(versions)) {
			versions[version]++;
		}
		check_old(&p, token);
		remove_place(&p);
	}
	/* BEGIN, ALTER TABLE three times, user_version and COMMIT; and the next migration. */
	CHECK(at > 12 && at < 100 && versions[1] >= 6 && versions[2] >= 6);
}

/* Writes sessions and activity without end, and reports each id or seq after the call returned. */
static void write_until_killed(const struct place *p, int out) {
	struct store *s = open_store(p);
	struct err e = {0};
	char token[TOKEN_TEXT_LENGTH + 1];
	for (int64_t i = 0;; i++) {
		struct session_row row = make_row(100 + i, "");
		int64_t seq = 0;
		enum session_state state;
		struct activity_row act = {.session = row.id, .time = i, .kind = "k", .text = "t"};
		struct state_change start = {.id = row.id,
					     .from = SESSION_CREATED,
					     .event = EVENT_START,
					     .reason = "",
					     .level = ""};
		if (add(s, &row, token, &e) != 0 ||
		    store_change_state(s, &start, &state, &e) != 0 ||
		    store_add_activity(s, &act, &seq, &e) != 0 ||
		    write(out, row.id, SESSION_ID_LENGTH) != SESSION_ID_LENGTH) {
			_exit(3);
		}
	}
}

static bool read_id(int from, char id[SESSION_ID_LENGTH + 1]) {
	id[SESSION_ID_LENGTH] = '\0';
	return read(from, id, SESSION_ID_LENGTH) == SESSION_ID_LENGTH;
}

/* One writer that is killed; returns the number of changes that it reported. */
static int kill_a_writer(const struct place *p, int reports) {
	int pipes[2], count = 0, status = 0;
	char id[SESSION_ID_LENGTH + 1];
	struct err e = {0};
	if (pipe2(pipes, O_CLOEXEC) != 0) {
		abort();
	}
	pid_t child = fork();
	if (child == 0) {
		write_until_killed(p, pipes[1]);
	}
	(void)close(pipes[1]);
	char(*ids)[SESSION_ID_LENGTH + 1] = calloc(4096, sizeof *ids);
	while (count < reports && read_id(pipes[0], id)) {
		memcpy(ids[count++], id, sizeof id);
	}
	(void)kill(child, SIGKILL);
	while (count < 4096 && read_id(pipes[0], id)) {
		memcpy(ids[count++], id, sizeof id);
	}
	(void)waitpid(child, &status, 0);
	(void)close(pipes[0]);
	CHECK(WIFSIGNALED(status));
	struct store *s = open_store(p);
	for (int i = 0; i < count; i++) {
		struct seen seen = {0};
		struct session_reader reader = {see, &seen};
		int64_t next = 0;
		struct activity_reader acts = {
			.session = ids[i], .limit = 9, .found = count_activity, .arg = &next};
		CHECK_INT(store_get_session(s, ids[i], &reader, &e), 0);
		CHECK_INT(seen.state, SESSION_STARTING);
		CHECK_INT(store_each_activity(s, &acts, &e), 0);
		CHECK(next > 0);
	}
	struct seen ended = {0};
	struct session_reader all = {see, &ended};
	CHECK_INT(store_recover(s, "the daemon was killed", 77, &all, &e), 0);
	CHECK(ended.count >= count && ended.count <= count + 1);
	ended.count = 0;
	CHECK_INT(store_recover(s, "again", 78, &all, &e), 0);
	CHECK_INT(ended.count, 0);
	store_close(s);
	free(ids);
	return count;
}

TEST(a_killed_writer_loses_nothing_that_it_reported) {
	struct place p = make_place();
	int total = 0;
	for (int i = 0; i < 6; i++) {
		total += kill_a_writer(&p, 1 + i * 3);
	}
	CHECK(total >= 6);
	remove_place(&p);
}

TESTS_MAIN
