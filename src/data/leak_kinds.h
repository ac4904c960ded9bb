/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of secrets that the leak scanner finds. */
#ifndef CORRAL_DATA_LEAK_KINDS_H
#define CORRAL_DATA_LEAK_KINDS_H

#include <stddef.h>

/* A check beyond the pattern; leak/check.c implements them. */
enum leak_check {
	LEAK_CHECK_NONE,
	LEAK_CHECK_GITHUB_CRC32, /* the last 6 characters: base62 CRC-32 of the 30 before them */
	LEAK_CHECK_NPM_CRC32,    /* the same checksum after npm_ */
	LEAK_CHECK_JWT,          /* three base64url parts, the first a JSON object with "alg" */
	LEAK_CHECK_LUHN,         /* the digits of the match, other characters left out */
	LEAK_CHECK_ENTROPY,      /* Shannon entropy of the capture group >= .entropy */
};

/* The characters that must not stand directly before or after a match. */
enum leak_edge {
	LEAK_EDGE_NONE,
	LEAK_EDGE_WORD,  /* [A-Za-z0-9_] */
	LEAK_EDGE_TOKEN, /* [A-Za-z0-9_-] */
	LEAK_EDGE_BASE64 /* [A-Za-z0-9+/=_-] */
};

/* `pattern` is a subset of PCRE2, so that PCRE2 itself can check the matcher: literal characters,
 * backslash escapes, [classes], \d \w \s, groups (?:a|b), (?i:...), the quantifiers ? {n} {m,n}.
 * No unbounded quantifier, no lookaround, no back reference: every match has a longest length.
 * The secret part, if it is not the whole match, is one capture group ( ): only that is redacted.
 */
struct leak_kind {
	const char *name;   /* stable, printed in records: "github-token" */
	const char *family; /* "code-host", "cloud", ... */
	const char *pattern;
	const char *reason; /* what this credential opens */
	const char *match;  /* an example that must match (synthetic) */
	const char *miss;   /* a near miss that must not */
	enum leak_edge before, after;
	enum leak_check check;
	double entropy; /* bits per character, with LEAK_CHECK_ENTROPY */
};

extern const struct leak_kind leak_kinds[];
extern const size_t leak_kind_count;

#endif
