/* SPDX-License-Identifier: Apache-2.0 */
/* The backends docker and podman: the arguments of the engine, settings that are refused, the
 * report of guarantees, messages of the container's first program. */
#include "docker/watcher.h"

#include "plan_world.h"

#include "base/fdpass.h"
#include "data/container_start.h"
#include "gate/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define IMAGE "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct host_container engine = {.program = "/usr/bin/docker",
					     .start = "/usr/bin/corral",
					     .seccomp = true,
					     .memory = true,
					     .pids = true,
					     .cpu = true};

static int64_t choice(const char *name) {
	int64_t i = 0;
	while (!streq(keys[KEY_BACKEND].choices[i], name)) {
		i++;
	}
	return i;
}

static void world_of(struct world *w, const char *name) {
	world_init(w);
	set_num(w, KEY_BACKEND, choice(name));
	set_str(w, KEY_DOCKER_IMAGE, IMAGE);
	set_num(w, KEY_FS_HOME, HOME_EPHEMERAL);
	w->h.container = &engine;
	w->h.run_dir = "/tmp/corral-1000-x";
	w->h.run_id = "abc";
	w->h.cwd = "/home/ann/work/app";
}

static int prepare(struct world *w) {
	w->h.environ = w->environ;
	w->h.fs.ctx = &w->fs;
	w->e = (struct err){0};
	return container_prepare(&w->a, &w->p, &w->h, &w->plan, &w->e);
}

/* The place of a word, or of a word and the one after it. */
static size_t find(const struct world *w, const char *first, const char *second) {
	const struct container_run *c = w->plan.container;
	for (size_t i = 0; i < c->nrun; i++) {
		if (streq(c->run[i], first) &&
		    (second == NULL || (i + 1 < c->nrun && streq(c->run[i + 1], second)))) {
			return i;
		}
	}
	return SIZE_MAX;
}

#define HAS(w, first, second) CHECK(find(w, first, second) != SIZE_MAX)
#define LACKS(w, first, second) CHECK(find(w, first, second) == SIZE_MAX)

/* The design documents, "Option B: Docker", word for word. */
static const char golden[] = "if (process.platform === 'darwin') {\n"
			     "  const containerName = `ash-sandbox-${id}`;\n"
			     "  bridgeProcess = spawn('docker', [\n"
			     "    'run', '--rm',\n"
			     "    '--name', containerName,\n"
			     "    '--network=none',\n"
			     "    '--memory=512m',\n"
			     "    '--cpus=1',\n"
			     "    '-v', `${workspaceDir}:/workspace`,\n"
			     "    '-v', `${opts.agentDir}:/agent:ro`,\n"
			     "    '-v', `${socketPath}:/run/bridge.sock`,\n"
			     "    '-e', `ASH_BRIDGE_SOCKET=/run/bridge.sock`,\n"
			     "    '-e', `ASH_AGENT_DIR=/agent`,\n"
			     "    '-w', '/workspace',\n"
			     "    'ash-sandbox:latest',  // Pre-built image with node\n"
			     "    'node', '/agent/bridge/index.js',\n"
			     "  ], { stdio: ['ignore', 'pipe', 'pipe'] });\n"
			     "}\n";

/* What the documents' variables are in this world.  Three words differ: the container's name, a
 * variable in the text, has Corral's prefix; the file of the socket is read-only, because a
 * connection needs no more; and an image has to have a digest. */
static const struct {
	const char *written, *here;
} filled[] = {
	{"${workspaceDir}:/workspace", "/home/ann/work/app:/workspace"},
	{"${opts.agentDir}:/agent:ro", "/home/ann/agent:/agent:ro"},
	{"${socketPath}:/run/bridge.sock", "/home/ann/run/bridge.sock:/run/bridge.sock:ro"},
	{"ash-sandbox:latest", IMAGE},
};

