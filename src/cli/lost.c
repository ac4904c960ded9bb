/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a command whose streams lost data: `corral run` and `corral session exec`.
 *
 * Should:   name the stream and the error.
 * Must not: change the status of a command that failed itself.
 * Fails:    never. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define STATUS_LOST 125

/* A run with lost output has not succeeded, also when the command exits with 0. */
int lost_status(const struct corral_result *result, char ret_note[LOST_NOTE]) {
	int status = corral_result_status(result);
	const char *stream = NULL;
	int error = corral_result_lost(result, &stream);

	ret_note[0] = '\0';
	if (error == 0) {
		return status;
	}
	(void)snprintf(ret_note, LOST_NOTE, "%s: %s; part of the data was lost", stream,
		       strerror(error)); /* it fits */
	return status == 0 ? STATUS_LOST : status;
}
