/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments, texts and errors of MCP tools.
 *
 * Should:   make a valid JSON string of any bytes; explain a refusal to a model so that it can
 *           report the option to the user instead of trying again.
 * Must not: put a value of a secret into a text: the library gives none.
 * Fails:    with NULL, or with text.failed, out of memory. */
#include "rpc/mcp_call.h"

#include "base/str.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define UTF8_MAX 4

bool mcp_text_is_utf8(const char *bytes, size_t len) {
	for (size_t i = 0; i < len;) {
		size_t n = str_utf8_length((const unsigned char *)bytes + i, len - i);
		if (n == 0 || bytes[i] == '\0') {
			return false;
		}
		i += n;
	}
	return true;
}

json_t *mcp_text_value(const char *bytes, size_t len) {
	struct buf clean;

	buf_init(&clean);
	buf_reserve(&clean, len + 1);
	for (size_t i = 0; i < len;) {
		size_t n = str_utf8_length((const unsigned char *)bytes + i, len - i);
		if (n == 0) {
			buf_puts(&clean, REPLACEMENT);
			n = 1;
		} else {
			buf_add(&clean, bytes + i, n);
		}
		i += n;
	}
	json_t *value = buf_failed(&clean)
				? NULL
				: json_stringn_nocheck(len == 0 ? "" : clean.data, clean.len);
	buf_done(&clean);
	return value;
}

/* The length that the first byte of a character announces; 0: not a first byte. */
static size_t announced(unsigned char c) {
	return c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : c >= 0xc0 ? 2U : c >= 0x80 ? 0U : 1U;
}

size_t mcp_text_whole(const char *bytes, size_t len) {
	for (size_t back = 1; back < UTF8_MAX && back <= len; back++) {
		size_t n = announced((unsigned char)bytes[len - back]);
		if (n != 0) {
			return n > back ? len - back : len;
		}
	}
	return len;
}

const char *mcp_text_argument(const struct mcp_call *call, const char *name) {
	return json_string_value(json_object_get(call->arguments, name));
}