/* The next word of the list in the text, without its quotes; NULL: the list has ended. */
static const char *next_word(const char *at, char word[128]) {
	const char *end = strchr(golden, ']'), *first = strpbrk(at, "'`");

	if (first == NULL || first > end) {
		return NULL;
	}
	const char *last = strchr(first + 1, first[0]);
	snprintf(word, 128, "%.*s", (int)(last - first - 1), first + 1);
	for (size_t i = 0; i < ARRAY_LEN(filled); i++) {
		if (streq(word, filled[i].written)) {
			snprintf(word, 128, "%s", filled[i].here);
			break;
		}
	}
	return last + 1;
}

TEST(the_documents_command_line_is_in_the_arguments_word_for_word) {
	struct world w;
	char word[128] = "", before[128];
	size_t words = 0;

	world_of(&w, "docker");
	node(&w, "/home/ann/agent/bridge/index.js", 'f', NULL);
	node(&w, "/home/ann/run/bridge.sock", 's', NULL);
	set_num(&w, KEY_LIMITS_MEMORY, (int64_t)512 << 20);
	set_num(&w, KEY_LIMITS_CPUS, 1000);
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	set_str(&w, KEY_FS_AGENT, "/home/ann/agent");
	add_item(&w, KEY_NET_SOCKETS, "/home/ann/run/bridge.sock:/run/bridge.sock");
	add_item(&w, KEY_ENV_SET, "ASH_BRIDGE_SOCKET=/run/bridge.sock");
	add_item(&w, KEY_ENV_SET, "ASH_AGENT_DIR=/agent");
	if (prepare(&w) != 0) {
		printf("# %s\n", w.e.what);
		REQUIRE(false);
	}
	/* Each option with its value, up to the image; the command follows it. */
	const char *at = strstr(golden, "spawn(");
	CHECK_STR(w.plan.container->run[0], "docker");
	at = next_word(at, word); /* 'docker' */
	while ((at = next_word(at, word)) != NULL && !streq(word, IMAGE)) {
		bool value = word[0] != '-' && words > 0;
		if (find(&w, value ? before : word, value ? word : NULL) == SIZE_MAX) {
			printf("# %s is not among the arguments\n", word);
			CHECK(false);
		}
		memcpy(before, word, sizeof before);
		words++;
	}
	CHECK_INT(words, 18);
	HAS(&w, "--name", "corral-abc");
	CHECK_STR(w.plan.container->run[1], "run");
	CHECK_STR(w.plan.container->run[2], "--rm");
	CHECK_STR(w.plan.container->run[w.plan.container->nrun - 1], IMAGE);
	REQUIRE(at != NULL);
	at = next_word(at, word);
	CHECK_STR(word, "node");
	REQUIRE(at != NULL);
	at = next_word(at, word);
	CHECK_STR(word, "/agent/bridge/index.js");
	CHECK(next_word(at, word) == NULL);
	world_done(&w);
}

/* A network by the gate: its listeners, the program that makes them, and the variables. */
TEST(allowed_hosts_are_reached_by_the_proxies_of_the_gate) {
	struct world w;
	world_of(&w, "podman");
	set_num(&w, KEY_NET_MODE, NET_FILTERED);
	add_item(&w, KEY_NET_ALLOW, "example.com");
	add_item(&w, KEY_NET_HOST_PORTS, "8080");
	w.h.landlock_abi = 4;
	REQUIRE(prepare(&w) == 0);
	HAS(&w, "--network=none", NULL);
	HAS(&w, "-v", "/usr/bin/corral:/.corral/corral:ro");
	HAS(&w, "-v", "/tmp/corral-1000-x/gate:/.corral/gate:ro");
	HAS(&w, "-e", "http_proxy=http://127.0.0.1:3128");
	LACKS(&w, "--sysctl=net.ipv4.ip_unprivileged_port_start=0", NULL);
	CHECK_STR(w.plan.container->start[0], "/.corral/corral");
	CHECK_STR(w.plan.container->start[3], "3128,1080,8080");
	CHECK_INT(w.plan.gate_abi, 4);
	CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state, STATE_ENFORCED);
	CHECK_STR(w.plan.guarantees[GUARANTEE_NET].by[2], "gate");
	CHECK(strstr(w.plan.notes[w.plan.nnotes - 1], "proxies") != NULL);
	world_done(&w);

	world_of(&w, "docker");
	add_item(&w, KEY_NET_HOST_PORTS, "80");
	REQUIRE(prepare(&w) == 0);
	HAS(&w, "--sysctl=net.ipv4.ip_unprivileged_port_start=0", NULL);
	CHECK_STR(w.plan.container->start[3], "80"); /* without names: no proxy */
	world_done(&w);
}

