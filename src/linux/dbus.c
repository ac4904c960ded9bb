/* SPDX-License-Identifier: Apache-2.0 */
/* Marshals D-Bus method calls, and reads messages.
 *
 * Should:   write into the caller's buffer; check every length of a message before it is used.
 * Must not: allocate, or read beyond the message.
 * Fails:    closed: a message that is not well formed is rejected. */
#include "linux/dbus.h"

#include <string.h>

#define LITTLE_ENDIAN_MARK 'l'
#define PROTOCOL 1

/* Codes of header fields. */
enum {
	FIELD_PATH = 1,
	FIELD_INTERFACE,
	FIELD_MEMBER,
	FIELD_ERROR,
	FIELD_REPLY,
	FIELD_DESTINATION,
	FIELD_SIGNATURE = 8
};

static size_t aligned(size_t at, size_t alignment) {
	return (at + alignment - 1) / alignment * alignment;
}

/* ---- writing ---- */

static void put(struct dbus_out *o, const void *data, size_t len) {
	if (o->full || len > sizeof o->bytes - o->len) {
		o->full = true;
		return;
	}
	memcpy(o->bytes + o->len, data, len);
	o->len += len;
}

static void put_byte(struct dbus_out *o, uint8_t value) {
	put(o, &value, 1);
}

static void pad(struct dbus_out *o, size_t alignment) {
	static const uint8_t zeros[8];
	put(o, zeros, aligned(o->len, alignment) - o->len);
}

static void encode(uint8_t out[4], uint32_t value) {
	for (int i = 0; i < 4; i++) {
		out[i] = (uint8_t)(value >> 8 * i);
	}
}

static void patch(struct dbus_out *o, size_t at, size_t value) {
	if (!o->full) {
		encode(o->bytes + at, (uint32_t)value);
	}
}

void dbus_put_u32(struct dbus_out *o, uint32_t value) {
	uint8_t bytes[4];
	encode(bytes, value);
	pad(o, sizeof bytes);
	put(o, bytes, sizeof bytes);
}

void dbus_put_string(struct dbus_out *o, const char *text) {
	size_t len = strlen(text);
	dbus_put_u32(o, (uint32_t)len);
	put(o, text, len + 1);
}

void dbus_put_signature(struct dbus_out *o, const char *text) {
	size_t len = strlen(text);
	put_byte(o, (uint8_t)len);
	put(o, text, len + 1);
}

void dbus_put_struct(struct dbus_out *o) {
	pad(o, 8);
}

/* The length does not count the padding before the first element. */
size_t dbus_open_array(struct dbus_out *o, size_t alignment) {
	dbus_put_u32(o, 0);
	size_t opened = o->len;
	pad(o, alignment);
	return opened;
}

void dbus_close_array(struct dbus_out *o, size_t opened, size_t alignment) {
	patch(o, opened - 4, o->len - aligned(opened, alignment));
}

static void put_field(struct dbus_out *o, uint8_t code, const char *type, const char *text) {
	dbus_put_struct(o);
	put_byte(o, code);
	dbus_put_signature(o, type);
	if (*type == 'g') {
		dbus_put_signature(o, text);
	} else {
		dbus_put_string(o, text);
	}
}

void dbus_begin(struct dbus_out *o, const struct dbus_method *m, uint32_t serial) {
	*o = (struct dbus_out){.len = 0};
	put(o, (const uint8_t[]){LITTLE_ENDIAN_MARK, DBUS_CALL, 0, PROTOCOL}, 4);
	dbus_put_u32(o, 0); /* length of the body; dbus_end() sets it */
	dbus_put_u32(o, serial);
	size_t fields = dbus_open_array(o, 8);
	put_field(o, FIELD_PATH, "o", m->path);
	put_field(o, FIELD_INTERFACE, "s", m->interface);
	put_field(o, FIELD_MEMBER, "s", m->member);
	put_field(o, FIELD_DESTINATION, "s", m->destination);
	put_field(o, FIELD_SIGNATURE, "g", m->signature);
	dbus_close_array(o, fields, 8);
	pad(o, 8);
	o->body = o->len;
}

