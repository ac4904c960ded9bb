/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of the leak scanner as C source: a program of the build.
 *
 * Should:   compile every row of data/leak_kinds.c, and fill the hash table and the nibble masks
 *           of the prefilter.
 * Must not: be linked into the library.
 * Fails:    by ending the build: a pattern outside of the subset, or without a window. */
#include "leak/pattern.h"

#include "data/leak_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPS_MAX 60000
#define SETS_MAX 4000
#define ENTRIES_MAX 60000

static struct leak_op ops[OPS_MAX];
static struct leak_set sets[SETS_MAX];
static struct leak_program programs[LEAK_KINDS_MAX];
static struct leak_window windows[WINDOWS_ALL];
static struct choices choices[WINDOWS_ALL];
static struct leak_entry entries[ENTRIES_MAX];
static struct leak_tables tables;
static uint64_t first[256][LEAK_KINDS_WORDS], forbidden[256][LEAK_KINDS_WORDS];
static uint64_t waiting[LEAK_REACH_MAX + 1][LEAK_KINDS_WORDS];
static size_t nwindows, nentries;
static uint32_t longest, reach_max, shortest = UINT32_MAX;

static _Noreturn void die(const char *what, const char *of) {
	(void)fprintf(stderr, "leak tables: %s: %s\n", of, what);
	_exit(1);
}

static void add_string(struct leak_set *set, const char *s) {
	for (; *s != '\0'; s++) {
		set->bits[(unsigned char)*s >> 6] |= UINT64_C(1) << (*s & 63);
	}
}

