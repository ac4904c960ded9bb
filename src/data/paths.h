/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of paths that the sandbox shows, hides or creates, and of toolchains.
 *
 * Every table is sorted by path and every row carries its reason; the plan checks which
 * paths exist on the host. */
#ifndef CORRAL_DATA_PATHS_H
#define CORRAL_DATA_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum path_flags {
	PATH_EXEC = 1,        /* programs may be run from it */
	PATH_MINIMAL = 2,     /* also part of the minimal view */
	PATH_ROOT_ONLY = 4,   /* matters only when the caller is root */
	PATH_BENEATH = 8,     /* the row covers everything beneath it as well */
	PATH_MIXED = 16,      /* holds secrets and other files: a toolchain in it may be shown */
	PATH_OPEN = 64,       /* the row does not cover paths beneath it, nor does a parent's row */
	PATH_ALWAYS = 32,     /* applied also if the caller cannot write the path */
	PATH_MILD = 256,      /* left visible where Landlock could exclude it only entry by entry */
	PATH_DIRECTORY = 128, /* a directory of procfs, which is not mounted yet for a stat(2) */
};

struct path_row {
	const char *path;
	const char *reason;
	unsigned flags;
	uint32_t mode;    /* of a created directory */
	const char *text; /* the target of a symlink */
};

struct path_table {
	const char *name;
	const struct path_row *rows;
	size_t count;
};

/* The host's directories that the system view shows, read-only. */
extern const struct path_table system_roots;
/* Paths of the host's /etc in the minimal view; the rest of /etc is generated. */
extern const struct path_table minimal_etc;
/* Top-level names that the host view does not show. */
extern const struct path_table host_skipped;
/* Writable directories of the run's own tmpfs. */
extern const struct path_table windows;
/* Symlinks of the new root. */
extern const struct path_table skeleton_links;
extern const struct path_table devices;
/* In the sandbox's procfs: remounted read-only; covered by an empty mount. */
extern const struct path_table proc_readonly;
extern const struct path_table proc_hidden;
/* Hidden in every tree of the host that contains them. */
extern const struct path_table sensitive_paths;
/* The same, relative to the caller's home. */
extern const struct path_table credential_paths;
/* Paths in its directories of many programs (PATH_MIXED) that hold no credential. */
extern const struct path_table harmless_paths;
/* The row of credential_paths that covers the path, one without PATH_MIXED if there are two; NULL:
 * none, or the path is one of harmless_paths.  home may be NULL. */
const struct path_row *path_credential(const char *home, const char *path);
bool path_is_harmless(const char *home, const char *path);
/* Variables of the caller that name such a path; .path is the name of the variable. */
extern const struct path_table credential_variables;
/* File names that hold credentials at the root of a toolchain. */
extern const struct path_table credential_names;
/* Paths that no rule may grant. */
extern const struct path_table reserved_paths;
/* Directories of the home shared by many programs: a "bin" in one does not make its parent a
 * toolchain. */
extern const struct path_table generic_parents;

/* All of the above, for the test that checks their order. */
extern const struct path_table *const path_tables[];
extern const size_t path_tables_count;

#define TOOLCHAIN_PARTS 8

struct toolchain {
	const char *home;                   /* default path, relative to the home; NULL: none */
	const char *variable;               /* overrides the path, and is passed on; NULL: none */
	const char *parts[TOOLCHAIN_PARTS]; /* only these; none: all of it */
	const char *reason;
};

extern const struct toolchain toolchains[];
extern const size_t toolchains_count;

/* The row with exactly this path, or NULL. */
const struct path_row *path_table_find(const struct path_table *t, const char *path);

#endif
