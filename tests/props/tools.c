/* SPDX-License-Identifier: Apache-2.0 */
/* The tools' side of the parity test: the same operations through libcorral.
 *
 *     parity_tools [--by-name] KEY=VALUE... <operations
 *
 * "ok DIGEST", or "no KIND MESSAGE". */
#include <corral.h>

#include "parity.h"

#include <unistd.h>

static const char *const kinds[] = {
	[CORRAL_E_USAGE] = "usage",         [CORRAL_E_REFUSED] = "refused",
	[CORRAL_E_SETUP] = "setup",         [CORRAL_E_NOT_FOUND] = "not-found",
	[CORRAL_E_MEMORY] = "memory",       [CORRAL_E_OUTSIDE] = "outside",
	[CORRAL_E_SENSITIVE] = "sensitive", [CORRAL_E_PROTECTED] = "protected",
	[CORRAL_E_FILE_KIND] = "kind",      [CORRAL_E_TOO_LARGE] = "too-large",
	[CORRAL_E_FILE] = "file",
};

static void refuse(const struct corral_error *err) {
	const char *kind = err->kind < sizeof kinds / sizeof kinds[0] ? kinds[err->kind] : NULL;

	printf("no %s ", kind == NULL ? "?" : kind);
	for (const char *p = err->message; *p != '\0'; p++) {
		putchar(*p == '\n' ? '?' : *p);
	}
	printf(" (%d)\n", err->sys_errno);
}

static void do_read(const struct corral_files *files, const char *path) {
	struct corral_error err;
	char *bytes;
	size_t len;

	if (corral_files_read(files, path, NULL, &bytes, &len, &err) != 0) {
		refuse(&err);
		return;
	}
	printf("ok %016llx\n", (unsigned long long)digest(DIGEST_START, bytes, len));
	free(bytes);
}

static void do_write(const struct corral_files *files, const struct operation *op, unsigned flags) {
	struct corral_error err;

	if (corral_files_write(files, op->first, op->content, strlen(op->content), flags, &err) !=
	    0) {
		refuse(&err);
	} else {
		printf("ok -\n");
	}
}

static void do_list(const struct corral_files *files, const char *path) {
	struct corral_error err;
	struct corral_entry *entries;
	size_t count;
	uint64_t hash = DIGEST_START;

	if (corral_files_list(files, path, &entries, &count, &err) != 0) {
		refuse(&err);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		hash = digest(hash, entries[i].name, strlen(entries[i].name) + 1);
	}
	printf("ok %016llx\n", (unsigned long long)hash);
	free(entries);
}

static void do_link(const struct corral_files *files, const struct operation *op) {
	struct corral_error err;

	if (corral_files_symlink(files, op->first, op->second, &err) != 0) {
		refuse(&err);
	} else {
		printf("ok -\n");
	}
}

static void do_change(const struct corral_files *files, const struct operation *op) {
	struct corral_error err;
	int rc = strcmp(op->what, "mkdir") == 0
			 ? corral_files_make_directory(files, op->first, 0, &err)
		 : strcmp(op->what, "move") == 0
			 ? corral_files_move(files, op->first, op->second, 0, &err)
			 : corral_files_delete(files, op->first, 0, &err);

	if (rc != 0) {
		refuse(&err);
	} else {
		printf("ok -\n");
	}
}

static int open_files(char **words, struct corral_policy *policy, struct corral_files **files) {
	struct corral_error err;
	int by_name = words[0] != NULL && strcmp(words[0], "--by-name") == 0;

	for (words += by_name; *words != NULL; words++) {
		char *equals = strchr(*words, '=');
		if (equals == NULL) {
			return -1;
		}
		*equals = '\0';
		if (corral_policy_set(policy, *words, equals + 1, &err) != 0) {
			refuse(&err);
			return -1;
		}
	}
	if (corral_files_new(policy, files, &err) != 0) {
		refuse(&err);
		return -1;
	}
	if (by_name) {
		corral_files_by_name(*files);
	}
	return 0;
}

int main(int argc, char **argv) {
	static struct operation op;
	struct corral_policy *policy = corral_policy_new();
	struct corral_files *files = NULL;

	if (argc < 1 || policy == NULL) {
		return 2;
	}
	corral_policy_no_config(policy);
	if (open_files(argv + 1, policy, &files) != 0) {
		return 3; /* as `corral run` with such a policy */
	}
	while (next_operation(&op)) {
		if (strcmp(op.what, "read") == 0) {
			do_read(files, op.first);
		} else if (strcmp(op.what, "list") == 0) {
			do_list(files, op.first);
		} else if (strcmp(op.what, "link") == 0) {
			do_link(files, &op);
		} else if (strcmp(op.what, "mkdir") == 0 || strcmp(op.what, "remove") == 0 ||
			   strcmp(op.what, "move") == 0) {
			do_change(files, &op);
		} else {
			do_write(files, &op, strcmp(op.what, "create") == 0 ? CORRAL_WRITE_NEW : 0);
		}
	}
	corral_files_free(files);
	corral_policy_free(policy);
	return 0;
}
