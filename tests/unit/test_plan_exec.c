/* SPDX-License-Identifier: Apache-2.0 */
/* Which files may be executed with commands.default = deny. */
#include "plan_world.h"

#include "data/syscalls.h"

static void done(struct world *w) {
	world_done(w);
}

#define WORLD(w)                                                                                   \
	__attribute__((cleanup(done))) struct world w;                                             \
	world_init(&w)

#define LOADER "/lib64/ld.so"

/* An ELF header with one program header, PT_INTERP, whose text is LOADER. */
static size_t elf_head(char *out) {
	static const unsigned char head[] = {
		0x7f, 'E', 'L', 'F', 2, 1, 1, [32] = 64, [54] = 56, [56] = 1, [64] = 3, [72] = 120,
	};
	memset(out, 0, 256);
	memcpy(out, head, sizeof head);
	memcpy(out + 120, LOADER, sizeof LOADER);
	return 256;
}

/* A file whose text is "elf" is a dynamic program. */
static size_t fake_head(void *ctx, const char *path, char *out, size_t cap) {
	char full[PATH_MAX];
	const struct node *n = walk(ctx, path, true, full) ? node_at(ctx, full) : NULL;
	const char *text = n == NULL || n->text == NULL ? "" : n->text;

	if (streq(text, "elf")) {
		return elf_head(out);
	}
	(void)snprintf(out, cap, "%s", text);
	return strlen(text);
}

static void program(struct world *w, const char *path, const char *text) {
	node(w, path, 'f', text);
	w->fs.nodes[w->fs.n - 1].mode = 0755;
}

static void host_with_programs(struct world *w) {
	program(w, "/usr/bin/git", "elf");
	program(w, "/usr/bin/rm", "elf");
	program(w, "/usr/bin/env", "elf");
	program(w, "/usr/bin/node", "elf");
	program(w, "/usr/bin/npm", "#!/usr/bin/env node\n");
	program(w, "/usr/lib/arch/ld-1.so", "elf");
	program(w, "/usr/lib/arch/libc.so.6", NULL);
	program(w, "/usr/lib/arch/tools/helper", NULL);
	program(w, "/usr/lib/git-core/git-remote", NULL);
	node(w, LOADER, 'l', "/usr/lib/arch/ld-1.so");
	w->h.fs.head = fake_head;
	set_num(w, KEY_COMMANDS_DEFAULT, COMMANDS_DENY);
}

static char kind_of(const struct plan *plan, const char *path) {
	static const char kinds[] = {[EXEC_PROGRAM] = 'p',
				     [EXEC_TREE] = 't',
				     [EXEC_LIBRARIES] = 'l',
				     [EXEC_CLOSED] = 'c'};

	for (size_t i = 0; i < plan->nexecs; i++) {
		if (streq(plan->execs[i].path, path)) {
			return kinds[plan->execs[i].kind];
		}
	}
	return '-';
}

TEST(a_listed_command_its_loader_and_its_trees) {
	WORLD(w);
	host_with_programs(&w);
	add_item(&w, KEY_COMMANDS, "git blocked push --force");
	REQUIRE(build(&w) == 0);
	CHECK(w.plan.exec_limited && (w.plan.traits & TRAIT_EXEC) != 0);
	CHECK_INT(kind_of(&w.plan, "/usr/bin/git"), 'p');
	CHECK_INT(kind_of(&w.plan, "/usr/lib/arch/ld-1.so"), 'p');
	CHECK_INT(kind_of(&w.plan, "/usr/lib/arch"), 'l');
	CHECK_INT(kind_of(&w.plan, "/usr/lib/arch/tools/helper"), 'c');
	CHECK_INT(kind_of(&w.plan, "/usr/lib/arch/libc.so.6"), '-');
	CHECK_INT(kind_of(&w.plan, "/usr/lib/git-core"), 't');
	CHECK_INT(kind_of(&w.plan, "/usr/bin/rm"), '-');
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_ENFORCED);
	for (size_t i = 0; i < w.plan.nmounts; i++) {
		CHECK(w.plan.mounts[i].noexec);
	}
	for (size_t i = 1; i < w.plan.nexecs; i++) {
		CHECK(path_order(w.plan.execs[i - 1].path, w.plan.execs[i].path) < 0);
	}
}

