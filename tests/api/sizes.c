/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and libraries of different versions: the size at the head of public structs.
 *
 * This is the first version, so no header of an older one exists.  The first tests give the
 * library's own functions a struct with a history of three versions; the others make every
 * public call with the sizes that a newer, a wrong or a careless caller has. */
#include <corral.h>

#include "lib/sized.h"

#include "test.h"

/* ---- three versions of one struct ---- */

struct first {
	size_t size;
	int a, b;
};
struct second {
	size_t size;
	int a, b;
	const char *c;
};
struct third {
	size_t size;
	int a, b;
	const char *c;
	uint64_t d;
};

static const struct sized second_library = {"corral_example", sizeof(struct first),
					    sizeof(struct second)};

TEST(a_caller_with_the_old_size_gets_zero_for_the_rest) {
	struct first old[2] = {{sizeof old[0], 1, 2}, {~(size_t)0, ~0, ~0}};
	struct second got = {.c = "left from before"};
	struct err e = {0};

	CHECK_INT(sized_in(&second_library, &old[0], &got, &e), 0);
	CHECK_INT(got.a, 1);
	CHECK_INT(got.b, 2);
	CHECK(got.c == NULL);
}

TEST(nothing_is_stored_beyond_the_old_size) {
	struct first old[2] = {{sizeof old[0], 0, 0}, {7, 7, 7}};
	const struct second from = {.size = 99, .a = 1, .b = 2, .c = "new"};
	struct err e = {0};

	CHECK_INT(sized_out(&second_library, &from, &old[0], &e), 0);
	CHECK_INT(old[0].size, sizeof old[0]);
	CHECK_INT(old[0].b, 2);
	CHECK_INT(old[1].size, 7);
}

TEST(a_newer_caller_who_sets_nothing_new_is_served) {
	const struct third newer = {.size = sizeof newer, .a = 1, .c = "c"};
	struct second got = {0};
	struct err e = {0};

	CHECK_INT(sized_in(&second_library, &newer, &got, &e), 0);
	CHECK_STR(got.c, "c");
}

TEST(a_newer_caller_who_sets_something_new_is_refused) {
	const struct third newer = {.size = sizeof newer, .a = 1, .d = (uint64_t)1 << 63};
	struct second got = {.a = 5};
	struct err e = {0};

	CHECK_INT(sized_in(&second_library, &newer, &got, &e), -1);
	CHECK_INT(e.kind, ERR_USAGE);
	CHECK(strstr(e.what, "corral_example.size is 32") != NULL);
	CHECK(strstr(e.what, "knows 24, and the field at byte 31 is not zero") != NULL);
	CHECK(strstr(e.fix, "newer libcorral") != NULL);
	CHECK_INT(got.a, 5);
}

TEST(a_newer_caller_reads_zero_where_this_library_stores_nothing) {
	struct third newer = {.size = sizeof newer, .d = 9};
	const struct second from = {.a = 1, .c = "c"};
	struct err e = {0};

	CHECK_INT(sized_out(&second_library, &from, &newer, &e), 0);
	CHECK_STR(newer.c, "c");
	CHECK_INT(newer.d, 0);
	CHECK_INT(newer.size, sizeof newer);
}

/* ---- every public struct ---- */

/* A caller's memory: size, and whatever fields a newer header has behind ours. */
union caller {
	size_t size;
	char bytes[4096];
	struct corral_options options;
	struct corral_probe probe;
	struct corral_url_options url;
	struct corral_cow_options cow;
	struct corral_home_options home;
	struct corral_scan_options scan;
	struct corral_scan_calls calls;
	struct corral_secret_options secret;
	struct corral_question question;
};

static int call_run(const union caller *c, struct corral_error *err) {
	const char *argv[] = {"true", NULL};
	struct corral_policy *policy = corral_policy_new();
	struct corral_result *result = NULL;

	corral_policy_no_config(policy);
	(void)corral_policy_set(policy, "any_workspace", "true", NULL);
	(void)corral_policy_set(policy, "min_level", "none", NULL);
	(void)corral_policy_set(policy, "accept_no_sandbox", "true", NULL);
	int rc = corral_run(policy, argv, &c->options, &result, err);
	corral_result_free(result);
	corral_policy_free(policy);
	return rc;
}

