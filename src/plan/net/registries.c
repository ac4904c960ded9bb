/* SPDX-License-Identifier: Apache-2.0 */
/* Expands @registries in net.allow to the package registries that the user's clients (npm, pip,
 * cargo, …) are configured for.
 *
 * Corral has no built-in registry, not even a well-known one: only the registries in a client's
 * files and variables are allowed, so that a company's mirror works and no other host is reachable.
 * For a client without settings, the client itself is run once on the host to print its default.
 *
 * Should:   read each client's own settings, of the user and of the system.
 * Must not: read a file that commands can write: an earlier command could use it to allow a
 *           host for the next one; keep or print a login.
 * Fails:    closed: a setting that cannot be parsed allows no host, with a note. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/outside_programs.h"
#include "data/ranges.h"
#include "plan/net/url_host.h"
#include "plan/net/registry_files.h"

/* Settings files are smaller. */
#define FILE_MAX ((size_t)1024 * 1024)

/* No client accepts a longer URL. */
#define ADDRESS_MAX ((size_t)4096)

#define APT_PARTS "/etc/apt/sources.list.d"

enum client {
	CLIENT_NPM,
	CLIENT_YARN,
	CLIENT_PIP,
	CLIENT_UV,
	CLIENT_CARGO,
	CLIENT_GO,
	CLIENT_MAVEN,
	CLIENT_GEM,
	CLIENT_APT,
	CLIENT_COUNT
};

static const char *const client_names[CLIENT_COUNT] = {
	[CLIENT_NPM] = "npm",     [CLIENT_YARN] = "yarn",   [CLIENT_PIP] = "pip",
	[CLIENT_UV] = "uv",       [CLIENT_CARGO] = "cargo", [CLIENT_GO] = "Go",
	[CLIENT_MAVEN] = "Maven", [CLIENT_GEM] = "gem",     [CLIENT_APT] = "apt",
};

/* A file in a directory that a variable may name. */
struct setting_place {
	enum client client;
	enum registry_format format;
	const char *variable; /* NULL: none */
	const char *dir;      /* if the variable is not set; "~" is the home */
	const char *name;
};

static const struct setting_place places[] = {
	{CLIENT_NPM, REGISTRY_NPM, NULL, "~", ".npmrc"},
	{CLIENT_NPM, REGISTRY_NPM, NULL, "/etc", "npmrc"},
	{CLIENT_NPM, REGISTRY_NPM, NULL, "/usr/etc", "npmrc"},
	{CLIENT_NPM, REGISTRY_NPM, NULL, "/usr/local/etc", "npmrc"},
	{CLIENT_YARN, REGISTRY_YARN_1, NULL, "~", ".yarnrc"},
	{CLIENT_YARN, REGISTRY_YARN, NULL, "~", ".yarnrc.yml"},
	{CLIENT_PIP, REGISTRY_PIP, "XDG_CONFIG_HOME", "~/.config", "pip/pip.conf"},
	{CLIENT_PIP, REGISTRY_PIP, NULL, "~/.pip", "pip.conf"},
	{CLIENT_PIP, REGISTRY_PIP, NULL, "/etc", "pip.conf"},
	{CLIENT_PIP, REGISTRY_PIP, NULL, "/etc/xdg", "pip/pip.conf"},
	{CLIENT_UV, REGISTRY_UV, "XDG_CONFIG_HOME", "~/.config", "uv/uv.toml"},
	{CLIENT_UV, REGISTRY_UV, NULL, "/etc", "uv/uv.toml"},
	{CLIENT_CARGO, REGISTRY_CARGO, "CARGO_HOME", "~/.cargo", "config.toml"},
	{CLIENT_CARGO, REGISTRY_CARGO, "CARGO_HOME", "~/.cargo", "config"},
	{CLIENT_GO, REGISTRY_GO, "XDG_CONFIG_HOME", "~/.config", "go/env"},
	{CLIENT_MAVEN, REGISTRY_MAVEN, NULL, "~/.m2", "settings.xml"},
	{CLIENT_MAVEN, REGISTRY_MAVEN, NULL, "/etc/maven", "settings.xml"},
	{CLIENT_GEM, REGISTRY_GEM, NULL, "~", ".gemrc"},
	{CLIENT_GEM, REGISTRY_GEM, NULL, "/etc", "gemrc"},
	{CLIENT_APT, REGISTRY_APT, NULL, "/etc/apt", "sources.list"},
};

