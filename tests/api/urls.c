/* SPDX-License-Identifier: Apache-2.0 */
/* Checked URLs, as a program that knows corral.h alone has them.  No name is looked up
 * here: tests/cli/urls.py does that on a host of its own. */
#include <corral.h>

#include "test.h"

static struct corral_url *checked(const char *url) {
	struct corral_url_options how = {.size = sizeof how, .text_only = 1};
	struct corral_url *u = NULL;
	struct corral_error err = {0};

	if (corral_url_check(url, &how, &u, &err) != 0) {
		printf("# %s: %s\n", url, err.message);
		CHECK(false);
	}
	return u;
}

TEST(an_allowed_url_says_where_to_connect) {
	struct corral_url *u = checked("https://[2606:4700::1111]:8443/x");

	REQUIRE(u != NULL);
	CHECK_INT(corral_url_allowed(u), 1);
	CHECK_STR(corral_url_host(u), "2606:4700::1111");
	CHECK_INT(corral_url_port(u), 8443);
	CHECK_STR(corral_url_address(u, 0), "2606:4700::1111");
	CHECK(corral_url_address(u, 1) == NULL);
	CHECK_STR(corral_url_rule(u), "");
	CHECK_STR(corral_url_reason(u), "");
	CHECK_STR(corral_url_remedy(u), "");
	corral_url_free(u);
}

TEST(a_refusal_is_a_verdict) {
	struct corral_url *u = checked("http://169.254.169.254/latest");

	REQUIRE(u != NULL);
	CHECK_INT(corral_url_allowed(u), 0);
	CHECK_STR(corral_url_rule(u), "address");
	CHECK(strstr(corral_url_reason(u), "metadata") != NULL);
	CHECK(corral_url_remedy(u)[0] != '\0');
	CHECK(corral_url_address(u, 0) == NULL);
	corral_url_free(u);
}

TEST(what_names_no_host_has_none) {
	struct corral_url *u = checked("http://a\\@b/");

	REQUIRE(u != NULL);
	CHECK_INT(corral_url_allowed(u), 0);
	CHECK_STR(corral_url_host(u), "");
	CHECK_INT(corral_url_port(u), 0);
	corral_url_free(u);
}

TEST(text_only_asks_nobody) {
	struct corral_url *u = checked("http://nobody.test/");

	REQUIRE(u != NULL);
	CHECK_INT(corral_url_allowed(u), 1);
	CHECK(corral_url_address(u, 0) == NULL);
	corral_url_free(u);
}

TEST(the_policy_opens_and_closes) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_url_options how = {.size = sizeof how, .policy = policy};
	struct corral_url *u = NULL;
	struct corral_error err = {0};

	REQUIRE(policy != NULL);
	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "net.mode", "restricted", &err) == 0);
	CHECK(corral_policy_set(policy, "net.private", "10.0.0.0/8", &err) == 0);
	CHECK(corral_policy_set(policy, "net.deny", "*.bad.test", &err) == 0);
	REQUIRE(corral_url_check("http://10.1.2.3/", &how, &u, &err) == 0);
	CHECK_INT(corral_url_allowed(u), 1);
	corral_url_free(u);
	REQUIRE(corral_url_check("http://x.bad.test/", &how, &u, &err) == 0);
	CHECK_STR(corral_url_rule(u), "net.deny");
	corral_url_free(u);
	corral_policy_free(policy);
}

TEST(both_formats) {
	struct corral_url *u = checked("http://11.0.0.66/");
	char *text = NULL, *json = NULL;

	REQUIRE(u != NULL);
	REQUIRE(corral_url_show(u, CORRAL_TEXT, &text, NULL) == 0);
	REQUIRE(corral_url_show(u, CORRAL_JSON, &json, NULL) == 0);
	CHECK_STR(text, "allowed: 11.0.0.66 port 80 at 11.0.0.66\n");
	CHECK_STR(
		json,
		"{\"version\":1,\"url\":\"http://11.0.0.66/\",\"allowed\":true,\"scheme\":\"http\","
		"\"host\":\"11.0.0.66\",\"port\":80,\"addresses\":[\"11.0.0.66\"],\"rule\":null,"
		"\"reason\":null,\"remedy\":null}");
	free(text);
	free(json);
	corral_url_free(u);
}

TEST(wrong_arguments_are_errors) {
	struct corral_url_options how = {.size = 3};
	struct corral_url *u = NULL;
	struct corral_error err = {0};

	CHECK_INT(corral_url_check(NULL, NULL, &u, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK_INT(corral_url_check("http://11.0.0.66/", &how, &u, &err), -1);
	CHECK(u == NULL);
	corral_url_free(NULL);
}

TESTS_MAIN
