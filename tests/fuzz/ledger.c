/* SPDX-License-Identifier: Apache-2.0 */
/* What a gate that was taken over can write into the memory that the supervisor reads.
 *
 * An input is how many records are said to be there, how many were lost, and the bytes of the
 * log.  Whatever they are, the result is one JSON object, every text in it is
 * whole, and what is told to a terminal or offered as an option is made of harmless bytes. */
#include "fuzz.h"

#include "lib/internal.h"
#include "run/hint.h"
#include "run/netlog.h"

#include <jansson.h>

static bool is_plain(const char *s) {
	for (; s != NULL && *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f) {
			return false;
		}
	}
	return true;
}

/* A word that a shell takes as it is, brackets of an address aside. */
static bool is_word(const char *s) {
	for (; *s != '\0'; s++) {
		bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
		if (!letter && (*s < '0' || *s > '9') && strchr(".-_:[]", *s) == NULL) {
			return false;
		}
	}
	return true;
}

/* A remedy is an option and one word, which a user pastes into a shell. */
static const char *after_option(const char *remedy) {
	static const char *const options[] = {"--allow-host ", "--allow-private "};
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		if (strncmp(remedy, options[i], strlen(options[i])) == 0) {
			return remedy + strlen(options[i]);
		}
	}
	return NULL;
}

static void item_is_harmless(const struct netlog_item *item) {
	HOLDS(is_plain(item->rule) && is_plain(item->why));
	HOLDS(item->name == NULL || (is_word(item->name) && item->name[0] != '-'));
	HOLDS(item->name == NULL || strlen(item->name) <= HOSTNAME_MAX);
	HOLDS(item->rule == NULL || strlen(item->rule) < LEDGER_TEXT);
	HOLDS(item->address == NULL || strlen(item->address) < IP_TEXT);
	if (item->remedy != NULL) {
		HOLDS(item->outcome == NET_DENIED && (item->rule == NULL || item->unread));
		const char *word = after_option(item->remedy);
		HOLDS(word != NULL && is_word(word) && word[0] != '-');
	}
}

static void object_is_whole(struct corral_result *r) {
	char *text = NULL;
	HOLDS(corral_result_json(r, &text, NULL) == 0);
	json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(tree != NULL);
	HOLDS(json_array_size(json_object_get(tree, "network")) == r->outcome.network.count);
	json_decref(tree);
	free(text);
}

static void hint_is_harmless(struct corral_result *r) {
	struct output_tail words = {0};
	const struct output_tail *const streams[] = {&words};
	hint_record(&words, "connect EACCES 11.0.0.66:443", 28);
	hint_for_network(&r->outcome.network, streams, 1, &r->outcome.advice);
	result_complete(r);
	HOLDS(is_plain(corral_result_hint(r)));
}

/* A record in the log: a count and a pad of 4 bytes each, two sums of 8, its length, and the
 * decision, filled up to a multiple of 8. */
#define RECORD_LEN 524U
#define RECORD_LEN_AT 24U
#define RECORD_STEP 560U

/* The entries up to the first record of another length. */
static size_t entries_in(const struct shared_log *log) {
	size_t n = 0;
	if (log->used > SHARED_LOG_BYTES) {
		return 0;
	}
	for (size_t at = 0; n < LEDGER_ENTRIES && at + RECORD_STEP <= log->used; n++) {
		uint32_t len;
		memcpy(&len, log->records + at + RECORD_LEN_AT, sizeof len);
		if (len != RECORD_LEN) {
			break;
		}
		at += RECORD_STEP;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct ledger *l;
	struct input in = {data, size};
	struct corral_result r = {0};
	struct err e = {0};

	HOLDS(l != NULL || ledger_new(&l, &e) == 0);
	uint8_t kind = input_byte(&in);
	struct shared_log *log = &l->log;
	log->used = kind == 255 ? input_word(&in) : kind * RECORD_STEP;
	log->lost = input_byte(&in);
	size_t most = in.left < sizeof log->records ? in.left : sizeof log->records;
	memset(log->records, 0, sizeof log->records);
	memcpy(log->records, in.at, most);
	netlog_read(l, NULL, &r.outcome.network);
	const struct netlog *n = &r.outcome.network;
	HOLDS(n->recorded);
	HOLDS(n->count + n->more == entries_in(log) + log->lost);
	for (size_t i = 0; i < n->count; i++) {
		item_is_harmless(&n->items[i]);
	}
	hint_is_harmless(&r);
	object_is_whole(&r);
	outcome_done(&r.outcome);
	return 0;
}
