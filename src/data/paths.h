/* Paths that mean something to a sandbox: what every program needs, what none
 * may see, and where toolchains live.
 *
 * Every table is sorted by path and every row carries its reason; the plan
 * asks the host which of them exist. */
#ifndef CORRAL_DATA_PATHS_H
#define CORRAL_DATA_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum path_flags {
	PATH_EXEC = 1,      /* programs may be run from it */
	PATH_MINIMAL = 2,   /* also part of the minimal view */
	PATH_ROOT_ONLY = 4, /* matters only when the caller is root */
	PATH_BENEATH = 8,   /* what lies beneath it is meant as well */
	PATH_MIXED = 16,    /* holds secrets among other things: a toolchain inside may be shown */
	PATH_OPEN = 64,     /* what lies beneath it is not meant, whatever a row above says */
	PATH_ALWAYS = 32,   /* whether or not the caller could write it */
	PATH_MILD = 256, /* not worth granting a tree entry by entry, where that is the only way */
	PATH_DIRECTORY = 128, /* of procfs, which is not there to be looked at yet */
};

struct path_row {
	const char *path;
	const char *reason;
	unsigned flags;
	uint32_t mode;    /* of what is made */
	const char *text; /* of a link: where it leads */
};

struct path_table {
	const char *name;
	const struct path_row *rows;
	size_t count;
};

/* The host's directories that the system view shows, read-only. */
extern const struct path_table system_roots;
/* What the minimal view takes from /etc; the rest of it is made up. */
extern const struct path_table minimal_etc;
/* Top-level names that the host view does not take over. */
extern const struct path_table host_skipped;
/* Writable directories of the run's own. */
extern const struct path_table windows;
/* Links that the new root is born with. */
extern const struct path_table skeleton_links;
extern const struct path_table devices;
/* Of a fresh procfs: made read-only, and hidden. */
extern const struct path_table proc_readonly;
extern const struct path_table proc_hidden;
/* Hidden wherever a tree of the host would show them. */
extern const struct path_table sensitive_paths;
/* The same, relative to the caller's home. */
extern const struct path_table credential_paths;
/* Variables of the caller's that name such a place; .path is the name of the variable. */
extern const struct path_table credential_variables;
/* File names that hold credentials at the root of a toolchain. */
extern const struct path_table credential_names;
/* What no rule may grant. */
extern const struct path_table reserved_paths;
/* Directories of the home whose "bin" says nothing about what lies beside it. */
extern const struct path_table generic_parents;

/* All of the above, for the test that checks their order. */
extern const struct path_table *const path_tables[];
extern const size_t path_tables_count;

#define TOOLCHAIN_PARTS 8

struct toolchain {
	const char *home;                   /* default place, relative to the home; NULL: none */
	const char *variable;               /* names another place, and is passed on; NULL: none */
	const char *parts[TOOLCHAIN_PARTS]; /* only these; none: all of it */
	const char *reason;
};

extern const struct toolchain toolchains[];
extern const size_t toolchains_count;

/* The row with exactly this path, or NULL. */
const struct path_row *path_table_find(const struct path_table *t, const char *path);

#endif
