/* SPDX-License-Identifier: Apache-2.0 */
/* Whether one item of a list covers another: everything that the other allows, it allows too. */
#ifndef CORRAL_POLICY_COVER_H
#define CORRAL_POLICY_COVER_H

#include "policy/policy.h"

/* By the type of the key: hosts by name, network and port, networks by prefix, everything else by
 * equal text.  Paths are compared by their callers, which resolve them. */
bool cover_item(const struct key *k, const struct item *it, const struct item *bound);

/* Whether the rules of net.allow cover a rule.  Each port is looked up on its own: two rules can
 * cover one together. */
bool cover_host(const struct value *allow, const struct item *it);

/* Whether net.mode restricted covers the rule: a name, at ports 80 and 443. */
bool cover_web_name(const struct item *it);

#endif
