/* SPDX-License-Identifier: Apache-2.0 */
/* Turns refused calls into questions, and answers into descriptors or errors.
 *
 * Should:   ask about each object once, answer every call that waits for it, record the answer.
 * Must not: wait: the loop of the run calls it when something has happened.
 * Fails:    closed (Y1): each error denies. */
#include "run/ask.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fdpass.h"
#include "base/hash.h"
#include "base/str.h"
#include "gate/ask.h"
#include "run/deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Denied objects that are remembered; the oldest is overwritten first. */
#define DENIED_MAX 1024
/* Answers in the result. */
#define GRANTS_MAX 100
/* How often a job in the background looks whether it may draw. */
#define AGAIN_MS 100

static const char *const reply_names[] = {
	[ASK_REPLY_NONE] = "deny", [ASK_REPLY_DENY] = "deny",     [ASK_REPLY_ONCE] = "once",
	[ASK_REPLY_RUN] = "run",   [ASK_REPLY_ALWAYS] = "always",
};

const char *ask_reply_name(enum ask_reply r) {
	return reply_names[r];
}

void ask_grants_done(struct grants *g) {
	arena_done(&g->arena);
	*g = (struct grants){0};
}

/* ---- denied questions ---- */

static uint64_t hash_of(const struct ask_object *o) {
	uint64_t hash = hash_fnv64(HASH_FNV64, o->op, strlen(o->op) + 1);

	return hash_fnv64(hash, o->name, strlen(o->name));
}

static bool was_denied(const struct asker *a, const struct ask_object *o) {
	uint64_t hash = hash_of(o);

	for (size_t i = 0; i < a->ndenied && i < DENIED_MAX; i++) {
		if (a->denied[i] == hash) {
			return true;
		}
	}
	return false;
}

static void note_denied(struct asker *a, const struct ask_object *o) {
	a->denied[a->ndenied++ % DENIED_MAX] = hash_of(o);
}

/* ---- answers to the broker ---- */

static void reply(const struct asker *a, const struct ask_question *call, int fd) {
	struct ask_answer answer = {.ticket = call->ticket, .error = fd < 0 ? call->error : 0};
	struct iovec body = {.iov_base = &answer, .iov_len = sizeof answer};
	auto_fd file = fd;

	/* ASK_WAITING answers fit; if the send fails, the run is ending. */
	(void)fdpass_send(a->channel, body, &file, file >= 0 ? 1 : 0, MSG_DONTWAIT);
}

