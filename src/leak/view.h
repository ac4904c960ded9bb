/* SPDX-License-Identifier: Apache-2.0 */
/* Views: parts of a text that may be encoded, and their decoded bytes.
 *
 * A region is a part of a text with one encoding.  Whether a byte belongs to a region depends only
 * on bytes near to it (at most LEAK_VIEW_BACK before), so that a text that was cut has the same
 * regions. */
#ifndef CORRAL_LEAK_VIEW_H
#define CORRAL_LEAK_VIEW_H

#include "leak/leak.h"
#include "leak/match.h"

#define LEAK_BASE64_MIN 24U
#define LEAK_HEX_MIN 40U
#define LEAK_UTF16_MIN 8U /* characters */

/* How far the regions of a text depend on the bytes before them. */
#define LEAK_VIEW_BACK ((size_t)512)

/* A secret with percent-encoding or escapes has no more bytes than this between two of them. */
#define LEAK_ESCAPE_GAP ((size_t)1024)

struct leak_region {
	enum leak_view view;
	size_t start, end; /* in the text around */
	bool final;        /* the encoded part ends at `end` */
};

typedef void leak_region_fn(void *arg, const struct leak_region *region);

struct leak_finder {
	const struct leak_text *text;
	size_t from; /* regions before are not looked for */
	size_t low;  /* secrets begin here or later */
	bool breaks; /* also escapes of white space, such as \n */
	unsigned
		groups; /* base64: three bytes of ASCII, this often in a row, are in every secret */
	leak_region_fn *fn;
	void *arg;
};

/* Calls fn for each region.  Base64 and hexadecimal parts come once for each alignment. */
void leak_regions(const struct leak_finder *finder);

/* Decodes a region; the output is never longer than the region. */
size_t leak_decode(const struct leak_text *text, const struct leak_region *region,
		   unsigned char *out);

/* The encoded bytes of the decoded bytes from..to-1.  False when they are not encoded at all: no
 * escape in them, or too far apart.  The place is set in any case. */
struct leak_place {
	size_t from, to;
};
bool leak_encoded(const struct leak_text *text, const struct leak_region *region,
		  struct leak_place decoded, struct leak_place *ret);

/* Masks of 64 bytes: base64 characters, and bytes that begin another encoding. */
struct leak_masks {
	uint64_t base64, percent, backslash, nul;
};
typedef void leak_masks_fn(const unsigned char *data, struct leak_masks *ret);
leak_masks_fn leak_masks_portable;
#ifdef __x86_64__
leak_masks_fn leak_masks_avx2;
#endif

/* The best implementation for this processor. */
leak_masks_fn *leak_masks_choose(void);

#endif
