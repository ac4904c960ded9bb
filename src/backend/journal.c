/* SPDX-License-Identifier: Apache-2.0 */
/* Logs in shared memory of the files that the command created (data/lasting.h), and of the calls
 * that the broker refused.
 *
 * Should:   keep the records that fit, in their order, and count the others.
 * Must not: allocate or lock in the writer; trust the content in the reader.
 * Fails:    open: a record that does not fit is counted, and the result has the count. */
#include "backend/journal.h"

#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* One part in RESERVE, of text and slots, is reserved for grave kinds (lasting_is_grave). */
#define RESERVE 4

int journal_new(struct journal **ret, struct err *e) {
	void *place = mmap(NULL, sizeof(struct journal), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		return err_sys(e, "journal", "cannot map shared memory for the journal");
	}
	*ret = place;
	return 0;
}

void journal_free(struct journal *j) {
	if (j != NULL) {
		(void)munmap(j, sizeof(struct journal)); /* it is a mapping of this size */
	}
}

void journal_add(struct journal *j, enum lasting kind, const char *path) {
	char record[1 + 2 * PATH_MAX];
	size_t len = strlen(path) + 1;

	if (j == NULL) {
		return;
	}
	if (len > sizeof record - 1) {
		shared_log_lose(&j->created);
		return;
	}
	record[0] = (char)kind;
	memcpy(record + 1, path, len);
	(void)shared_log_add(&j->created, record, 1 + len, /* NULL: counted */
			     lasting_is_grave(kind) ? 0 : RESERVE);
}

void journal_lose(struct journal *j) {
	if (j != NULL) {
		shared_log_lose(&j->created);
	}
}

void journal_move(struct journal *j, const char *from, const char *to) {
	struct journal_entry entry;
	size_t until = j == NULL ? 0 : atomic_load_explicit(&j->created.used, memory_order_relaxed);
	size_t at = 0, head = strlen(to), skip = strlen(from);
	char path[2 * PATH_MAX];

	while (at < until && journal_next(j, &at, &entry)) {
		if (!path_within(entry.path, from)) {
			continue;
		}
		size_t tail = strlen(entry.path + skip);
		if (head + tail + 1 > sizeof path) {
			shared_log_lose(&j->created);
			continue;
		}
		memcpy(path, to, head);
		memcpy(path + head, entry.path + skip, tail);
		path[head + tail] = '\0';
		journal_add(j, entry.kind, path);
	}
}

void journal_refuse_link(struct journal *j, enum link_refusal why, const char *path) {
	uint32_t none = 0;
	size_t len = strlen(path);

	if (j == NULL || !atomic_compare_exchange_strong(&j->link, &none, 1)) {
		return;
	}
	len = len < JOURNAL_LINK_PATH ? len : 0; /* a truncated path would be another path */
	j->link_why = why;
	memcpy(j->link_path, path, len); /* zero bytes follow */
	atomic_store_explicit(&j->link, 2, memory_order_release);
}

const char *journal_refused_link(const struct journal *j, enum link_refusal *ret_why) {
	if (j == NULL || atomic_load_explicit(&j->link, memory_order_acquire) != 2 ||
	    j->link_path[JOURNAL_LINK_PATH - 1] != '\0') {
		return NULL;
	}
	*ret_why = j->link_why == LINK_DENIED ? LINK_DENIED : LINK_UNKNOWN;
	return j->link_path;
}

bool journal_next(const struct journal *j, size_t *at, struct journal_entry *ret) {
	struct shared_record r;

	if (j == NULL || !shared_log_next(&j->created, at, &r) || r.len < 3 ||
	    (unsigned char)r.bytes[0] >= LASTING_COUNT || r.bytes[1] != '/' ||
	    r.bytes[r.len - 1] != '\0') {
		return false;
	}
	*ret = (struct journal_entry){.kind = (enum lasting)r.bytes[0], .path = r.bytes + 1};
	return true;
}

uint64_t journal_lost(const struct journal *j) {
	return j == NULL ? 0 : atomic_load_explicit(&j->created.lost, memory_order_relaxed);
}

struct journal_part journal_part_from(const struct journal *j, uint64_t exec) {
	return (struct journal_part){
		.journal = j,
		.exec = exec,
		.created_from = j == NULL ? 0 : atomic_load(&j->created.used),
		.refused_from = j == NULL ? 0 : atomic_load(&j->refused.used),
		.created_lost = journal_lost(j),
		.refusals_lost = journal_refusals_lost(j),
	};
}

/* ---- refused calls ---- */

/* A record: this, then four strings with their NUL: named, resolved, and those of the second path,
 * which are empty where the call has one. */
struct refused_head {
	uint32_t op;
	uint32_t error;
	uint64_t exec;
};

#define REFUSED_TEXTS 4

void journal_refuse(struct journal *j, const struct journal_refusal *r) {
	const char *const texts[REFUSED_TEXTS] = {r->named[0], r->resolved[0], r->named[1],
						  r->resolved[1]};
	struct refused_head head = {
		.op = (uint32_t)r->op, .error = (uint32_t)r->error, .exec = r->exec};
	char record[sizeof head + (size_t)REFUSED_TEXTS * PATH_MAX];
	size_t used = sizeof head;

	if (j == NULL) {
		return;
	}
	memcpy(record, &head, sizeof head);
	for (size_t i = 0; i < REFUSED_TEXTS; i++) {
		const char *text = texts[i] == NULL ? "" : texts[i];
		size_t len = strlen(text) + 1;
		if (len > PATH_MAX) {
			shared_log_lose(&j->refused);
			return;
		}
		memcpy(record + used, text, len);
		used += len;
	}
	(void)shared_log_add(&j->refused, record, used, 0); /* NULL: counted */
}

/* The next string of a record; NULL: the record ends without one. */
static const char *next_text(const struct shared_record *r, size_t *at) {
	const char *text = r->bytes + *at;
	const char *end = *at < r->len ? memchr(text, '\0', r->len - *at) : NULL;

	if (end == NULL) {
		return NULL;
	}
	*at += (size_t)(end - text) + 1;
	return text;
}

bool journal_next_refusal(const struct journal *j, size_t *at, struct journal_refusal *ret) {
	struct refused_head head;
	struct shared_record r;
	size_t in = sizeof head;

	if (j == NULL || !shared_log_next(&j->refused, at, &r) || r.len < sizeof head) {
		return false;
	}
	memcpy(&head, r.bytes, sizeof head);
	*ret = (struct journal_refusal){
		.error = (int)head.error, .count = r.count, .exec = head.exec};
	for (size_t i = 0; i < 2; i++) {
		ret->named[i] = next_text(&r, &in);
		ret->resolved[i] = next_text(&r, &in);
	}
	if (ret->resolved[1] == NULL || head.op >= DENIAL_COUNT) {
		return false;
	}
	ret->op = (enum denial_op)head.op;
	return true;
}

uint64_t journal_refusals_lost(const struct journal *j) {
	return j == NULL ? 0 : atomic_load_explicit(&j->refused.lost, memory_order_relaxed);
}
