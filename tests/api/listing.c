/* SPDX-License-Identifier: Apache-2.0 */
/* A directory with a million entries, which no file system has to hold: readdir(3) is ours,
 * and so is what looks at an entry. */
#include <corral.h>

#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES 1000000
#define LIMIT 100000 /* as corral.h has it */

static int entries, read_so_far, looked_at;

struct dirent *readdir(DIR *dir) {
	static struct dirent made;

	(void)dir;
	if (read_so_far == entries) {
		read_so_far = 0; /* the plan reads the workspace too, to its end */
		return NULL;
	}
	made.d_type = DT_REG;
	(void)snprintf(made.d_name, sizeof made.d_name, "entry-%d", read_so_far++);
	return &made;
}

int fstatat(int dir, const char *name, struct stat *st, int flags) {
	(void)dir;
	(void)name;
	(void)flags;
	looked_at++;
	*st = (struct stat){.st_mode = S_IFREG | 0644, .st_nlink = 1};
	return 0;
}

static int list(int n, size_t *ret, struct corral_error *err) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_files *files = NULL;
	struct corral_entry *all = NULL;

	corral_policy_no_config(policy);
	entries = read_so_far = 0; /* set-up finds every directory empty */
	int rc = corral_policy_set(policy, "workspace", "/var/tmp", err) == 0 &&
				 corral_policy_set(policy, "any_workspace", "true", err) == 0
			 ? corral_files_new(policy, &files, err)
			 : -1;
	entries = n;
	read_so_far = looked_at = 0;
	rc = rc == 0 ? corral_files_list(files, "/var/tmp", &all, ret, err) : rc;
	free(all);
	corral_files_free(files);
	corral_policy_free(policy);
	return rc;
}

TEST(what_is_beyond_the_limit_is_not_looked_at) {
	struct corral_error err = {0};
	size_t count = 0;

	REQUIRE(list(1000, &count, &err) == 0);
	CHECK(count >= 1000 && looked_at == 1000); /* they are looked at by ours */
	CHECK(list(ENTRIES, &count, &err) != 0);
	CHECK_INT(err.kind, CORRAL_E_TOO_LARGE);
	CHECK(read_so_far > 0 && read_so_far <= LIMIT + 1);
	CHECK(looked_at <= LIMIT + 1);
}

TESTS_MAIN
