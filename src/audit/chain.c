/* SPDX-License-Identifier: Apache-2.0 */
/* The hash chain of the audit log, and its head.
 *
 * A line is {"time":"…","seq":N,…,"hash":"H"}; H is BLAKE2b-256 over the hash of the line before
 * it, as its hexadecimal digits, and the bytes of the line up to ,"hash".
 *
 * Should:   find the number and the hash of a line without parsing the rest.
 * Must not: trust a line: the file may have been edited.
 * Fails:    a line that is not of this form has no number and no hash. */
#include "audit/audit.h"

#include "base/auto.h"
#include "base/rfc3339.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium/crypto_generichash.h>
#include <sodium/utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_TIME "{\"time\":\""
#define BEFORE_SEQ "\",\"seq\":"
#define BEFORE_HASH ",\"hash\":\""
#define AFTER_HASH "\"}"
#define TAIL (sizeof BEFORE_HASH - 1 + AUDIT_HASH + sizeof AFTER_HASH - 1)

static void hash_of(const char *before, const char *text, size_t len, char ret[AUDIT_HASH + 1]) {
	unsigned char hash[AUDIT_HASH / 2];
	crypto_generichash_state state;

	/* These calls fail only for sizes out of range. */
	(void)crypto_generichash_init(&state, NULL, 0, sizeof hash);
	(void)crypto_generichash_update(&state, (const unsigned char *)before, AUDIT_HASH);
	(void)crypto_generichash_update(&state, (const unsigned char *)text, len);
	(void)crypto_generichash_final(&state, hash, sizeof hash);
	(void)sodium_bin2hex(ret, AUDIT_HASH + 1, hash, sizeof hash);
}

/* ---- the head ---- */

#define HEAD_MARK "corral audit 1"

void audit_head_init(struct audit_head *h) {
	*h = (struct audit_head){.first_file = 1, .first_seq = 1, .file = 1};
	memset(h->hash, '0', AUDIT_HASH);
}

void audit_head_text(const struct audit_head *h, char ret[AUDIT_HEAD_SIZE]) {
	memset(ret, 0, AUDIT_HEAD_SIZE);
	(void)snprintf(ret, AUDIT_HEAD_SIZE,
		       HEAD_MARK " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				 " %s\n",
		       h->first_file, h->first_seq, h->file, h->seq, h->length,
		       h->hash); /* five numbers of 20 digits fit */
}

static bool is_hash(const char *text) {
	return strspn(text, "0123456789abcdef") == AUDIT_HASH;
}

bool audit_head_read(const char *text, size_t len, struct audit_head *ret) {
	char copy[AUDIT_HEAD_SIZE + 1] = "";
	struct audit_head h = {0};
	uint64_t *const numbers[] = {&h.first_file, &h.first_seq, &h.file, &h.seq, &h.length};

	memcpy(copy, text, len < AUDIT_HEAD_SIZE ? len : AUDIT_HEAD_SIZE);
	if (!str_starts(copy, HEAD_MARK " ")) {
		return false;
	}
	char *at = copy + strlen(HEAD_MARK);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		char *end = at;
		*numbers[i] = strtoull(at, &end, 10);
		if (end == at || *end != ' ') {
			return false;
		}
		at = end;
	}
	if (!is_hash(at + 1) || h.file < h.first_file || h.first_file == 0) {
		return false;
	}
	memcpy(h.hash, at + 1, AUDIT_HASH);
	*ret = h;
	return true;
}

/* ---- lines ---- */

void audit_chain_add(struct audit_head *h, const char *time, const char *remark,
		     const struct audit_line *body, struct buf *out) {
	size_t start = out->len;
	char hash[AUDIT_HASH + 1];

	assert(body->len > 2 && body->text[0] == '{' && body->text[body->len - 1] == '}' &&
	       memchr(body->text, '\n', body->len) == NULL); /* A3 */
	buf_printf(out, BEFORE_TIME "%s" BEFORE_SEQ "%" PRIu64 ",%s", time, h->seq + 1, remark);
	buf_add(out, body->text + 1, body->len - 2);
	if (buf_failed(out)) {
		return;
	}
	hash_of(h->hash, out->data + start, out->len - start, hash);
	buf_printf(out, BEFORE_HASH "%s" AFTER_HASH "\n", hash);
	memcpy(h->hash, hash, sizeof h->hash);
	h->seq++;
}

uint64_t audit_line_seq(const struct audit_line *l) {
	const size_t at = sizeof BEFORE_TIME - 1 + RFC3339_LENGTH;
	const size_t from = at + sizeof BEFORE_SEQ - 1;
	uint64_t n = 0;

	if (l->len < from + 1 || memcmp(l->text, BEFORE_TIME, sizeof BEFORE_TIME - 1) != 0 ||
	    memcmp(l->text + at, BEFORE_SEQ, sizeof BEFORE_SEQ - 1) != 0) {
		return 0;
	}
	for (size_t i = from; i < l->len && l->text[i] >= '0' && l->text[i] <= '9'; i++) {
		if (n > UINT64_MAX / 10 - 1) {
			return 0;
		}
		n = n * 10 + (uint64_t)(l->text[i] - '0');
	}
	return n;
}

const char *audit_line_hash(const struct audit_line *l) {
	if (l->len < TAIL) {
		return NULL;
	}
	const char *tail = l->text + l->len - TAIL;
	bool is_tail = memcmp(tail, BEFORE_HASH, sizeof BEFORE_HASH - 1) == 0 &&
		       memcmp(l->text + l->len - 2, AFTER_HASH, 2) == 0;
	return is_tail ? tail + sizeof BEFORE_HASH - 1 : NULL;
}

bool audit_line_follows(const struct audit_line *l, const char *before) {
	const char *has = audit_line_hash(l);
	char hash[AUDIT_HASH + 1];

	if (has == NULL) {
		return false;
	}
	hash_of(before, l->text, l->len - TAIL, hash);
	return memcmp(has, hash, AUDIT_HASH) == 0;
}
