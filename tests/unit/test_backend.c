/* SPDX-License-Identifier: Apache-2.0 */
/* The table of backends: complete rows, and the row that a policy gets. */
#include "backend/backend.h"

#include "base/str.h"
#include "test.h"

static int64_t choice(const char *name) {
	for (int64_t i = 0; keys[KEY_BACKEND].choices[i] != NULL; i++) {
		if (streq(keys[KEY_BACKEND].choices[i], name)) {
			return i;
		}
	}
	return -1;
}

static int choose(const char *name, const struct backend **ret, struct err *e) {
	struct policy p = {0};
	p.values[KEY_BACKEND] =
		(struct value){.set = true, .num = choice(name), .origin = {.kind = ORIGIN_OPTION}};
	return backend_choose(&p, ret, e);
}

TEST(every_row_has_its_six_functions_and_a_name_that_a_policy_can_say) {
	REQUIRE(backends[0] != NULL);
	for (size_t i = 0; backends[i] != NULL; i++) {
		const struct backend *b = backends[i];
		CHECK(choice(b->name) > BACKEND_AUTO);
		CHECK(b->probe != NULL && b->prepare != NULL && b->spawn != NULL);
		CHECK(b->supervise != NULL && b->finish != NULL && b->describe != NULL);
		for (size_t n = 0; n < i; n++) {
			CHECK(!streq(b->name, backends[n]->name));
		}
	}
}

TEST(auto_is_the_first_row_and_a_name_is_that_row) {
	const struct backend *got = NULL;
	struct err e = {0};

	CHECK_INT(choose("auto", &got, &e), 0);
	CHECK(got == backends[0]);
	for (size_t i = 0; backends[i] != NULL; i++) {
		CHECK_INT(choose(backends[i]->name, &got, &e), 0);
		CHECK(got == backends[i]);
	}
}

TEST(a_backend_of_another_build_is_an_error_with_the_list) {
	const struct backend *got = NULL;
	size_t missing = 0;

	for (size_t i = 0; keys[KEY_BACKEND].choices[i] != NULL; i++) {
		const char *name = keys[KEY_BACKEND].choices[i];
		struct err e = {0};
		if (choose(name, &got, &e) == 0) {
			continue;
		}
		missing++;
		CHECK_INT(e.kind, ERR_USAGE);
		CHECK(strstr(e.what, name) != NULL);
		for (size_t n = 0; backends[n] != NULL; n++) {
			CHECK(strstr(e.what, backends[n]->name) != NULL);
		}
		CHECK(e.fix[0] != '\0');
	}
	CHECK(missing > 0); /* no build has macOS and Windows */
}

TESTS_MAIN
