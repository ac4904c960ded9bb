/* SPDX-License-Identifier: Apache-2.0 */
/* A thin layer over SQLite's C interface.
 *
 * Should:   bind every value: no SQL text is made from data.
 * Must not: retry: one daemon holds the lock, so a busy database is an error.
 * Fails:    closed, with SQLite's message. */
#include "session/store_sql.h"

#include "rpc/token.h"

#include <stdarg.h>

int(store_sql_fail)(sqlite3 *db, const char *doing, struct err *e) {
	(void)err_set(e, ERR_FILE, "database", "%s: %s", doing, sqlite3_errmsg(db));
	return err_fix(e, "check the free space and the owner of the database; `corral daemon "
			  "status` prints its path");
}

int store_sql_exec(sqlite3 *db, const char *sql, struct err *e) {
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : store_sql_fail(db, "cannot change the database", e);
}

static int bind_one(sqlite3_stmt *st, int at, char type, va_list *values) {
	if (type == 'i') {
		return sqlite3_bind_int64(st, at, va_arg(*values, int64_t));
	}
	if (type == 'h') {
		const struct token_hash *hash = va_arg(*values, const struct token_hash *);
		return sqlite3_bind_blob(st, at, hash->bytes, sizeof hash->bytes, SQLITE_STATIC);
	}
	return sqlite3_bind_text(st, at, va_arg(*values, const char *), -1, SQLITE_STATIC);
}

int store_sql_prepare(sqlite3 *db, sqlite3_stmt **ret, struct err *e, const char *sql,
		      const char *types, ...) {
	va_list values;
	int rc = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

	va_start(values, types);
	for (int i = 0; rc == SQLITE_OK && types[i] != '\0'; i++) {
		rc = bind_one(*ret, i + 1, types[i], &values);
	}
	va_end(values);
	return rc == SQLITE_OK ? 0 : store_sql_fail(db, "cannot prepare a statement", e);
}

int store_sql_run(sqlite3 *db, sqlite3_stmt *st, struct err *e) {
	return sqlite3_step(st) == SQLITE_DONE
		       ? sqlite3_changes(db)
		       : store_sql_fail(db, "cannot change the database", e);
}

int store_sql_step(sqlite3 *db, sqlite3_stmt *st, struct err *e) {
	int rc = sqlite3_step(st);
	return rc == SQLITE_ROW    ? 1
	       : rc == SQLITE_DONE ? 0
				   : store_sql_fail(db, "cannot read the database", e);
}

const char *store_sql_text(sqlite3_stmt *st, int column) {
	const unsigned char *text = sqlite3_column_text(st, column);
	return text == NULL ? "" : (const char *)text;
}
