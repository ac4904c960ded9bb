/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the questions of runs, and sends the answers (session/questions.h).
 *
 * Should:   drop a question when the run withdraws it or ends.
 * Must not: answer by itself; send an answer twice; offer "always", which changes the user's policy
 *           file.
 * Fails:    closed: without an answer the run refuses at its time-out (ask.timeout), and at once
 *           when its channel ends. */
#include "session/questions.h"

#include "base/auto.h"
#include "base/str.h"
#include "rpc/message.h"
#include "session/overview_views.h"
#include "session/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* A question has two paths and a sentence. */
#define LINE_BYTES ((size_t)64 * 1024)

/* ---- one question ---- */

static json_t *question_json(const struct asker_run *a, const struct waiting_question *q) {
	static const char *const members[] = {"op", "path", "host", "grant", "why"};
	char id[24];
	json_t *value = json_object();

	(void)snprintf(id, sizeof id, "%llu", (unsigned long long)q->id);
	(void)json_object_set_new(value, "id", json_string(id));
	(void)json_object_set_new(value, "run", json_string(a->run));
	(void)json_object_set_new(value, "pid", json_integer(a->pid));
	(void)json_object_set_new(value, "workspace", json_string(a->workspace));
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *member = json_object_get(q->value, members[i]);
		(void)json_object_set(value, members[i], member == NULL ? json_null() : member);
	}
	(void)json_object_set_new(value, "asked", json_integer(q->asked));
	(void)json_object_set_new(value, "until", json_integer(q->until));
	(void)json_object_set_new(value, "answers",
				  json_pack("[s, s, s]", "allow", "allow-for-run", "refuse"));
	return value;
}

static void forget(struct waiting_question *q) {
	json_decref(q->value);
	*q = (struct waiting_question){.id = 0};
}

static void report_answered(struct daemon *d, const struct waiting_question *q,
			    const char *answer) {
	char id[24];

	(void)snprintf(id, sizeof id, "%llu", (unsigned long long)q->id);
	overview_event(d, "answered", json_pack("{s:s, s:s}", "id", id, "answer", answer));
}

static void add_question(struct asker_run *a, json_t *value, uint64_t number) {
	struct daemon *d = a->daemon;

	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct waiting_question *q = &a->items[i];
		if (q->id == 0) {
			int64_t now = daemon_now();
			*q = (struct waiting_question){
				.id = ++d->last_question,
				.number = number,
				.asked = now,
				.until = now +
					 json_integer_value(json_object_get(value, "timeout_ms")),
				.value = json_incref(value)};
			overview_event(d, "question",
				       overview_is_watched(d) ? question_json(a, q) : NULL);
			return;
		}
	}
}

static void withdraw(struct asker_run *a, uint64_t number, const char *reason) {
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		struct waiting_question *q = &a->items[i];
		if (q->id != 0 && q->number == number) {
			report_answered(a->daemon, q, reason == NULL ? "withdrawn" : reason);
			forget(q);
		}
	}
}

/* ---- the channel of a run ---- */

static void drop_run(struct asker_run *a) {
	struct daemon *d = a->daemon;
	struct err e = {0};

	for (struct asker_run **at = &d->askers; *at != NULL; at = &(*at)->next) {
		if (*at == a) {
			*at = a->next;
			break;
		}
	}
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		if (a->items[i].id != 0) {
			report_answered(d, &a->items[i], "ended");
			forget(&a->items[i]);
		}
	}
	(void)daemon_loop_watch(&d->loop, &a->watch, 0, &e); /* close() removes it as well */
	daemon_closes();
	drop_fd(&a->watch.fd);
	daemon_closed();
	frame_reader_done(&a->in);
	free(a);
}

static bool take_line(struct asker_run *a, const char *line, size_t len) {
	json_t *value = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	const char *type = json_string_value(json_object_get(value, "type"));
	json_int_t number = json_integer_value(json_object_get(value, "id"));
	bool good = type != NULL && number > 0;

	if (good && streq(type, "ask")) {
		add_question(a, value, (uint64_t)number);
	} else if (good && streq(type, "withdrawn")) {
		withdraw(a, (uint64_t)number, json_string_value(json_object_get(value, "reason")));
	}
	json_decref(value);
	return good;
}

static void run_ready(struct watch *w, uint32_t events) {
	struct asker_run *a = w->owner;
	char *line = NULL;
	size_t len = 0;

	(void)events;
	/* A read, and the lines of the buffer. */
	for (bool first = true;; first = false) {
		a->in.held = !first;
		enum frame_event got = frame_next(&a->in, &line, &len);
		if (got == FRAME_AGAIN) {
			break;
		}
		if (got != FRAME_LINE || !take_line(a, line, len)) {
			drop_run(a); /* its end, or not a run of Corral */
			return;
		}
	}
	a->in.held = false;
}

static size_t count_runs(const struct daemon *d) {
	size_t n = 0;

	for (const struct asker_run *a = d->askers; a != NULL; a = a->next) {
		n++;
	}
	return n;
}

static int check_channel(int fd, struct fault *f) {
	int domain = 0, type = 0;
	socklen_t len = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || domain != AF_UNIX ||
	    type != SOCK_STREAM) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "the descriptor is not a stream socket of AF_UNIX");
	}
	return 0;
}

