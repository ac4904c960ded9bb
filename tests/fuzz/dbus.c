/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in the place of what systemd answers.
 *
 * An input is one message.  Every string that is read lies in it and ends in it; a scope counts
 * as started only when the message names our unit and the result; a message that was written
 * here is read as what it says. */
#include "linux/scope.c"

#include "fuzz.h"

#define UNIT "corral-1-0123456789abcdef.scope"

static bool lies_in(const char *s, const uint8_t *data, size_t size) {
	const uint8_t *at = (const uint8_t *)s;
	return *s == '\0' || (at >= data && at < data + size &&
			      memchr(at, '\0', (size_t)(data + size - at)) != NULL);
}

static bool holds_text(const uint8_t *data, size_t size, const char *text) {
	return memmem(data, size, text, strlen(text) + 1) != NULL;
}

static void read_message(const uint8_t *data, size_t size) {
	struct dbus_message m;
	struct err e = {0};
	if (!dbus_read(data, size, &m)) {
		return;
	}
	HOLDS(size >= DBUS_HEAD && data[0] == 'l' && size <= DBUS_MESSAGE_MAX);
	HOLDS(m.body.bytes >= data && m.body.bytes + m.body.len == data + size);
	HOLDS((m.body.bytes - data) % 8 == 0);
	HOLDS(lies_in(m.member, data, size) && lies_in(m.error, data, size) &&
	      lies_in(m.signature, data, size));
	struct dbus_in body = m.body;
	while (!body.bad && body.at < body.len) {
		const char *s = dbus_take_string(&body);
		HOLDS(body.at <= body.len && lies_in(s, m.body.bytes, m.body.len));
	}
	int judged = judge_message(&m, UNIT, &e);
	if (judged == 1) {
		HOLDS(data[1] == DBUS_SIGNAL && holds_text(data, size, UNIT));
		HOLDS(holds_text(data, size, "JobRemoved") && holds_text(data, size, "done"));
	}
	HOLDS((judged < 0) == (e.kind == ERR_NO_SCOPE));
	for (const char *c = e.what; *c != '\0'; c++) {
		HOLDS((unsigned char)*c >= ' ' && *c != 0x7f);
	}
}

static void write_message(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	auto_free char *text = input_rest(&in);
	const struct dbus_method method = {text, "/p", "i", "m", "su"};
	struct dbus_message m;
	struct dbus_out o;

	dbus_begin(&o, &method, SERIAL);
	dbus_put_string(&o, text);
	dbus_put_u32(&o, (uint32_t)size);
	dbus_end(&o);
	HOLDS(!o.full || strlen(text) > 400); /* it stands in the message twice */
	if (o.full) {
		return;
	}
	HOLDS(dbus_length(o.bytes) == o.len && dbus_read(o.bytes, o.len, &m));
	HOLDS(streq(m.member, "m") && streq(m.signature, "su") && m.type == DBUS_CALL);
	HOLDS(streq(dbus_take_string(&m.body), text));
	HOLDS(dbus_take_u32(&m.body) == (uint32_t)size && !m.body.bad && m.body.at == m.body.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	read_message(data, size);
	write_message(data, size);
	return 0;
}