TEST(a_gate_needs_the_program_corral) {
	static const struct host_container alone = {.program = "/usr/bin/docker",
						    .seccomp = true,
						    .memory = true,
						    .pids = true,
						    .cpu = true};
	struct world w;
	world_of(&w, "docker");
	w.h.container = &alone;
	CHECK_INT(prepare(&w), 0);
	CHECK_INT(w.plan.container->nports, 0);
	set_num(&w, KEY_NET_MODE, NET_FILTERED);
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "gate") != NULL);
	world_done(&w);
}

TEST(a_container_has_no_rights_and_its_image_is_not_pulled) {
	static const char *const words[] = {
		"--pull=never",
		"--read-only",
		"--cap-drop=ALL",
		"--security-opt=no-new-privileges",
		"--security-opt=seccomp=/tmp/corral-1000-x/seccomp.json",
		"--user=1000:1000",
		"--network=none",
		"--ipc=private"};
	static const char *const names[] = {"docker", "podman"};

	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		struct world w;
		world_of(&w, names[n]);
		REQUIRE(prepare(&w) == 0);
		CHECK_STR(w.plan.container->run[0], names[n]);
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			HAS(&w, words[i], NULL);
		}
		for (size_t i = 0; i < w.plan.container->nrun; i++) {
			CHECK(strstr(w.plan.container->run[i], "privileged=") == NULL);
			CHECK(!str_starts(w.plan.container->run[i], "/usr:"));
		}
		world_done(&w);
	}
}

TEST(existing_names_get_mounts_and_later_ones_are_reported) {
	struct world w;
	world_of(&w, "docker");
	node(&w, "/home/ann/work/app/a.key", 'f', NULL);
	node(&w, "/home/ann/work/app/keep/guarded", 'f', NULL);
	add_pattern(&w, KEY_FS_DENY, "*.key");
	add_pattern(&w, KEY_FS_PROTECT, "keep/guard*");
	REQUIRE(prepare(&w) == 0);
	HAS(&w, "-v", "/tmp/corral-1000-x/hidden:/home/ann/work/app/a.key:ro");
	HAS(&w, "-v", "/home/ann/work/app/keep/guarded:/home/ann/work/app/keep/guarded:ro");
	LACKS(&w, "-v", "/home/ann/work/app/src/main.c:/home/ann/work/app/src/main.c:ro");
	CHECK_INT(w.plan.guarantees[GUARANTEE_FS_DENY].state, STATE_WEAKER);
	CHECK_INT(w.plan.guarantees[GUARANTEE_LIFETIME].state, STATE_WEAKER);
	CHECK_INT(w.plan.guarantees[GUARANTEE_PRIVILEGES].state, STATE_ENFORCED);
	CHECK_STR(w.plan.guarantees[GUARANTEE_PRIVILEGES].by[0], "engine");
	CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state, STATE_ENFORCED);
	CHECK_INT(w.plan.level, LEVEL_STANDARD);
	add_item(&w, KEY_REQUIRE, "lifetime");
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "lifetime is required") != NULL);
	world_done(&w);
}

TEST(settings_that_the_engine_cannot_enforce_are_refused_by_name) {
	static const struct {
		enum key_id key;
		int64_t num;
	} rows[] = {
		{KEY_FS_COW, 1},
		{KEY_NESTED, 1},
		{KEY_LEVEL, LEVEL_FULL},
		{KEY_MIN_LEVEL, LEVEL_FULL},
		{KEY_LIMITS_DISK, 1 << 20},
		{KEY_COMMANDS_DEFAULT, COMMANDS_DENY},
		{KEY_MODE, MODE_FULL_ACCESS},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_of(&w, "docker");
		set_num(&w, rows[i].key, rows[i].num);
		CHECK_INT(prepare(&w), -1);
		CHECK(strstr(w.e.what, keys[rows[i].key].name) != NULL);
		CHECK(w.e.fix[0] != '\0');
		world_done(&w);
	}
}