static int add_run(struct conn *c, const char *run, const char *workspace, struct fault *f) {
	struct daemon *d = c->daemon;
	struct asker_run *a = calloc(1, sizeof *a);
	struct peer peer;

	if (a == NULL || peer_of(c->watch.fd, &peer, &f->e) != 0) {
		free(a);
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	*a = (struct asker_run){.daemon = d, .pid = peer.pid};
	peer_done(&peer);
	a->watch = (struct watch){.fd = c->fds[0], .ready = run_ready, .owner = a};
	(void)snprintf(a->run, sizeof a->run, "%s", run);
	(void)snprintf(a->workspace, sizeof a->workspace, "%s", workspace); /* may be cut: shown */
	frame_reader_init(&a->in, a->watch.fd, LINE_BYTES);
	if (daemon_loop_watch(&d->loop, &a->watch, EPOLLIN, &f->e) != 0) {
		free(a);
		return -1;
	}
	c->nfds--;
	memmove(c->fds, c->fds + 1, c->nfds * sizeof *c->fds);
	a->next = d->askers;
	d->askers = a;
	return 0;
}

int questions_hold(struct request *r, json_t **ret, struct fault *f) {
	const char *run = "", *workspace = "";

	if (request_unpack(r, f, "{s:s, s?s}", "run", &run, "workspace", &workspace) != 0) {
		return -1;
	}
	if (strlen(run) >= CORRAL_ID_SIZE || r->conn->nfds != 1) {
		return fault_set(f, MESSAGE_INVALID_PARAMS,
				 "ask.hold needs the id of a run and one socket");
	}
	if (count_runs(r->conn->daemon) >= ASKERS_MAX) {
		return fault_set(f, FAULT_LIMIT,
				 "%d runs with --ask are connected, which is the limit",
				 ASKERS_MAX);
	}
	if (check_channel(r->conn->fds[0], f) != 0 || add_run(r->conn, run, workspace, f) != 0) {
		return -1;
	}
	*ret = json_object();
	return 0;
}

void questions_end(struct daemon *d) {
	while (d->askers != NULL) {
		drop_run(d->askers);
	}
}

/* ---- answers ---- */

static struct waiting_question *find(struct daemon *d, const char *id, struct asker_run **ret) {
	char *end = NULL;
	uint64_t want = id[0] >= '1' && id[0] <= '9' ? strtoull(id, &end, 10) : 0;

	for (struct asker_run *a = d->askers; want != 0 && *end == '\0' && a != NULL; a = a->next) {
		for (size_t i = 0; i < QUESTIONS_MAX; i++) {
			if (a->items[i].id == want) {
				*ret = a;
				return &a->items[i];
			}
		}
	}
	return NULL;
}

/* The words of the protocol of --ask-fd. */
static const char *word_of(const char *answer) {
	static const struct {
		const char *answer, *word;
	} words[] = {{"allow", "once"}, {"allow-for-run", "run"}, {"refuse", "deny"}};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (streq(answer, words[i].answer)) {
			return words[i].word;
		}
	}
	return NULL;
}

int questions_answer(struct daemon *d, const char *id, const char *answer, struct fault *f) {
	const char *word = word_of(answer);
	struct asker_run *a = NULL;
	struct waiting_question *q = find(d, id, &a);
	char line[64];

	if (word == NULL) {
		(void)fault_set(f, MESSAGE_INVALID_PARAMS, "\"%.32s\" is not an answer", answer);
		return err_fix(&f->e, "use allow, allow-for-run or refuse");
	}
	if (q == NULL) {
		(void)fault_set(f, FAULT_NO_SESSION,
				"there is no question %.24s: it was answered, or its time is over",
				id);
		return err_fix(&f->e, "list them: corral daemon questions");
	}
	int len = snprintf(line, sizeof line, "{\"id\":%llu,\"answer\":\"%s\"}\n",
			   (unsigned long long)q->number, word);
	report_answered(d, q, answer);
	forget(q);
	if (send(a->watch.fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) != len) {
		drop_run(a); /* it does not read, or is gone: it refuses */
		return fault_set(f, FAULT_STATE, "the run of this question has ended");
	}
	return 0;
}

struct listed {
	uint64_t id;
	json_t *value;
};

static int by_id(const void *a, const void *b) {
	const struct listed *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

/* The oldest first: a new question must not take the place of one that a person is about to
 * answer. */
int questions_view(const struct view_request *r, json_t **ret, struct fault *f) {
	auto_free struct listed *rows = calloc((size_t)ASKERS_MAX * QUESTIONS_MAX, sizeof *rows);
	json_t *list = json_array();
	size_t n = 0;

	for (const struct asker_run *a = r->daemon->askers; rows != NULL && a != NULL;
	     a = a->next) {
		for (size_t i = 0; i < QUESTIONS_MAX && n < (size_t)ASKERS_MAX * QUESTIONS_MAX;
		     i++) {
			const struct waiting_question *q = &a->items[i];
			if (q->id != 0) {
				rows[n++] = (struct listed){q->id, question_json(a, q)};
			}
		}
	}
	if (rows == NULL) {
		json_decref(list);
		return fault_set(f, FAULT_FAILED, "out of memory");
	}
	qsort(rows, n, sizeof *rows, by_id);
	for (size_t i = 0; i < n; i++) {
		(void)json_array_append_new(list, rows[i].value);
	}
	*ret = json_pack("{s:o}", "questions", list);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}