/* A variable that contains URLs, or the path of a file. */
struct setting_row {
	enum client client;
	enum registry_format format;
	const char *variable;
	bool file;
};

static const struct setting_row variables[] = {
	{CLIENT_NPM, REGISTRY_LIST, "NPM_CONFIG_REGISTRY", false},
	{CLIENT_NPM, REGISTRY_NPM, "NPM_CONFIG_USERCONFIG", true},
	{CLIENT_NPM, REGISTRY_LIST, "npm_config_registry", false},
	{CLIENT_NPM, REGISTRY_NPM, "npm_config_userconfig", true},
	{CLIENT_YARN, REGISTRY_LIST, "YARN_NPM_REGISTRY_SERVER", false},
	{CLIENT_YARN, REGISTRY_LIST, "YARN_REGISTRY", false},
	{CLIENT_PIP, REGISTRY_LIST, "PIP_INDEX_URL", false},
	{CLIENT_PIP, REGISTRY_LIST, "PIP_EXTRA_INDEX_URL", false},
	{CLIENT_PIP, REGISTRY_PIP, "PIP_CONFIG_FILE", true},
	{CLIENT_UV, REGISTRY_LIST, "UV_DEFAULT_INDEX", false},
	{CLIENT_UV, REGISTRY_LIST, "UV_EXTRA_INDEX_URL", false},
	{CLIENT_UV, REGISTRY_LIST, "UV_INDEX", false},
	{CLIENT_UV, REGISTRY_LIST, "UV_INDEX_URL", false},
	{CLIENT_GO, REGISTRY_LIST, "GOPROXY", false},
	{CLIENT_GO, REGISTRY_SUMDB, "GOSUMDB", false},
	{CLIENT_GO, REGISTRY_GO, "GOENV", true},
};

struct search {
	struct builder *b;
	const struct item *set;
	enum client client;
	const char *from; /* "~/.npmrc", "GOPROXY" */
	bool found[CLIENT_COUNT];
	bool installed[CLIENT_COUNT]; /* the client is installed */
	bool in_mirrors;
};

/* ---- one URL ---- */

static void note(const struct search *s, const char *what) {
	plan_note(s->b, plan_keep_printf(s->b, "@registries: %s (%s): %s", client_names[s->client],
					 s->from, what));
}

/* Expands "${NAME}", Maven's "${env.NAME}" and "${NAME:-otherwise}" from the caller's environment,
 * as the clients do.  NULL when one has no value. */
static const char *expand_variables(const struct search *s, const char *word, size_t len) {
	struct builder *b = s->b;
	const char *done = "";
	for (;;) {
		const char *open = memmem(word, len, "${", 2);
		const char *close =
			open == NULL ? NULL : memchr(open, '}', len - (size_t)(open - word));
		if (close == NULL) {
			return plan_keep_printf(b, "%s%.*s", done, (int)len, word);
		}
		size_t skip = str_starts(open + 2, "env.") ? 6 : 2;
		const char *name = plan_keep_printf(
			b, "%.*s", (int)(close - open - (ptrdiff_t)skip), open + skip);
		const char *otherwise = strstr(name, ":-");
		const char *value = plan_variable_for(
			b->h, plan_keep_printf(b, "%.*s", (int)strcspn(name, ":"), name),
			VARIABLE_EXPANDED);
		if (value == NULL && otherwise == NULL) {
			return NULL;
		}
		done = plan_keep_printf(b, "%s%.*s%s", done, (int)(open - word), word,
					value != NULL ? value : otherwise + 2);
		len -= (size_t)(close + 1 - word);
		word = close + 1;
	}
}