int64_t mcp_text_number(const struct mcp_call *call, const char *name, int64_t fallback) {
	const json_t *value = json_object_get(call->arguments, name);

	return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

bool mcp_text_flag(const struct mcp_call *call, const char *name, bool fallback) {
	const json_t *value = json_object_get(call->arguments, name);

	return value == NULL ? fallback : json_is_true(value);
}

void mcp_text_misuse(struct mcp_reply *reply, const char *fmt, ...) {
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	buf_puts(&reply->text, text);
	reply->error = true;
}

static bool is_refusal(enum corral_error_kind kind) {
	return kind == CORRAL_E_REFUSED || kind == CORRAL_E_OUTSIDE || kind == CORRAL_E_SENSITIVE ||
	       kind == CORRAL_E_PROTECTED || kind == CORRAL_E_LEAK;
}

/* Who can change the policy that refused it. */
static void put_who(struct mcp_reply *reply) {
	buf_puts(&reply->text, reply->of_session
				       ? " This session cannot change it: the user can create one "
					 "with other options (`corral session create`).\n"
				       : " You cannot change this yourself: tell the user, who can "
					 "start `corral mcp` with other options.\n");
}

void mcp_text_error(struct mcp_reply *reply, const struct corral_error *err) {
	bool refused = is_refusal(err->kind);

	buf_printf(&reply->text, "%s%s", refused ? "Refused by the sandbox: " : "", err->message);
	if (err->sys_errno != 0) {
		char text[128];
		buf_printf(&reply->text, " (%s)", strerror_r(err->sys_errno, text, sizeof text));
	}
	buf_puts(&reply->text, ".");
	if (err->remedy[0] != '\0') {
		buf_printf(&reply->text, " Remedy: %s.", err->remedy);
	}
	if (refused) {
		put_who(reply);
	}
	reply->error = true;
}

void mcp_text_refused(struct mcp_reply *reply, const char *text) {
	buf_printf(&reply->text, "The sandbox refuses it. %s", text);
	put_who(reply);
	reply->error = true;
}

/* ---- the result of a command ---- */

static const char *member(const json_t *object, const char *name) {
	return json_string_value(json_object_get(object, name));
}

static void put_stream(struct buf *out, const json_t *data, const char *name, bool labelled) {
	const char *text = member(data, name);
	json_int_t dropped =
		json_integer_value(json_object_get(json_object_get(data, "truncated"), name));
	size_t len = text == NULL ? 0 : strlen(text);

	if (len == 0) {
		return;
	}
	if (labelled) {
		buf_printf(out, "[%s]\n", name);
	}
	buf_add(out, text, len);
	if (text[len - 1] != '\n') {
		buf_puts(out, "\n");
	}
	if (dropped > 0) {
		buf_printf(out, "[%lld bytes in the middle of %s were dropped]\n",
			   (long long)dropped, name);
	}
}

/* false: nothing was written: the denial is the call's own time-out. */
static bool put_denial(struct buf *out, const json_t *denial) {
	const char *why = member(denial, "why"), *remedy = member(denial, "remedy");
	const char *option = member(denial, "allow_with"), *origin = member(denial, "origin");

	if (origin != NULL && streq(origin, MCP_ORIGIN)) {
		return false;
	}
	buf_printf(out, "[refused by the sandbox] %s: %s", member(denial, "op"),
		   why == NULL ? "not allowed" : why);
	if (option != NULL) {
		buf_printf(out, "; the user can allow it: corral mcp %s", option);
	} else if (remedy != NULL) {
		buf_printf(out, "; remedy: %s", remedy);
	}
	buf_puts(out, "\n");
	return true;
}

/* A model reads the first lines; the others are in the data. */
#define DENIALS_SHOWN 8

static void put_refusals(struct buf *out, const json_t *data) {
	const json_t *denials = json_object_get(data, "denials");
	const char *hint = member(json_object_get(data, "hint"), "text");
	size_t n = json_array_size(denials);
	bool told = hint != NULL;

	for (size_t i = 0; i < n && i < DENIALS_SHOWN; i++) {
		told = put_denial(out, json_array_get(denials, i)) || told;
	}
	if (n > DENIALS_SHOWN) {
		buf_printf(out, "[refused by the sandbox] %zu more\n", n - DENIALS_SHOWN);
	}
	if (hint != NULL) {
		buf_printf(out, "[hint] %s\n", hint);
	}
	if (told) {
		buf_puts(out, "[note] The boundary cannot be changed from inside; do not retry "
			      "a refused step, tell the user which option is needed.\n");
	}
}

void mcp_text_result(const json_t *data, struct buf *out) {
	const char *reason = member(data, "reason"), *ending = member(data, "ending");
	const char *err = member(data, "stderr");
	bool both = err != NULL && err[0] != '\0';
	const json_t *code = json_object_get(data, "exit_code");

	put_stream(out, data, "stdout", both);
	put_stream(out, data, "stderr", both);
	if (json_is_integer(code)) {
		buf_printf(out, "[exit code %lld]\n", (long long)json_integer_value(code));
	} else if (ending != NULL && ending[0] != '\0') {
		buf_printf(out, "[ended by %s]\n", ending);
	} else {
		buf_printf(out, "[ended: %s]\n", reason == NULL ? "?" : reason);
	}
	if (json_array_size(json_object_get(data, "leaks")) > 0) {
		buf_puts(out, "[note] The leak scanner found secrets; `leaks` has their kinds.\n");
	}
	put_refusals(out, data);
}

/* ---- base64 ---- */

char *mcp_text_encode(const char *bytes, size_t len) {
	size_t size = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(size);

	return text == NULL ? NULL
			    : sodium_bin2base64(text, size, (const unsigned char *)bytes, len,
						sodium_base64_VARIANT_ORIGINAL);
}

char *mcp_text_decode(const char *text, size_t *ret_len) {
	size_t len = strlen(text);
	char *bytes = malloc(len + 1);

	if (bytes != NULL &&
	    sodium_base642bin((unsigned char *)bytes, len, text, len, "\r\n", ret_len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0) {
		free(bytes);
		return NULL;
	}
	return bytes;
}
