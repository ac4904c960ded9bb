/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of the daemon's database: prepare, bind, step, with one error text. */
#ifndef CORRAL_SESSION_STORE_SQL_H
#define CORRAL_SESSION_STORE_SQL_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

/* A statement is finalized at the end of its scope. */
static inline void auto_statement_(sqlite3_stmt **st) {
	(void)sqlite3_finalize(*st); /* repeats the error of the last step */
}
#define auto_statement __attribute__((cleanup(auto_statement_))) sqlite3_stmt

int store_sql_fail(sqlite3 *db, const char *doing, struct err *e);
#define store_sql_fail(...) err_failed(store_sql_fail(__VA_ARGS__))

/* Statements without parameters and rows. */
int store_sql_exec(sqlite3 *db, const char *sql, struct err *e);

/* types has a letter for each parameter: t a text, i an int64_t, h a struct token_hash.  The values
 * have to outlive the statement. */
int store_sql_prepare(sqlite3 *db, sqlite3_stmt **ret, struct err *e, const char *sql,
		      const char *types, ...);

/* Runs a statement that returns no row; the number of changed rows, or -1. */
int store_sql_run(sqlite3 *db, sqlite3_stmt *st, struct err *e);

/* 1: a row; 0: the end; -1. */
int store_sql_step(sqlite3 *db, sqlite3_stmt *st, struct err *e);

/* A column, never NULL. */
const char *store_sql_text(sqlite3_stmt *st, int column);

#endif
