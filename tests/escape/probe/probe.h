/* SPDX-License-Identifier: Apache-2.0 */
/* One static program, many small attempts: `probe NAME ARG...`.
 *
 * Should:   make one call, print `result=ok` or `result=ERRNO`, and exit 0 when
 *           the call succeeded and 1 when it was refused, so that the control
 *           outside and the attempt inside are the same program and arguments.
 * Must not: decide what a refusal means; the harness judges on the host.
 * Fails:    with exit 2 and a word on stderr when it was called wrongly. */
#ifndef CORRAL_TESTS_ESCAPE_PROBE_H
#define CORRAL_TESTS_ESCAPE_PROBE_H

#include <stddef.h>

/* argv[0] is the attempt's name; argc counts it. */
typedef int probe_fn(int argc, char **argv);

struct probe {
	const char *name;
	int min_args;
	probe_fn *run;
	const char *usage;
};

struct probe_table {
	const struct probe *rows;
	size_t count;
};

#define PROBE_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

extern const struct probe_table probe_files, probe_calls, probe_kernel, probe_process, probe_others,
	probe_ipc, probe_net, probe_connect, probe_load, probe_passing, probe_pools, probe_requests,
	probe_wrap, probe_shared;

/* Prints the result of a call that answers -1 and errno when refused, and
 * gives the exit status. */
int probe_result(long answer);

/* Prints what can be read from fd without blocking for long. */
int probe_print_fd(int fd);

long probe_number(const char *text);
const char *probe_errno_name(int number);

#endif
