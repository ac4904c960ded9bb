/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner: finds and redacts credentials in a stream of bytes. */
#ifndef CORRAL_SCAN_H
#define CORRAL_SCAN_H

#include "error.h"
#include "format.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Finds credentials in bytes: tokens, keys and passwords of known kinds, and exact values, also
 * encoded (percent-encoding, base64, hexadecimal, JSON escapes, UTF-16, two of these nested).  A
 * scanner is constant: many streams, in many threads, may use one. */
struct corral_scanner;

/* A value that must not occur, of 8 to 4096 bytes; findings print its name. */
struct corral_scan_value {
	const char *name;
	const void *data;
	size_t len;
};

struct corral_scan_options {
	size_t size;              /* set by the caller to sizeof */
	const char *const *kinds; /* names of corral_scan_kinds(); ends with NULL; NULL: all */
	const char *const *allow; /* fingerprints that are no finding; ends with NULL; or NULL */
	const struct corral_scan_value *values;
	size_t nvalues;
	int raw_only;  /* 1: not in encoded form */
	int no_config; /* 1: the user's key and allow list are not read; fingerprints are of no use
			* after the scanner is freed */
};

int corral_scanner_new(const struct corral_scan_options *options, struct corral_scanner **scanner,
		       struct corral_error *err);
void corral_scanner_free(struct corral_scanner *scanner);

/* A secret that was found; never a part of its value. */
struct corral_finding {
	size_t size;             /* of the library's struct */
	const char *kind;        /* "github-token", or the name of a value */
	const char *reason;      /* what it opens; "" for a value */
	const char *view;        /* "raw", "base64", "url+base64", ... */
	const char *fingerprint; /* the same for the same secret, under the user's key */
	uint64_t offset, length; /* of the secret, encoded, in the stream */
};

/* A finding is valid during the call.  With output, the stream passes its bytes on, each secret
 * replaced by [redacted:KIND]; a result that is not 0 stops the stream. */
struct corral_scan_calls {
	size_t size; /* set by the caller to sizeof */
	void (*found)(void *arg, const struct corral_finding *finding); /* or NULL */
	int (*output)(void *arg, const void *bytes, size_t len);        /* or NULL */
	void *arg;
};

/* One sequence of bytes.  The findings do not depend on how it is cut into pieces.  The scanner
 * must outlive it.  After a failed call only corral_scan_close() is possible. */
struct corral_scan_stream;
int corral_scan_open(const struct corral_scanner *scanner, const struct corral_scan_calls *calls,
		     struct corral_scan_stream **scan, struct corral_error *err);
int corral_scan_feed(struct corral_scan_stream *scan, const void *bytes, size_t len,
		     struct corral_error *err);
int corral_scan_end(struct corral_scan_stream *scan, struct corral_error *err);
void corral_scan_close(struct corral_scan_stream *scan);

/* Bytes that are held back because they may begin a secret; flush passes them on, for a stream
 * that has been idle. */
size_t corral_scan_held(const struct corral_scan_stream *scan);
int corral_scan_flush(struct corral_scan_stream *scan, struct corral_error *err);

/* Begins a new sequence with the same memory. */
int corral_scan_again(struct corral_scan_stream *scan, struct corral_error *err);

/* Adds a fingerprint to the allow list of the user's configuration. */
int corral_scan_allow(const char *fingerprint, struct corral_error *err);

/* The kinds: name, family, reason. */
int corral_scan_kinds(enum corral_format format, char **text, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