void dbus_end(struct dbus_out *o) {
	patch(o, 4, o->len - o->body);
}

/* ---- reading ---- */

static const uint8_t *take(struct dbus_in *in, size_t alignment, size_t len) {
	size_t at = aligned(in->at, alignment);
	if (in->bad || at > in->len || len > in->len - at) {
		in->bad = true;
		return NULL;
	}
	in->at = at + len;
	return in->bytes + at;
}

static uint8_t take_byte(struct dbus_in *in) {
	const uint8_t *p = take(in, 1, 1);
	return p == NULL ? 0 : *p;
}

static uint32_t decode(const uint8_t *p) {
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t dbus_take_u32(struct dbus_in *in) {
	const uint8_t *p = take(in, 4, 4);
	return p == NULL ? 0 : decode(p);
}

/* len bytes without NUL, followed by a NUL. */
static const char *take_text(struct dbus_in *in, size_t len) {
	const uint8_t *p = take(in, 1, len + 1);
	if (p == NULL || memchr(p, '\0', len + 1) != p + len) {
		in->bad = true;
		return "";
	}
	return (const char *)p;
}

const char *dbus_take_string(struct dbus_in *in) {
	uint32_t len = dbus_take_u32(in);
	return in->bad ? "" : take_text(in, len);
}

static const char *take_signature(struct dbus_in *in) {
	uint8_t len = take_byte(in);
	return in->bad ? "" : take_text(in, len);
}

/* Lengths of the header's fields and of the body. */
static bool head_lengths(const uint8_t *head, size_t *ret_fields, size_t *ret_body) {
	*ret_body = decode(head + 4);
	*ret_fields = decode(head + 12);
	return head[0] == LITTLE_ENDIAN_MARK && head[3] == PROTOCOL &&
	       *ret_body <= DBUS_MESSAGE_MAX && *ret_fields <= DBUS_MESSAGE_MAX;
}

size_t dbus_length(const uint8_t head[DBUS_HEAD]) {
	size_t fields, body;
	if (!head_lengths(head, &fields, &body)) {
		return 0;
	}
	size_t all = aligned(DBUS_HEAD + fields, 8) + body;
	return all <= DBUS_MESSAGE_MAX ? all : 0;
}

/* systemd sends no header field of another type. */
static void read_field(struct dbus_in *in, struct dbus_message *m) {
	(void)take(in, 8, 0);
	uint8_t code = take_byte(in);
	const char *type = take_signature(in), *text = "";
	uint32_t number = 0;

	if (strcmp(type, "s") == 0 || strcmp(type, "o") == 0) {
		text = dbus_take_string(in);
	} else if (strcmp(type, "g") == 0) {
		text = take_signature(in);
	} else if (strcmp(type, "u") == 0) {
		number = dbus_take_u32(in);
	} else {
		in->bad = true;
	}
	switch (code) {
	case FIELD_MEMBER:
		m->member = text;
		break;
	case FIELD_ERROR:
		m->error = text;
		break;
	case FIELD_REPLY:
		m->reply_to = number;
		break;
	case FIELD_SIGNATURE:
		m->signature = text;
		break;
	default:
		break;
	}
}

bool dbus_read(const uint8_t *bytes, size_t len, struct dbus_message *ret) {
	size_t fields, body;

	if (len < DBUS_HEAD || dbus_length(bytes) != len || !head_lengths(bytes, &fields, &body)) {
		return false;
	}
	*ret = (struct dbus_message){.type = bytes[1], .member = "", .error = "", .signature = ""};
	struct dbus_in in = {.bytes = bytes, .len = DBUS_HEAD + fields, .at = DBUS_HEAD};
	while (!in.bad && in.at < in.len) {
		read_field(&in, ret);
	}
	/* The body begins at a multiple of 8, so offsets in it have the same alignment. */
	ret->body = (struct dbus_in){.bytes = bytes + (len - body), .len = body};
	return !in.bad;
}
