/* SPDX-License-Identifier: Apache-2.0 */
/* Files of skills.
 *
 * An input is a skill.toml.  If it is one, its requests are answered by a narrow policy and by a
 * wide one: neither gets wider, and each request that is not granted has a reason. */
#include "policy/agent.h"
#include "policy/request.h"

#include "base/path.h"
#include "base/str.h"
#include "fuzz.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* No file of this host is looked at. */
static int find(void *ctx, const char *path, char *ret_real, bool *ret_dir) {
	(void)ctx;
	*ret_dir = true;
	if (ret_real != NULL) {
		(void)snprintf(ret_real, PATH_MAX, "%s", path);
	}
	return strlen(path) < PATH_MAX ? 0 : ENAMETOOLONG;
}

static const char wide[] =
	"fs.read = [\"/data\"]\nfs.write = [\"/out\"]\nnet.mode = \"restricted\"\n"
	"net.allow = [\"a.example:*\"]\nenv.pass = [\"A\", \"B\"]\nlimits.timeout = 60\n"
	"fs.deny = [\"/data/x\", \"*.key\"]\nnet.host_ports = [80]\n";

static int64_t size_of(int64_t limit) {
	return limit == LIMIT_NONE ? INT64_MAX : limit;
}

static bool holds_path(const struct policy *p, enum key_id key, const char *path) {
	for (size_t i = 0; i < p->values[key].count; i++) {
		if (path_within(path, p->values[key].items[i].str)) {
			return true;
		}
	}
	return false;
}

static void check_narrower(const struct policy *before, const struct policy *after) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct value *a = &before->values[i], *b = &after->values[i];
		if (keys[i].narrow == NARROW_LOWER && keys[i].type != TYPE_BOOL) {
			HOLDS(size_of(b->num) <= size_of(a->num));
		}
	}
	for (size_t i = 0; i < after->values[KEY_FS_WRITE].count; i++) {
		HOLDS(holds_path(before, KEY_FS_WRITE, after->values[KEY_FS_WRITE].items[i].str));
	}
	for (size_t i = 0; i < after->values[KEY_FS_READ].count; i++) {
		const char *path = after->values[KEY_FS_READ].items[i].str;
		HOLDS(holds_path(before, KEY_FS_READ, path) ||
		      holds_path(before, KEY_FS_WRITE, path));
		HOLDS(!path_within(path, "/data/x"));
	}
	for (size_t i = 0; i < after->nrequests; i++) {
		const struct request *r = &after->requests[i];
		HOLDS(r->text != NULL && (r->answer == REQUEST_GRANTED || r->why != NULL));
	}
}

static void apply(struct arena *a, const struct skill *s, const char *text) {
	const struct policy_fs fs = {.find = find};
	struct standing_file user = {.path = "/user.toml", .text = text, .len = strlen(text)};
	struct policy_inputs in = {.fs = &fs,
				   .cwd = "/srv/ws",
				   .home = "/home/u",
				   .user_file = "/user.toml",
				   .standing = &user,
				   .nstanding = 1,
				   .skip_hash = true};
	struct asker by = {
		.a = a, .name = "skill it", .fs = &fs, .home = "/home/u", .closed = true};
	struct err e = {0};
	struct policy before, after;
	struct buf out = {0};
	HOLDS(policy_resolve(a, &in, &before, &e) == 0);
	after = before;
	HOLDS(request_apply(&by, &s->requires, &after, &e) == 0);
	check_narrower(&before, &after);
	policy_print_requests(&after, true, &out);
	policy_print_requests(&after, false, &out);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct arena a;
	struct err e = {0};
	struct skill s;
	arena_init(&a);
	char *text = arena_strndup(&a, (const char *)data, size);
	struct where w = {.a = &a,
			  .origin = {.kind = ORIGIN_SKILL, .name = "/skill.toml"},
			  .cwd = "/",
			  .base = "/",
			  .home = "/home/u"};
	if (skill_parse(&w, text, size, &s, &e) == 0) {
		apply(&a, &s, wide);
		apply(&a, &s, "");
	} else {
		HOLDS(e.kind == ERR_USAGE && e.what[0] != '\0');
	}
	arena_done(&a);
	return 0;
}
