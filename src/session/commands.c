/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the last commands of each session, and its JSON.
 *
 * Should:   bound the bytes of a request and of a result.
 * Must not: keep variables of the environment, or captured output apart from the ring.
 * Fails:    open: a command that cannot be recorded still runs. */
#include "session/commands.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/str.h"
#include "session/overview_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAX ((size_t)2048)
#define RESULT_MAX ((size_t)64 * 1024)
#define RESULT_AS_IS ((size_t)8 * 1024)
#define WORD_MAX ((size_t)512)
/* Of one event. */
#define PIECE ((size_t)16 * 1024)

struct command_table *commands_new(const struct daemon *d, const char *session) {
	struct command_table *c = calloc(1, sizeof *c);

	if (c != NULL) {
		(void)snprintf(c->session, sizeof c->session, "%s", session);
		c->output = commands_file_open(d->places.state);
	}
	return c;
}

static void forget(struct command *c) {
	free(c->request);
	free(c->result);
	json_decref(c->decisions);
	*c = (struct command){.call = 0};
}

void commands_free(struct command_table *c) {
	if (c == NULL) {
		return;
	}
	for (size_t i = 0; i < COMMANDS_KEPT; i++) {
		forget(&c->items[i]);
	}
	drop_fd(&c->output);
	free(c);
}

void commands_keep(struct daemon *d, struct command_table *c) {
	size_t n = 0;

	if (c == NULL) {
		return;
	}
	c->next = d->ended;
	d->ended = c;
	for (struct command_table **at = &d->ended; *at != NULL; at = &(*at)->next) {
		if (++n > COMMANDS_ENDED_MAX) {
			commands_free(*at);
			*at = NULL;
			return;
		}
	}
}

void commands_free_ended(struct daemon *d) {
	while (d->ended != NULL) {
		struct command_table *next = d->ended->next;
		commands_free(d->ended);
		d->ended = next;
	}
}

/* ---- requests and results ---- */

static void put_words(struct emit *j, const json_t *argv) {
	size_t i, total = 0;
	const json_t *word;
	bool complete = true;

	emit_array(j, "argv");
	json_array_foreach(argv, i, word) {
		size_t len = json_string_length(word);
		size_t keep = len < WORD_MAX ? len : WORD_MAX;
		complete = complete && keep == len && total + keep < REQUEST_MAX;
		if (total + keep < REQUEST_MAX) {
			emit_bytes(j, NULL, json_string_value(word), keep);
		}
		total += keep;
	}
	emit_end_array(j);
	emit_bool(j, "argv_complete", complete);
}

/* A tool's arguments are words of a model: the first bytes of each text. */
static void put_arguments(struct emit *j, json_t *arguments) {
	const char *name;
	json_t *value;
	size_t total = 0;

	emit_object(j, "arguments");
	json_object_foreach(arguments, name, value) {
		size_t len = json_string_length(value);
		if (json_is_string(value) && strlen(name) < 64 && total < REQUEST_MAX) {
			emit_bytes(j, name, json_string_value(value),
				   len < WORD_MAX ? len : WORD_MAX);
			total += len < WORD_MAX ? len : WORD_MAX;
		}
	}
	emit_end_object(j);
}

static char *request_text(const json_t *request) {
	struct buf out;
	struct emit j;
	const json_t *argv = json_object_get(request, "argv");
	const char *tool = json_string_value(json_object_get(request, "tool"));

	buf_init(&out);
	emit_init(&j, &out, false);
	emit_object(&j, NULL);
	if (argv != NULL) {
		put_words(&j, argv);
	} else {
		emit_string(&j, "tool", tool);
		put_arguments(&j, json_object_get(request, "arguments"));
	}
	emit_string(&j, "cwd", json_string_value(json_object_get(request, "cwd")));
	emit_end_object(&j);
	if (buf_failed(&out)) {
		buf_done(&out);
		return NULL;
	}
	return buf_take(&out);
}

static struct command *find(struct command_table *c, uint32_t call) {
	struct command *item = c == NULL || call == 0 ? NULL : &c->items[call % COMMANDS_KEPT];

	return item != NULL && item->call == call ? item : NULL;
}

static json_t *command_json(const struct command_table *c, const struct command *item);

static void report(const struct live *l, const struct command *item) {
	if (overview_is_watched(l->daemon)) {
		overview_event(l->daemon, "run", command_json(l->commands, item));
	}
}

void commands_started(struct live *l, uint32_t call, const json_t *request) {
	if (l->commands == NULL) {
		return;
	}
	struct command *item = &l->commands->items[call % COMMANDS_KEPT];
	forget(item);
	const json_t *started = json_object_get(request, "started"); /* of the short way */
	*item = (struct command){.call = call,
				 .started = started == NULL ? daemon_now()
							    : json_integer_value(started),
				 .request = request_text(request)};
	report(l, item);
	overview_output_soon(l->daemon);
}