static unsigned edge_set(struct program_builder *b, enum leak_edge edge) {
	struct leak_set set = {{0}};

	if (edge == LEAK_EDGE_NONE) {
		return LEAK_NO_SET;
	}
	add_string(&set, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	add_string(&set, edge == LEAK_EDGE_WORD ? "" : edge == LEAK_EDGE_TOKEN ? "-" : "-+/=");
	return pattern_add_set(b, &set);
}

/* ---- the hash table ---- */

static void add_entry(uint32_t folded, size_t window) {
	for (size_t i = 0; i < nentries; i++) {
		if (entries[i].folded == folded && entries[i].window == window) {
			return;
		}
	}
	if (nentries == ENTRIES_MAX) {
		die("too many entries", "hash table");
	}
	entries[nentries++] = (struct leak_entry){folded, (uint32_t)window};
	uint32_t h = leak_hash(folded);
	tables.bitmap[h / 64] |= UINT64_C(1) << (h % 64);
}

static void enumerate(const struct window *w, size_t window, unsigned at, uint32_t value) {
	bool seen[256] = {false};

	if (at == LEAK_WINDOW) {
		add_entry(value, window);
		return;
	}
	for (unsigned c = 0; c < 256; c++) {
		unsigned folded = c | 0x20;
		if (leak_in(&w->sets[at], (unsigned char)c) && !seen[folded]) {
			seen[folded] = true;
			enumerate(w, window, at + 1, value | (uint32_t)folded << (8 * at));
		}
	}
}

static int by_slot(const void *a, const void *b) {
	const struct leak_entry *x = a, *y = b;
	uint32_t hx = leak_hash(x->folded), hy = leak_hash(y->folded);

	if (hx != hy) {
		return hx < hy ? -1 : 1;
	}
	if (x->folded != y->folded) {
		return x->folded < y->folded ? -1 : 1;
	}
	return x->window < y->window ? -1 : x->window > y->window;
}

/* The windows that were chosen, in the tables. */
static void finish_windows(struct program_builder *b) {
	for (size_t i = 0; i < nwindows; i++) {
		const struct window *shape = &choices[i].windows[0];
		struct leak_program *p = &programs[windows[i].kind];
		uint32_t reach = shape->far + LEAK_WINDOW;
		windows[i].near = (uint16_t)shape->near;
		windows[i].far = (uint16_t)shape->far;
		windows[i].mask = shape->mask;
		windows[i].value = shape->value;
		for (size_t k = 0; k < LEAK_PROBES; k++) {
			windows[i].probes[k].at = (int16_t)shape->probes[k].at;
			windows[i].probes[k].set =
				(uint16_t)pattern_add_set(b, &shape->probes[k].set);
		}
		p->reach = reach > p->reach ? reach : p->reach;
		reach_max = reach > reach_max ? reach : reach_max;
		enumerate(shape, i, 0, 0);
	}
	if (reach_max > LEAK_REACH_MAX) {
		die("too far from the start of its match", "a window");
	}
	for (size_t kind = 0; kind < leak_kind_count; kind++) {
		for (size_t known = 0; known < programs[kind].reach; known++) {
			waiting[known][kind / 64] |= UINT64_C(1) << (kind % 64);
		}
	}
}

/* ---- one kind ---- */

static void add_windows(size_t kind, const struct node *tree) {
	size_t n = windows_choose(tree, &choices[nwindows]);

	if (n == 0) {
		die("no four successive bytes identify it", leak_kinds[kind].name);
	}
	for (size_t i = 0; i < n; i++) {
		windows[nwindows++].kind = (uint16_t)kind;
	}
	if (nwindows > WINDOWS_ALL - WINDOWS_MAX) {
		die("too many windows", leak_kinds[kind].name);
	}
}

static void add_kind(struct program_builder *b, size_t kind) {
	const struct leak_kind *row = &leak_kinds[kind];
	struct leak_program *p = &programs[kind];
	const struct node *tree = pattern_parse(row->pattern);
	bool empty, open;
	struct leak_set begin = pattern_first(tree, &empty);

	if (empty) {
		die("matches nothing at all", row->name);
	}
	p->ops = (uint32_t)b->nops;
	p->before = (uint16_t)edge_set(b, row->before);
	(void)pattern_compile(b, tree, edge_set(b, row->after), &open);
	for (unsigned i = 0; i < LEAK_HEAD; i++) {
		struct leak_set set = pattern_byte(b, &b->ops[p->ops], i);
		p->head[i] = (uint16_t)pattern_add_set(b, &set);
	}
	p->open = open && row->check == LEAK_CHECK_NONE;
	p->longest = (uint32_t)pattern_longest(tree);
	p->lines = pattern_has_break(tree);
	shortest = pattern_shortest(tree) < shortest ? (uint32_t)pattern_shortest(tree) : shortest;
	longest = !p->open && p->longest > longest ? p->longest : longest;
	add_windows(kind, tree);
	for (unsigned c = 0; c < 256; c++) {
		if (leak_in(&begin, (unsigned char)c)) {
			first[c][kind / 64] |= UINT64_C(1) << (kind % 64);
		}
		if (p->before != LEAK_NO_SET && leak_in(&sets[p->before], (unsigned char)c)) {
			forbidden[c][kind / 64] |= UINT64_C(1) << (kind % 64);
		}
	}
}

/* ---- output ---- */

static void print_words(const uint64_t *words, size_t n) {
	for (size_t i = 0; i < n; i++) {
		printf("%s0x%llxU,", i % 8 == 0 ? "\n" : "", (unsigned long long)words[i]);
	}
}

static void print_bytes(const unsigned char *bytes, size_t n) {
	printf("{");
	for (size_t i = 0; i < n; i++) {
		printf("%u,", bytes[i]);
	}
	printf("},");
}

static void print_programs(const struct program_builder *b) {
	printf("const struct leak_set leak_sets[] = {\n");
	for (size_t i = 0; i < b->nsets; i++) {
		printf("{{");
		print_words(sets[i].bits, 4);
		printf("}},\n");
	}
	printf("};\nconst struct leak_op leak_ops[] = {\n");
	for (size_t i = 0; i < b->nops; i++) {
		printf("{%u,%u,%u,%u},%s", ops[i].code, ops[i].a, ops[i].b, ops[i].c,
		       i % 8 == 7 ? "\n" : "");
	}
	printf("};\nconst struct leak_program leak_programs[] = {\n");
	for (size_t i = 0; i < leak_kind_count; i++) {
		const struct leak_program *p = &programs[i];
		printf("{%u,%u,%u,{", p->ops, p->reach, p->longest);
		for (size_t k = 0; k < LEAK_HEAD; k++) {
			printf("%u,", p->head[k]);
		}
		printf("},%u,%d,%d},\n", p->before, p->lines, p->open);
	}
	printf("};\n");
}

static void print_kinds(const char *name, uint64_t rows[][LEAK_KINDS_WORDS], size_t n) {
	printf("const uint64_t %s[LEAK_KINDS_WORDS] = {\n", name);
	for (size_t i = 0; i < n; i++) {
		printf("{");
		print_words(rows[i], LEAK_KINDS_WORDS);
		printf("},\n");
	}
	printf("};\n");
}

static void print_tables(void) {
	printf("const struct leak_tables leak_tables = {{");
	print_words(tables.bitmap, sizeof tables.bitmap / 8);
	printf("},\n{");
	for (size_t g = 0; g < LEAK_GROUPS; g++) {
		printf("{");
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			printf("{");
			print_bytes(tables.nibbles[g][k].lo, 16);
			print_bytes(tables.nibbles[g][k].hi, 16);
			printf("},\n");
		}
		printf("},\n");
	}
	printf("},\n{");
	for (size_t g = 0; g < LEAK_GROUPS; g++) {
		printf("{");
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			print_bytes(tables.low6[g][k], 64);
		}
		printf("},\n");
	}
	printf("}};\n");
}

