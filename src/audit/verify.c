/* SPDX-License-Identifier: Apache-2.0 */
/* `corral audit verify`: finds edited, removed, moved and cut-off lines.
 *
 * Should:   name the file, the line and the record of each fault; go on after a fault, from the
 *           hash that the line itself has, so that one edited line is one finding.
 * Must not: call the traces of a killed writer tampering.
 * Fails:    with an error when the log cannot be read; that is no verdict. */
#include "audit/verify.h"

#include "audit/read.h"

#include <inttypes.h>
#include <sodium/core.h>
#include <string.h>
#include <sys/stat.h>

struct checking {
	struct audit_report *report;
	char hash[AUDIT_HASH + 1]; /* of the last line; "": not known */
	uint64_t seq;              /* of the last line that is in its place */
	uint64_t file, line;
};

static void find(struct checking *c, enum audit_fault fault, uint64_t seq, uint64_t count) {
	struct audit_report *r = c->report;

	r->faults += fault < AUDIT_TORN;
	if (r->n < AUDIT_FINDINGS) {
		r->findings[r->n++] = (struct audit_finding){.fault = fault,
							     .file = c->file,
							     .line = c->line,
							     .seq = seq,
							     .count = count};
	}
}

/* A record that seemed to be removed is there, in another place. */
static void fill_gap(struct audit_report *r, uint64_t seq) {
	for (size_t i = 0; i < r->n; i++) {
		struct audit_finding *f = &r->findings[i];
		if (f->fault != AUDIT_REMOVED || seq >= f->seq || seq + f->count < f->seq) {
			continue;
		}
		f->count--;
		if (f->count == 0) {
			memmove(f, f + 1, (r->n - i - 1) * sizeof *f);
			r->n--;
			r->faults--;
		}
		return;
	}
}

/* The remarks of store.c about the log itself, which come right after the number. */
static void check_remarks(struct checking *c, const struct audit_line *l, uint64_t seq) {
	struct audit_field key, value;
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		if (audit_member_next(l, &at, &key, &value) != 1) {
			return;
		}
	}
	if (key.len == 4 && memcmp(key.text, "torn", 4) == 0) {
		find(c, AUDIT_TORN, seq, (uint64_t)audit_number(value, 0));
	} else if (key.len == 8 && memcmp(key.text, "headless", 8) == 0) {
		find(c, AUDIT_HEAD_LOST, seq, 0);
	}
}

static int check_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	struct checking *c = arg;
	const char *hash = audit_line_hash(l);
	uint64_t seq = audit_line_seq(l);

	c->report->files += where->file != c->file;
	c->line = where->file == c->file ? c->line + 1 : 1;
	c->file = where->file;
	if (seq == 0 || hash == NULL) {
		find(c, AUDIT_NO_RECORD, c->seq, 0);
		return 0;
	}
	c->report->records++;
	if (c->seq > 0 && seq > c->seq + 1) {
		find(c, AUDIT_REMOVED, seq, seq - c->seq - 1);
	} else if (c->seq > 0 && seq <= c->seq) {
		fill_gap(c->report, seq);
		find(c, AUDIT_REORDERED, seq, 0);
		return 0; /* the chain goes on from the line before it */
	} else if (c->hash[0] != '\0' && !audit_line_follows(l, c->hash)) {
		find(c, AUDIT_EDITED, seq, 0);
	}
	check_remarks(c, l, seq);
	memcpy(c->hash, hash, AUDIT_HASH);
	c->seq = seq;
	return 0;
}

static uint64_t size_of_file(const char *dir, uint64_t number) {
	char path[PATH_MAX];
	struct stat st;
	return audit_file_path(dir, number, path) && lstat(path, &st) == 0 ? (uint64_t)st.st_size
									   : 0;
}

/* The end of the log against its head. */
static void check_end(struct checking *c, const struct audit_place *p) {
	const struct audit_head *h = &c->report->head;

	c->line = 0;
	if (!c->report->has_head) {
		if (c->report->records > 0) {
			find(c, AUDIT_HEAD_LOST, c->seq, 0);
		}
		return;
	}
	uint64_t size = size_of_file(p->dir, h->file);
	if (c->seq < h->seq) {
		find(c, AUDIT_CUT, c->seq, h->seq - c->seq);
	} else if (c->seq == h->seq && memcmp(c->hash, h->hash, AUDIT_HASH) != 0) {
		find(c, AUDIT_HEAD_OTHER, c->seq, 0);
	} else if (c->seq > h->seq || size > h->length) {
		find(c, AUDIT_UNFINISHED, c->seq, size > h->length ? size - h->length : 0);
	}
}

