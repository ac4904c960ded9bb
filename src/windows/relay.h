/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a command: pipes, with a thread for each. */
#ifndef CORRAL_WINDOWS_RELAY_H
#define CORRAL_WINDOWS_RELAY_H

#include "windows/api.h"

#include "base/err.h"
#include "run/capture.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef _WIN32
struct relay {
	HANDLE from, to; /* `to` is NULL if the bytes are captured */
	HANDLE thread;
	struct capture capture;
	volatile LONG64 *last_ms; /* of the last output, GetTickCount64(); or NULL */
};

struct relays {
	struct relay in, out, err;
	HANDLE inside[3]; /* the command's ends, which alone are inherited */
	volatile LONG64 last_ms;
};

/* captured: stdout and stderr are kept within limit bytes each; else they go to corral.exe's own.
 * input: stdin is passed on; else it is empty. */
int relay_begin(struct relays *r, bool captured, bool input, int64_t limit, struct err *e);

/* After the process has started: closes its ends here and starts the threads. */
int relay_start(struct relays *r, struct err *e);

/* After all its processes have ended: waits for the output, and closes everything. */
void relay_end(struct relays *r);
#endif

#endif