static void read_file(struct search *s, enum registry_format format, const char *path,
		      const char *shown);

static void allow(struct search *s, const struct url_host *a) {
	struct net_rule rule = {
		.kind = a->host.kind == HOST_IP ? NET_RULE_NETWORK : NET_RULE_NAME,
		.network = {.ip = a->host.ip, .bits = 128},
		.port = a->port,
		.may_be_private = true,
		.written = "@registries",
		.note = plan_keep_printf(s->b, "%s (%s)", client_names[s->client], s->from),
		.origin = s->set->origin,
	};
	if (rule.kind == NET_RULE_NAME) {
		rule.name = plan_keep_printf(s->b, "%s", a->host.name);
		rule.network = (struct network){0};
	}
	net_add(s->b, &rule);
}

static void found(void *arg, const char *word, size_t len) {
	struct search *s = arg;
	struct url_host a;
	const char *expanded = len > ADDRESS_MAX ? NULL : expand_variables(s, word, len);

	if (len > ADDRESS_MAX) {
		return;
	}
	if (expanded == NULL) {
		note(s, "a variable in the URL is not set");
		return;
	}
	if (str_starts(expanded, "mirror+file:") && !s->in_mirrors) {
		const char *path = expanded + strlen("mirror+file:");
		const char *from = s->from;
		s->in_mirrors = true; /* such a list cannot name another */
		s->from = path;
		read_file(s, REGISTRY_MIRRORS, path, path);
		s->in_mirrors = false;
		s->from = from;
		return;
	}
	switch (url_host_of_url(expanded, strlen(expanded), &a)) {
	case URL_HOST_NONE:
		return;
	case URL_HOST_BAD:
		note(s,
		     plan_keep_printf(s->b, "the host of a registry is not valid: %s", a.host.why));
		return;
	case URL_HOST_HOST:
		break;
	}
	s->found[s->client] = true;
	const struct range *range = a.host.kind == HOST_IP ? range_of(&a.host.ip) : NULL;
	if (url_host_is_loopback(&a)) {
		note(s, plan_keep_printf(
				s->b, "it is on this host's loopback; to reach it: --host-port %u",
				a.port));
	} else if (range != NULL && range->kind != RANGE_PRIVATE) {
		note(s, plan_keep_printf(s->b, "its address is not allowed: %s", range->name));
	} else {
		allow(s, &a);
	}
}

static void read_text(struct search *s, enum registry_format format, const char *text) {
	struct registry_reader r = {.a = s->b->a, .found = found, .arg = s};
	registry_read(&r, format, text);
}

/* ---- files ---- */

/* A file that commands can write is not trusted. */
static bool is_writable(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->writable && m->source != NULL && path_within(path, m->source)) {
			return true;
		}
	}
	return path_within(path, plan->workspace);
}

static void read_file(struct search *s, enum registry_format format, const char *path,
		      const char *shown) {
	struct builder *b = s->b;
	const char *full = path[0] == '/' ? host_fs_resolve(b, path) : NULL;
	if (full == NULL || host_fs_look(b, full).kind != LOOK_FILE) {
		return;
	}
	s->from = shown;
	if (is_writable(b->plan, full)) {
		note(s, "ignored: commands can write this file");
		return;
	}
	const char *text = host_fs_text(b, full, FILE_MAX);
	if (text == NULL) {
		note(s, "the file cannot be read");
		return;
	}
	read_text(s, format, text);
}

static void read_place(struct search *s, const struct setting_place *p) {
	struct builder *b = s->b;
	const char *given = p->variable == NULL ? NULL : plan_caller_variable(b->h, p->variable);
	const char *dir = given != NULL && given[0] == '/' ? given : p->dir;
	const char *shown = plan_keep_printf(b, "%s/%s", dir, p->name);
	s->client = p->client;
	if (dir[0] != '~') {
		read_file(s, p->format, shown, shown);
	} else if (b->h->home != NULL) {
		read_file(s, p->format, plan_keep_printf(b, "%s%s", b->h->home, shown + 1), shown);
	}
}

