/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests speak TAP: one line a test, and a plan at the end.
 *
 *     TEST(a_deny_beats_a_grant) { CHECK(...); CHECK_STR(got, "want"); }
 *     TESTS_MAIN
 *
 * A test is named for the behaviour.  CHECK keeps going; REQUIRE ends the test. */
#ifndef CORRAL_TESTS_UNIT_TEST_H
#define CORRAL_TESTS_UNIT_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void test_fn(void);

struct test_case {
	const char *name;
	test_fn *run;
};

#define TEST_MAX 256
static struct test_case test_cases[TEST_MAX];
static size_t test_count;
static bool test_failed;
static char test_skip_reason[256];

static inline void test_add(const char *name, test_fn *run) {
	if (test_count == TEST_MAX) {
		abort();
	}
	test_cases[test_count++] = (struct test_case){name, run};
}

#define TEST(n)                                                                                    \
	static void test_##n(void);                                                                \
	__attribute__((constructor)) static void test_add_##n(void) {                              \
		test_add(#n, test_##n);                                                            \
	}                                                                                          \
	static void test_##n(void)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			test_failed = true;                                                        \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);                        \
		}                                                                                  \
	} while (0)

#define CHECK_INT(got, want)                                                                       \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_) {                                                               \
			test_failed = true;                                                        \
			printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_,  \
			       want_);                                                             \
		}                                                                                  \
	} while (0)

#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *got_ = (got), *want_ = (want);                                         \
		if (got_ == NULL || strcmp(got_, want_) != 0) {                                    \
			test_failed = true;                                                        \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,    \
			       got_ == NULL ? "(null)" : got_, want_);                             \
		}                                                                                  \
	} while (0)

#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			test_failed = true;                                                        \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);                        \
			return;                                                                    \
		}                                                                                  \
	} while (0)

/* For a host that lacks the feature: printed with its reason, never a pass. */
#define SKIP(...)                                                                                  \
	do {                                                                                       \
		(void)snprintf(test_skip_reason, sizeof test_skip_reason, __VA_ARGS__);            \
		return;                                                                            \
	} while (0)

#define TESTS_MAIN                                                                                 \
	int main(void) {                                                                           \
		int bad = 0;                                                                       \
		for (size_t i = 0; i < test_count; i++) {                                          \
			test_failed = false;                                                       \
			test_skip_reason[0] = '\0';                                                \
			test_cases[i].run();                                                       \
			bad |= test_failed;                                                        \
			printf("%s %zu - %s%s%s\n", test_failed ? "not ok" : "ok", i + 1,          \
			       test_cases[i].name, test_skip_reason[0] ? " # SKIP " : "",          \
			       test_skip_reason);                                                  \
			fflush(stdout);                                                            \
		}                                                                                  \
		printf("1..%zu\n", test_count);                                                    \
		return bad;                                                                        \
	}

#endif
