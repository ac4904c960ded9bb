/* SPDX-License-Identifier: Apache-2.0 */
/* The event that an agent sends to a hook, on its way from a model.
 *
 * A command that is answered comes back as one word at the end of a line whose first word is
 * corral, read by a splitter of words that is written anew here, and nothing of it stands outside
 * of quotes. */
#include "agents/agents.h"

#include "fuzz.h"

#include <jansson.h>

#define WORDS 8

/* Splits a line as a POSIX shell does, where every character is quoted or a space or a plain one.
 */
static size_t split(const char *line, char *words[WORDS + 1]) {
	size_t n = 0;

	for (const char *p = line; *p != '\0';) {
		HOLDS(n <= WORDS);
		char *word = words[n++] = calloc(strlen(line) + 1, 1);
		for (; *p != '\0' && *p != ' ';) {
			if (*p == '\'') {
				for (p++; *p != '\''; p++) {
					HOLDS(*p != '\0' && *p != '\\');
					word[strlen(word)] = *p;
				}
				p++;
			} else if (*p == '"') {
				/* Only "'" and "\\". */
				HOLDS(p[1] == '\'' || (p[1] == '\\' && p[2] == '\\'));
				word[strlen(word)] = p[1];
				p += p[1] == '\'' ? 2 : 3;
				HOLDS(*p == '"');
				p++;
			} else {
				HOLDS((*p >= 'a' && *p <= 'z') || *p == '-');
				word[strlen(word)] = *p++;
			}
		}
		p += *p == ' ';
	}
	return n;
}

static void check_line(const char *line, const char *command) {
	char *words[WORDS + 1] = {NULL};
	size_t n = split(line, words);

	HOLDS(n == 8);
	HOLDS(strcmp(words[0], "/opt/corral") == 0 && strcmp(words[1], "run") == 0);
	HOLDS(strcmp(words[2], "--workspace") == 0 && words[3][0] == '/');
	HOLDS(strcmp(words[4], "--") == 0 && strcmp(words[5], "/bin/sh") == 0);
	HOLDS(strcmp(words[6], "-c") == 0 && strcmp(words[7], command) == 0);
	for (size_t i = 0; i < n; i++) {
		free(words[i]);
	}
}

static const char *text_at(const json_t *j, const char *key) {
	return json_string_value(json_object_get(j, key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static const char *const none[] = {NULL};
	struct input in = {data, size};
	uint8_t how = input_byte(&in);
	struct hook_call call = {.protocol = (enum hook_protocol)(HOOK_CLAUDE + how % 4),
				 .program = "/opt/corral",
				 .shell = "/bin/sh",
				 .project = (how & 4) != 0 ? "/p" : NULL,
				 .options = none,
				 .inside = (how & 8) != 0};
	struct buf out;
	struct err e = {0};

	buf_init(&out);
	int rc = hook_answer(&call, in.left == 0 ? "" : (const char *)in.at, in.left, &out, &e);
	if (rc != 0) {
		HOLDS(e.what[0] != '\0' && out.len == 0);
		buf_done(&out);
		return 0;
	}
	json_t *event = json_loadb((const char *)in.at, in.left, 0, NULL);
	json_t *answer = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(json_is_object(event) && json_is_object(answer));
	const json_t *specific = json_object_get(answer, "hookSpecificOutput");
	const char *line = text_at(json_object_get(answer, "updated_input"), "command");
	line = line == NULL ? text_at(json_object_get(specific, "updatedInput"), "command") : line;
	line = line == NULL ? text_at(json_object_get(specific, "tool_input"), "command") : line;
	if (call.inside) {
		HOLDS(json_object_size(answer) == 0);
	} else {
		HOLDS(line != NULL);
		check_line(line, text_at(json_object_get(event, "tool_input"), "command"));
	}
	json_decref(event);
	json_decref(answer);
	buf_done(&out);
	return 0;
}
