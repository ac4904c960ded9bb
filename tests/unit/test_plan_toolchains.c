/* SPDX-License-Identifier: Apache-2.0 */
/* Toolchains of the home, and programs on PATH, that the view shows. */
#include "plan_world.h"

TEST(toolchains_are_shown_without_their_credentials) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/.cargo/bin/cargo", 'f', NULL);
	node(&w, "/home/ann/.cargo/credentials.toml", 'f', NULL);
	node(&w, "/home/ann/.nvm/versions/node", 'd', NULL);
	node(&w, "/home/ann/.nvm/.npmrc", 'f', NULL);
	node(&w, "/home/ann/.pyenv", 'l', "/data/pyenv");
	node(&w, "/data/pyenv/shims/python", 'f', NULL);
	variable(&w, "PATH=/home/ann/.cargo/bin:/usr/bin:/bin");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/.cargo/bin", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/.cargo/bin")->create);
	CHECK_INT(mount_at(&w, "/home/ann/.cargo/bin")->reach, REACH_EXEC);
	CHECK(kind_is(&w, "/home/ann/.cargo", MOUNT_PIN)); /* what is in it is the private home's */
	CHECK_STR(seen_at(&w, "/home/ann/.cargo/credentials.toml")->target, "/home/ann");
	CHECK(kind_is(&w, "/home/ann/.nvm", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.nvm/.npmrc", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/data/pyenv", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.pyenv", MOUNT_BIND));
	set_num(&w, KEY_FS_TOOLCHAINS, 0);
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/.nvm") == NULL);
	world_done(&w);
}

TEST(variables_move_toolchains_but_not_onto_secrets) {
	struct world w;
	world_init(&w);
	node(&w, "/data/rust/toolchains", 'd', NULL);
	node(&w, "/data/go/bin/go", 'f', NULL);
	node(&w, "/data/go/src/private", 'f', NULL);
	node(&w, "/usr/lib/jvm/java/bin/java", 'f', NULL);
	variable(&w, "RUSTUP_HOME=/data/rust");
	variable(&w, "GOPATH=/data/go");
	variable(&w, "JAVA_HOME=/usr/lib/jvm/java");
	variable(&w, "NVM_DIR=/home/ann/.ssh");
	variable(&w, "PYENV_ROOT=/home");
	variable(&w, "VOLTA_HOME=relative");
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/data/rust", MOUNT_BIND) && kind_is(&w, "/data/go/bin", MOUNT_BIND));
	CHECK(seen_at(&w, "/data/go/src/private") == NULL);
	CHECK(mount_at(&w, "/usr/lib/jvm/java") == NULL && mount_at(&w, "/home/ann/.ssh") == NULL);
	CHECK_STR(env_of(&w, "RUSTUP_HOME"), "/data/rust");
	CHECK_STR(env_of(&w, "JAVA_HOME"), "/usr/lib/jvm/java");
	CHECK(env_of(&w, "NVM_DIR") == NULL && env_of(&w, "PYENV_ROOT") == NULL &&
	      env_of(&w, "VOLTA_HOME") == NULL);
	world_done(&w);
}

TEST(directories_of_path_are_shown_with_what_they_need) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/tool/bin/x", 'f', NULL);
	node(&w, "/home/ann/tool/lib/y", 'f', NULL);
	node(&w, "/home/ann/tool/token", 'f', NULL);
	node(&w, "/home/ann/bin/z", 'f', NULL);
	node(&w, "/home/ann/.local/bin/p", 'f', NULL);
	node(&w, "/home/ann/.ssh/bin/q", 'f', NULL);
	node(&w, "/home/ann/work/bin/r", 'f', NULL);
	node(&w, "/home/ann/scripts/s", 'f', NULL);
	variable(&w, "PATH=/home/ann/tool/bin:/home/ann/bin:/home/ann/.local/bin:/home/ann:/home/"
		     "ann/.ssh/bin:"
		     "/home/ann/work/bin:/home/ann/scripts:bin::/usr/bin");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/tool", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/tool/bin") == NULL);
	CHECK(kind_is(&w, "/home/ann/tool/token", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/home/ann/bin", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.local/bin", MOUNT_BIND));
	CHECK(kind_is(&w, "/home/ann/scripts", MOUNT_BIND));
	CHECK(mount_at(&w, "/home/ann/.ssh/bin") == NULL && mount_at(&w, "/home/ann/.ssh") == NULL);
	/* Its parent holds the workspace: only the directory itself. */
	CHECK(kind_is(&w, "/home/ann/work/bin", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/work", MOUNT_PIN));
	CHECK(str_starts(env_of(&w, "PATH"), "/home/ann/tool/bin:/home/ann/bin:"));
	CHECK(strstr(env_of(&w, "PATH"), "::") == NULL &&
	      strstr(env_of(&w, "PATH"), ":bin:") == NULL);
	world_done(&w);
}

TEST(a_program_that_is_a_link_is_shown_and_nothing_beside_it) {
	struct world w;
	world_init(&w);
	variable(&w, "PATH=/home/ann/.local/bin:/usr/bin");
	node(&w, "/home/ann/.local/bin/own", 'f', NULL);
	node(&w, "/home/ann/.local/bin/tool", 'l', "../../dotfiles/bin/tool");
	node(&w, "/home/ann/.local/bin/notes", 'l', "/home/ann/dotfiles/notes");
	node(&w, "/home/ann/.local/bin/key", 'l', "/home/ann/.ssh/key");
	node(&w, "/home/ann/dotfiles/bin/tool", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0755;
	node(&w, "/home/ann/.ssh/key", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0700;
	node(&w, "/home/ann/dotfiles/notes", 'f', NULL);
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/dotfiles/bin/tool", MOUNT_BIND));
	CHECK(mount_at(&w, "/home/ann/dotfiles/notes") == NULL); /* no program */
	CHECK(mount_at(&w, "/home/ann/.ssh/key") == NULL);
	/* In a tree that commands write, one of them may have made the link. */
	add_item(&w, KEY_FS_WRITE, "/home/ann/.local/bin");
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/dotfiles/bin/tool") == NULL);
	world_done(&w);
}

TESTS_MAIN
