/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the page to the daemon: its views, actions and events, and its descriptor in the loop.
 *
 * Should:   listen from the first page.open on, not before.
 * Must not: act for the page in a way that the admin socket could not.
 * Fails:    with the fault of the view or action. */
#include "session/ui_page.h"

#include "base/clock.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/overview.h"
#include "ui/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct daemon_page {
	struct ui *ui;
	struct watch watch;
	struct overview_subscriber events;
	bool subscribed;
	int64_t due; /* CLOCK_MONOTONIC; 0: nothing is */
};

/* ---- data ---- */

static int give_fault(const struct fault *from, struct ui_fault *to) {
	to->status = from->code == FAULT_NO_SESSION         ? 404
		     : from->code == MESSAGE_INVALID_PARAMS ? 400
		     : from->e.kind == ERR_REFUSED          ? 409
							    : 500;
	(void)snprintf(to->what, sizeof to->what, "%s", from->e.what);
	(void)snprintf(to->fix, sizeof to->fix, "%s", from->e.fix);
	return -1;
}

static const char *given(const char *text) {
	return text[0] == '\0' ? NULL : text;
}

static int view(void *arg, const char *name, const struct ui_query *q, struct buf *out,
		struct ui_fault *f) {
	struct fault why = {.code = FAULT_FAILED};
	const struct overview_query query = {.search = given(q->search),
					     .before = given(q->before),
					     .kind = given(q->kind),
					     .state = given(q->state)};

	return overview_view(arg, name, &query, out, &why) == 0 ? 0 : give_fault(&why, f);
}

/* U5: the functions of the admin socket, which judge as a verb of the terminal does. */
static int act(void *arg, const char *action, const char *id, const char *word,
	       struct ui_fault *f) {
	struct fault why = {.code = FAULT_FAILED};
	struct daemon *d = arg;
	struct buf done;
	int rc;

	buf_init(&done);
	if (streq(action, "answer")) {
		rc = overview_answer(d, id, word, &done, &why);
	} else if (streq(action, "apply")) {
		rc = overview_apply(d, id, &done, &why);
	} else {
		rc = overview_discard(d, id, &done, &why);
	}
	buf_done(&done);
	return rc == 0 ? 0 : give_fault(&why, f);
}

/* ---- the loop ---- */

static void event(void *arg, const char *kind, const char *json, size_t len) {
	struct daemon_page *p = arg;

	ui_event(p->ui, kind, json, len);
	p->due = clock_ms();
}

/* While no page is open, nothing has to be watched for it. */
static void subscribe(struct daemon *d) {
	struct daemon_page *p = d->page;
	bool wanted = ui_pages(p->ui) > 0;

	if (wanted && !p->subscribed) {
		overview_subscribe(d, &p->events);
	} else if (!wanted && p->subscribed) {
		overview_unsubscribe(d, &p->events);
	}
	p->subscribed = wanted;
}

static void turn(struct daemon *d) {
	int wait = ui_turn(d->page->ui);

	d->page->due = wait < 0 ? 0 : clock_ms() + wait;
	subscribe(d);
}

static void ready(struct watch *w, uint32_t events) {
	(void)events;
	turn(w->owner);
}

int64_t ui_page_check(struct daemon *d, int64_t now) {
	if (d->page == NULL) {
		return 0;
	}
	if (d->page->due != 0 && now >= d->page->due) {
		turn(d);
	}
	return d->page->due;
}

bool ui_page_is_open(const struct daemon *d) {
	return d->page != NULL && ui_pages(d->page->ui) > 0;
}

void ui_page_end(struct daemon *d) {
	if (d->page == NULL) {
		return;
	}
	if (d->page->subscribed) {
		overview_unsubscribe(d, &d->page->events);
	}
	ui_free(d->page->ui);
	free(d->page);
	d->page = NULL;
}

static int begin(struct daemon *d, struct err *e) {
	const struct ui_source source = {.arg = d, .view = view, .act = act};
	struct daemon_page *p = calloc(1, sizeof *p);

	if (p == NULL) {
		return err_memory(e, "ui");
	}
	if (ui_open(&source, &p->ui, e) != 0) {
		free(p);
		return -1;
	}
	p->watch = (struct watch){.fd = ui_fd(p->ui), .ready = ready, .owner = d};
	p->events = (struct overview_subscriber){.event = event, .arg = p};
	d->page = p;
	if (daemon_loop_watch(&d->loop, &p->watch, EPOLLIN, e) != 0) {
		ui_page_end(d);
		return -1;
	}
	return 0;
}

int ui_page_open(struct request *r, json_t **ret, struct fault *f) {
	struct daemon *d = r->conn->daemon;
	char url[UI_URL_MAX];

	if (request_unpack(r, f, "{}") != 0 || (d->page == NULL && begin(d, &f->e) != 0)) {
		return -1;
	}
	ui_invite(d->page->ui, url);
	*ret = json_pack("{s:s}", "url", url);
	return 0;
}
