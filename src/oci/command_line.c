/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line that container engines use for runc and crun.
 *
 * Should:   find the subcommand, the bundle or process file, and the container's id.
 * Must not: guess: an option that is not in a table may have a value, and the word after it may be
 *           the subcommand (O1).
 * Fails:    closed: the line is refused. */
#include "oci/oci.h"

#include "base/auto.h"
#include "base/str.h"

#include <string.h>

struct option {
	const char *name;
	char letter; /* 0: none */
	bool value;
	bool refused; /* it would take the configuration from elsewhere */
};

/* Before the subcommand; those of runc 1.1 and crun 1.8. */
static const struct option global_options[] = {
	{"cgroup-manager", 0, true, false},
	{"criu", 0, true, false},
	{"debug", 0, false, false},
	{"help", 'h', false, false},
	{"log", 0, true, false},
	{"log-format", 0, true, false},
	{"log-level", 0, true, false},
	{"root", 0, true, false},
	{"rootless", 0, true, false},
	{"systemd-cgroup", 0, false, false},
	{"version", 'v', false, false},
	{NULL, 0, false, false},
};

static const struct option create_options[] = {
	{"bundle", 'b', true, false},       {"config", 'f', true, true},
	{"console-socket", 0, true, false}, {"detach", 'd', false, false},
	{"keep", 0, false, false},          {"no-new-keyring", 0, false, false},
	{"no-pivot", 0, false, false},      {"no-subreaper", 0, false, false},
	{"pid-file", 0, true, false},       {"pidfd-socket", 0, true, false},
	{"preserve-fds", 0, true, false},   {NULL, 0, false, false},
};

/* The options that describe a process replace parts of the process file. */
static const struct option exec_options[] = {
	{"apparmor", 0, true, true},      {"cap", 'c', true, true},
	{"cgroup", 0, true, false},       {"console-socket", 0, true, false},
	{"cwd", 0, true, true},           {"detach", 'd', false, false},
	{"env", 'e', true, true},         {"ignore-paused", 0, false, false},
	{"no-new-privs", 0, false, true}, {"no-subreaper", 0, false, false},
	{"pid-file", 0, true, false},     {"preserve-fds", 0, true, false},
	{"process", 'p', true, false},    {"process-label", 0, true, true},
	{"tty", 't', false, false},       {"user", 'u', true, true},
	{NULL, 0, false, false},
};

/* "restore" is not here: it starts processes from a checkpoint. */
static const struct {
	const char *name;
	enum oci_action action;
	const struct option *options; /* NULL: they do not matter */
} subcommands[] = {
	{"create", OCI_CREATE, create_options},
	{"run", OCI_CREATE, create_options},
	{"exec", OCI_EXEC, exec_options},
	{"delete", OCI_PASS, NULL},
	{"events", OCI_PASS, NULL},
	{"features", OCI_PASS, NULL},
	{"help", OCI_PASS, NULL},
	{"kill", OCI_PASS, NULL},
	{"list", OCI_PASS, NULL},
	{"pause", OCI_PASS, NULL},
	{"ps", OCI_PASS, NULL},
	{"resume", OCI_PASS, NULL},
	{"start", OCI_PASS, NULL},
	{"state", OCI_PASS, NULL},
	{"update", OCI_PASS, NULL},
};

static const struct option *find_option(const struct option *table, const char *word, size_t len) {
	bool is_long = word[1] == '-' && len > 3;
	/* Go's flag package takes one dash for long names, too. */
	const char *name = word + (word[1] == '-' ? 2 : 1);
	size_t n = len - (size_t)(name - word);

	for (; table->name != NULL; table++) {
		bool letter = !is_long && n == 1 && table->letter != 0 && name[0] == table->letter;
		if (letter ||
		    (n > 1 && strlen(table->name) == n && memcmp(table->name, name, n) == 0)) {
			return table;
		}
	}
	return NULL;
}

/* An option that was read. */
struct found {
	const char *name;
	size_t at; /* where its value begins in its word */
};

/* One option: the index of the next word; 0 with *e. */
static size_t step(const char *const *words, size_t i, const struct option *table,
		   struct found *ret, struct err *e) {
	size_t len = strcspn(words[i], "=");
	bool joined = words[i][len] == '=';
	const struct option *option = find_option(table, words[i], len);

	if (option == NULL || option->refused || (joined && !option->value)) {
		(void)err_set(e, ERR_USAGE, OCI_WHERE,
			      "the option %s of the runtime's command line is not supported",
			      words[i]);
		(void)err_fix(e, "configure the engine to use --bundle and --process alone");
		return 0;
	}
	*ret = (struct found){option->name, joined ? len + 1 : 0};
	if (!option->value || joined) {
		return i + 1;
	}
	if (words[i + 1] == NULL) {
		(void)err_set(e, ERR_USAGE, OCI_WHERE, "the option %s has no value", words[i]);
		return 0;
	}
	return i + 2;
}

static int read_subcommand(const char *const *words, size_t n, const struct option *table,
			   struct oci_line *line, struct err *e) {
	size_t i = line->subcommand + 1;

	while (i < n && words[i][0] == '-' && !streq(words[i], "--")) {
		struct found option;
		size_t next = step(words, i, table, &option, e);
		if (next == 0) {
			return -1;
		}
		if (streq(option.name, "bundle")) {
			line->bundle = next - 1;
			line->bundle_at = option.at;
		} else if (streq(option.name, "process")) {
			line->process = next - 1;
			line->process_at = option.at;
		}
		i = next;
	}
	i += i < n && streq(words[i], "--");
	if (i + 1 != n) {
		(void)err_set(e, ERR_USAGE, OCI_WHERE,
			      i >= n ? "%s has no container" : "%s has more than a container",
			      words[line->subcommand]);
		return err_fix(e, "exec takes its command from a file: --process FILE");
	}
	line->id = i;
	if (line->action == OCI_EXEC && line->process == 0) {
		(void)err_set(e, ERR_USAGE, OCI_WHERE, "exec without --process");
		return err_fix(e, "exec takes its command from a file: --process FILE");
	}
	return 0;
}

int oci_line_read(const char *const *words, size_t n, struct oci_line *ret, struct err *e) {
	struct oci_line line = {.action = OCI_PASS};
	size_t i = 0;

	while (i < n && words[i][0] == '-') {
		struct found option;
		i = step(words, i, global_options, &option, e);
		if (i == 0) {
			return -1;
		}
	}
	line.subcommand = i;
	for (size_t s = 0; i < n && s < ARRAY_LEN(subcommands); s++) {
		if (streq(words[i], subcommands[s].name)) {
			line.action = subcommands[s].action;
			*ret = line;
			return subcommands[s].options == NULL
				       ? 0
				       : read_subcommand(words, n, subcommands[s].options, ret, e);
		}
	}
	if (i < n) {
		(void)err_set(e, ERR_USAGE, OCI_WHERE,
			      "the subcommand %s of the runtime is not supported", words[i]);
		return err_fix(e, "use the runtime itself for it");
	}
	*ret = line; /* --version, or nothing */
	return 0;
}

const char *oci_line_log(const char *const *words, size_t n) {
	for (size_t i = 0; i < n && words[i][0] == '-';) {
		struct found option;
		struct err unused = {0};
		size_t next = step(words, i, global_options, &option, &unused);
		if (next == 0) {
			break;
		}
		if (streq(option.name, "log")) {
			return words[next - 1] + option.at;
		}
		i = next;
	}
	return NULL;
}
