/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of `corral session exec`: one message to the supervisor of the session, with stdin,
 * stdout and stderr, and one answer.  The daemon is not on it.
 *
 *   client ──x/SESSION, SOCK_SEQPACKET──► supervisor        a connection for each command
 *
 * Daemon and client may be of different versions: a supervisor answers a request that it does not
 * accept with DIRECT_DAEMON, and has done nothing; the client then sends session.exec to the
 * daemon, which has every check and every message.
 *
 * A request is a struct direct_request and then texts, each with its NUL: the arguments, the
 * variables, and the directory if it has one.  An answer is a struct direct_answer and its texts:
 * the notes, or layer, message and remedy of an error. */
#ifndef CORRAL_CLIENT_DIRECT_H
#define CORRAL_CLIENT_DIRECT_H

#include "corral.h"

#include <stddef.h>
#include <stdint.h>

#define DIRECT_VERSION 1U
/* Of a message; the daemon takes longer requests. */
#define DIRECT_BYTES ((size_t)64 * 1024)
#define DIRECT_FDS 3
/* As session.exec has it. */
#define DIRECT_TIMEOUT_MS ((int64_t)366 * 24 * 3600 * 1000)

struct direct_request {
	uint32_t version;
	uint32_t argc;
	uint32_t has_directory;
	uint32_t nenv;      /* variables, "NAME=value" */
	int64_t timeout_ms; /* 0: that of the policy */
};

enum direct_end {
	DIRECT_RAN = 1,
	DIRECT_FAILED, /* the command did not run */
	DIRECT_DAEMON, /* nothing was done: ask the daemon */
};

struct direct_answer {
	uint32_t end;
	int32_t status; /* of DIRECT_RAN */
	uint32_t kind;  /* of DIRECT_FAILED: enum corral_error_kind */
	int32_t sys_errno;
};

/* ---- direct_message.c ---- */

struct direct_command {
	const char *const *argv;
	const char *const *env; /* NULL: none */
	const char *directory;  /* NULL: that of the session */
	int64_t timeout_ms;
};

/* Writes a request, without other memory than ret.  Returns its length; 0: the short way cannot
 * carry it, because it is too long or a text is not ASCII (the daemon refuses what is not UTF-8).
 */
size_t direct_request_write(char ret[DIRECT_BYTES], const struct direct_command *c);

/* Reads a request.  The texts stay in bytes; *ret_list, which the caller frees, is the memory of
 * argv and env, which point to them.  -1: it is malformed, or there is no memory. */
int direct_request_read(char *bytes, size_t len, struct direct_command *ret,
			const char ***ret_list);

/* The next text of an answer, NULL after the last; *at is the offset of the next one. */
const char *direct_text(const char *bytes, size_t len, size_t *at);

/* ---- direct.c ---- */

/* Runs a command with this process's stdin, stdout and stderr.  0 with its status; 1: the daemon
 * has to do it; -1 with the error. */
int direct_exec(const char *session, const struct direct_command *c, int *ret_status,
		struct corral_error *err);

#endif