TEST(a_limit_that_the_engine_lacks_is_refused) {
	static const struct host_container weak = {.program = "/usr/bin/podman", .seccomp = true};
	struct world w;
	world_of(&w, "podman");
	w.h.container = &weak;
	CHECK_INT(prepare(&w), 0); /* the built-in limit of processes is reported */
	CHECK(w.plan.guarantees[GUARANTEE_LIMITS_PROCESSES].state != STATE_ENFORCED);
	static const enum key_id limits[] = {KEY_LIMITS_CPUS, KEY_LIMITS_MEMORY,
					     KEY_LIMITS_PROCESSES};
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct value kept = w.p.values[limits[i]];
		set_num(&w, limits[i], 1 << 20);
		w.p.values[limits[i]].origin.kind = ORIGIN_OPTION;
		CHECK_INT(prepare(&w), -1);
		CHECK(strstr(w.e.what, "limit") != NULL);
		w.p.values[limits[i]] = kept;
	}
	world_done(&w);
}

TEST(a_path_with_a_colon_is_refused) {
	struct world w;
	world_of(&w, "docker");
	node(&w, "/srv/a:b/x", 'f', NULL);
	add_item(&w, KEY_FS_READ, "/srv/a:b");
	CHECK_INT(prepare(&w), -1);
	CHECK(strstr(w.e.what, "colon") != NULL);
	world_done(&w);
}

/* ---- messages of the container's first program ---- */

/* A watcher with one port, the container's end of its socket, and the gate's. */
struct conversation {
	uint16_t port;
	struct container_run c;
	struct watcher k;
	int container, gate, listener;
};

static void conversation_begin(struct conversation *t) {
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof at;
	int start[2], gate[2];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(bind(t->listener, (const struct sockaddr *)&at, sizeof at) == 0);
	REQUIRE(listen(t->listener, 1) == 0);
	REQUIRE(getsockname(t->listener, (struct sockaddr *)&at, &len) == 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, start) == 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) == 0);
	t->port = ntohs(at.sin_port);
	t->c = (struct container_run){.ports = &t->port, .nports = 1};
	t->k = (struct watcher){.c = &t->c, .listen = -1, .start = start[0], .gate = gate[0]};
	t->container = start[1];
	t->gate = gate[1];
}

static void conversation_end(struct conversation *t) {
	drop_fd(&t->k.start);
	drop_fd(&t->k.gate);
	drop_fd(&t->container);
	drop_fd(&t->gate);
	drop_fd(&t->listener);
}

/* Queues a message; fd -1: without a descriptor. */
static void say(const struct conversation *t, int error, int fd) {
	struct container_start_message m = {.port = t->port, .error = error};
	const struct iovec body = {&m, sizeof m};

	CHECK_INT(fdpass_send(t->container, body, &fd, fd < 0 ? 0 : 1, MSG_DONTWAIT), 0);
}

#define MESSAGES 8

/* How many messages the watcher reads, of those that are queued, until it closes the socket. */
static size_t messages_read(struct conversation *t, size_t queued) {
	size_t n = 0;

	for (; t->k.start >= 0 && n < queued; n++) {
		container_gate_receive(&t->k);
	}
	return n;
}

TEST(a_container_cannot_keep_the_watcher_busy_with_messages) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct { int error, fd; } rows[] = {{EADDRINUSE, -1}, {0, -1}, {0, null}, {-1, null}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct conversation t;
		conversation_begin(&t);
		for (size_t j = 0; j < MESSAGES; j++) {
			say(&t, rows[i].error, rows[i].fd);
		}
		CHECK_INT(messages_read(&t, MESSAGES), 1);
		CHECK_INT(t.k.start, -1);
		CHECK_INT(t.k.start_error, rows[i].error);
		CHECK_INT(t.k.nlisteners, 0);
		CHECK(container_gate_failed(&t.k));
		conversation_end(&t);
	}
	drop_fd(&null);
}

