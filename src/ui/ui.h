/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `corral ui`: commands, refusals, questions and changes, live, in a browser.
 *
 * Theory.  The room renders HTML from JSON that its owner supplies (struct ui_source): the daemon
 * knows the data, and nothing here knows the daemon.  A view is a row of ui/route.c: a path, the
 * name of its data, a function that renders them; the same data are at /api/NAME.  Every value goes
 * through ui/html.c.  Reading and forms work without JavaScript; assets/app.js replaces the content
 * of the page when the event stream says that something changed.
 *
 * `corral ui` gets a token of one use from the owner (ui_invite()).  The browser shows it in a
 * form, and the form's POST exchanges it for a cookie: no GET changes anything, so a program that
 * follows links cannot use up the token.
 *
 * Invariants of the page:
 *  U1  a value reaches HTML only through html_put() and its %s, which escapes markup and writes
 *      control characters, terminal sequences and directional marks as visible text;
 *  U2  GET changes nothing; a POST needs the cookie, the token of its form and an Origin, if there
 *      is one, of this server;
 *  U3  an invitation is valid once and for a short time; only hashes of invitations and cookies
 *      are kept;
 *  U4  memory does not grow with open pages: streams, visits, invitations and answers have bounds,
 *      and a client that does not read is disconnected;
 *  U5  the page adds no right: its actions are functions of the owner, which apply the policy with
 *      its floors. */
#ifndef CORRAL_UI_UI_H
#define CORRAL_UI_UI_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The restrictions of a list; "": none. */
struct ui_query {
	char search[256], before[256], kind[64], state[32];
};

struct ui_fault {
	int status; /* 400, 404, 409, 500 */
	char what[360], fix[360];
};

struct ui_source {
	void *arg;
	/* The JSON text of a view: "overview", "session/ID", …  -1 with *f. */
	int (*view)(void *arg, const char *name, const struct ui_query *q, struct buf *out,
		    struct ui_fault *f);
	/* "answer" with the id of a question and "allow", "allow-for-run" or "refuse"; "apply" and
	 * "discard" with the id of a pending copy and "". */
	int (*act)(void *arg, const char *action, const char *id, const char *word,
		   struct ui_fault *f);
};

struct ui;

/* Listens on an address of 127.0.0.0/8 and a port that the kernel chooses; not on 127.0.0.1,
 * because a browser sends the cookies of that address to every other server on it. */
int ui_open(const struct ui_source *source, struct ui **ret, struct err *e);
void ui_free(struct ui *u);

/* For the owner's loop, as in http/server.h.  ui_turn() returns milliseconds, or -1. */
int ui_fd(const struct ui *u);
int ui_turn(struct ui *u);

/* Pages that are open. */
size_t ui_pages(const struct ui *u);

/* An address to open, with a token of one use. */
#define UI_URL_MAX 160
void ui_invite(struct ui *u, char ret_url[UI_URL_MAX]);

/* Something changed: every open page gets the event.  json is one object without a newline.  The
 * owner calls ui_turn() afterwards. */
void ui_event(struct ui *u, const char *kind, const char *json, size_t len);

#endif