/* The first line follows the hash of zeros, or one that was removed with its file. */
static void begin(struct checking *c) {
	const struct audit_head *h = &c->report->head;

	if (!c->report->has_head || h->first_seq <= 1) {
		memset(c->hash, '0', AUDIT_HASH);
	}
	c->seq = c->report->has_head && h->first_seq > 1 ? h->first_seq - 1 : 0;
}

static int check_first(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	(void)where;
	*(uint64_t *)arg = audit_line_seq(l);
	return 1;
}

/* Lines before the first one that the head knows. */
static void check_start(struct checking *c, const struct audit_place *p, uint64_t from) {
	struct audit_cursor cursor = {.file = from};
	struct err unused = {0};
	uint64_t first = 0;

	(void)audit_each_line(p->dir, &cursor, check_first, &first, &unused);
	if (c->seq == 0 && first > 1) {
		c->line = 1;
		c->file = cursor.file;
		find(c, AUDIT_REMOVED, first, first - 1);
		c->hash[0] = '\0';
		c->file = 0;
	}
}

int audit_verify(const struct audit_place *p, struct audit_report *ret, struct err *e) {
	struct checking c = {.report = ret};

	*ret = (struct audit_report){0};
	if (sodium_init() < 0) { /* chooses the fastest BLAKE2b of this processor */
		return err_set(e, ERR_SETUP, AUDIT_WHERE, "cannot start libsodium");
	}
	ret->has_head = p->head >= 0 && audit_read_head(p, &ret->head);
	begin(&c);
	struct audit_cursor cursor = {.file = ret->has_head ? ret->head.first_file : 0};
	check_start(&c, p, cursor.file);
	if (audit_each_line(p->dir, &cursor, check_line, &c, e) != 0) {
		return -1;
	}
	check_end(&c, p);
	return 0;
}

/* ---- texts ---- */

static const char *const names[AUDIT_FAULTS] = {
	[AUDIT_EDITED] = "edited",         [AUDIT_REMOVED] = "removed",
	[AUDIT_REORDERED] = "reordered",   [AUDIT_NO_RECORD] = "no_record",
	[AUDIT_CUT] = "cut_off",           [AUDIT_HEAD_LOST] = "head_lost",
	[AUDIT_HEAD_OTHER] = "head_other", [AUDIT_TORN] = "torn",
	[AUDIT_UNFINISHED] = "unfinished",
};

const char *audit_fault_name(enum audit_fault fault) {
	return names[fault];
}

static void put_place(const struct audit_finding *f, struct buf *out) {
	if (f->line > 0) {
		buf_printf(out, "%010" PRIu64 ".jsonl:%" PRIu64 ": ", f->file, f->line);
	} else {
		buf_puts(out, "at the end: ");
	}
}

void audit_finding_text(const struct audit_finding *f, struct buf *out) {
	const char *s = f->count == 1 ? "" : "s";

	put_place(f, out);
	switch (f->fault) {
	case AUDIT_EDITED:
		buf_printf(out, "record %" PRIu64 " was edited", f->seq);
		break;
	case AUDIT_REMOVED:
		buf_printf(out, "%" PRIu64 " record%s before record %" PRIu64 " removed", f->count,
			   f->count == 1 ? " was" : "s were", f->seq);
		break;
	case AUDIT_REORDERED:
		buf_printf(out, "record %" PRIu64 " is not in its place", f->seq);
		break;
	case AUDIT_NO_RECORD:
		buf_printf(out, "the line after record %" PRIu64 " is no record", f->seq);
		break;
	case AUDIT_CUT:
		buf_printf(out,
			   "%" PRIu64 " record%s after record %" PRIu64
			   " cut off, or lost when the machine crashed",
			   f->count, f->count == 1 ? " was" : "s were", f->seq);
		break;
	case AUDIT_HEAD_LOST:
		buf_printf(out, "the head was lost: records after %" PRIu64 " may be missing",
			   f->line > 0 ? f->seq - 1 : f->seq);
		break;
	case AUDIT_HEAD_OTHER:
		buf_printf(out, "the head has another hash than record %" PRIu64, f->seq);
		break;
	case AUDIT_TORN:
		buf_printf(out,
			   "a writer was killed before record %" PRIu64 ": %" PRIu64
			   " byte%s of its record were removed",
			   f->seq, f->count, s);
		break;
	case AUDIT_UNFINISHED:
		buf_printf(out,
			   "a writer is at work or was killed: %" PRIu64 " byte%s after the head",
			   f->count, s);
		break;
	case AUDIT_FAULTS:
		break;
	}
	buf_puts(out, "\n");
}
