/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the engine's command and queries it for the limits that it enforces and for the image.
 *
 * Should:   use the command of a system directory, with an environment that begins empty.
 * Must not: search the caller's PATH, which may lead into a workspace; use a daemon of another
 *           machine, whose directories are not those of this host; pull an image.
 * Fails:    closed: an engine that does not answer, or lacks seccomp or the image, is an error. */
#include "docker/container.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/read_link.h"
#include "base/str.h"
#include "linux/program_output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define WHERE "container"
/* A daemon that starts on demand takes seconds, and podman on a busy machine half a minute. */
#define ANSWER_MS 60000
#define CLIENT_FILE ".docker/config.json"
#define CLIENT_FILE_MAX ((size_t)64 * 1024)

static const char *const directories[] = {"/usr/bin/", "/usr/local/bin/", "/bin/", "/snap/bin/"};

/* In the order of the fields of its answer: security options, then limits. */
static const struct engine_row {
	const char *name;
	const char *format;   /* of `info` */
	const char *rootless; /* a word of the answer */
	const char *seccomp;
} engines[] = {
	{"docker",
	 "{{json .SecurityOptions}} memory={{.MemoryLimit}} pids={{.PidsLimit}} "
	 "cpu={{.CPUCfsQuota}} init={{.InitBinary}}",
	 "name=rootless", "name=seccomp"},
	{"podman",
	 "rootless={{.Host.Security.Rootless}} seccomp={{.Host.Security.SECCOMPEnabled}} "
	 "controllers={{json .Host.CgroupControllers}}",
	 "rootless=true", "seccomp=true"},
};

const char *engine_name(const struct policy *p) {
	return keys[KEY_BACKEND].choices[policy_num(p, KEY_BACKEND)];
}

static bool find_program(const char *name, char out[64]) {
	for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
		(void)snprintf(out, 64, "%s%s", directories[i], name); /* both are short */
		if (access(out, X_OK) == 0) {
			return true;
		}
	}
	return false;
}

void engine_describe(const char *name, struct buf *out) {
	char program[64];

	if (find_program(name, program)) {
		buf_printf(out, "%s; needs --image", program);
	} else {
		buf_puts(out, "not installed");
	}
}

/* Variables that name the daemon, or a directory of the engine's. */
static const char *const passed[] = {
	"DOCKER_HOST",     "DOCKER_CONFIG",           "CONTAINER_HOST",
	"CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DBUS_SESSION_BUS_ADDRESS",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME",           "XDG_RUNTIME_DIR",
};

