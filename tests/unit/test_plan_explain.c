/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words and as JSON. */
#include "plan_world.h"

/* ---- explain ---- */

static const char small_top[] =
	"level      full\n"
	"engine     namespaces\n"
	"workspace  /srv/job at /workspace\n"
	"directory  /workspace\n"
	"network    none (only the sandbox's own loopback)\n"
	"home       /home/corral (private, empty at every run)\n"
	"\n"
	"guarantees\n"
	"  fs.write          enforced  mount, landlock\n"
	"  fs.read           enforced  mount, landlock\n"
	"  fs.deny           enforced  mount, broker\n"
	"  net               enforced  netns, seccomp, broker\n"
	"  net.names         absent    no name is allowed: net.mode is none\n"
	"  ipc               enforced  ipcns, mount, broker, netns\n"
	"  pid               enforced  pidns, procfs\n"
	"  env               enforced  environment\n";
static const char small_files[] =
	"\nfiles\n"
	"  dir     /dev   # devices\n"
	"  link    /dev/fd -> /proc/self/fd   # system\n"
	"  rw      /dev/full   # device\n"
	"  rw      /dev/mqueue   # message queues\n"
	"  rw      /dev/null   # device\n"
	"  link    /dev/ptmx -> pts/ptmx   # system\n"
	"  rw      /dev/pts   # device\n"
	"  link    /dev/random -> urandom   # system\n"
	"  rw      /dev/shm   # private\n"
	"  link    /dev/stderr -> /proc/self/fd/2   # system\n"
	"  link    /dev/stdin -> /proc/self/fd/0   # system\n"
	"  link    /dev/stdout -> /proc/self/fd/1   # system\n"
	"  rw      /dev/tty   # device\n"
	"  rw      /dev/urandom   # device\n"
	"  rw      /dev/zero   # device\n"
	"  dir     /etc   # mount point\n"
	"  file    /etc/group   # generated\n"
	"  file    /etc/hostname   # generated\n"
	"  file    /etc/hosts   # generated\n"
	"  file    /etc/nsswitch.conf   # generated\n"
	"  file    /etc/passwd   # generated\n"
	"  file    /etc/resolv.conf   # generated\n"
	"  rw      /home/corral   # private home\n"
	"  rw      /proc   # processes inside\n"
	"  hidden  /proc/kallsyms   # kernel\n"
	"  hidden  /proc/key-users   # kernel\n"
	"  hidden  /proc/keys   # kernel\n"
	"  hidden  /proc/locks   # kernel\n"
	"  ro      /proc/pressure   # kernel settings\n"
	"  ro      /proc/sys   # kernel settings\n"
	"  rw      /run   # private\n"
	"  dir     /run/user/1000   # mount point\n"
	"  rw      /tmp   # private\n"
	"  ro      /usr   # system\n"
	"  link    /var/run -> /run   # system\n"
	"  rw      /var/tmp   # private\n"
	"  rw      /workspace = /srv/job   # workspace, --test\n"
	"  pin     /workspace/a   # contains a protected path\n"
	"  hidden  /workspace/a/key   # fs.deny, --rule\n"
	"\nrules\n"
	"  deny    /srv/job/a/key   # --rule\n"
	"\nenvironment\n"
	"  CARGO_NET_RETRY CORRAL_LEVEL CORRAL_WORKSPACE HOME LOGNAME PATH "
	"PIP_RETRIES PWD SHELL TMPDIR USER XDG_RUNTIME_DIR npm_config_fetch_retries\n";

TEST(explain_prints_the_whole_plan_of_a_small_host) {
	struct world w;
	world_init(&w);
	w.fs.n = 0;
	node(&w, "/usr/bin/sh", 'f', NULL);
	node(&w, "/dev/null", 'o', NULL);
	node(&w, "/srv/job/a/key", 'f', NULL);
	set_num(&w, KEY_FS_VIEW, VIEW_MINIMAL);
	set_num(&w, KEY_FS_HOME, HOME_EPHEMERAL);
	set_str(&w, KEY_WORKSPACE, "/srv/job");
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	add_item(&w, KEY_FS_DENY, "/srv/job/a/key");
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, false);
	CHECK(str_starts(text, small_top));
	CHECK(strstr(text, "\n  privileges        enforced  capabilities, no_new_privs, userns, "
			   "seccomp\n") != NULL);
	CHECK(strstr(text, small_files) != NULL);
	if (test_failed) {
		printf("%s\n", text);
	}
	free(text);
	world_done(&w);
}

TEST(explain_names_what_an_old_host_lacks) {
	struct world w;
	world_init(&w);
	w.h.landlock_abi = 0;
	set_num(&w, KEY_NET_MODE, NET_FULL);
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, false);
	CHECK(str_starts(text, "level      standard\n"));
	CHECK(strstr(text, "\n  fs.write          enforced  mount\n") != NULL);
	CHECK(strstr(text, "\n  net               absent    net.mode is full\n") != NULL);
	CHECK(strstr(text, "\n  ipc               weaker    ipcns, mount, broker: abstract "
			   "sockets") != NULL);
	CHECK(strstr(text, "(private, kept between runs)") != NULL);
	free(text);
	world_done(&w);
}

TEST(explain_json_holds_names_but_no_values_of_variables) {
	struct world w;
	world_init(&w);
	variable(&w, "GITHUB_TOKEN=hush-hush");
	add_item(&w, KEY_ENV_PASS, "GITHUB_TOKEN");
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, true);
	CHECK(str_starts(text, "{\"engine\":\"namespaces\",\"level\":\"full\""));
	CHECK(strstr(text, "\"GITHUB_TOKEN\"") != NULL && strstr(text, "hush-hush") == NULL);
	CHECK(strstr(text, "\"mounts\":[{") != NULL &&
	      strstr(text, "\"limits\":{\"timeout_ms\":null") != NULL);
	CHECK(strstr(text, "{\"name\":\"net\",\"state\":\"enforced\",\"by\":[\"netns\","
			   "\"seccomp\",\"broker\"]}") != NULL);
	free(text);
	world_done(&w);
}

TESTS_MAIN
