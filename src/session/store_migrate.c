/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of the daemon's database, as a list of migrations.
 *
 * Should:   bring a database of each release to the schema of this one, in order.
 * Must not: change a migration that was released: databases have it (tests/unit/test_store.c).
 * Fails:    closed: a migration is in the database with its version, or not at all. */
#include "session/store_migrate.h"

#include "base/auto.h"
#include "session/store_sql.h"

#include <stdio.h>

/* Each brings the schema from its index to the next user_version.  A released row never changes. */
static const char *const migrations[] = {
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
	/* Agents outlive their sessions, of which only the last ones are kept.  The triggers change
	 * an agent in the transaction that changes its session, whichever statement does. */
	"CREATE TABLE agents ("
	" id TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,"
	" sessions INTEGER NOT NULL"
	") WITHOUT ROWID;"
	"INSERT INTO agents SELECT agent, min(created), max(max(created, started, ended)), count(*)"
	" FROM sessions WHERE agent <> '' GROUP BY agent;"
	"CREATE TRIGGER agent_begins AFTER INSERT ON sessions WHEN NEW.agent <> '' BEGIN"
	" INSERT INTO agents VALUES (NEW.agent, NEW.created, NEW.created, 1)"
	" ON CONFLICT (id) DO UPDATE SET last = max(last, excluded.last), sessions = sessions + 1;"
	" END;"
	"CREATE TRIGGER agent_seen AFTER UPDATE OF started, ended ON sessions WHEN NEW.agent <> ''"
	" BEGIN UPDATE agents SET last = max(last, NEW.started, NEW.ended) WHERE id = NEW.agent;"
	" END;",
};

static int read_version(sqlite3 *db, int *ret, struct err *e) {
	auto_statement *st = NULL;

	if (store_sql_prepare(db, &st, e, "PRAGMA user_version", "") != 0 ||
	    store_sql_step(db, st, e) < 0) {
		return -1;
	}
	*ret = sqlite3_column_int(st, 0);
	return 0;
}

static int migrate_once(sqlite3 *db, size_t from, struct err *e) {
	char version[48];

	(void)snprintf(version, sizeof version, "PRAGMA user_version = %zu", from + 1);
	if (store_sql_exec(db, "BEGIN IMMEDIATE", e) != 0) {
		return -1;
	}
	if (store_sql_exec(db, migrations[from], e) != 0 || store_sql_exec(db, version, e) != 0 ||
	    store_sql_exec(db, "COMMIT", e) != 0) {
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* the first error counts */
		return -1;
	}
	return 0;
}

int store_migrate(sqlite3 *db, struct err *e) {
	int version = 0;

	if (read_version(db, &version, e) != 0) {
		return -1;
	}
	if (version < 0 || (size_t)version > ARRAY_LEN(migrations)) {
		(void)err_set(e, ERR_SETUP, "database",
			      "the database has version %d; this Corral knows versions up to %zu",
			      version, ARRAY_LEN(migrations));
		return err_fix(e, "install the newer Corral again, or move the database away");
	}
	for (size_t i = (size_t)version; i < ARRAY_LEN(migrations); i++) {
		if (migrate_once(db, i, e) != 0) {
			return -1;
		}
	}
	return 0;
}