/* The members of a result that are about the command, not the bytes that it printed. */
static json_t *without_output(json_t *message) {
	json_t *result = json_object_get(message, "result");
	static const char *const output[] = {"stdout", "stderr", "guarantees", "content"};

	result = json_is_object(result) ? result : message;
	for (size_t i = 0; i < ARRAY_LEN(output); i++) {
		(void)json_object_del(result, output[i]); /* it need not be there */
	}
	return result;
}

static void report_denials(const struct live *l, const struct command *item, const json_t *result) {
	char id[SESSION_ID_LENGTH + 16];
	size_t i;
	json_t *row;

	(void)snprintf(id, sizeof id, "%s.%u", l->id, item->call);
	json_array_foreach(json_object_get(result, "denials"), i, row) {
		json_t *event = json_copy(row);
		(void)json_object_set_new(event, "session", json_string(l->id));
		(void)json_object_set_new(event, "run", json_string(id));
		overview_event(l->daemon, "denial", event);
	}
}

/* Text with every byte that is not UTF-8 replaced; terminal sequences stay, escaped as JSON. */
static json_t *text_value(const char *bytes, size_t len) {
	struct buf out;
	struct emit j;

	buf_init(&out);
	emit_init(&j, &out, false);
	emit_bytes(&j, NULL, bytes, len);
	json_t *value = buf_failed(&out) ? NULL
					 : json_loadb(out.data, out.len,
						      JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	buf_done(&out);
	return value == NULL ? json_string("") : value;
}

/* Without the beginning of a UTF-8 character at its end: the rest comes with the next piece. */
static size_t whole_length(const char *bytes, size_t len) {
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)bytes[len - back];
		size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
		if (c < 0x80 || c >= 0xc0) {
			return size > back && len > back ? len - back : len;
		}
	}
	return len;
}

static void report_output(const struct live *l, struct command *item) {
	char bytes[PIECE], id[SESSION_ID_LENGTH + 16];
	struct commands_reading r = {.call = item->call, .from = item->shown};
	size_t len = commands_file_read(l->commands->output, &r, bytes, sizeof bytes);

	if (len == 0) {
		return;
	}
	len = item->ended ? len : whole_length(bytes, len);
	(void)snprintf(id, sizeof id, "%s.%u", l->id, item->call);
	overview_event(l->daemon, "output",
		       json_pack("{s:s, s:s, s:I, s:I, s:o}", "session", l->id, "run", id, "from",
				 (json_int_t)r.from, "skipped", (json_int_t)(r.from - item->shown),
				 "text", text_value(bytes, len)));
	item->shown = r.from + len;
}

static char *result_text(const json_t *result) {
	static const char cut[] = "{\"cut\":true}";
	char *text = json_dumps(result, JSON_COMPACT);

	if (text != NULL && strlen(text) > RESULT_MAX) {
		memcpy(text, cut, sizeof cut);
	}
	return text;
}

/* A short text stays as it is, and is parsed when a view reads it. */
static char *kept_text(const char *text) {
	if (strlen(text) <= RESULT_AS_IS) {
		return strdup(text);
	}
	json_t *message = json_loads(text, JSON_ALLOW_NUL, NULL);
	char *kept = message == NULL ? NULL : result_text(without_output(message));
	json_decref(message);
	return kept;
}

static json_t *result_json(const struct command *item) {
	json_t *message =
		item->result == NULL ? NULL : json_loads(item->result, JSON_ALLOW_NUL, NULL);
	json_t *result = message == NULL ? NULL : json_incref(without_output(message));

	json_decref(message);
	return result;
}

/* Whether the run of a command that has ended has this id. */
static bool is_run(const struct command *item, const char *id) {
	json_t *result = result_json(item);
	const char *run = json_string_value(json_object_get(result, "id"));
	bool same = run != NULL && streq(run, id);

	json_decref(result);
	return same;
}

void commands_finished(struct live *l, uint32_t call, const char *text) {
	struct command *item = find(l->commands, call);

	if (item == NULL) {
		return;
	}
	item->ended = true;
	item->finished = daemon_now();
	free(item->result); /* a supervisor that reports an end twice */
	item->result = kept_text(text);
	json_decref(item->decisions); /* the result has them all */
	item->decisions = NULL;
	item->undecided = 0;
	if (!overview_is_watched(l->daemon)) {
		return;
	}
	json_t *result = result_json(item);
	report_output(l, item);
	report(l, item);
	report_denials(l, item, result);
	json_decref(result);
}

void commands_decided(struct live *l, uint32_t call, const char *text) {
	struct command *item = find(l->commands, call);
	json_t *news = item == NULL || item->ended ? NULL : json_loads(text, 0, NULL);

	if (news != NULL) {
		commands_decisions_add(l, item, news);
	}
	json_decref(news);
}