TEST(the_gate_gets_each_listener_once_and_a_message_after_them_is_the_last) {
	struct conversation t;
	struct wire w = {0};
	int fds[FDPASS_MAX] = WIRE_NO_FDS;
	size_t n = 0;
	char answer = 1;

	conversation_begin(&t);
	say(&t, 0, t.listener);
	CHECK_INT(messages_read(&t, 1), 1);
	CHECK_INT(t.k.nlisteners, 1);
	CHECK(t.k.start >= 0 && !container_gate_failed(&t.k));
	CHECK_INT(recv(t.container, &answer, 1, MSG_DONTWAIT), 1);
	CHECK_INT(fdpass_receive(t.gate, (struct iovec){&w, sizeof w}, fds, &n), 0);
	CHECK_INT(w.kind, WIRE_LISTENER);
	CHECK_INT(w.port, t.port);
	CHECK_INT(n, 1);
	drop_fd(&fds[0]);
	say(&t, 0, t.listener);
	say(&t, 0, t.listener);
	CHECK_INT(messages_read(&t, 2), 1);
	CHECK_INT(t.k.start, -1);
	CHECK_INT(t.k.nlisteners, 1);
	conversation_end(&t);
}

/* ---- a container that did not start ---- */

static struct err completed(enum err_kind kind, const char *what, const char *output) {
	struct err e = {0};

	(void)err_set(&e, kind, "container", "%s", what);
	container_explain(output, strlen(output), &e);
	return e;
}

#define NO_EXEC ERR_NO_EXEC, "sh cannot be executed in the image; the message is on stderr"

TEST(a_failure_of_the_engine_is_not_blamed_on_the_program) {
	struct err e =
		completed(NO_EXEC, "warning\nError: OCI runtime error: crun: cgroups in hybrid "
				   "mode not supported, drop all controllers\n");
	CHECK_INT(e.kind, ERR_SETUP);
	CHECK_STR(e.what, "the engine could not start the container: OCI runtime error: crun: "
			  "cgroups in hybrid mode not supported, drop all controllers");
	CHECK(e.fix[0] != '\0');
	e = completed(NO_EXEC,
		      "Error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI "
		      "permission denied");
	CHECK_INT(e.kind, ERR_SETUP);
	e = completed(ERR_SETUP, "podman could not start the container; its message is on stderr",
		      "Error: no space left\x1b[31m\n");
	CHECK(strstr(e.what, "no space left") != NULL && strchr(e.what, '\x1b') == NULL);
}

TEST(a_message_on_a_terminal_has_its_echo_before_it) {
	struct err e = completed(NO_EXEC, "^@Error: cgroups\r\n");
	CHECK_STR(e.what, "the engine could not start the container: cgroups");
}

TEST(a_program_that_the_engine_names_keeps_its_status) {
	struct err e = completed(NO_EXEC, "Error: crun: open executable: Permission denied: OCI "
					  "permission denied\n");
	CHECK_INT(e.kind, ERR_NO_EXEC);
	CHECK_STR(e.what, "sh cannot be executed in the image: crun: open executable: Permission "
			  "denied: OCI permission denied");
	e = completed(ERR_NOT_FOUND, "x is not in the image; the message is on stderr",
		      "docker: Error response from daemon: exec: \"x\": executable file not found "
		      "in $PATH: unknown.\n");
	CHECK_INT(e.kind, ERR_NOT_FOUND);
	CHECK(strstr(e.what, "executable file not found") != NULL);
}

TEST(without_a_message_of_the_engine_the_error_stays) {
	struct err e = completed(NO_EXEC, "nothing\nError:\n");
	CHECK_INT(e.kind, ERR_NO_EXEC);
	CHECK_STR(e.what, "sh cannot be executed in the image; the message is on stderr");
}

TESTS_MAIN
