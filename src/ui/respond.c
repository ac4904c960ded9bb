/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of the page.
 *
 * Should:   give every response the policy that keeps scripts, frames and other sites out.
 * Must not: let a value into a header that was not checked.
 * Fails:    out of memory, with status 503. */
#include "ui/server.h"

#include "ui/page.h"

/* No source but this server; no inline script or style, no frame, no plug-in, no other base. */
#define CONTENT_POLICY                                                                             \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "    \
	"'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

void respond_fields(struct http_exchange *x) {
	http_exchange_field(x, "Content-Security-Policy", CONTENT_POLICY);
	http_exchange_field(x, "X-Frame-Options", "DENY");
	/* Not no-referrer: with that a browser sends "Origin: null" with a form. */
	http_exchange_field(x, "Referrer-Policy", "same-origin");
	http_exchange_field(x, "Cross-Origin-Opener-Policy", "same-origin");
	http_exchange_field(x, "Cross-Origin-Resource-Policy", "same-origin");
}

void respond_html(struct http_exchange *x, int status, struct buf *body) {
	bool failed = buf_failed(body);

	respond_fields(x);
	http_exchange_reply(x, failed ? 503 : status, "text/html; charset=utf-8",
			    failed ? "" : body->data, failed ? 0 : body->len);
}

void respond_redirect(struct http_exchange *x, const char *path) {
	respond_fields(x);
	http_exchange_field(x, "Location", path);
	http_exchange_reply(x, 303, NULL, NULL, 0);
}

void respond_sentence(struct http_exchange *x, int status, const char *form, const char *title,
		      const struct ui_fault *why) {
	static const struct ui_query none;
	struct buf body;
	struct ui_page p = {.out = &body, .form = form, .path = "", .title = title, .query = &none};

	buf_init(&body);
	page_begin(&p, "");
	html_put(&body, "<div class=sentence><h1>%s</h1><p>%s</p>", title, why->what);
	if (why->fix[0] != '\0') {
		html_put(&body, "<p class=fix>%s</p>", why->fix);
	}
	buf_puts(&body,
		 form != NULL ? "<p><a href=/>Back to the first page</a></p></div>" : "</div>");
	page_end(&p);
	respond_html(x, status, &body);
	buf_done(&body);
}