/* ---- JSON ---- */

static json_t *command_json(const struct command_table *c, const struct command *item) {
	char id[SESSION_ID_LENGTH + 16];
	json_t *request = item->request == NULL ? NULL : json_loads(item->request, 0, NULL);
	json_t *result = result_json(item);
	json_t *value = json_object();

	(void)snprintf(id, sizeof id, "%s.%u", c->session, item->call);
	if (request != NULL) {
		(void)json_object_update(value, request);
	}
	(void)json_object_set_new(value, "id", json_string(id));
	(void)json_object_set_new(value, "session", json_string(c->session));
	(void)json_object_set_new(value, "state", json_string(item->ended ? "ended" : "running"));
	(void)json_object_set_new(value, "started", json_integer(item->started));
	(void)json_object_set_new(value, "ended",
				  item->ended ? json_integer(item->finished) : json_null());
	(void)json_object_set_new(value, "result", result == NULL ? json_null() : result);
	json_decref(request);
	return value;
}

static json_t *list_of(const struct command_table *c, bool all) {
	json_t *list = json_array();
	uint32_t newest = 0;

	for (size_t i = 0; c != NULL && i < COMMANDS_KEPT; i++) {
		newest = c->items[i].call > newest ? c->items[i].call : newest;
	}
	for (uint32_t k = 0; k < COMMANDS_KEPT && newest > k; k++) { /* the newest first */
		const struct command *item = &c->items[(newest - k) % COMMANDS_KEPT];
		if (item->call != 0 && (all || !item->ended)) {
			(void)json_array_append_new(list, command_json(c, item));
		}
	}
	return list;
}

json_t *commands_list(const struct live *l, bool all) {
	return list_of(l->commands, all);
}

static struct command_table *find_ended(const struct daemon *d, const char *session) {
	struct command_table *c = d->ended;

	while (c != NULL && !streq(c->session, session)) {
		c = c->next;
	}
	return c;
}

json_t *commands_ended_list(const struct daemon *d, const char *session) {
	return list_of(find_ended(d, session), true);
}

static json_t *output_json(const struct command_table *c, const struct command *item) {
	auto_free char *bytes = malloc(COMMANDS_OUTPUT);
	struct commands_reading r = {.call = item->call};

	if (bytes == NULL || c->output < 0) {
		return json_null();
	}
	size_t len = commands_file_read(c->output, &r, bytes, COMMANDS_OUTPUT);
	return json_pack("{s:o, s:I, s:I}", "text", text_value(bytes, len), "from",
			 (json_int_t)r.from, "total", (json_int_t)r.total);
}

static const struct command *match(struct command_table *c, const char *id) {
	size_t len = strlen(c->session);

	if (strncmp(id, c->session, len) == 0 && id[len] == '.') {
		unsigned long call = strtoul(id + len + 1, NULL, 10);
		return call > UINT32_MAX ? NULL : find(c, (uint32_t)call);
	}
	for (size_t i = 0; i < COMMANDS_KEPT; i++) {
		if (c->items[i].call != 0 && is_run(&c->items[i], id)) {
			return &c->items[i];
		}
	}
	return NULL;
}

static json_t *show(struct command_table *c, const char *id) {
	const struct command *item = c == NULL ? NULL : match(c, id);

	if (item == NULL) {
		return NULL;
	}
	json_t *value = command_json(c, item);
	json_t *result = json_object_get(value, "result");
	json_t *denials = json_object_get(result, "denials");
	json_t *decisions = item->ended ? json_object_get(result, "network") : item->decisions;
	json_t *more = item->ended ? json_object_get(result, "network_more") : NULL;
	(void)json_object_set(value, "denials", denials == NULL ? json_null() : denials);
	(void)json_object_set(value, "decisions", decisions == NULL ? json_null() : decisions);
	(void)json_object_set_new(value, "decisions_more",
				  json_integer(more == NULL ? (json_int_t)item->undecided
							    : json_integer_value(more)));
	(void)json_object_set_new(value, "output", output_json(c, item));
	return value;
}

json_t *commands_show(struct daemon *d, const char *id) {
	json_t *found = NULL;

	for (const struct live *l = d->lives; found == NULL && l != NULL; l = l->next) {
		found = show(l->commands, id);
	}
	for (struct command_table *c = d->ended; found == NULL && c != NULL; c = c->next) {
		found = show(c, id);
	}
	return found;
}

bool commands_report_output(struct daemon *d) {
	bool runs = false;

	for (const struct live *l = d->lives; l != NULL; l = l->next) {
		for (size_t i = 0; l->commands != NULL && i < COMMANDS_KEPT; i++) {
			struct command *item = &l->commands->items[i];
			if (item->call != 0 && !item->ended) {
				report_output(l, item);
				runs = true;
			}
		}
	}
	return runs;
}
