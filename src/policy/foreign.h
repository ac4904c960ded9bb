/* SPDX-License-Identifier: Apache-2.0 */
/* Documents in another form than a policy file: they become the tree of a policy file, which is
 * then read like any other. */
#ifndef CORRAL_POLICY_FOREIGN_H
#define CORRAL_POLICY_FOREIGN_H

#include "policy/doc.h"

/* Parses a policy file (doc_parse), and converts the output of `policy show --json`. */
int foreign_parse(struct arena *a, const char *name, const char *text, size_t len, struct doc **ret,
		  struct err *e);

#endif
