/* SPDX-License-Identifier: Apache-2.0 */
/* The part of D-Bus that one method call needs: marshal the call, read the reply.
 *
 * The connection is peer-to-peer, without a bus daemon.  Integers are little-endian, as on both
 * architectures; a big-endian message is rejected.
 *
 * Should:   write a call into a buffer of fixed size; check every length of a received message
 *           before it is used.
 * Must not: allocate, or keep a pointer beyond the caller's buffer.
 * Fails:    closed: a message that is not well formed is rejected. */
#ifndef CORRAL_LINUX_DBUS_H
#define CORRAL_LINUX_DBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bytes of a header; they contain the length of the message. */
#define DBUS_HEAD 16
/* The longest message that is accepted; those of systemd have a few kilobytes. */
#define DBUS_MESSAGE_MAX ((size_t)64 * 1024)

enum dbus_type { DBUS_CALL = 1, DBUS_RETURN, DBUS_ERROR, DBUS_SIGNAL };

/* ---- writing ---- */

struct dbus_out {
	uint8_t bytes[1024];
	size_t len, body; /* body: offset of the body */
	bool full;        /* the buffer was too small: the message must not be sent */
};

struct dbus_method {
	const char *destination, *path, *interface, *member, *signature;
};

void dbus_begin(struct dbus_out *o, const struct dbus_method *m, uint32_t serial);
void dbus_put_u32(struct dbus_out *o, uint32_t value);
void dbus_put_string(struct dbus_out *o, const char *text);
void dbus_put_signature(struct dbus_out *o, const char *text); /* also the type of a variant */
void dbus_put_struct(struct dbus_out *o);                      /* aligns for its first member */
/* An array of elements with this alignment; dbus_close_array() needs the value that
 * dbus_open_array() returned. */
size_t dbus_open_array(struct dbus_out *o, size_t alignment);
void dbus_close_array(struct dbus_out *o, size_t opened, size_t alignment);
void dbus_end(struct dbus_out *o);

/* ---- reading ---- */

struct dbus_in {
	const uint8_t *bytes;
	size_t len, at;
	bool bad; /* a value was missing or malformed */
};

struct dbus_message {
	enum dbus_type type;
	uint32_t reply_to;                      /* serial of the call; 0: not a reply */
	const char *member, *error, *signature; /* "" when the header has none */
	struct dbus_in body;
};

/* Length of the message that begins with these bytes; 0: malformed, or longer than
 * DBUS_MESSAGE_MAX. */
size_t dbus_length(const uint8_t head[DBUS_HEAD]);

/* `bytes` hold one complete message; *ret points into them. */
bool dbus_read(const uint8_t *bytes, size_t len, struct dbus_message *ret);

/* The next value; 0 or "" at the end of the body or for a malformed value. */
uint32_t dbus_take_u32(struct dbus_in *in);
const char *dbus_take_string(struct dbus_in *in);

#endif