static int call_spawn(const union caller *c, struct corral_error *err) {
	const char *argv[] = {"true", NULL};
	struct corral_policy *policy = corral_policy_new();
	struct corral_process *process = NULL;

	corral_policy_no_config(policy);
	(void)corral_policy_set(policy, "any_workspace", "true", NULL);
	(void)corral_policy_set(policy, "min_level", "none", NULL);
	(void)corral_policy_set(policy, "accept_no_sandbox", "true", NULL);
	int rc = corral_spawn(policy, argv, &c->options, &process, err);
	corral_process_free(process);
	corral_policy_free(policy);
	return rc;
}

static int call_url(const union caller *c, struct corral_error *err) {
	struct corral_url *checked = NULL;

	int rc = corral_url_check("http://11.0.0.66/", &c->url, &checked, err);
	corral_url_free(checked);
	return rc;
}

/* There is no such id: what is wrong with the options is found before that. */
static int call_cow(const union caller *c, struct corral_error *err) {
	char *text = NULL;

	int rc = corral_cow_apply(NULL, "00000000", &c->cow, CORRAL_TEXT, &text, err);
	free(text);
	return rc != 0 && strstr(err->message, "00000000") != NULL ? 0 : rc;
}

static int call_home(const union caller *c, struct corral_error *err) {
	union caller own = *c;
	char *text = NULL;

	if (own.size >= sizeof own.home) {
		own.home.dry_run = 1;
	}
	int rc = corral_home_clean(&own.home, CORRAL_TEXT, &text, NULL, err);
	free(text);
	return rc;
}

static int call_scanner(const union caller *c, struct corral_error *err) {
	struct corral_scanner *scanner = NULL;
	int rc = corral_scanner_new(&c->scan, &scanner, err);

	corral_scanner_free(scanner);
	return rc;
}

static int call_scan(const union caller *c, struct corral_error *err) {
	struct corral_scanner *scanner = NULL;
	struct corral_scan_stream *scan = NULL;
	int rc = corral_scanner_new(NULL, &scanner, err);

	rc = rc == 0 ? corral_scan_open(scanner, &c->calls, &scan, err) : rc;
	corral_scan_close(scan);
	corral_scanner_free(scanner);
	return rc;
}

static int call_secret(const union caller *c, struct corral_error *err) {
	char *text = NULL;

	int rc = corral_secret_list(&c->secret, CORRAL_TEXT, &text, err);
	free(text);
	return rc;
}

static int call_why(const union caller *c, struct corral_error *err) {
	union caller own = *c;
	struct corral_policy *policy = corral_policy_new();
	char *text = NULL;

	corral_policy_no_config(policy);
	if (own.size >= sizeof own.question) {
		own.question.text = "/";
	}
	int rc = corral_why(policy, &own.question, CORRAL_JSON, &text, NULL, err);
	free(text);
	corral_policy_free(policy);
	return rc;
}

static const struct {
	const struct sized *type;
	int (*call)(const union caller *c, struct corral_error *err);
} calls[] = {
	{&sized_options, call_run},       {&sized_options, call_spawn},
	{&sized_url_options, call_url},   {&sized_cow_options, call_cow},
	{&sized_home_options, call_home}, {&sized_scan_options, call_scanner},
	{&sized_scan_calls, call_scan},   {&sized_secret_options, call_secret},
	{&sized_question, call_why},
};
#define CALLS (sizeof calls / sizeof calls[0])

static void clear(union caller *c, size_t size) {
	*c = (union caller){0};
	c->options.in = c->options.out = c->options.err = CORRAL_NULL;
	c->size = size;
}

/* Everything behind the size is zero but for the streams, which only a run reads. */
static void clear_for(union caller *c, const struct sized *type, size_t size) {
	clear(c, size);
	if (type != &sized_options) {
		*c = (union caller){.size = size};
	}
}