static bool ends_in(const char *name, const char *end) {
	size_t len = strlen(name), n = strlen(end);
	return len > n && streq(name + len - n, end);
}

static void read_part(void *arg, const char *name) {
	struct search *s = arg;
	const char *path = plan_keep_join(s->b, APT_PARTS, name);
	if (ends_in(name, ".list")) {
		read_file(s, REGISTRY_APT, path, path);
	} else if (ends_in(name, ".sources")) {
		read_file(s, REGISTRY_SOURCES, path, path);
	}
}

/* ---- variables ---- */

static void read_variable(struct search *s, const struct setting_row *row) {
	const char *value = plan_caller_variable(s->b->h, row->variable);
	if (value == NULL) {
		return;
	}
	s->client = row->client;
	s->from = row->variable;
	if (row->file) {
		read_file(s, row->format, value, row->variable);
	} else {
		read_text(s, row->format, value);
	}
}

/* CARGO_REGISTRIES_<name>_INDEX */
static void read_cargo_variables(struct search *s) {
	const struct host *h = s->b->h;
	s->client = CLIENT_CARGO;
	for (size_t i = 0; h->environ != NULL && h->environ[i] != NULL; i++) {
		const char *entry = h->environ[i];
		size_t n = strcspn(entry, "=");
		const char *name = plan_keep_printf(s->b, "%.*s", (int)n, entry);
		if (entry[n] == '=' && str_starts(name, "CARGO_REGISTRIES_") &&
		    ends_in(name, "_INDEX")) {
			s->from = name;
			plan_variable_used(h, i, VARIABLE_READ);
			read_text(s, REGISTRY_LIST, entry + n + 1);
		}
	}
}

/* ---- defaults ---- */

/* Prints pip's default index, and the second host that packages come from. */
#define PIP_DEFAULT                                                                                \
	"from pip._internal.models.index import PyPI as p; "                                       \
	"print(p.simple_url, 'https://' + p.file_storage_domain)"

/* The command that prints the default of a client; without words there is none. */
struct default_query {
	enum client client;
	enum registry_format format;
	const char *name, *program;
	const char *words[QUERY_WORDS + 1];
};

static const struct default_query default_queries[] = {
	{CLIENT_NPM, REGISTRY_LIST, "npm", "npm", {"config", "get", "registry"}},
	{CLIENT_YARN, REGISTRY_LIST, "yarn", "yarn", {"config", "get", "registry"}},
	{CLIENT_PIP, REGISTRY_LIST, "pip", "python3", {"-I", "-c", PIP_DEFAULT}},
	{CLIENT_GO, REGISTRY_LIST, "go-proxy", "go", {"env", "GOPROXY"}},
	{CLIENT_GO, REGISTRY_SUMDB, "go-sumdb", "go", {"env", "GOSUMDB"}},
	{CLIENT_GEM, REGISTRY_LIST, "gem", "gem", {"sources", "--list"}},
	{CLIENT_UV, REGISTRY_LIST, "uv", "uv", {NULL}},
	{CLIENT_CARGO, REGISTRY_LIST, "cargo", "cargo", {NULL}},
	{CLIENT_MAVEN, REGISTRY_LIST, "maven", "mvn", {NULL}},
};

static bool look_for_owner(void *arg, const char *path, uint32_t *ret_uid, uint32_t *ret_mode) {
	struct look seen = host_fs_look(arg, path);
	*ret_uid = seen.uid;
	*ret_mode = seen.mode;
	return seen.kind != LOOK_NOTHING;
}

