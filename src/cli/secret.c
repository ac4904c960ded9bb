/* SPDX-License-Identifier: Apache-2.0 */
/* `corral secret …`: stores, lists, removes, imports and exports the secrets of the vault.
 *
 * Should:   read a value from stdin, a file or a prompt; wipe it after use.
 * Must not: accept a value as an argument: every user of the host sees arguments, and the shell
 *           keeps them; print an argument that may be one.
 * Fails:    through the library's error. */
#include "cli/cli.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* One more than the library accepts, and a newline. */
#define VALUE_MAX ((size_t)64 * 1024 + 2)

static struct corral_passphrase passphrase_of(struct invocation *inv);

/* No core dump, and no other process of this user reads our memory. */
static void close_memory(void) {
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* cannot fail for 0 */
}

static struct corral_secret_options options_of(const struct invocation *inv,
					       const struct corral_passphrase *passphrase) {
	return (struct corral_secret_options){.size = sizeof(struct corral_secret_options),
					      .agent = inv->agent,
					      .workspace = inv->scope_workspace,
					      .host = inv->scope_host,
					      .expose = inv->expose,
					      .key = inv->key,
					      .passphrase = passphrase};
}

static enum corral_format format_of(const struct invocation *inv) {
	return inv->json ? CORRAL_JSON : CORRAL_TEXT;
}

static int no_arguments(const struct invocation *inv, struct corral_error *err) {
	return inv->nwords == 0
		       ? 0
		       : usage_error(err, "leave it out", "`corral %s` takes no argument: %s",
				     inv->verb->name, inv->words[0]);
}

/* ---- values ---- */

/* The value as it is read, in a mapping that can be locked and wiped. */
static char *value;

static int map_value(struct corral_error *err) {
	void *memory =
		mmap(NULL, VALUE_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		return memory_error(err);
	}
	(void)mlock(memory, VALUE_MAX); /* beyond RLIMIT_MEMLOCK it may be swapped */
	value = memory;
	return 0;
}

static int read_all(int fd, const char *from, size_t *ret_len, struct corral_error *err) {
	size_t len = 0;
	for (;;) {
		ssize_t n = read(fd, value + len, VALUE_MAX - len);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			int sys = errno;
			(void)usage_error(err, "", "cannot read the value from %s", from);
			err->sys_errno = sys;
			return -1;
		}
		if (n == 0) {
			*ret_len = len;
			return 0;
		}
		len += (size_t)n;
		if (len == VALUE_MAX) {
			return usage_error(err, "", "the value is larger than 64 KiB");
		}
	}
}

static int read_file(const char *path, size_t *ret_len, struct corral_error *err) {
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		int sys = errno;
		(void)usage_error(err, "", "cannot open %s", path);
		err->sys_errno = sys;
		return -1;
	}
	return read_all(fd, path, ret_len, err);
}

/* A line at the terminal or of a pipe: its newline does not belong to the value. */
static size_t without_newline(size_t len) {
	len -= len > 0 && value[len - 1] == '\n';
	return len - (len > 0 && value[len - 1] == '\r');
}

static int read_value(const struct invocation *inv, size_t *ret_len, struct corral_error *err) {
	if (inv->from_file != NULL) {
		return read_file(inv->from_file, ret_len, err);
	}
	if (isatty(STDIN_FILENO)) {
		long len = prompt_hidden("value: ", value, VALUE_MAX - 1);
		if (len < 0) {
			return usage_error(err, "", "no value was given");
		}
		*ret_len = (size_t)len;
		return 0;
	}
	if (read_all(STDIN_FILENO, "stdin", ret_len, err) != 0) {
		return -1;
	}
	*ret_len = without_newline(*ret_len);
	return 0;
}

int verb_secret_set(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);
	size_t len = 0;

	close_memory();
	if (inv->nwords == 0) {
		return usage_error(err, "corral secret set NAME <FILE", "no name given");
	}
	if (inv->nwords > 1 || strchr(inv->words[0], '=') != NULL) {
		return usage_error(
			err,
			"type it at the prompt, or: corral secret set NAME <FILE, or "
			"--from-file FILE",
			"a value is never an argument, which every user of this host can "
			"see");
	}
	if (map_value(err) != 0) {
		return -1;
	}
	int rc = read_value(inv, &len, err);
	if (rc == 0 && len == 0) { /* stdin of a service is /dev/null */
		rc = usage_error(err, "corral secret set NAME <FILE, or --from-file FILE",
				 "the value is empty");
	}
	if (rc == 0) {
		rc = corral_secret_set(inv->words[0], value, len, &how, err);
	}
	explicit_bzero(value, VALUE_MAX);
	return rc;
}