char **engine_environment(struct arena *a, const struct host *h) {
	char **env = arena_array(a, ARRAY_LEN(passed) + 4, sizeof *env);
	size_t n = 0;

	if (env == NULL) {
		return NULL;
	}
	env[n++] = arena_strdup(
		a, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	env[n++] = arena_strdup(a, "LC_ALL=C");
	env[n++] = arena_printf(a, "HOME=%s", h->home == NULL ? "/" : h->home);
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *value = plan_caller_variable(h, passed[i]);
		if (value != NULL) {
			env[n++] = arena_printf(a, "%s=%s", passed[i], value);
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (env[i] == NULL) {
			return NULL;
		}
	}
	return env;
}

/* Mounts name directories of this machine. */
static int check_daemon(const struct host *h, struct err *e) {
	static const char *const names[] = {"DOCKER_HOST", "CONTAINER_HOST"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = plan_caller_variable(h, names[i]);
		if (value != NULL && value[0] != '\0' && !str_starts(value, "unix://")) {
			(void)err_set(e, ERR_SETUP, WHERE,
				      "%s names a daemon of another machine, which does not have "
				      "the workspace",
				      names[i]);
			return err_fix(e, "unset %s, or use a unix:// address", names[i]);
		}
	}
	return 0;
}

/* The variables of "proxies" go into every container that this client starts. */
static bool has_proxies(const struct host *h) {
	struct buf text;
	char path[512];
	const char *dir = plan_caller_variable(h, "DOCKER_CONFIG");

	if (dir == NULL && h->home == NULL) {
		return false;
	}
	(void)snprintf(path, sizeof path, "%s/%s", dir != NULL ? dir : h->home,
		       dir != NULL ? "config.json" : CLIENT_FILE);
	buf_init(&text);
	bool found = h->fs.read(h->fs.ctx, path, CLIENT_FILE_MAX, &text) && !buf_failed(&text) &&
		     memmem(text.data, text.len, "\"proxies\"", strlen("\"proxies\"")) != NULL;
	buf_done(&text);
	return found;
}

struct question {
	const char *program;
	char **env;
};

static bool ask(const struct question *q, const char *const *words, struct buf *out) {
	const char *argv[8] = {q->program};
	for (size_t i = 0; words[i] != NULL; i++) {
		argv[i + 1] = words[i];
	}
	return program_output_run(argv, (const char *const *)q->env, ANSWER_MS, out) &&
	       !buf_failed(out) && out->len > 0;
}

static bool says(const struct buf *answer, const char *word) {
	return memmem(answer->data, answer->len, word, strlen(word)) != NULL;
}

/* docker reports it; podman uses one of these files. */
static bool has_init(const struct engine_row *n, const struct buf *answer) {
	return n == &engines[0] ? !says(answer, "init=\n")
				: access("/usr/libexec/podman/catatonit", X_OK) == 0 ||
					  access("/usr/bin/catatonit", X_OK) == 0;
}

static int no_engine(const char *name, struct err *e) {
	(void)err_set(e, ERR_SETUP, WHERE, "%s does not answer `%s info`", name, name);
	return err_fix(e, "start its daemon, and check that this user may use it: %s info", name);
}

static int ask_engine(const struct engine_row *n, const struct question *q,
		      struct host_container *ret, struct err *e) {
	struct buf answer;

	buf_init(&answer);
	bool heard = ask(q, (const char *const[]){"info", "--format", n->format, NULL}, &answer);
	if (heard) {
		ret->rootless = says(&answer, n->rootless);
		ret->seccomp = says(&answer, n->seccomp);
		ret->memory = says(&answer, "memory=true") || says(&answer, "\"memory\"");
		ret->pids = says(&answer, "pids=true") || says(&answer, "\"pids\"");
		ret->cpu = says(&answer, "cpu=true") || says(&answer, "\"cpu\"");
		ret->init = has_init(n, &answer);
	}
	buf_done(&answer);
	if (!heard) {
		return no_engine(n->name, e);
	}
	if (!ret->seccomp) {
		(void)err_set(e, ERR_SETUP, WHERE, "%s has no seccomp filters on this host",
			      n->name);
		return err_fix(e, "use --backend auto");
	}
	return 0;
}

static int ask_image(const struct engine_row *n, const struct question *q, const char *image,
		     struct err *e) {
	struct buf answer;

	buf_init(&answer);
	bool there = ask(
		q, (const char *const[]){"image", "inspect", "--format", "{{.Id}}", image, NULL},
		&answer);
	buf_done(&answer);
	if (there) {
		return 0;
	}
	(void)err_set(e, ERR_SETUP, WHERE, "%s does not have the image %s, and corral pulls none",
		      n->name, image);
	return err_fix(e, "%s pull %s", n->name, image);
}

/* "NAME@sha256:…" or "sha256:…": a tag can name another image tomorrow.  It is an argument of the
 * engine, and must not be an option. */
static bool has_digest(const char *image) {
	static const char prefix[] = "sha256:", digits[] = "0123456789abcdef";
	const char *at = strrchr(image, '@');
	const char *digest = at == NULL ? image : at + 1;

	return image[0] != '-' && at != image && str_starts(digest, prefix) &&
	       strlen(digest) == strlen(prefix) + 64 &&
	       strspn(digest + strlen(prefix), digits) == 64;
}

static int check_image(const struct engine_row *n, const char *image, struct err *e) {
	if (image != NULL && has_digest(image)) {
		return 0;
	}
	if (image == NULL) {
		(void)err_set(e, ERR_USAGE, WHERE, "the backend %s needs an image", n->name);
	} else {
		(void)err_set(e, ERR_USAGE, WHERE, "the image %s is not named by its digest",
			      image);
	}
	return err_fix(
		e,
		"name one that the engine has: --image NAME@sha256:... or --image sha256:... "
		"(%s images --digests --no-trunc)",
		n->name);
}

/* podman's own default is above the limit that it sets for itself where kernel.pid_max is low. */
static uint64_t most_processes(void) {
	struct rlimit limit;
	char text[32] = "";
	auto_fd fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	unsigned long long pids = n <= 0 ? 0 : strtoull(text, NULL, 10);

	if (pids == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0) {
		return 0;
	}
	return limit.rlim_max < pids ? limit.rlim_max : pids;
}

/* The corral beside this program, which a caller of the library may be; NULL: none. */
static const char *find_start(struct arena *a) {
	char path[PATH_MAX];
	static const char name[] = "/corral";
	bool known = read_link("/proc/self/exe", path, sizeof path - sizeof name);
	char *slash = known ? strrchr(path, '/') : NULL;

	if (slash == NULL) {
		return NULL;
	}
	memcpy(slash, name, sizeof name);
	return access(path, X_OK) == 0 ? arena_strdup(a, path) : NULL;
}

int engine_probe(struct arena *a, const struct policy *p, struct host *h, struct err *e) {
	const struct engine_row *n =
		streq(engine_name(p), engines[0].name) ? &engines[0] : &engines[1];
	const char *image = policy_str(p, KEY_DOCKER_IMAGE);
	char program[64];

	if (check_image(n, image, e) != 0) {
		return -1;
	}
	if (!find_program(n->name, program)) {
		(void)err_set(e, ERR_SETUP, WHERE, "%s is not installed", n->name);
		return err_fix(e, "install it, or use --backend auto");
	}
	struct host_container *c = arena_alloc(a, sizeof *c);
	struct question q = {arena_strdup(a, program), engine_environment(a, h)};
	if (c == NULL || q.program == NULL || q.env == NULL) {
		return err_memory(e, WHERE);
	}
	*c = (struct host_container){.program = q.program,
				     .start = find_start(a),
				     .proxies = n == &engines[0] && has_proxies(h)};
	c->processes = most_processes();
	if (check_daemon(h, e) != 0 || ask_engine(n, &q, c, e) != 0 ||
	    ask_image(n, &q, image, e) != 0 || probe_without_namespaces(a, h, e) != 0) {
		return -1;
	}
	h->container = c;
	return 0;
}
