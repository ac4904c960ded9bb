/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher: runs the program of a kind at one position of a text. */
#ifndef CORRAL_LEAK_MATCH_H
#define CORRAL_LEAK_MATCH_H

#include "data/leak_kinds.h"
#include "leak/program.h"

/* Bytes that are searched: the stream itself, or decoded from it. */
struct leak_text {
	const unsigned char *data;
	size_t len;
	bool final; /* nothing follows */
	bool open;  /* an open kind may match beyond the end */
};

enum leak_outcome {
	LEAK_FAIL,    /* no match here, whatever follows */
	LEAK_MORE,    /* depends on the bytes that follow */
	LEAK_MATCHED, /* these bytes, whatever follows */
};

struct leak_span {
	size_t start, end;
	size_t secret, secret_end;
	bool open; /* of an open kind */
	bool runs; /* of an open kind: the bytes that follow may belong to it */
};

enum leak_outcome leak_match(size_t kind, const struct leak_text *text, size_t start,
			     struct leak_span *ret);

/* True when the byte before `start` is no part of the word there, although it looks like one: the
 * letter of an escape such as \\n, the end of a terminal's control sequence, a sign of a patch. */
bool leak_is_mark(const struct leak_text *text, size_t start);

/* The set of the bytes that continue a match of an open kind. */
const struct leak_set *leak_open_set(size_t kind);

struct leak_body {
	size_t from, most;
};

/* The end of the body of an open match: bytes of its set from `from` on, at most `most`, and marks
 * before its lines.  ret_runs: the bytes that follow may belong to it, too. */
size_t leak_body_end(const struct leak_set *set, const struct leak_text *text,
		     struct leak_body body, bool *ret_runs);

/* True when the check of the kind holds for the match. */
bool leak_check_holds(const struct leak_kind *kind, const unsigned char *text,
		      const struct leak_span *span);

#endif