static void reply_gate(const struct asker *a, const struct ask_question *call,
		       enum ask_reply answer) {
	const struct gate_answer g = {
		.id = call->ticket,
		.allowed = answer > ASK_REPLY_DENY,
		.for_ms = answer == ASK_REPLY_ONCE ? GATE_ONCE_MS : 0,
	};
	/* GATE_ASKS answers fit; if the send fails, the gate has ended. */
	(void)send(a->gate, &g, sizeof g, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Answers one call.  A file is opened for it now. */
static void grant_or_deny(const struct asker *a, const struct ask_object *o,
			  const struct ask_question *call, enum ask_reply answer) {
	bool granted = answer > ASK_REPLY_DENY;

	if (call->kind == ASK_HOST) {
		reply_gate(a, call, answer);
	} else {
		reply(a, call, granted ? a->r->calls.perform(a->r->calls.arg, o, call) : -1);
	}
}

/* ---- the end of a question ---- */

/* reply, by, note and count are those of `answer`; the rest is the question's. */
static void record(struct asker *a, const struct question *q, const struct grant *answer) {
	struct grants *g = &a->log;

	if (g->count == GRANTS_MAX ||
	    arena_grow(&g->arena, &g->items, g->count, &g->cap, sizeof *g->items) != 0) {
		g->more++;
		return;
	}
	struct grant *to = &g->items[g->count++];
	*to = *answer;
	to->op = q->object.op;
	to->name = arena_strdup(&g->arena, q->object.name);
	to->options = arena_strdup(&g->arena, q->object.options);
	to->host = q->object.host;
	to->note = answer->note == NULL || answer->note[0] == '\0'
			   ? NULL
			   : arena_strdup(&g->arena, answer->note);
	to->waited_ms = clock_ms() - q->asked_at;
}

static void release(struct asker *a, struct question *q) {
	a->r->calls.release(a->r->calls.arg, &q->object);
	*q = (struct question){.id = 0};
}

/* by: "user", "timeout", "error". */
static void settle(struct asker *a, struct question *q, enum ask_reply answer, const char *by) {
	char note[256] = "";
	bool granted = answer > ASK_REPLY_DENY;
	uint64_t count = 0;

	if (q->shown) {
		a->front.calls->withdraw(&a->front, q, streq(by, "user") ? NULL : by);
	}
	if (answer >= ASK_REPLY_RUN) {
		(void)a->r->calls.keep(a->r->calls.arg, &q->object, answer == ASK_REPLY_ALWAYS,
				       note, sizeof note); /* the note has the error */
		a->ndenied = 0;                            /* the grant may cover one of them */
	}
	for (size_t i = 0; i < ARRAY_LEN(a->t->waiters); i++) {
		struct ask_waiter *w = &a->t->waiters[i];
		if (w->question == q->id) {
			grant_or_deny(a, &q->object, &w->call, answer);
			w->question = 0;
			count++;
		}
	}
	if (!granted) {
		note_denied(a, &q->object);
	}
	record(a, q, &(struct grant){.reply = answer, .by = by, .note = note, .count = count});
	release(a, q);
}

static void settle_all(struct asker *a, const char *by) {
	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		if (a->t->questions[i].id != 0) {
			settle(a, &a->t->questions[i], ASK_REPLY_DENY, by);
		}
	}
}

static struct question *find(struct asker *a, uint64_t id) {
	for (size_t i = 0; id != 0 && i < ARRAY_LEN(a->t->questions); i++) {
		if (a->t->questions[i].id == id) {
			return &a->t->questions[i];
		}
	}
	return NULL;
}

/* ---- showing ---- */

static struct question *shown(struct asker *a) {
	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		if (a->t->questions[i].id != 0 && a->t->questions[i].shown) {
			return &a->t->questions[i];
		}
	}
	return NULL;
}

/* The oldest that is not shown. */
static struct question *next(struct asker *a) {
	struct question *first = NULL;

	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		struct question *q = &a->t->questions[i];
		if (q->id != 0 && !q->shown && (first == NULL || q->id < first->id)) {
			first = q;
		}
	}
	return first;
}

static void show_next(struct asker *a, int64_t now) {
	struct question *q;

	while (!a->failed && (q = next(a)) != NULL) {
		if (a->front.calls->one && shown(a) != NULL) {
			return;
		}
		if (q->until < 0) {
			q->until = now + a->r->timeout_ms;
		}
		enum ask_shown s = a->front.calls->show(&a->front, q, q->until - now);
		a->again_at = s == ASK_SHOWN_LATER ? now + AGAIN_MS : -1;
		if (s == ASK_SHOWN_LATER) {
			return;
		}
		q->shown = s == ASK_SHOWN;
		if (!q->shown) {
			settle(a, q, ASK_REPLY_DENY, "error");
		}
	}
}

/* ---- new calls ---- */

static struct question *equal(struct asker *a, const struct ask_object *o) {
	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		struct question *q = &a->t->questions[i];
		if (q->id != 0 && streq(q->object.op, o->op) && streq(q->object.name, o->name)) {
			return q;
		}
	}
	return NULL;
}

static struct question *add(struct asker *a, const struct ask_object *o, int64_t now) {
	if (a->asked == ASK_QUESTIONS_MAX) {
		return NULL; /* Y3 */
	}
	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		if (a->t->questions[i].id == 0) {
			a->t->questions[i] = (struct question){
				.id = ++a->asked, .object = *o, .asked_at = now, .until = -1};
			return &a->t->questions[i];
		}
	}
	return NULL;
}

