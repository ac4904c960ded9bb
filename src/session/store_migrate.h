/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of the daemon's database. */
#ifndef CORRAL_SESSION_STORE_MIGRATE_H
#define CORRAL_SESSION_STORE_MIGRATE_H

#include "base/err.h"

#include <sqlite3.h>

/* Creates the schema, or brings an older one to this version; a newer one is an error. */
int store_migrate(sqlite3 *db, struct err *e);

#endif
