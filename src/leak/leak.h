/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner: finds credentials in a stream of bytes, and replaces them if wanted.
 *
 * A scanner holds the rules: kinds of data/leak_kinds.h, exact values, and an allow list.  It is
 * constant after leak_scanner_new(), so that many streams in many threads use one scanner.  A
 * stream is one sequence of bytes: stdout of a run, a file, one argument.
 *
 * A secret is found as it is and encoded: percent-encoding, base64 (both alphabets, every
 * alignment, at least 24 characters), hexadecimal (at least 40), JSON string escapes, UTF-16, and
 * two of these nested.  Offsets and lengths are those of the encoded bytes in the stream.
 *
 * Invariants, cited by tests:
 *  D1  the findings, and the output in redacting mode without leak_stream_flush(), depend only on
 *      the bytes of the stream, not on how leak_stream_feed() received them;
 *  D2  a byte that cannot be part of a match is in the output when leak_stream_feed() returns, and
 *      at most LEAK_HELD_MAX bytes are held back;
 *  D3  the memory of a stream does not grow with the length of the stream;
 *  D4  a finding never contains a byte of the value, only a fingerprint under the caller's key.
 *
 * Should:   work on bytes alone: no file, no system call.
 * Must not: log, or keep a value longer than the stream or the scanner lives.
 * Fails:    closed: without memory the stream stops, and the held bytes are not in the output. */
#ifndef CORRAL_LEAK_LEAK_H
#define CORRAL_LEAK_LEAK_H

#include "base/err.h"
#include "data/leak_kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest encoded secret that is found, and thus the most bytes that are held back.  A private
 * key is not held back: its body is recognised line by line. */
#define LEAK_HELD_MAX ((size_t)32 * 1024)

/* A private key, from its BEGIN line to its END line, or this many bytes. */
#define LEAK_BLOCK_MAX ((size_t)64 * 1024)

/* Shorter exact values occur by chance; leak_scanner_new() refuses them. */
#define LEAK_VALUE_MIN 8
#define LEAK_VALUE_MAX ((size_t)4096)

#define LEAK_KEY 32
#define LEAK_FINGERPRINT 33 /* 32 hexadecimal digits and the NUL */

enum leak_view {
	LEAK_RAW,
	LEAK_URL,
	LEAK_BASE64,
	LEAK_HEX,
	LEAK_JSON,
	LEAK_UTF16LE,
	LEAK_UTF16BE,
	LEAK_VIEW_COUNT
};

/* A value that must not leave: a secret of this run, or of a variable. */
struct leak_value {
	const char *name; /* printed in findings instead of a kind */
	const void *data;
	size_t len; /* LEAK_VALUE_MIN to LEAK_VALUE_MAX */
};

struct leak_rules {
	const bool *kinds; /* one for each row of leak_kinds; NULL: all */
	const struct leak_value *values;
	size_t nvalues;
	bool borrow; /* the bytes of the values are the caller's and outlive the scanner: no copy */
	const unsigned char *key; /* LEAK_KEY bytes for the fingerprints; NULL: a random key */
	const char *const *allow; /* fingerprints that are no finding */
	size_t nallow;
	bool raw_only; /* no decoded views */
};

struct leak_scanner;

/* Copies everything but borrowed values.  The strings of the rules need not live on. */
struct leak_scanner *leak_scanner_new(const struct leak_rules *rules, struct err *e);

/* Wipes the values. */
void leak_scanner_free(struct leak_scanner *scanner);

struct leak_finding {
	const char *kind;            /* name of the kind, or of the value */
	const struct leak_kind *row; /* NULL for an exact value */
	uint64_t offset, length;     /* of the secret, encoded, in the stream */
	enum leak_view outer, inner; /* inner is decoded from outer; both LEAK_RAW: not encoded */
	char fingerprint[LEAK_FINGERPRINT]; /* of the decoded secret */
};

/* The finding is valid during the call. */
typedef void leak_found_fn(void *arg, const struct leak_finding *finding);

/* Takes output of a redacting stream; a return value that is not 0 stops the stream. */
typedef int leak_output_fn(void *arg, const void *data, size_t len);

struct leak_stream;

/* Without `output` the stream only finds.  Either function may be NULL.  NULL: out of memory. */
struct leak_stream *leak_stream_new(const struct leak_scanner *scanner, leak_found_fn *found,
				    leak_output_fn *output, void *arg);

/* From the first secret on the stream gives no output, not even a replacement. */
void leak_stream_cut(struct leak_stream *s);

/* Wipes the buffers. */
void leak_stream_free(struct leak_stream *s);

/* Each returns 0, or -1: no memory, or `output` failed.  After -1 the stream takes no more. */
int leak_stream_feed(struct leak_stream *s, const void *data, size_t len);
int leak_stream_end(struct leak_stream *s);

/* Bytes that were fed and are not yet in the output, because they may be the beginning of a
 * secret.  0 for a stream without `output`. */
size_t leak_stream_held(const struct leak_stream *s);

/* Puts the held bytes out, but for a secret that is complete if the stream ends here.  For a caller
 * whose stream has been idle for 50 ms.  The search goes on: if the bytes were the beginning of a
 * longer secret, it is found, and its rest is replaced. */
int leak_stream_flush(struct leak_stream *s);

/* Begins a new stream with the same buffers. */
void leak_stream_reset(struct leak_stream *s, void *arg);

/* Scans one piece of memory; 0, or -1 without memory. */
int leak_scan(const struct leak_scanner *scanner, const void *data, size_t len,
	      leak_found_fn *found, void *arg);

/* The fingerprint of a value under a key. */
void leak_fingerprint(const unsigned char key[LEAK_KEY], const void *data, size_t len,
		      char ret[LEAK_FINGERPRINT]);

/* "raw", "base64", "url+base64" (base64 inside percent-encoding), ... */
#define LEAK_VIEW_TEXT 24
const char *leak_view_text(const struct leak_finding *finding, char ret[LEAK_VIEW_TEXT]);

#endif