static void wait_for(struct asker *a, const struct question *q, const struct ask_question *call) {
	for (size_t i = 0; i < ARRAY_LEN(a->t->waiters); i++) {
		if (a->t->waiters[i].question == 0) {
			a->t->waiters[i] = (struct ask_waiter){.question = q->id, .call = *call};
			return;
		}
	}
	grant_or_deny(a, &q->object, call, ASK_REPLY_DENY); /* the table is full */
}

static void consider(struct asker *a, const struct ask_question *call, int64_t now) {
	struct ask_object o = {0};
	const struct ask_calls *calls = &a->r->calls;
	enum ask_verdict v = a->failed ? ASK_DENY : calls->consider(calls->arg, call, &o);
	struct question *q = NULL;

	if (v == ASK_GRANT) {
		grant_or_deny(a, &o, call, ASK_REPLY_RUN);
		calls->release(calls->arg, &o);
		return;
	}
	if (v == ASK_USER && !was_denied(a, &o)) {
		q = equal(a, &o);
		if (q == NULL) {
			q = add(a, &o, now);
			a->log.more += q == NULL;
			if (q != NULL) {
				o = (struct ask_object){0}; /* the question has it */
			}
		}
	}
	if (q == NULL) {
		grant_or_deny(a, &o, call, ASK_REPLY_DENY);
	} else {
		wait_for(a, q, call);
	}
	calls->release(calls->arg, &o);
}