/* Whether no command can have written it: in this run, or in another one. */
static bool is_safe(struct builder *b, const char *full) {
	const struct outside_facts facts = {
		.look = look_for_owner,
		.arg = b,
		.uid = b->h->uid,
		.home = b->h->home == NULL ? NULL : host_fs_resolve(b, b->h->home),
	};
	return full != NULL && !is_writable(b->plan, full) && outside_program_is_safe(&facts, full);
}

/* A program on the caller's PATH that commands cannot write; NULL.  *ret_unsafe: the last that they
 * could have written. */
static const char *find_program(struct builder *b, const char *name, const char **ret_unsafe) {
	const char *path = plan_caller_variable(b->h, "PATH");
	for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		const char *at = plan_keep_printf(b, "%.*s/%s", (int)n, path, name);
		const char *full = path[0] == '/' ? host_fs_resolve(b, at) : NULL;
		struct look seen = {.kind = LOOK_NOTHING};
		if (full != NULL) {
			seen = host_fs_look(b, full);
		}
		if (seen.kind != LOOK_FILE || (seen.mode & 0111) == 0) {
			continue;
		}
		if (is_safe(b, full)) {
			return full;
		}
		*ret_unsafe = full;
	}
	return NULL;
}

struct linked {
	struct builder *b;
	const char *dir;
	bool safe;
};

static void check_link(void *arg, const char *name) {
	struct linked *l = arg;
	const char *full = host_fs_resolve(l->b, plan_keep_join(l->b, l->dir, name));
	l->safe = l->safe && (full == NULL || is_safe(l->b, full));
}

/* A client may start every program of its PATH: the links of a toolchain's directory count, too. */
static bool has_safe_programs(struct builder *b, const char *dir) {
	struct linked l = {.b = b, .dir = dir, .safe = is_safe(b, dir)};
	if (l.safe && !outside_program_is_of_system(dir)) {
		host_fs_links(b, dir, check_link, &l);
	}
	return l.safe;
}

/* The directories of the caller's PATH that commands cannot write. */
static const char *safe_path(struct builder *b) {
	const char *path = plan_caller_variable(b->h, "PATH"), *safe = "";
	for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		const char *dir = plan_keep_printf(b, "%.*s", (int)n, path);
		const char *full = dir[0] == '/' ? host_fs_resolve(b, dir) : NULL;
		if (full != NULL && has_safe_programs(b, full)) {
			safe = plan_keep_printf(b, "%s%s%s", safe, *safe == '\0' ? "" : ":", full);
		}
	}
	return safe;
}

static void query_default(struct search *s, const struct default_query *row) {
	struct builder *b = s->b;
	const char *unsafe = NULL, *program = find_program(b, row->program, &unsafe);
	struct buf output;

	s->client = row->client;
	s->from = "its default";
	s->installed[row->client] = s->installed[row->client] || program != NULL || unsafe != NULL;
	if (program == NULL && unsafe != NULL && row->words[0] != NULL) {
		note(s, plan_keep_printf(b, "not asked: a command may have written %s", unsafe));
	}
	if (program == NULL || row->words[0] == NULL || b->h->ask == NULL) {
		return;
	}
	struct program_query q = {
		.name = row->name,
		.program = program,
		.home = plan_keep_printf(b, "HOME=%s", b->h->home == NULL ? "/" : b->h->home),
		.path = plan_keep_printf(b, "PATH=%s", safe_path(b)),
	};
	memcpy(q.words, row->words, sizeof q.words);
	buf_init(&output);
	if (b->h->ask(b->h->ask_ctx, &q, &output) && !buf_failed(&output)) {
		size_t len = output.len;
		while (len > 0 && (unsigned char)output.data[len - 1] <= ' ') {
			len--;
		}
		read_text(s, row->format, plan_keep_printf(b, "%.*s", (int)len, output.data));
	}
	buf_done(&output);
}

