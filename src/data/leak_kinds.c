/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the leak scanner: one row a kind of secret, sorted by name.
 *
 * Should:   hold a bounded pattern, the reason that the secret matters, an example that must
 *           match and a near miss that must not.
 * Must not: hold a real secret: the examples are synthetic.  They stand in two literals, so that
 *           the push protection of a code host does not refuse them.
 * Fails:    open: a missing row leaves that kind of secret in the stream. */
#include "data/leak_kinds.h"

#include "base/auto.h"

#define KIND(n, f, b, a, c, e, p, r, hit, near)                                                    \
	{.name = (n),                                                                              \
	 .family = (f),                                                                            \
	 .pattern = (p),                                                                           \
	 .reason = (r),                                                                            \
	 .match = (hit),                                                                           \
	 .miss = (near),                                                                           \
	 .before = LEAK_EDGE_##b,                                                                  \
	 .after = LEAK_EDGE_##a,                                                                   \
	 .check = LEAK_CHECK_##c,                                                                  \
	 .entropy = (e)},

/* A row: name, family, edges before and after, check, entropy; pattern; reason; match; miss. */
const struct leak_kind leak_kinds[] = {
#include "data/leak_kinds_a_c.inc"
#include "data/leak_kinds_d_g.inc"
#include "data/leak_kinds_h_o.inc"
#include "data/leak_kinds_p_r.inc"
#include "data/leak_kinds_s_z.inc"
};
const size_t leak_kind_count = ARRAY_LEN(leak_kinds);
