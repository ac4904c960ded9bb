/* SPDX-License-Identifier: Apache-2.0 */
/* Pending copies of runs with fs.cow, for front ends: the list, and the changes of one as text.
 *
 * Should:   leave out a text that is too long, and say so.
 * Must not: apply or discard anything (session/overview.c does).
 * Fails:    with a fault. */
#include "session/overview_views.h"

#include "base/auto.h"

#include <string.h>

#define CHANGES_MAX 500
#define DIFF_MAX ((size_t)64 * 1024)        /* of one file */
#define DIFFS_MAX ((size_t)2 * 1024 * 1024) /* of all */

json_t *overview_pending_list(struct fault *f) {
	struct corral_error err = {0};
	auto_free char *text = NULL;

	if (corral_cow_list(CORRAL_JSON, &text, &err) != 0) {
		(void)overview_fault(&err, f);
		return NULL;
	}
	json_t *value = overview_parse(text, f);
	json_t *list = json_incref(json_object_get(value, "pending"));
	json_decref(value);
	return list;
}

int overview_view_pending(const struct view_request *r, json_t **ret, struct fault *f) {
	json_t *list = overview_pending_list(f);

	(void)r;
	if (list == NULL) {
		return -1;
	}
	*ret = json_pack("{s:o}", "pending", list);
	return *ret == NULL ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

/* Long texts are left out: "cut" is set, and `corral diff` has them. */
static void bound(json_t *value) {
	json_t *changes = json_object_get(value, "changes");
	size_t i, total = 0, more = 0;
	json_t *row;

	while (json_array_size(changes) > CHANGES_MAX) {
		(void)json_array_remove(changes, json_array_size(changes) - 1);
		more++;
	}
	json_array_foreach(changes, i, row) {
		size_t len = json_string_length(json_object_get(row, "diff"));
		bool cut = len > DIFF_MAX || total + len > DIFFS_MAX;
		total += cut ? 0 : len;
		(void)json_object_set_new(row, "cut", json_boolean(cut));
		if (cut) {
			(void)json_object_set_new(row, "diff", json_null());
		}
	}
	(void)json_object_set_new(value, "changes_more", json_integer((json_int_t)more));
}

int overview_view_change(const struct view_request *r, json_t **ret, struct fault *f) {
	struct corral_error err = {0};
	auto_free char *text = NULL;

	if (corral_cow_diff(r->id, NULL, CORRAL_JSON, &text, &err) != 0) {
		(void)overview_fault(&err, f);
		f->code = err.kind == CORRAL_E_USAGE ? FAULT_NO_SESSION : f->code;
		return -1;
	}
	*ret = overview_parse(text, f);
	if (*ret == NULL) {
		return -1;
	}
	bound(*ret);
	return 0;
}
