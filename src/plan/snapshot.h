/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of a host: the facts and the files that plans for it depend on, recorded from the real
 * host or read from a JSON file.
 *
 * Theory.  The plan's questions about files are answered by a tree of entries.  Each entry was
 * looked at once; symlinks are resolved in the tree, component by component, as the kernel does.
 * While recording, an entry that the tree lacks is fetched from the real host.  From a file, a name
 * that the recorded list of its directory lacks does not exist; about any other missing entry the
 * snapshot knows nothing.  It then answers "does not exist" and keeps the path in `unknown`: the
 * caller must check that after the plan is built, and fail.
 *
 * Should:   answer exactly as the host did when it was recorded.
 * Must not: make a system call; write the content of a file, or a value of the environment, that
 *           the plan does not need (snapshot_mask.c).
 * Fails:    closed: with an unknown path, or out of memory, no plan may be used. */
#ifndef CORRAL_PLAN_SNAPSHOT_H
#define CORRAL_PLAN_SNAPSHOT_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"

#define SNAPSHOT_VERSION 1

/* A snapshot of a large home and workspace is below 1 MiB. */
#define SNAPSHOT_MAX ((size_t)16 * 1024 * 1024)

enum snapshot_known { KNOWN_NOT, KNOWN_NO, KNOWN_YES };

struct snapshot_entry {
	const char *path; /* its directory is canonical */
	struct look seen;
	const char *to; /* of a symlink, its target; NULL: too long or unreadable */
	enum snapshot_known text_known;
	const char *text;
	size_t text_len, text_limit; /* the limit that a failed read had */
	enum snapshot_known list_known;
	const char **names; /* of a directory, as listed */
	size_t nnames, names_cap;
	enum snapshot_known folds;
};

/* The output of a program (host.ask). */
struct snapshot_output {
	const char *name, *text; /* NULL: there was none */
};

struct snapshot {
	struct arena *a;
	const struct host *real;          /* recorded from; NULL: from a file */
	struct host host;                 /* the facts; fs and ask answer from this snapshot */
	struct host_cgroup cgroup, scope; /* as probed; and with the user's systemd */
	const char *sampling_why;
	const char *kernel; /* the release, for the reader; NULL */
	struct snapshot_entry *entries;
	size_t nentries, entries_cap;
	uint32_t *slots; /* hash table: index of an entry + 1 */
	size_t nslots;
	struct snapshot_output *outputs;
	size_t noutputs, outputs_cap;
	bool out_of_memory;
	char unknown[512]; /* the first path or program without an answer; may be truncated */
};

/* Records from a host: s->host is a copy of it that asks through s.  Both must stay in place. */
void snapshot_record(struct snapshot *s, struct arena *a, const struct host *real);

/* For a snapshot that is filled from a file. */
void snapshot_init(struct snapshot *s, struct arena *a);

/* The entry of that path, new if there is none; NULL out of memory. */
struct snapshot_entry *snapshot_add(struct snapshot *s, const char *path);
/* True when the list of its directory shows that the path does not exist. */
bool snapshot_lacks(const struct snapshot *s, const char *path);
void snapshot_add_name(struct snapshot *s, struct snapshot_entry *dir, const char *name);

/* policy_fs.find() for the files of a snapshot. */
int snapshot_find(void *ctx, const char *path, char *ret_real, bool *ret_dir);

/* 0; or -1 when a question had no answer, or memory was out. */
int snapshot_check(const struct snapshot *s, struct err *e);

/* The snapshot as JSON, without secrets. */
void snapshot_write(const struct snapshot *s, struct buf *out);

/* Reads a snapshot; name is for messages.  A syntax error names the line, another the key. */
int snapshot_read(struct snapshot *s, struct arena *a, const char *name, const struct buf *text,
		  struct err *e);

/* Replaces the values of a settings file that may be secret; the same for the value of a variable,
 * or the output of a program, of that name. */
void snapshot_mask(char *text, size_t len);
void snapshot_mask_value(const char *name, char *text, size_t len);

#endif