TEST(this_version_has_every_first_size_or_a_larger_one) {
	for (size_t i = 0; i < CALLS; i++) {
		CHECK(calls[i].type->first <= calls[i].type->now);
	}
	CHECK_INT(sized_options.first, 72); /* published: these never change */
	CHECK_INT(sized_probe.first, 280);
	CHECK_INT(sized_decision.first, 96);
	CHECK_INT(sized_url_options.first, 24);
	CHECK_INT(sized_cow_options.first, 24);
	CHECK_INT(sized_home_options.first, 24);
	CHECK_INT(sized_scan_options.first, 48);
	CHECK_INT(sized_scan_calls.first, 32);
	CHECK_INT(sized_secret_options.first, 56);
	CHECK_INT(sized_denial.first, 112);
	CHECK_INT(sized_identity.first, 64);
	CHECK_INT(sized_audit_options.first, 104);
	CHECK_INT(sized_question.first, 32);
	CHECK_INT(sized_stat.first, 40);
}

TEST(the_size_of_the_first_version_is_accepted) {
	for (size_t i = 0; i < CALLS; i++) {
		struct corral_error err = {0};
		union caller c;
		clear_for(&c, calls[i].type, calls[i].type->first);
		CHECK_INT(calls[i].call(&c, &err), 0);
	}
}

TEST(a_larger_struct_with_zero_behind_ours_is_accepted) {
	for (size_t i = 0; i < CALLS; i++) {
		struct corral_error err = {0};
		union caller c;
		clear_for(&c, calls[i].type, calls[i].type->now + 40);
		CHECK_INT(calls[i].call(&c, &err), 0);
	}
}

TEST(a_larger_struct_with_a_set_field_behind_ours_is_refused) {
	for (size_t i = 0; i < CALLS; i++) {
		char name[64];
		struct corral_error err = {0};
		union caller c;
		clear_for(&c, calls[i].type, calls[i].type->now + 40);
		c.bytes[calls[i].type->now + 39] = 1;
		CHECK_INT(calls[i].call(&c, &err), -1);
		CHECK_INT(err.kind, CORRAL_E_USAGE);
		(void)snprintf(name, sizeof name, "%s.size", calls[i].type->name);
		CHECK(strstr(err.message, name) != NULL);
		(void)snprintf(name, sizeof name, "byte %zu", calls[i].type->now + 39);
		CHECK(strstr(err.message, name) != NULL);
	}
}

TEST(sizes_that_no_version_has_are_refused) {
	for (size_t i = 0; i < CALLS; i++) {
		const size_t sizes[] = {0,    1,         sizeof(size_t), calls[i].type->first - 1,
					4097, ~(size_t)0};
		for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
			struct corral_error err = {0};
			union caller c;
			clear_for(&c, calls[i].type, sizes[k]);
			CHECK_INT(calls[i].call(&c, &err), -1);
			CHECK_INT(err.kind, CORRAL_E_USAGE);
			CHECK(strstr(err.message, calls[i].type->name) != NULL);
			CHECK(strstr(err.remedy, "sizeof(struct ") != NULL);
		}
	}
}

TEST(a_reserved_field_is_zero) {
	struct corral_url_options url = {.size = sizeof url, .reserved = 1};
	struct corral_cow_options cow = {.size = sizeof cow, .reserved = 1};
	struct corral_error err = {0};
	struct corral_url *checked = NULL;
	char *text = NULL;

	CHECK_INT(corral_url_check("http://11.0.0.66/", &url, &checked, &err), -1);
	CHECK_STR(err.message, "corral_url_options.reserved is 1, not 0");
	CHECK_INT(corral_cow_apply(NULL, "00000000", &cow, CORRAL_TEXT, &text, &err), -1);
	CHECK_STR(err.message, "corral_cow_options.reserved is 1, not 0");
}

TEST(a_probe_of_any_version_is_filled) {
	struct corral_error err = {0};
	union caller c = {.size = 1};

	CHECK_INT(corral_probe(&c.probe, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK(strstr(err.message, "corral_probe.size is 1") != NULL);
	c.size = sizeof c.probe;
	CHECK_INT(corral_probe(&c.probe, &err), 0);
	CHECK(c.probe.level[0] != '\0');

	memset(&c, 0x55, sizeof c); /* what is stored needs no cleared memory */
	c.size = sizeof c.probe + 16;
	CHECK_INT(corral_probe(&c.probe, &err), 0);
	CHECK_INT(c.size, sizeof c.probe + 16);
	CHECK_INT(c.bytes[sizeof c.probe + 15], 0);
	CHECK_INT(c.bytes[sizeof c.probe + 16], 0x55);
}

TESTS_MAIN
