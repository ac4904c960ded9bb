/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log, as a program that knows corral.h alone has it. */
#include "box.h"

/* The records of a kind in this test's own state, as text in a static buffer. */
static const char *records(const struct box *b, const char *kind, uint64_t *count) {
	static char text[65536];
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS_INIT;
	struct corral_error err;
	FILE *file = tmpfile();

	(void)b;
	o.kind = kind;
	o.form = CORRAL_AUDIT_JSON;
	o.fd = fileno(file);
	CHECK_INT(corral_audit_print(&o, count, &err), 0);
	rewind(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void own_state(const struct box *b) {
	setenv("XDG_STATE_HOME", path_in(b, "state"), 1);
}

/* A box of box.h reads XDG_STATE_HOME when its handle is made: it is made again. */
static void again(struct box *b) {
	own_state(b);
	corral_files_free(b->files);
	CHECK_INT(corral_files_new(b->policy, &b->files, &b->err), 0);
}

static void check_refusals(struct box *b) {
	uint64_t count = 0;

	again(b);
	reads(b, "file", "text");
	refuses(b, "nothing", CORRAL_E_NOT_FOUND);
	(void)records(b, "deny", &count);
	CHECK_INT(count, 0);
	refuses(b, "secret/key", CORRAL_E_SENSITIVE);
	refuses(b, "../out/file", CORRAL_E_OUTSIDE);
	const char *text = records(b, "deny.path", &count);
	CHECK_INT(count, 2);
	CHECK(strstr(text, "\"op\":\"read\",\"path\":\"secret/key\"") != NULL);
	CHECK(strstr(text, "\"verdict\":\"denied\"") != NULL);
}

static void check_run(struct box *b) {
	const char *argv[] = {"/bin/true", NULL};
	struct corral_options o = CORRAL_OPTIONS_INIT;
	struct corral_identity who = CORRAL_IDENTITY_INIT;
	struct corral_result *result = NULL;
	char id[CORRAL_ID_SIZE] = "x";
	uint64_t count = 0;
	char *text = NULL;
	int intact = 0;

	again(b);
	o.id = id;
	if (corral_run(b->policy, argv, &o, &result, &b->err) != 0) {
		printf("# %s\n", b->err.message);
		test_failed = true;
		return;
	}
	CHECK_INT(corral_result_identity(result, &who), 0);
	CHECK_STR(who.id, id);
	CHECK_INT(corral_result_audited(result, NULL), 1);
	CHECK(strstr(records(b, "run", &count), id) != NULL);
	CHECK_INT(count, 1);
	CHECK_INT(corral_audit_verify(CORRAL_JSON, &text, &intact, &b->err), 0);
	CHECK_INT(intact, 1);
	free(text);
	corral_result_free(result);
}

TEST(a_refusal_of_a_file_tool_is_recorded_and_a_missing_file_is_not) {
	both(NULL, check_refusals);
}

TEST(a_run_has_one_id_in_its_result_and_in_the_log) {
	both(NULL, check_run);
}

TESTS_MAIN
