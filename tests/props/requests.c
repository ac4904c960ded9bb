/* SPDX-License-Identifier: Apache-2.0 */
/* Intersects a policy with the requests of a skill, for requests.py to compare with its model.
 *
 * Should:   answer each line of stdin, "DIR POLICY SKILL" with the two texts in hexadecimal, with
 *           one line of JSON: the values without the skill, with it, and the answers.
 * Must not: look at files other than those of DIR, whose "ws" is the workspace.
 * Fails:    with exit 2 at a policy or a skill that is an error. */
#include "policy/agent.h"
#include "policy/request.h"

#include <stdio.h>
#include <stdlib.h>

static char *unhex(const char *text, size_t *ret_len) {
	size_t n = strcspn(text, " \n") / 2;
	char *out = malloc(n + 1);

	for (size_t i = 0; out != NULL && i < n; i++) {
		const char digits[] = {text[2 * i], text[2 * i + 1], '\0'};
		out[i] = (char)strtoul(digits, NULL, 16);
	}
	if (out == NULL) {
		exit(2);
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}

static _Noreturn void fail(const struct err *e) {
	(void)fprintf(stderr, "%s: %s | %s\n", e->where, e->what, e->fix);
	exit(2);
}

static void put_line(const struct policy *p, const char *name) {
	struct buf out = {0};

	policy_print(p, true, &out);
	for (char *c = out.data; *c != '\0'; c++) {
		*c = *c == '\n' ? ' ' : *c;
	}
	printf("\"%s\": %s,", name, out.data);
	buf_done(&out);
}

static void answer(const char *dir, const char *policy, const char *skill) {
	struct arena a;
	struct err e = {0};
	struct skill s;
	struct policy p = {0};
	size_t len = 0, skill_len = 0;
	struct buf out = {0};

	arena_init(&a);
	char *text = unhex(policy, &len), *requests = unhex(skill, &skill_len);
	const char *ws = arena_printf(&a, "%s/ws", dir), *home = arena_printf(&a, "%s/home", dir);
	struct standing_file user = {.path = "/user.toml", .text = text, .len = len};
	struct policy_inputs in = {.cwd = ws,
				   .home = home,
				   .user_file = "/user.toml",
				   .standing = &user,
				   .nstanding = 1,
				   .skip_hash = true};
	struct where w = {.a = &a,
			  .origin = {.kind = ORIGIN_SKILL, .name = "skill.toml"},
			  .cwd = dir,
			  .base = dir,
			  .home = home};
	struct asker by = {.a = &a, .name = "skill it", .home = home, .closed = true};
	if (policy_resolve(&a, &in, &p, &e) != 0 ||
	    skill_parse(&w, requests, skill_len, &s, &e) != 0) {
		fail(&e);
	}
	printf("{");
	put_line(&p, "base");
	if (request_apply(&by, &s.requires, &p, &e) != 0) {
		fail(&e);
	}
	put_line(&p, "given");
	policy_print_requests(&p, true, &out);
	printf("\"requests\": %s}\n", out.data);
	buf_done(&out);
	free(text);
	free(requests);
	arena_done(&a);
}

int main(void) {
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *policy = strchr(line, ' '),
		     *skill = policy == NULL ? NULL : strchr(policy + 1, ' ');
		if (skill == NULL) {
			return 2;
		}
		*policy = '\0';
		answer(line, policy + 1, skill + 1);
	}
	free(line);
	return 0;
}
