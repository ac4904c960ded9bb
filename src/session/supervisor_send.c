/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the supervisor's messages to the daemon.
 *
 * Should:   replace a text that is too long by an error: the client waits for an answer.
 * Must not: be used after the daemon's end: this process ends then.
 * Fails:    never: it waits for room. */
#include "session/supervisor.h"

#include "base/auto.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): a message that was received has text to free */
void supervisor_send_text(int channel, enum wire_kind kind, uint32_t call, char *text, size_t len) {
	struct wire_message m = {.kind = kind, .call = call, .text = text, .len = len};
	struct pollfd room = {.fd = channel, .events = POLLOUT};

	int rc;

	/* The daemon always reads; when it is gone, this process ends soon. */
	while ((rc = session_wire_send(channel, &m)) == -EAGAIN) {
		(void)poll(&room, 1, -1); /* after EINTR it is tried again */
	}
	if (rc == -EMSGSIZE) {
		static char too_large[] = "{\"kind\":11,\"errno\":0,\"layer\":\"session\","
					  "\"message\":\"the result is larger "
					  "than "
					  "15 MiB\",\"remedy\":\"write the output to a file, or "
					  "lower limits.output\"}";
		supervisor_send_text(channel, WIRE_ERROR, call, too_large, strlen(too_large));
	}
}

void supervisor_send(int channel, enum wire_kind kind, uint32_t call, json_t *value) {
	auto_free char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);

	json_decref(value);
	supervisor_send_text(channel, kind, call, text, text == NULL ? 0 : strlen(text));
}

void supervisor_send_error(int channel, enum wire_kind kind, uint32_t call,
			   const struct corral_error *err) {
	supervisor_send(channel, kind, call,
			json_pack("{s:i, s:i, s:s, s:s, s:s}", "kind", (int)err->kind, "errno",
				  err->sys_errno, "layer", err->layer, "message", err->message,
				  "remedy", err->remedy));
}

void supervisor_send_refusal(int channel, uint32_t call, enum corral_error_kind kind,
			     const char *why) {
	struct corral_error err = {.kind = kind};

	(void)snprintf(err.layer, sizeof err.layer, "session");
	(void)snprintf(err.message, sizeof err.message, "%s", why);
	supervisor_send_error(channel, WIRE_ERROR, call, &err);
}