static void query_defaults(struct search *s) {
	bool set_up[CLIENT_COUNT];
	memcpy(set_up, s->found, sizeof set_up);
	for (size_t i = 0; i < ARRAY_LEN(default_queries); i++) {
		if (!set_up[default_queries[i].client]) {
			query_default(s, &default_queries[i]);
		}
	}
}

/* ---- clients without a registry ---- */

#define SIGNS_MAX 8

/* Project files and programs that show that a client is used. */
struct signs {
	const char *files[SIGNS_MAX + 1], *programs[SIGNS_MAX + 1];
};

static const struct signs signs[CLIENT_COUNT] = {
	[CLIENT_NPM] = {{"package.json"}, {"npm", "npx", "pnpm"}},
	[CLIENT_YARN] = {{"yarn.lock", ".yarnrc", ".yarnrc.yml"}, {"yarn", "yarnpkg"}},
	[CLIENT_PIP] = {{"requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile",
			 "tox.ini"},
			{"pip", "pip3", "pipx", "pipenv", "poetry", "tox"}},
	[CLIENT_UV] = {{"uv.lock", "uv.toml"}, {"uv", "uvx"}},
	[CLIENT_CARGO] = {{"Cargo.toml"}, {"cargo"}},
	[CLIENT_GO] = {{"go.mod", "go.work"}, {"go"}},
	[CLIENT_MAVEN] = {{"pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"},
			  {"mvn", "mvnw", "gradle", "gradlew", "sbt"}},
	[CLIENT_GEM] = {{"Gemfile", "gems.rb"}, {"gem", "bundle", "bundler"}},
	[CLIENT_APT] = {{NULL}, {"apt", "apt-get"}},
};

static bool has_file(struct builder *b, const char *dir, const char *const *names) {
	for (size_t i = 0; dir != NULL && names[i] != NULL; i++) {
		if (host_fs_look(b, plan_keep_join(b, dir, names[i])).kind != LOOK_NOTHING) {
			return true;
		}
	}
	return false;
}

static bool is_run(const char *command, const char *const *programs) {
	const char *slash = command == NULL ? NULL : strrchr(command, '/');
	const char *name = slash == NULL ? command : slash + 1;
	for (size_t i = 0; name != NULL && programs[i] != NULL; i++) {
		if (streq(name, programs[i])) {
			return true;
		}
	}
	return false;
}

/* The command is such a client, or a project lies where it starts. */
static bool is_used(const struct search *s, enum client client) {
	struct builder *b = s->b;
	const struct signs *of = &signs[client];
	return is_run(b->h->command, of->programs) || has_file(b, b->h->cwd, of->files) ||
	       has_file(b, b->plan->workspace, of->files);
}

/* A client that is installed and used gets a warning: its commands will fail. */
static void report_missing(const struct search *s) {
	const char *warned = "", *noted = "";
	for (enum client i = 0; i < CLIENT_COUNT; i++) {
		if (s->found[i]) {
			continue;
		}
		const char **list = s->installed[i] && is_used(s, i) ? &warned : &noted;
		*list = plan_keep_printf(s->b, "%s%s%s", *list, **list == '\0' ? "" : ", ",
					 client_names[i]);
	}
	if (*warned != '\0') {
		plan_warn(s->b,
			  plan_keep_printf(s->b,
					   "@registries: no registry is known for %s; allow one: "
					   "--allow-host NAME",
					   warned));
	}
	if (*noted != '\0') {
		plan_note(s->b,
			  plan_keep_printf(s->b,
					   "@registries: not configured: %s; allow a registry: "
					   "--allow-host NAME",
					   noted));
	}
}

void registries_add(struct builder *b, const struct item *set) {
	struct search s = {.b = b, .set = set};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		read_place(&s, &places[i]);
	}
	s.client = CLIENT_APT;
	(void)b->h->fs.list(b->h->fs.ctx, APT_PARTS, read_part, &s); /* optional */
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		read_variable(&s, &variables[i]);
	}
	read_cargo_variables(&s);
	query_defaults(&s);
	report_missing(&s);
}
