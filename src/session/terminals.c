/* SPDX-License-Identifier: Apache-2.0 */
/* The terminals of a session's commands: clients attach to them and leave.
 *
 * A command with a terminal outlives its client.  The request of a client is answered when the
 * command ends, or when the client has left; one client at a time has the terminal, and a new one
 * takes it over.
 *
 * Should:   answer each request once.
 * Must not: end a command because its client is gone.
 * Fails:    by refusing the request. */
#include "session/supervisor.h"

#include "base/auto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct terminal_relay *find(const struct supervisor *s, uint32_t command) {
	for (struct terminal_relay *t = s->terminals; t != NULL; t = t->next) {
		if (t->command == command) {
			return t;
		}
	}
	return NULL;
}

static struct terminal_size size_of(const json_t *request) {
	json_int_t rows = json_integer_value(json_object_get(request, "rows"));
	json_int_t columns = json_integer_value(json_object_get(request, "columns"));

	return (struct terminal_size){
		.rows = rows > 0 && rows <= UINT16_MAX ? (uint16_t)rows : 24,
		.columns = columns > 0 && columns <= UINT16_MAX ? (uint16_t)columns : 80,
	};
}

/* Replaces the request that waits for the terminal; the one before is answered.  False: the command
 * has ended, and would not answer the new one. */
static bool set_call(struct supervisor *s, struct terminal_relay *t, uint32_t call,
		     const char *why) {
	(void)pthread_mutex_lock(&s->lock);
	bool ended = t->ended;
	uint32_t before = t->call;
	t->call = ended ? 0 : call;
	(void)pthread_mutex_unlock(&s->lock);
	if (before != 0) {
		supervisor_send(s->channel, WIRE_DETACHED, before,
				json_pack("{s:b, s:I, s:s}", "detached", 1, "command",
					  (json_int_t)t->command, "why", why));
	}
	return !ended;
}

int terminals_add(struct supervisor *s, struct job *j, int client) {
	const char *name =
		json_string_value(json_array_get(json_object_get(j->request, "argv"), 0));
	int outer = -1;

	if (s->nterminals >= TERMINALS_MAX) {
		drop_fd(&client);
		supervisor_send_refusal(s->channel, j->call, CORRAL_E_SETUP,
					"the session has 32 commands with a terminal already");
		return -1;
	}
	struct terminal_relay *t = terminal_relay_new(&outer);
	if (t == NULL) {
		drop_fd(&client);
		supervisor_send_refusal(
			s->channel, j->call, CORRAL_E_SETUP,
			"the supervisor has too little memory or too few descriptors");
		return -1;
	}
	t->command = j->call;
	t->size = size_of(j->request);
	(void)snprintf(t->name, sizeof t->name, "%s", name == NULL ? "" : name);
	t->next = s->terminals;
	s->terminals = t;
	s->nterminals++;
	j->terminal = t;
	j->fds[0] = outer;
	if (client >= 0) {
		terminal_relay_attach(t, client);
		t->call = j->call;
	} else {
		supervisor_send(s->channel, WIRE_DETACHED, j->call,
				json_pack("{s:b, s:I, s:s}", "detached", 1, "command",
					  (json_int_t)t->command, "why", "as requested"));
	}
	return 0;
}

uint32_t terminals_end(struct job *j) {
	(void)pthread_mutex_lock(&j->owner->lock);
	uint32_t call = j->terminal->call;
	j->terminal->call = 0;
	j->terminal->ended = true;
	(void)pthread_mutex_unlock(&j->owner->lock);
	return call;
}

/* ---- attach ---- */

static void refuse_attach(const struct supervisor *s, uint32_t call) {
	char text[400] = "there is no such command with a terminal; running:";

	for (const struct terminal_relay *t = s->terminals; t != NULL; t = t->next) {
		if (t->inner < 0) {
			continue;
		}
		size_t len = strlen(text);
		(void)snprintf(text + len, sizeof text - len, " %u (%s)", t->command, t->name);
	}
	supervisor_send_refusal(s->channel, call, CORRAL_E_USAGE,
				s->terminals == NULL ? "no command with a terminal is running"
						     : text);
}

/* Full-screen programs draw themselves again only if the size has changed. */
static void redraw(struct supervisor *s, const struct terminal_relay *t) {
	(void)corral_session_resize(s->session, t->command, t->size.rows,
				    (unsigned short)(t->size.columns + 1));
	(void)corral_session_resize(s->session, t->command, t->size.rows, t->size.columns);
}

void terminals_attach(struct supervisor *s, struct wire_message *m) {
	json_t *request = json_loads(m->text, 0, NULL);
	uint32_t number = (uint32_t)json_integer_value(json_object_get(request, "command"));
	struct terminal_relay *t = number != 0          ? find(s, number)
				   : s->nterminals == 1 ? s->terminals
							: NULL;

	if (t == NULL || m->nfds != 1 || !set_call(s, t, m->call, "another client attached")) {
		refuse_attach(s, m->call);
	} else {
		t->size = size_of(request);
		terminal_relay_attach(t, m->fds[0]);
		m->nfds = 0;
		redraw(s, t);
	}
	json_decref(request);
}

/* ---- the loop ---- */

size_t terminals_poll(struct supervisor *s, struct pollfd *slots) {
	size_t n = 0;

	for (const struct terminal_relay *t = s->terminals; t != NULL; t = t->next, n += 2) {
		terminal_relay_poll(t, slots + n);
	}
	return n;
}

void terminals_step(struct supervisor *s, const struct pollfd *slots) {
	for (struct terminal_relay **at = &s->terminals; *at != NULL; slots += 2) {
		struct terminal_relay *t = *at;
		unsigned events = terminal_relay_step(t, slots);
		if ((events & TERMINAL_RESIZED) != 0) {
			(void)corral_session_resize(s->session, t->command, t->size.rows,
						    t->size.columns); /* 0: it has ended */
		}
		if ((events & TERMINAL_LEFT) != 0) {
			(void)set_call(s, t, 0, "the client detached");
		}
		if ((events & TERMINAL_OVER) != 0) {
			*at = t->next;
			s->nterminals--;
			terminal_relay_free(t);
		} else {
			at = &t->next;
		}
	}
}
