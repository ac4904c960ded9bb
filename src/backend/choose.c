/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the backend that a policy names.
 *
 * Should:   name the backends of this build when the one of the policy is not among them.
 * Must not: use another one than the policy names (C1).
 * Fails:    closed. */
#include "backend/backend.h"

#include "base/str.h"

static int not_built(const struct value *v, struct err *e) {
	char origin[128];
	struct buf built;

	buf_init(&built);
	for (size_t i = 0; backends[i] != NULL; i++) {
		buf_printf(&built, "%s%s", i == 0 ? "" : ", ", backends[i]->name);
	}
	(void)err_set(e, ERR_USAGE, "backend", "this corral has no backend %s (%s), only: %s",
		      keys[KEY_BACKEND].choices[v->num],
		      policy_origin_text(&v->origin, origin, sizeof origin),
		      buf_failed(&built) ? "auto" : built.data);
	buf_done(&built);
	return err_fix(e, "use --backend with one of these, or a build for that system");
}

int backend_choose(const struct policy *p, const struct backend **ret, struct err *e) {
	const struct value *v = &p->values[KEY_BACKEND];

	for (size_t i = 0; backends[i] != NULL; i++) {
		if (v->num == BACKEND_AUTO ||
		    streq(backends[i]->name, keys[KEY_BACKEND].choices[v->num])) {
			*ret = backends[i];
			return 0;
		}
	}
	return not_built(v, e);
}
