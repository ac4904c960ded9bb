/* SPDX-License-Identifier: Apache-2.0 */
/* Copies public structs of older and newer headers; sized.h has the rules.
 *
 * Should:   zero the fields that a smaller struct lacks.
 * Must not: read or write beyond the size that the caller set.
 * Fails:    closed: CORRAL_E_USAGE, with the struct and the byte that is set. */
#include "lib/sized.h"

#include "corral.h"

#include <string.h>

/* As clone3(2) has it: no version comes near a page. */
#define SIZE_MAX_EVER 4096

/* An old caller does not clear padding, so a field that is appended must not lie in it: an
 * options struct ends with its last field. */
#define ENDS_WITH(type, last)                                                                      \
	_Static_assert(offsetof(struct type, last) + sizeof(((struct type *)0)->last) ==           \
			       sizeof(struct type),                                                \
		       #type " ends with padding")

ENDS_WITH(corral_options, nearlier);
ENDS_WITH(corral_url_options, reserved);
ENDS_WITH(corral_cow_options, reserved);
ENDS_WITH(corral_home_options, dry_run);
ENDS_WITH(corral_scan_options, no_config);
ENDS_WITH(corral_scan_calls, arg);
ENDS_WITH(corral_secret_options, passphrase);
ENDS_WITH(corral_audit_options, reserved);
ENDS_WITH(corral_question, access);
ENDS_WITH(corral_session_options, failure);
ENDS_WITH(corral_exec_options, ended_arg);
ENDS_WITH(corral_stat, reserved);

#define SIZED(type, first)                                                                         \
	{ #type, first, sizeof(struct type) }

/* Sizes in 0.1.0, of 64-bit processors. */
const struct sized sized_options = SIZED(corral_options, 72);
const struct sized sized_probe = SIZED(corral_probe, 280);
const struct sized sized_decision = SIZED(corral_decision, 96);
const struct sized sized_audit_options = SIZED(corral_audit_options, 104);
const struct sized sized_denial = SIZED(corral_denial, 112);
const struct sized sized_identity = SIZED(corral_identity, 64);
const struct sized sized_url_options = SIZED(corral_url_options, 24);
const struct sized sized_cow_options = SIZED(corral_cow_options, 24);
const struct sized sized_home_options = SIZED(corral_home_options, 24);
const struct sized sized_leak = SIZED(corral_leak, 72);
const struct sized sized_scan_options = SIZED(corral_scan_options, 48);
const struct sized sized_scan_calls = SIZED(corral_scan_calls, 32);
const struct sized sized_secret_options = SIZED(corral_secret_options, 56);
const struct sized sized_question = SIZED(corral_question, 32);
const struct sized sized_session_options = SIZED(corral_session_options, 40);
const struct sized sized_exec_options = SIZED(corral_exec_options, 120);
const struct sized sized_stat = SIZED(corral_stat, 40);

static size_t size_of(const void *s) {
	size_t size;
	memcpy(&size, s, sizeof size); /* every such struct begins with it */
	return size;
}

int sized_check(const struct sized *type, const void *to, struct err *e) {
	size_t size = size_of(to);

	if (size >= type->first && size <= SIZE_MAX_EVER) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "library",
		      "%s.size is %zu, and no version of libcorral has this size", type->name,
		      size);
	return err_fix(e, "clear the struct and set size to sizeof(struct %s)", type->name);
}

int sized_in(const struct sized *type, const void *from, void *to, struct err *e) {
	const char *bytes = from;

	if (from == NULL) {
		return 0;
	}
	if (sized_check(type, from, e) != 0) {
		return -1;
	}
	size_t size = size_of(from);
	for (size_t i = type->now; i < size; i++) {
		if (bytes[i] != 0) {
			(void)err_set(e, ERR_USAGE, "library",
				      "%s.size is %zu, libcorral " CORRAL_VERSION
				      " knows %zu, and the field at byte %zu is not zero",
				      type->name, size, type->now, i);
			return err_fix(e, "leave that field zero, or install a newer libcorral");
		}
	}
	memset(to, 0, type->now);
	memcpy(to, from, size < type->now ? size : type->now);
	return 0;
}

int sized_reserved(const struct sized *type, int reserved, struct err *e) {
	if (reserved == 0) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "library", "%s.reserved is %d, not 0", type->name, reserved);
	return err_fix(e, "clear the struct before its fields are set");
}

int sized_out(const struct sized *type, const void *from, void *to, struct err *e) {
	if (sized_check(type, to, e) != 0) {
		return -1;
	}
	size_t size = size_of(to);
	size_t known = size < type->now ? size : type->now;
	memcpy((char *)to + sizeof size, (const char *)from + sizeof size, known - sizeof size);
	memset((char *)to + known, 0, size - known);
	return 0;
}