/* The caller is gone.  A question without a caller is withdrawn. */
static void forget(struct asker *a, uint64_t ticket) {
	uint64_t id = 0;
	bool others = false;

	for (size_t i = 0; i < ARRAY_LEN(a->t->waiters); i++) {
		struct ask_waiter *w = &a->t->waiters[i];
		if (w->question != 0 && w->call.ticket == ticket) {
			id = w->question;
			w->question = 0;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(a->t->waiters); i++) {
		others |= id != 0 && a->t->waiters[i].question == id;
	}
	struct question *q = others ? NULL : find(a, id);
	if (q != NULL) {
		if (q->shown) {
			a->front.calls->withdraw(&a->front, q, "ended");
		}
		record(a, q, &(struct grant){.reply = ASK_REPLY_DENY, .by = "ended"});
		release(a, q);
	}
}

static void receive(struct asker *a, int64_t now) {
	struct ask_question q;
	struct iovec body = {.iov_base = &q, .iov_len = sizeof q};
	int fds[FDPASS_MAX];
	size_t n = 0;

	int r = fdpass_receive(a->channel, body, fds, &n);
	while (n > 0) {
		drop_fd(&fds[--n]);
	}
	if (r == -EAGAIN || r == -EINTR) {
		return;
	}
	if (r < 0) {
		a->channel = -1; /* pid 1 has ended */
		settle_all(a, "ended");
		return;
	}
	q.path[sizeof q.path - 1] = '\0'; /* pid 1 may be compromised */
	q.error = q.error > 0 && q.error < 4096 ? q.error : EACCES;
	if (q.kind == ASK_OPEN) {
		consider(a, &q, now);
	} else if (q.kind == ASK_GONE) {
		forget(a, q.ticket);
	}
}

static void receive_host(struct asker *a, int64_t now) {
	struct gate_question g;
	struct ask_question q = {.kind = ASK_HOST};
	ssize_t n = recv(a->gate, &g, sizeof g, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n != (ssize_t)sizeof g) {
		a->gate = -1; /* the gate has ended */
		return;
	}
	g.name[sizeof g.name - 1] = '\0'; /* the gate may be compromised */
	q.ticket = g.id;
	q.flags = g.port;
	if (g.name[0] != '\0') {
		memcpy(q.path, g.name, sizeof g.name);
	} else {
		(void)ip_text(&g.ip, q.path); /* it fits */
	}
	consider(a, &q, now);
}

/* ---- the run's loop ---- */

int ask_begin_run(struct asker *a, const struct ask_request *r, struct err *e) {
	*a = (struct asker){.r = r,
			    .channel = -1,
			    .gate = -1,
			    .again_at = -1,
			    .front.fd = -1,
			    .log.asked = r != NULL};
	if (r == NULL) {
		return 0;
	}
	a->denied = calloc(DENIED_MAX, sizeof *a->denied);
	a->t = calloc(1, sizeof *a->t);
	if (a->denied == NULL || a->t == NULL) {
		return err_memory(e, "ask");
	}
	int rc = r->fd >= 0 ? ask_line_open(&a->front, r->fd, e) : ask_terminal_open(&a->front, e);
	a->front.daemon = r->daemon;
	return rc;
}

void ask_attach(struct asker *a, int channel, int gate) {
	a->channel = channel;
	a->gate = gate;
}

void ask_poll(const struct asker *a, struct pollfd slots[ASK_SLOTS]) {
	slots[0] = (struct pollfd){.fd = a->r == NULL ? -1 : a->channel, .events = POLLIN};
	slots[1] = (struct pollfd){.fd = -1};
	slots[2] = (struct pollfd){.fd = a->r == NULL ? -1 : a->gate, .events = POLLIN};
	if (a->r != NULL && !a->failed) {
		a->front.calls->poll(&a->front, &slots[1]);
	}
}

static void take_answers(struct asker *a, const struct pollfd *slot) {
	struct asked_answer answer;
	int got;

	while (!a->failed &&
	       (got = a->front.calls->step(&a->front, slot, &answer, &a->log.end)) != 0) {
		if (got < 0) {
			a->failed = true; /* Y1 */
			settle_all(a, "error");
			return;
		}
		struct question *q = find(a, answer.id);
		if (q != NULL && q->shown) {
			settle(a, q, answer.reply, "user");
		}
	}
}

void ask_step(struct asker *a, const struct pollfd slots[ASK_SLOTS], int64_t now) {
	if (a->r == NULL) {
		return;
	}
	if (slots[1].revents != 0) {
		take_answers(a, &slots[1]);
	}
	if (slots[0].revents != 0) {
		receive(a, now);
	}
	if (slots[2].revents != 0) {
		receive_host(a, now);
	}
	show_next(a, now);
}

void ask_clock(struct asker *a, int64_t now) {
	if (a->r == NULL) {
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(a->t->questions); i++) {
		struct question *q = &a->t->questions[i];
		if (q->id != 0 && q->until >= 0 && now >= q->until) {
			settle(a, q, ASK_REPLY_DENY, "timeout");
		}
	}
	show_next(a, now);
	if (next(a) == NULL) {
		a->front.calm_at = 0;
	}
}

void ask_output(struct asker *a, bool piped, bool unread) {
	a->front.piped = piped;
	a->front.unread = unread;
}

int64_t ask_due(const struct asker *a) {
	int64_t at = a->r == NULL ? -1 : a->again_at;

	for (size_t i = 0; a->r != NULL && i < ARRAY_LEN(a->t->questions); i++) {
		if (a->t->questions[i].id != 0) {
			deadline_sooner(&at, a->t->questions[i].until);
		}
	}
	return at;
}

bool ask_has_terminal(const struct asker *a) {
	return a->front.drawn || (a->front.piped && a->front.calm_at > 0);
}

void ask_interrupt(struct asker *a, int64_t now) {
	struct question *q = a->front.drawn ? shown(a) : NULL;

	if (q != NULL) {
		settle(a, q, ASK_REPLY_DENY, "user");
		show_next(a, now);
	}
}

void ask_end_run(struct asker *a, struct grants *ret) {
	if (a->r != NULL) {
		if (a->t != NULL) {
			settle_all(a, "ended");
		}
		if (a->front.calls != NULL) {
			a->front.calls->done(&a->front);
		}
		free(a->denied);
		free(a->t);
	}
	*ret = a->log;
	*a = (struct asker){.channel = -1};
}