/* ---- the other verbs ---- */

int verb_secret_list(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);
	auto_free char *text = NULL;

	close_memory();
	if (no_arguments(inv, err) != 0 ||
	    corral_secret_list(&how, format_of(inv), &text, err) != 0) {
		return -1;
	}
	return text[0] == '\0' ? 0 : print_text(text, err);
}

int verb_secret_rm(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);

	close_memory();
	if (inv->nwords == 0) {
		return usage_error(err, "list the secrets: corral secret list", "no name given");
	}
	for (size_t i = 0; i < inv->nwords; i++) {
		if (corral_secret_remove(inv->words[i], &how, err) != 0) {
			return -1;
		}
	}
	return 0;
}

int verb_secret_import(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);
	size_t count = 0;

	close_memory();
	if (inv->nwords != 1) {
		return usage_error(err, "corral secret import FILE", "one file is needed");
	}
	if (corral_secret_import(inv->words[0], &how, &count, err) != 0) {
		return -1;
	}
	bool missing = !streq(inv->words[0], "-") && access(inv->words[0], F_OK) != 0;
	print_note("imported %zu secret%s%s", count, count == 1 ? "" : "s",
		   missing ? ": the file does not exist" : "");
	return 0;
}

int verb_secret_rekey(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);

	close_memory();
	if (no_arguments(inv, err) != 0 || corral_secret_rekey(&how, err) != 0) {
		return -1;
	}
	if (inv->key != NULL && streq(inv->key, "keyring")) {
		print_note("the kernel forgets its keyring when this machine stops; the secrets "
			   "are lost then, unless you keep a copy");
	}
	return 0;
}

int verb_secret_export(struct invocation *inv, struct corral_error *err) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	struct corral_secret_options how = options_of(inv, &passphrase);
	char *text = NULL;

	close_memory();
	if (no_arguments(inv, err) != 0) {
		return -1;
	}
	if (isatty(STDOUT_FILENO) && !inv->yes) {
		return usage_error(err, "write to a file: corral secret export >FILE; or --yes",
				   "the values would appear on the terminal");
	}
	if (corral_secret_export(&how, format_of(inv), &text, err) != 0) {
		return -1;
	}
	int rc = text[0] == '\0' ? 0 : print_text(text, err);
	corral_secret_free(text);
	return rc;
}

/* ---- the passphrase ---- */

/* One line; a descriptor is read byte by byte, so that the next line stays in it. */
static long read_line(int fd, char *out, size_t cap) {
	size_t len = 0;
	while (len < cap) {
		ssize_t n = read(fd, out + len, 1);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 || (n == 0 && len == 0)) {
			return -1;
		}
		if (n == 0 || out[len] == '\n') {
			return (long)len;
		}
		len++;
	}
	return -1;
}

static long read_passphrase(void *arg, int fresh, char *out, size_t cap) {
	const struct invocation *inv = arg;
	char *end = NULL;
	if (inv->passphrase_fd != NULL) {
		errno = 0;
		long fd = strtol(inv->passphrase_fd, &end, 10);
		bool number = end != inv->passphrase_fd && *end == '\0' && errno == 0 && fd >= 0 &&
			      fd < 1 << 20;
		return number ? read_line((int)fd, out, cap) : -1;
	}
	long len = prompt_hidden(fresh ? "new passphrase: " : "passphrase: ", out, cap);
	if (!fresh || len <= 0) {
		return len;
	}
	static char again[1024];
	long second = prompt_hidden("once more: ", again, sizeof again);
	bool same = second == len && memcmp(out, again, (size_t)len) == 0;
	explicit_bzero(again, sizeof again);
	if (!same) {
		print_note("the two passphrases differ");
	}
	return same ? len : -1;
}

static struct corral_passphrase passphrase_of(struct invocation *inv) {
	return (struct corral_passphrase){.read = read_passphrase, .arg = inv};
}

void secret_offer_passphrase(struct invocation *inv) {
	struct corral_passphrase passphrase = passphrase_of(inv);
	corral_policy_passphrase(inv->policy, &passphrase);
}
