/* SPDX-License-Identifier: Apache-2.0 */
/* The page's state.  Only for ui/server.c, ui/respond.c and ui/stream.c. */
#ifndef CORRAL_UI_SERVER_H
#define CORRAL_UI_SERVER_H

#include "http/server.h"
#include "ui/auth.h"
#include "ui/ui.h"

/* Bounds of U4. */
#define STREAMS_MAX 24                       /* open pages that get events */
#define STREAM_QUEUE_MAX ((size_t)64 * 1024) /* bytes that a page has not read */
#define FORM_MAX 4096

struct stream {
	struct http_exchange *x;  /* NULL: a free place */
	struct token_hash cookie; /* of its visit: the stream ends with it */
	int64_t since;
	bool lost; /* events were left out: the page gets a note when it reads again */
};

struct ui {
	struct ui_source source;
	struct http_server *http;
	struct http_options options;
	struct auth auth;
	struct stream streams[STREAMS_MAX];
};

/* ---- respond.c ---- */

/* The fields of every response; before it begins. */
void respond_fields(struct http_exchange *x);
void respond_html(struct http_exchange *x, int status, struct buf *body);
/* To a path of this server. */
void respond_redirect(struct http_exchange *x, const char *path);
/* A page of one sentence and its remedy; form NULL: without navigation. */
void respond_sentence(struct http_exchange *x, int status, const char *form, const char *title,
		      const struct ui_fault *why);

/* ---- stream.c ---- */

void stream_open(struct ui *u, struct http_exchange *x, const struct visit *v);
void stream_gone(struct ui *u, const struct http_exchange *x);
/* Ends the streams of visits that are over: signed out, too old, or displaced by others. */
void stream_end_strangers(struct ui *u);

/* ---- route.c ---- */

/* A GET of a visitor. */
void route_get(struct ui *u, struct http_exchange *x, const struct visit *v);

#endif
