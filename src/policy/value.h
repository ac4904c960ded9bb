/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a policy, from the text of an option or from a document, by the row of its key. */
#ifndef CORRAL_POLICY_VALUE_H
#define CORRAL_POLICY_VALUE_H

#include "policy/doc.h"
#include "policy/policy.h"

/* The source of a value, and the bases of its relative paths. */
struct where {
	struct arena *a;
	struct origin origin;
	const char *cwd;  /* base of a relative workspace */
	const char *base; /* base of every other relative path */
	const char *home; /* for "~/"; NULL when there is none */
};

/* A list is appended to. */
int value_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		    struct err *e);
int value_from_doc(const struct where *w, const struct key *k, const struct doc *d, struct value *v,
		   struct err *e);

#endif
