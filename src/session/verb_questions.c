/* SPDX-License-Identifier: Apache-2.0 */
/* `corral daemon questions` and `corral daemon answer`: the questions of runs with --ask.
 *
 * Should:   print every name escaped: the command inside chose it.
 * Must not: answer "always", which is for the terminal of the run.
 * Fails:    through the error of the daemon. */
#include "session/verbs.h"

#include "base/buf.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *member(const json_t *row, const char *key) {
	const char *text = json_string_value(json_object_get(row, key));
	return text == NULL ? "" : text;
}

static void put_line(struct buf *out, const char *text) {
	char *copy = strdup(text);

	out->failed = out->failed || copy == NULL;
	if (copy != NULL) {
		str_hide_controls(copy, false);
		buf_printf(out, "%s\n", copy);
		free(copy);
	}
}

static void put_question(struct buf *out, const json_t *row) {
	char until[VERB_TIME_SIZE];
	const char *path = member(row, "path");
	struct buf line;

	buf_init(&line);
	buf_printf(&line, "%s  %s %s  (run %s in %s, until %s)", member(row, "id"),
		   member(row, "op"), path[0] != '\0' ? path : member(row, "host"),
		   member(row, "run"), member(row, "workspace"),
		   verb_time_text(json_integer_value(json_object_get(row, "until")), until));
	put_line(out, buf_failed(&line) ? "" : line.data);
	line.len = 0;
	buf_printf(&line, "    %s; allow-for-run grants %s", member(row, "why"),
		   member(row, "grant"));
	put_line(out, buf_failed(&line) ? "" : line.data);
	buf_done(&line);
}

static int print_questions(const json_t *answer, struct corral_error *err) {
	const json_t *list = json_object_get(answer, "questions");
	struct buf out;
	size_t i;
	json_t *row;

	buf_init(&out);
	json_array_foreach(list, i, row) {
		put_question(&out, row);
	}
	if (i == 0) {
		buf_puts(&out, "no run waits for an answer\n");
	}
	int rc = buf_failed(&out) ? memory_error(err) : print_text(out.data, err);
	buf_done(&out);
	return rc;
}

int verb_daemon_questions(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL;

	if (verb_no_words(inv, err) != 0 ||
	    verb_request("ui.view", json_pack("{s:s}", "view", "questions"), &answer, err) != 0) {
		return -1;
	}
	int rc = inv->json ? verb_print_json(answer, err) : print_questions(answer, err);
	json_decref(answer);
	return rc;
}

int verb_daemon_answer(struct invocation *inv, struct corral_error *err) {
	json_t *answer = NULL;

	if (inv->nwords != 2) {
		return usage_error(err, "list them: corral daemon questions",
				   "`corral daemon answer` needs a question and an answer");
	}
	if (verb_request(
		    "ui.answer",
		    json_pack("{s:s, s:s}", "question", inv->words[0], "answer", inv->words[1]),
		    &answer, err) != 0) {
		return -1;
	}
	int rc = inv->json ? verb_print_json(answer, err) : 0;
	json_decref(answer);
	return rc;
}
