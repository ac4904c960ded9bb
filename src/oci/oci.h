/* SPDX-License-Identifier: Apache-2.0 */
/* `corral oci`: an OCI runtime that starts every process of a container in a sandbox.
 *
 * Theory.  A container engine calls its runtime with the command line of runc(8): `create --bundle
 * DIR ID`, `exec --process FILE ID`, `start ID`, ….  This verb stands between the engine and crun
 * or runc.  It gives the runtime a copy of the bundle's config.json, in a directory within the
 * bundle, in which process.args is `corral run OPTIONS -- ARGS`, and a mount shows the corral of
 * this host in the container; of an exec, a copy of the process file.  Everything else is the
 * engine's, and every other subcommand goes to the runtime as it is.
 *
 *     engine ── corral oci ── crun | runc ── container: corral run ── the command
 *
 * corral run sets its sandbox up within the container.  The engine's seccomp profile and its masks
 * on /proc would refuse that: the copy allows the calls of the set-up, and has no mask that the
 * sandbox itself makes.
 *
 * Invariants.
 *  O1  no process of the container's user starts outside of a sandbox.  create, run and exec are
 *      rewritten; subcommands and options that are not in a table are refused; an exec in a
 *      container that this verb did not create is refused.
 *  O2  the command is under the engine's seccomp profile.  It stays in force in the container, and
 *      the filter of the sandbox refuses each call that is added to it, or the call can only take
 *      rights away.  Exception: with `nested = true` in the policy, that filter permits namespaces
 *      to an ordinary user of the container: clone, unshare, pivot_root, umount2, sethostname and
 *      setdomainname (plan/nested.c).  They act on namespaces of the nested sandbox; the mounts of
 *      the run are locked there.
 *  O3  the engine's bundle is not changed, except for the directory of the copy.
 *
 * Should:   fail with a message on stderr and in the file of --log, which engines show.
 * Must not: read a policy of the container's image: an image is not trusted.
 * Fails:    closed: a configuration that cannot be read or written starts nothing. */
#ifndef CORRAL_OCI_OCI_H
#define CORRAL_OCI_OCI_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define OCI_WHERE "oci"

/* The directory of the copy, in the engine's bundle; and the files of it. */
#define OCI_COPY "corral-oci"
#define OCI_OPTIONS "options.json"

/* In the container. */
#define OCI_INSIDE "/run/corral"
#define OCI_PROGRAM OCI_INSIDE "/corral"
#define OCI_POLICY OCI_INSIDE "/policy.toml"
#define OCI_SCRATCH OCI_INSIDE "/work"

/* ---- command_line.c: the engine's command line ---- */

enum oci_action {
	OCI_PASS,   /* starts no process: goes to the runtime as it is */
	OCI_CREATE, /* of a bundle */
	OCI_EXEC,   /* of a process file */
};

struct oci_line {
	enum oci_action action;
	size_t subcommand; /* its index; the number of words where there is none (--version) */
	/* Of the option's value, which may follow a "=": its word, and its place in it. */
	size_t bundle, process;       /* 0: not given */
	size_t bundle_at, process_at; /* bytes before the value */
	size_t id;                    /* the container's; 0: not given */
};

/* Fails with ERR_USAGE for a line that is not in the tables (O1).  words[n] is NULL. */
int oci_line_read(const char *const *words, size_t n, struct oci_line *ret, struct err *e);

/* The value of --log before the subcommand, also of a line that is refused; NULL: none. */
const char *oci_line_log(const char *const *words, size_t n);

/* ---- json_file.c ---- */

/* Appends an error as engines read it from the runtime's log. */
void oci_json_log(const char *path, const struct err *why);

/* Integers above INT64_MAX, such as a limit of RLIM_INFINITY, survive. */
int oci_json_read(const char *path, json_t **ret, struct err *e);
int oci_json_write(const char *path, const json_t *value, struct err *e);

/* Writes to a memory file that the runtime inherits, so that nothing is left on disk; ret: its
 * path in /proc/self/fd.  Must not be called when another thread may fork. */
int oci_json_pass(const json_t *value, char ret[32], struct err *e);

/* ---- process.c: the process object of the specification ---- */

/* Makes its args a run in the sandbox.  options: an array of strings, for corral run. */
int oci_process_wrap(json_t *process, const json_t *options, struct err *e);

/* ---- spec.c: config.json ---- */

struct oci_sources {
	const char *bundle;  /* absolute; relative paths of the configuration begin there */
	const char *program; /* corral, on the host */
	const char *policy;  /* a policy file of the host; NULL: none */
};

/* The container of a pod that only holds its namespaces: it has no command of a user. */
bool oci_spec_is_pause(const json_t *spec);

/* Rewrites the configuration.  *ret_options receives the options for every process of the
 * container. */
int oci_spec_wrap(json_t *spec, const struct oci_sources *s, json_t **ret_options, struct err *e);

/* ---- seccomp.c: linux.seccomp ---- */

/* Adds the calls that the set-up of a sandbox needs (O2). */
int oci_seccomp_allow(json_t *seccomp, struct err *e);

#endif
