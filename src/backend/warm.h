/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a session: the request that its supervisor sends to the sandbox, and the report
 * of its end.  For a row of the table that has sessions; linux/warm.h has the theory. */
#ifndef CORRAL_BACKEND_WARM_H
#define CORRAL_BACKEND_WARM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors of a command: the three streams and others.  The kernel passes at most 253. */
#define WARM_FDS_MAX 67

struct warm_rlimit {
	uint64_t value;
	int32_t resource;
	uint32_t unused;
};

#define WARM_RLIMITS_MAX 4

/* The head of a request.  After it, or at the start of the memfd, `size` bytes: first arrays of
 * uint64_t, each ending with 0, whose elements are offsets from their start: argv, candidates for
 * execve, argv of sh for scripts without "#!", environment; then the strings. */
struct warm_request {
	uint64_t exec;
	uint32_t size;
	uint32_t nfds;      /* the command's descriptors, with those that are null */
	uint32_t null;      /* bit n: stream n is the sandbox's /dev/null, and none is passed */
	uint32_t in_memory; /* the memfd is passed first */
	uint32_t candidates, shell, env; /* offsets of these arrays; argv is at 0 */
	uint32_t directory;              /* offset of the path; 0: that of the plan */
	uint32_t nrlimits;
	uint32_t terminal; /* stream 0 is a pty: make it the controlling terminal */
	struct warm_rlimit rlimits[WARM_RLIMITS_MAX]; /* besides those of the plan */
};

/* The step that failed, of a command that did not start. */
enum warm_step {
	WARM_STARTED,
	WARM_NO_SLOT,
	WARM_NO_PROCESS,
	WARM_NO_MEMORY,
	WARM_NO_LIMIT,
	WARM_NO_DESCRIPTOR,
	WARM_NO_TERMINAL,
	WARM_NO_DIRECTORY,
	WARM_NO_EXEC, /* candidate: which path */
};

/* From the leader, once for each command. */
struct warm_report {
	uint32_t step;
	int32_t error; /* errno of the step */
	uint32_t candidate;
	int32_t status; /* wait(2)'s */
	int64_t cpu_us; /* of the command, and of its children that it has waited for */
	int64_t max_rss_kb;
};

struct warm_command {
	const char *const *argv;
	const char *const *env; /* complete */
	const char *directory;  /* NULL: that of the plan */
	struct warm_rlimit rlimits[WARM_RLIMITS_MAX];
	size_t nrlimits;
	bool terminal; /* the streams are the slave of a pty */
};

/* A request; free it with warm_message_done(). */
struct warm_message {
	struct warm_request head;
	char *bytes; /* its arrays and strings */
};

int warm_message_new(const struct warm_command *c, struct warm_message *ret, struct err *e);
void warm_message_done(struct warm_message *m);

/* Sends it with the command's descriptors (-1 among the first three: /dev/null), and the leader's
 * end of the status socket. */
int warm_message_send(struct warm_message *m, int socket, const int *fds, size_t nfds, int status);

/* argv[0], and the n-th path that was tried. */
const char *warm_message_name(const struct warm_message *m);
const char *warm_message_candidate(const struct warm_message *m, uint32_t n);

#endif