static void print_prefilter(void) {
	printf("const struct leak_window leak_windows[] = {\n");
	for (size_t i = 0; i < nwindows; i++) {
		const struct leak_window *w = &windows[i];
		printf("{0x%llxU,0x%llxU,{{%d,%u},{%d,%u}},%u,%u,%u},\n",
		       (unsigned long long)w->mask, (unsigned long long)w->value, w->probes[0].at,
		       w->probes[0].set, w->probes[1].at, w->probes[1].set, w->kind, w->near,
		       w->far);
	}
	printf("};\nconst struct leak_entry leak_entries[] = {\n");
	for (size_t i = 0; i < nentries; i++) {
		printf("{%uU,%u},%s", entries[i].folded, entries[i].window, i % 8 == 7 ? "\n" : "");
	}
	printf("{0,0},{0,0}};\nconst uint16_t leak_slots[(1 << LEAK_SLOT_BITS) + 1] = {\n");
	for (size_t slot = 0, i = 0; slot <= 1U << LEAK_SLOT_BITS; slot++) {
		while (i < nentries && leak_slot(entries[i].folded) < slot) {
			i++;
		}
		printf("%zu,%s", i, slot % 16 == 15 ? "\n" : "");
	}
	printf("};\n");
	print_tables();
	print_kinds("leak_first[256]", first, 256);
	print_kinds("leak_forbidden[256]", forbidden, 256);
	print_kinds("leak_waiting[LEAK_REACH_MAX + 1]", waiting, LEAK_REACH_MAX + 1);
	printf("const uint32_t leak_longest = %u;\nconst uint32_t leak_reach_max = %u;\n"
	       "const uint32_t leak_shortest = %u;\n",
	       longest, reach_max, shortest);
}

static void print_position(const struct leak_set *set) {
	unsigned n = 0, last = 0;

	for (unsigned c = 0; c < 256; c++) {
		if (leak_in(set, (unsigned char)c)) {
			n++;
			last = c;
		}
	}
	if (n <= 2 && last > 32) {
		printf("%c", last);
	} else {
		printf("[%u]", n);
	}
}

/* With an argument: one line for each window, for a person who writes a pattern. */
static void print_report(const struct candidates *estimate, size_t nops) {
	for (size_t i = 0; i < nwindows; i++) {
		printf("%-32s %8.2g %4u %4u  ", leak_kinds[windows[i].kind].name,
		       choices[i].windows[0].cost, windows[i].near, windows[i].far);
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			print_position(&choices[i].windows[0].sets[k]);
		}
		printf("\n");
	}
	printf("%zu kinds, %zu windows, %zu entries, %zu ops, longest %u, shortest %u, reach %u, "
	       "candidates a byte: AVX2 %.4f, AVX-512 %.4f\n",
	       leak_kind_count, nwindows, nentries, nops, longest, shortest, reach_max,
	       estimate->halves, estimate->low6);
}

int main(int argc, char **argv) {
	struct program_builder b = {.ops = ops, .cap = OPS_MAX, .sets = sets};

	(void)argv;
	if (leak_kind_count > LEAK_KINDS_MAX) {
		die("too many kinds", "table");
	}
	for (size_t i = 0; i < leak_kind_count; i++) {
		add_kind(&b, i);
		if (b.nsets > SETS_MAX - 64) {
			die("too many sets", leak_kinds[i].name);
		}
	}
	struct candidates estimate = buckets_fill(&tables, choices, nwindows);
	finish_windows(&b);
	qsort(entries, nentries, sizeof entries[0], by_slot);
	if (argc > 1) {
		print_report(&estimate, b.nops);
		return 0;
	}
	printf("/* Written by leak/generate.c. */\n#include \"leak/program.h\"\n");
	print_programs(&b);
	print_prefilter();
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
