/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that carries the values of secrets to the command. */
#include "test.h"

#include "backend/secrets.h"
#include "base/str.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 10000

/* Whether VmFlags of the mapping has this flag (proc(5)). */
static bool has_flag(const void *memory, const char *flag) {
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false, found = false;
	if (file == NULL) {
		return false;
	}
	while (fgets(line, sizeof line, file) != NULL) {
		unsigned long begin, end;
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
			here = begin == (unsigned long)memory;
		} else if (here && str_starts(line, "VmFlags:")) {
			found = strstr(line, flag) != NULL;
		}
	}
	(void)fclose(file);
	return found;
}

static struct secrets filled(void) {
	struct secrets s;
	struct err e = {0};
	if (secrets_new(SIZE, &s, &e) != 0) {
		abort();
	}
	memset(secrets_take(&s, SIZE), 'x', SIZE);
	return s;
}

/* Sanitizers replace mlock() by a function that does nothing. */
static bool mlock_works(void) {
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool works = page != MAP_FAILED && mlock(page, 4096) == 0 && has_flag(page, " lo");
	(void)munmap(page, 4096);
	return works;
}

TEST(the_memory_is_in_no_core_dump_and_not_inherited) {
	struct secrets s = filled();
	CHECK(has_flag(s.memory, " dd"));
	CHECK(has_flag(s.memory, " dc"));
	CHECK(has_flag(s.memory, " lo") || !mlock_works());
	secrets_inherit(&s, true);
	CHECK(!has_flag(s.memory, " dc"));
	CHECK(has_flag(s.memory, " dd"));
	secrets_inherit(&s, false);
	CHECK(has_flag(s.memory, " dc"));
	secrets_free(&s);
	CHECK(s.memory == NULL);
	secrets_free(&s);
	secrets_inherit(NULL, true);
}

TEST(V3_one_process_wipes_the_values_of_all) {
	struct secrets s = filled();
	secrets_inherit(&s, true);
	pid_t child = fork();
	if (child == 0) {
		bool there = s.memory[0] == 'x' && s.memory[SIZE - 1] == 'x';
		secrets_wipe(&s);
		_exit(there ? 0 : 1);
	}
	int status = -1;
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	for (size_t i = 0; i < SIZE; i++) {
		REQUIRE(s.memory[i] == 0);
	}
	secrets_free(&s);
}

TEST(the_environment_has_the_values_in_the_places_of_the_plan) {
	static char before[] = "A=1", empty[] = "TOKEN=", file[] = "CERT_FILE=/x",
		    entry[] = "TOKEN=t";
	static char content[] = "c", longer[] = "TOKEN_FILE=/y";
	char *env[] = {before, file, empty, longer, NULL};
	static const struct host_secret names[] = {
		{.name = "CERT", .agent = "", .variable = "CERT", .file = true},
		{.name = "KEY", .agent = "", .variable = "TOKEN"}};
	struct secret_bytes list[] = {{"CERT", content, 1}, {"TOKEN", entry, 7}};
	struct plan plan = {.env = env, .nenv = 4, .secrets = names, .nsecrets = 2};
	struct secrets s = {.list = list, .n = 2};
	struct arena a;
	arena_init(&a);
	char *const *got = secrets_environment(&a, &plan, &s);
	REQUIRE(got != NULL);
	CHECK(got[0] == before && got[1] == file && got[2] == entry && got[3] == longer);
	CHECK(got[4] == NULL);
	CHECK(env[2] == empty); /* the plan keeps none */
	CHECK(secrets_find(&s, "CERT") == &list[0]);
	CHECK(secrets_find(&s, "NONE") == NULL && secrets_find(NULL, "CERT") == NULL);
	arena_done(&a);
}

TESTS_MAIN
