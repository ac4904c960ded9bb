/* SPDX-License-Identifier: Apache-2.0 */
/* A document of any format in each of the places where a policy is read. */
#ifndef CORRAL_TESTS_FUZZ_POLICY_H
#define CORRAL_TESTS_FUZZ_POLICY_H

#include "fuzz.h"
#include "policy/doc.h"

typedef int parse_fn(struct arena *a, const char *name, const char *text, size_t len,
		     struct doc **ret, struct err *e);

/* name ends as a file of that format does. */
void policy_attack(parse_fn *parse, const char *name, const uint8_t *data, size_t size);

#endif
