/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled table of kinds: programs of the matcher, and the tables of the prefilter.
 *
 * generate.c writes these tables as C source while the project is built, so that a scanner is
 * ready without work at run time.  Each kind has windows: four successive positions of its
 * pattern, each a set of bytes, of which one occurs in every match at a bounded distance from its
 * start.  The prefilter finds windows; match.c runs the program of the kind there. */
#ifndef CORRAL_LEAK_PROGRAM_H
#define CORRAL_LEAK_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAK_WINDOW 4 /* bytes of a window */

/* Hash of a window: its bytes with bit 5 set (letters become lower case). */
#define LEAK_FOLD 0x20202020U
#define LEAK_HASH_BITS 18

static inline uint32_t leak_hash(uint32_t folded) {
	return (folded * 0x9E3779B1U) >> (32 - LEAK_HASH_BITS);
}

static inline uint32_t leak_load(const unsigned char *p) {
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

struct leak_set {
	uint64_t bits[4];
};

static inline bool leak_in(const struct leak_set *set, unsigned char c) {
	return set->bits[c >> 6] >> (c & 63) & 1;
}

enum leak_opcode {
	LEAK_OP_SET,   /* one byte of set a */
	LEAK_OP_REP,   /* b to c bytes of set a, as many as possible */
	LEAK_OP_SPLIT, /* continue at a; if that fails, at b */
	LEAK_OP_JUMP,  /* continue at a */
	LEAK_OP_SAVE,  /* the secret begins (a 0) or ends (a 1) here */
	LEAK_OP_EDGE,  /* the next byte is not in set a */
	LEAK_OP_MATCH
};

/* Targets count from the first op of the program. */
struct leak_op {
	uint16_t code, a, b, c;
};

#define LEAK_HEAD 8

struct leak_program {
	uint32_t ops;   /* index in leak_ops */
	uint32_t reach; /* a match is recognised by the prefilter when this many bytes are known */
	uint32_t longest;         /* of a match */
	uint16_t head[LEAK_HEAD]; /* sets of the first bytes; every match has as many */
	uint16_t before;          /* set of the bytes that must not precede; LEAK_NO_SET: none */
	bool lines;               /* may contain a line break; its windows precede the first one */
	bool open;                /* a private key: its last repetition is not held back */
};
#define LEAK_NO_SET 0xffffU

/* A repetition at the end of a pattern with at least this maximum makes the kind `open`. */
#define LEAK_OPEN_MIN 4096

/* A byte at a fixed distance from the window, which must be in a set: the most selective ones. */
struct leak_probe {
	int16_t at;
	uint16_t set;
};
#define LEAK_PROBES 2
#define LEAK_PROBE_MAX 64 /* bytes from the window on that the probes may look at */

struct leak_window {
	/* The eight bytes from the window on, with bit 5 set, where the pattern knows them: most
	 * hits fail here, or at the probes. */
	uint64_t mask, value;
	struct leak_probe probes[LEAK_PROBES];
	uint16_t kind;
	uint16_t near, far; /* least and greatest distance from the start of the match */
};
#define LEAK_CONTEXT 8

struct leak_entry {
	uint32_t folded;
	uint32_t window;
};

/* Groups of eight buckets; a byte of lo, hi and low6 has one bit for each bucket. */
#define LEAK_GROUPS 3
struct leak_nibbles {
	unsigned char lo[16], hi[16];
};

#define LEAK_SLOT_BITS 12
static inline uint32_t leak_slot(uint32_t folded) {
	return leak_hash(folded) >> (LEAK_HASH_BITS - LEAK_SLOT_BITS);
}

struct leak_tables {
	uint64_t bitmap[(1 << LEAK_HASH_BITS) / 64];
	struct leak_nibbles nibbles[LEAK_GROUPS][LEAK_WINDOW]; /* by half of a byte */
	unsigned char low6[LEAK_GROUPS][LEAK_WINDOW][64];      /* by the low six bits */
};

extern const struct leak_set leak_sets[];
extern const struct leak_op leak_ops[];
extern const struct leak_program leak_programs[]; /* one for each row of leak_kinds */
extern const struct leak_window leak_windows[];
extern const struct leak_entry leak_entries[]; /* sorted by slot, and two that are empty */
extern const uint16_t leak_slots[(1 << LEAK_SLOT_BITS) + 1]; /* the entries with a hash */
extern const struct leak_tables leak_tables;

/* Sets of kinds, one bit each. */
#define LEAK_KINDS_MAX 512
#define LEAK_KINDS_WORDS ((size_t)LEAK_KINDS_MAX / 64)
#define LEAK_REACH_MAX 64
extern const uint64_t leak_first[256][LEAK_KINDS_WORDS];     /* may begin with this byte */
extern const uint64_t leak_forbidden[256][LEAK_KINDS_WORDS]; /* must not follow this byte */
/* The window of a match may not be known when this many bytes are. */
extern const uint64_t leak_waiting[LEAK_REACH_MAX + 1][LEAK_KINDS_WORDS];

extern const uint32_t leak_longest; /* of all kinds that are not open */
extern const uint32_t leak_reach_max;
extern const uint32_t leak_shortest; /* match of all kinds */

#endif