TEST(the_interpreters_of_a_script) {
	WORLD(w);
	host_with_programs(&w);
	add_item(&w, KEY_COMMANDS, "npm");
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/usr/bin/npm"), 'p');
	CHECK_INT(kind_of(&w.plan, "/usr/bin/env"), 'p');
	CHECK_INT(kind_of(&w.plan, "/usr/bin/node"), 'p');
	CHECK_INT(kind_of(&w.plan, "/usr/bin/git"), '-');
}

TEST(a_shell_with_a_string_may_be_executed) {
	WORLD(w);
	host_with_programs(&w);
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/usr/bin/sh"), '-');
	w.h.shell = "/usr/bin/sh";
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/usr/bin/sh"), 'p');
}

TEST(a_tree_that_can_be_written_is_never_executable) {
	WORLD(w);
	host_with_programs(&w);
	program(&w, "/home/ann/work/app/bin/tool", "elf");
	node(&w, "/home/ann/work/app/lib/x", 'f', NULL);
	add_item(&w, KEY_COMMANDS, "/home/ann/work/app/bin/tool");
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/home/ann/work/app/bin/tool"), 'p');
	CHECK_INT(kind_of(&w.plan, "/home/ann/work/app/lib"), '-');
	/* The command can write the program, so the list is no longer what it executes. */
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_WEAKER);
}

TEST(a_name_is_not_looked_up_where_commands_can_write) {
	WORLD(w);
	host_with_programs(&w);
	program(&w, "/home/ann/work/app/bin/git", "elf");
	variable(&w, "PATH=/home/ann/work/app/bin:/usr/bin");
	add_item(&w, KEY_COMMANDS, "git");
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/home/ann/work/app/bin/git"), '-');
	CHECK_INT(kind_of(&w.plan, "/usr/bin/git"), 'p');
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_ENFORCED);
}

TEST(an_interpreter_that_commands_can_write_is_not_executable) {
	WORLD(w);
	host_with_programs(&w);
	program(&w, "/home/ann/work/app/run", "elf");
	program(&w, "/home/ann/work/app/ld.so", "elf");
	program(&w, "/usr/bin/tool", "#!/home/ann/work/app/run -x\n");
	add_item(&w, KEY_COMMANDS, "tool");
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/usr/bin/tool"), 'p');
	CHECK_INT(kind_of(&w.plan, "/home/ann/work/app/run"), '-');
	CHECK(has_note(&w, "/home/ann/work/app/run, which starts a listed program"));
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_ENFORCED);
	/* Listed itself, it is executable, and the guarantee weaker. */
	add_item(&w, KEY_COMMANDS, "/home/ann/work/app/run");
	REQUIRE(build(&w) == 0);
	CHECK_INT(kind_of(&w.plan, "/home/ann/work/app/run"), 'p');
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_WEAKER);
}

TEST(a_program_that_a_second_mount_makes_writable) {
	WORLD(w);
	host_with_programs(&w);
	program(&w, "/home/ann/work/app/bin/tool", "elf");
	add_item(&w, KEY_COMMANDS, "/home/ann/work/app/bin/tool");
	struct item *it = add_item(&w, KEY_FS_READ, "/home/ann/work/app/bin");
	it->at = "/tools";
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.guarantees[GUARANTEE_EXEC].state, STATE_WEAKER);
}

TEST(every_host_reports_what_it_enforces) {
	static const struct {
		bool deny, userns;
		int abi;
		enum state want;
	} rows[] = {
		{false, true, 6, STATE_ABSENT},
		{true, true, 6, STATE_ENFORCED},
		{true, true, 0, STATE_WEAKER},
		{true, false, 6, STATE_WEAKER},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		WORLD(w);
		host_with_programs(&w);
		set_num(&w, KEY_COMMANDS_DEFAULT, rows[i].deny ? COMMANDS_DENY : COMMANDS_ALLOW);
		add_item(&w, KEY_COMMANDS, "git");
		w.h.userns = rows[i].userns;
		w.h.landlock_abi = rows[i].abi;
		w.h.run_dir = "/tmp/corral-run";
		REQUIRE(build(&w) == 0);
		const struct guarantee_report *made = &w.plan.guarantees[GUARANTEE_EXEC];
		CHECK_INT(made->state, rows[i].want);
		CHECK((made->why == NULL) == (made->state == STATE_ENFORCED));
		CHECK_INT(w.plan.exec_limited, rows[i].deny);
		add_item(&w, KEY_REQUIRE, "exec");
		CHECK_INT(build(&w) == 0, rows[i].want == STATE_ENFORCED);
	}
}

TESTS_MAIN
