/* SPDX-License-Identifier: Apache-2.0 */
/* The input and the output of a hint: the last output of a command, and the text of an advice.
 *
 * Should:   keep the last OUTPUT_TAIL_MAX bytes.
 * Must not: search them.
 * Fails:    never. */
#include "run/hint.h"

#include <string.h>

void hint_record(struct output_tail *o, const char *data, size_t len) {
	if (len >= OUTPUT_TAIL_MAX) {
		memcpy(o->text, data + (len - OUTPUT_TAIL_MAX), OUTPUT_TAIL_MAX);
		o->len = OUTPUT_TAIL_MAX;
		return;
	}
	if (len > OUTPUT_TAIL_MAX - o->len) {
		size_t stay = OUTPUT_TAIL_MAX - len;
		memmove(o->text, o->text + (o->len - stay), stay);
		o->len = stay;
	}
	memcpy(o->text + o->len, data, len);
	o->len += len;
}

const char *hint_advice_text(const struct advice *a) {
	return a->text[0] != '\0' ? a->text : a->hint->text;
}

const char *hint_advice_rule(const struct advice *a) {
	return a->rule != NULL ? a->rule : a->hint->rule;
}
