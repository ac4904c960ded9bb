/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the hook and the MCP server as an agent's settings have them.
 *
 * Should:   let the shell that starts the hook deny where the hook itself cannot: if it is missing,
 *           crashes or is killed.
 * Must not: rely on PATH: the program has an absolute path.
 * Fails:    with the buffer, out of memory. */
#include "agents/entry.h"

#include "agents/agents.h"
#include "base/emit.h"
#include "base/str.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define DENY " || { echo 'corral: the hook failed; the command was not run' >&2; exit 2; }"

void entry_hook_command(const struct agent *agent, const char *program, struct buf *out) {
	quote_word(out, program, strlen(program));
	buf_printf(out, " hook %s%s", agent->name, DENY);
}

/* Longer than the path of each program. */
#define COMMAND_WORD_MAX 4200

/* The next word of a command line, without its quotes; NULL: there is none, or it is too long. */
static const char *take_word(const char *at, char *out, size_t cap) {
	char quote = '\0';
	size_t n = 0;

	at += strspn(at, " \t");
	const char *const begin = at;
	for (; *at != '\0' && (quote != '\0' || strchr(" \t\n;|&()<>", *at) == NULL); at++) {
		bool quotes = quote == '\0' && (*at == '\'' || *at == '"');
		if (quotes || *at == quote) {
			quote = (char)(quotes ? *at : '\0');
			continue;
		}
		at += *at == '\\' && quote != '\'' && at[1] != '\0' ? 1 : 0;
		if (n + 1 >= cap) {
			return NULL;
		}
		out[n++] = *at;
	}
	out[n] = '\0';
	return at == begin || quote != '\0' ? NULL : at;
}

/* NAME=value before the program. */
static bool is_assignment(const char *word) {
	return word[strcspn(word, "=/")] == '=';
}

static bool is_corral(const char *program) {
	const char *slash = strrchr(program, '/');
	return streq(slash == NULL ? program : slash + 1, "corral");
}

/* The program may have any name if the end of the line is Corral's. */
bool entry_is_hook(const struct agent *agent, const char *command) {
	char word[COMMAND_WORD_MAX];
	bool ours = strstr(command, DENY) != NULL;

	const char *at = take_word(command, word, sizeof word);
	while (at != NULL && is_assignment(word)) {
		at = take_word(at, word, sizeof word);
	}
	if (at == NULL || (!ours && !is_corral(word))) {
		return false;
	}
	at = take_word(at, word, sizeof word);
	if (at == NULL || !streq(word, "hook")) {
		return false;
	}
	at = take_word(at, word, sizeof word);
	return at != NULL && streq(word, agent->name);
}

static void put_string(struct buf *out, const char *text) {
	struct emit j;

	emit_init(&j, out, false);
	emit_string(&j, NULL, text);
}

void entry_hook(const struct agent *agent, const char *command, struct buf *out) {
	const struct hook_entry *row = &hook_entries[agent->hook];
	bool group = agent->hook != HOOK_CURSOR;

	buf_puts(out, "{\"matcher\": ");
	put_string(out, row->matcher);
	buf_puts(out,
		 group ? ", \"hooks\": [{\"type\": \"command\", \"command\": " : ", \"command\": ");
	put_string(out, command);
	buf_printf(out, ", \"timeout\": %s%s}%s", row->timeout, row->more, group ? "]}" : "");
}

void entry_mcp(const struct agent *agent, const char *program, struct buf *out) {
	bool list = agent->mcp == MCP_COMMAND;

	buf_puts(out, agent->mcp == MCP_PLAIN ? "{" : "{\"type\": \"local\", ");
	buf_puts(out, list ? "\"command\": [" : "\"command\": ");
	put_string(out, program);
	buf_puts(out, list ? ", \"mcp\"]" : ", \"args\": [\"mcp\"]");
	buf_puts(out, agent->mcp == MCP_TOOLS ? ", \"tools\": [\"*\"]}" : "}");
}

/* Codex hashes the normal form of the entry as JSON with sorted keys. */
void entry_codex_hash(const struct agent *agent, const char *command, char out[ENTRY_HASH]) {
	const struct hook_entry *row = &hook_entries[agent->hook];
	struct buf text;

	buf_init(&text);
	buf_puts(&text,
		 "{\"event_name\":\"pre_tool_use\",\"hooks\":[{\"async\":false,\"command\":");
	put_string(&text, command);
	buf_printf(&text, ",\"timeout\":%s,\"type\":\"command\"}],\"matcher\":\"%s\"}",
		   row->timeout, row->matcher);
	(void)snprintf(out, ENTRY_HASH, "sha256:");
	if (!buf_failed(&text)) {
		unsigned char hash[crypto_hash_sha256_BYTES];
		(void)crypto_hash_sha256(hash, (const unsigned char *)text.data, text.len);
		for (size_t i = 0; i < sizeof hash; i++) {
			(void)snprintf(out + 7 + 2 * i, 3, "%02x", hash[i]);
		}
	}
	buf_done(&text);
}
