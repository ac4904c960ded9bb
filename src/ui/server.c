/* SPDX-License-Identifier: Apache-2.0 */
/* The server of the page: admits requests, exchanges invitations for cookies, performs actions.
 *
 * Should:   explain to a person without a cookie how to get one.
 * Must not: change anything by GET (U2); act for a form that it did not make.
 * Fails:    closed. */
#include "ui/server.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "http/form.h"
#include "ui/assets.h"
#include "ui/page.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ASSETS "/assets/"
#define ID_MAX 64

/* ---- admission ---- */

/* A browser sends the origin of a request.  Another site may link to the page, no more. */
static bool is_foreign(const struct http_request *r) {
	struct http_span site, mode;
	int sites = http_request_field(r, "sec-fetch-site", &site);

	if (sites == 0 || (sites == 1 && (http_span_exactly(site, "same-origin") ||
					  http_span_exactly(site, "none")))) {
		return false;
	}
	return !http_span_exactly(r->method, "GET") ||
	       http_request_field(r, "sec-fetch-mode", &mode) != 1 ||
	       !http_span_exactly(mode, "navigate");
}

/* N1: a body is read only of a visitor, or for the exchange of an invitation. */
static struct http_refusal admit(void *arg, const struct http_request *r) {
	struct ui *u = arg;
	bool reads = http_span_exactly(r->method, "GET") || http_span_exactly(r->method, "HEAD");

	if (is_foreign(r)) {
		return (struct http_refusal){403, "the request was made by another site"};
	}
	if (!reads && !http_span_exactly(r->path, "/open") &&
	    auth_visit(&u->auth, r, clock_ms()) == NULL) {
		return (struct http_refusal){401, "this needs the cookie of the page: corral ui"};
	}
	return (struct http_refusal){0, NULL};
}

static void gone(void *arg, struct http_exchange *x) {
	stream_gone(arg, x);
}

/* ---- before the cookie ---- */

static void serve_asset(struct http_exchange *x) {
	struct http_span path = http_exchange_request(x)->path;
	const size_t prefix = sizeof ASSETS - 1;
	struct http_span name = {path.at + prefix, path.len - prefix};

	respond_fields(x);
	for (size_t i = 0; i < ui_assets_count; i++) {
		if (http_span_exactly(name, ui_assets[i].name)) {
			http_exchange_reply(x, 200, ui_assets[i].type, ui_assets[i].data,
					    ui_assets[i].len);
			return;
		}
	}
	http_exchange_reply(x, 404, NULL, NULL, 0);
}

static void refuse_stranger(struct http_exchange *x, int status, const char *why) {
	struct ui_fault f = {
		.fix = "Run this command, and open the address that it prints: corral ui"};

	(void)snprintf(f.what, sizeof f.what, "%s", why);
	respond_sentence(x, status, NULL, "Not signed in", &f);
}

/* A form with the token of the address: its POST exchanges it.  app.js sends it at once. */
static void show_open(struct ui *u, struct http_exchange *x) {
	static const struct ui_query none;
	char token[TOKEN_TEXT_LENGTH + 1];
	struct buf body;
	struct ui_page p = {.out = &body, .path = "", .title = "Open", .query = &none};

	if (!http_form_value(http_exchange_request(x)->query, "t", token, sizeof token) ||
	    !auth_is_invited(&u->auth, token, clock_ms())) {
		refuse_stranger(x, 401, "This address was used already, or is too old.");
		return;
	}
	buf_init(&body);
	page_begin(&p, "");
	html_put(&body,
		 "<div class=sentence><h1>Corral</h1><p>See what your agents do.</p>"
		 "<form method=post action=/open id=enter><input type=hidden name=t value=\"%s\">"
		 "<button class=yes>Open the page</button></form></div>",
		 token);
	page_end(&p);
	respond_html(x, 200, &body);
	sodium_memzero(body.data, buf_failed(&body) ? 0 : body.len);
	buf_done(&body);
	sodium_memzero(token, sizeof token);
}

static void get(void *arg, struct http_exchange *x) {
	struct ui *u = arg;
	const struct http_request *r = http_exchange_request(x);
	const struct visit *v;

	if (r->path.len > sizeof ASSETS - 1 && memcmp(r->path.at, ASSETS, sizeof ASSETS - 1) == 0) {
		serve_asset(x);
	} else if (http_span_exactly(r->path, "/open")) {
		show_open(u, x);
	} else if ((v = auth_visit(&u->auth, r, clock_ms())) == NULL) {
		refuse_stranger(x, 401, "This browser has no cookie of this page.");
	} else {
		route_get(u, x, v);
	}
}

/* ---- forms ---- */

static struct http_span form_of(const struct http_exchange *x) {
	const struct http_request *r = http_exchange_request(x);
	return (struct http_span){(const uint8_t *)r->body, r->body_len};
}

static void set_cookie(struct http_exchange *x, const char *value, long seconds) {
	char text[TOKEN_TEXT_LENGTH + 96];

	(void)snprintf(text, sizeof text,
		       UI_COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%ld", value,
		       seconds);
	http_exchange_field(x, "Set-Cookie", text);
	sodium_memzero(text, sizeof text);
}

