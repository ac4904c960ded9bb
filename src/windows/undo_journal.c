/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and parses the journal of a run.
 *
 * Should:   read back every record that it wrote, also if damage follows it in the file.
 * Must not: touch a file; undo.c does.
 * Fails:    closed: a line with a wrong checksum, word or number of fields is not a record. */
#include "windows/undo_journal.h"

#include "base/auto.h"
#include "base/str.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#define WHERE "journal"

static const struct {
	const char *word;
	size_t fields;
} kinds[JOURNAL_KIND_COUNT] = {
	[JOURNAL_RUN] = {"run", 1},
	[JOURNAL_PROFILE] = {"profile", 1},
	[JOURNAL_DIRECTORY] = {"directory", 1},
	[JOURNAL_GRANT] = {"grant", 3},
};

/* CRC-32 (IEEE 802.3): it detects a line that the disk has in part, not an attacker. */
static uint32_t checksum(const char *bytes, size_t len) {
	uint32_t crc = ~UINT32_C(0);

	for (size_t i = 0; i < len; i++) {
		crc ^= (unsigned char)bytes[i];
		for (int bit = 0; bit < 8; bit++) {
			crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
		}
	}
	return ~crc;
}

static void put_field(struct buf *out, const char *field) {
	for (const unsigned char *p = (const unsigned char *)field; *p != '\0'; p++) {
		if (*p < 0x20 || *p == 0x7F || *p == '%') {
			buf_printf(out, "%%%02X", *p);
		} else {
			buf_add(out, p, 1);
		}
	}
}

void undo_journal_write(struct buf *out, const struct journal_record *record) {
	size_t start = out->len;

	buf_puts(out, kinds[record->kind].word);
	for (size_t i = 0; i < kinds[record->kind].fields; i++) {
		assert(record->fields[i] != NULL);
		buf_add(out, "\t", 1);
		put_field(out, record->fields[i]);
	}
	if (!buf_failed(out)) {
		buf_printf(out, "\t%08x\n",
			   (unsigned)checksum(out->data + start, out->len - start));
	}
}

static int hex_digit(char c) {
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c == '\0' ? NULL : strchr(digits, c);
	return at == NULL ? -1 : (int)(at - digits);
}

/* Replaces the escapes; NULL: one of them is not one, or memory is out. */
static char *take_field(struct arena *a, const char *from, size_t len) {
	char *field = arena_alloc(a, len + 1);
	size_t n = 0;

	for (size_t i = 0; field != NULL && i < len; i++) {
		if (from[i] != '%') {
			field[n++] = from[i];
			continue;
		}
		int high = len - i > 2 ? hex_digit(from[i + 1]) : -1;
		int low = high < 0 ? -1 : hex_digit(from[i + 2]);
		if (low < 0 || (high | low) == 0) {
			return NULL;
		}
		field[n++] = (char)(high << 4 | low);
		i += 2;
	}
	return field;
}

/* One line without its end; false: it is not a record. */
static bool read_line(struct arena *a, const char *line, size_t len, struct journal_record *ret) {
	const char *ends[JOURNAL_FIELDS_MAX + 2]; /* the tabs, and the end */
	char sum[16];
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\t') {
			if (n == JOURNAL_FIELDS_MAX + 1) {
				return false;
			}
			ends[n++] = line + i;
		}
	}
	if (n < 2) {
		return false;
	}
	size_t before = (size_t)(ends[n - 1] - line);
	(void)snprintf(sum, sizeof sum, "%08x", (unsigned)checksum(line, before));
	if (len - before - 1 != strlen(sum) || memcmp(ends[n - 1] + 1, sum, strlen(sum)) != 0) {
		return false;
	}
	size_t word = (size_t)(ends[0] - line);
	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		if (strlen(kinds[kind].word) != word || memcmp(kinds[kind].word, line, word) != 0 ||
		    kinds[kind].fields != n - 1) {
			continue;
		}
		*ret = (struct journal_record){.kind = (enum journal_kind)kind};
		for (size_t i = 0; i + 1 < n; i++) {
			ret->fields[i] =
				take_field(a, ends[i] + 1, (size_t)(ends[i + 1] - ends[i]) - 1);
			if (ret->fields[i] == NULL) {
				return false;
			}
		}
		return true;
	}
	return false;
}

int undo_journal_read(struct arena *a, const char *text, size_t len, struct undo_journal *ret,
		      struct err *e) {
	*ret = (struct undo_journal){0};
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t line = end == NULL ? len : (size_t)(end - text);
		struct journal_record record;

		if (end == NULL) {
			ret->torn = true; /* X3 */
			return 0;
		}
		if (!read_line(a, text, line, &record)) {
			ret->damaged++;
		} else if (arena_grow(a, &ret->records, ret->count, &ret->cap, sizeof record) !=
			   0) {
			return err_memory(e, WHERE);
		} else {
			ret->records[ret->count++] = record;
		}
		text += line + 1;
		len -= line + 1;
	}
	return 0;
}

const char *undo_journal_entries(const char *sddl) {
	const char *first = strchr(sddl, '(');
	return first == NULL ? "" : first;
}