static void enter(void *arg, struct http_exchange *x) {
	struct ui *u = arg;
	char token[TOKEN_TEXT_LENGTH + 1], cookie[TOKEN_TEXT_LENGTH + 1];

	if (!http_form_value(form_of(x), "t", token, sizeof token) ||
	    !auth_enter(&u->auth, token, cookie, clock_ms())) {
		refuse_stranger(x, 401, "This address was used already, or is too old.");
		return;
	}
	set_cookie(x, cookie, (long)(VISIT_MS / 1000));
	sodium_memzero(cookie, sizeof cookie);
	stream_end_strangers(u); /* of the visit that made room */
	respond_redirect(x, "/");
}

/* The visit of a form that the page made; NULL after the response to another. */
static struct visit *form_visit(struct ui *u, struct http_exchange *x) {
	struct visit *v = auth_visit(&u->auth, http_exchange_request(x), clock_ms());
	char token[FORM_TOKEN_LENGTH + 1];

	if (v == NULL) {
		refuse_stranger(x, 401, "This browser has no cookie of this page.");
		return NULL;
	}
	if (!http_form_value(form_of(x), "form", token, sizeof token) || !auth_form_is(v, token)) {
		respond_sentence(x, 403, v->form, "Refused",
				 &(struct ui_fault){.what = "The form was not made by this page.",
						    .fix = "Open the page again."});
		return NULL;
	}
	return v;
}

static void leave(void *arg, struct http_exchange *x) {
	struct visit *v = form_visit(arg, x);

	if (v != NULL) {
		auth_leave(v);
		stream_end_strangers(arg);
		set_cookie(x, "", 0);
		respond_sentence(x, 200, NULL, "Signed out",
				 &(struct ui_fault){.what = "The cookie is not valid any more.",
						    .fix = "To come back: corral ui"});
	}
}

/* Only a path of this server, of characters that cannot end a header or name another host. */
static bool is_way_back(const char *path) {
	return path[0] == '/' && path[1] != '/' &&
	       path[strspn(path,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.")] ==
		       '\0';
}

static void act(struct ui *u, struct http_exchange *x, const char *action) {
	const struct visit *v = form_visit(u, x);
	char id[ID_MAX], word[32], back[128];
	struct ui_fault f = {.status = 400, .what = "The form has no id."};

	if (v == NULL) {
		return;
	}
	struct http_span form = form_of(x);
	(void)http_form_value(form, "word", word, sizeof word); /* else "": none */
	bool way = http_form_value(form, "back", back, sizeof back) && is_way_back(back);
	if (!http_form_value(form, "id", id, sizeof id) || id[0] == '\0' ||
	    u->source.act(u->source.arg, action, id, word, &f) != 0) {
		respond_sentence(x, f.status, v->form, "Not done", &f);
		return;
	}
	respond_redirect(x, way ? back : "/");
}

static void answer(void *arg, struct http_exchange *x) {
	act(arg, x, "answer");
}

static void apply(void *arg, struct http_exchange *x) {
	act(arg, x, "apply");
}

static void discard(void *arg, struct http_exchange *x) {
	act(arg, x, "discard");
}

static const struct http_route http_routes[] = {
	{"POST", "/open", FORM_MAX, enter, .anonymous = true},
	{"POST", "/leave", FORM_MAX, leave},
	{"POST", "/answer", FORM_MAX, answer},
	{"POST", "/apply", FORM_MAX, apply},
	{"POST", "/discard", FORM_MAX, discard},
	{"GET", "/*", 0, get, .anonymous = true},
	{"HEAD", "/*", 0, get, .anonymous = true},
};

/* ---- open and free ---- */

/* 127.X.Y.Z with X from 64 to 127: no resolver, proxy or tool has a server there. */
static uint32_t some_address(void) {
	return (uint32_t)127 << 24 | (64 + randombytes_uniform(64)) << 16 |
	       randombytes_uniform(256) << 8 | (1 + randombytes_uniform(254));
}

int ui_open(const struct ui_source *source, struct ui **ret, struct err *e) {
	struct ui *u = calloc(1, sizeof *u);

	if (u == NULL) {
		return err_memory(e, "ui");
	}
	u->source = *source;
	u->options = (struct http_options){.routes = http_routes,
					   .nroutes = ARRAY_LEN(http_routes),
					   .admit = admit,
					   .gone = gone,
					   .arg = u,
					   .address = some_address(),
					   .makes_room = true};
	if (http_server_open(&u->options, 0, &u->http, e) != 0) {
		free(u);
		return -1;
	}
	*ret = u;
	return 0;
}

void ui_free(struct ui *u) {
	if (u != NULL) {
		http_server_free(u->http);
		sodium_memzero(&u->auth, sizeof u->auth);
		free(u);
	}
}

int ui_fd(const struct ui *u) {
	return http_server_fd(u->http);
}

int ui_turn(struct ui *u) {
	return http_server_turn(u->http);
}

void ui_invite(struct ui *u, char ret_url[UI_URL_MAX]) {
	char token[TOKEN_TEXT_LENGTH + 1];
	uint32_t a = u->options.address;

	auth_invite(&u->auth, token, clock_ms());
	(void)snprintf(ret_url, UI_URL_MAX, "http://%u.%u.%u.%u:%u/open?t=%s", a >> 24,
		       a >> 16 & 255, a >> 8 & 255, a & 255, http_server_port(u->http), token);
	sodium_memzero(token, sizeof token);
}
