/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the JSON files of a bundle.
 *
 * jansson has no integers above INT64_MAX, but limits of RLIM_INFINITY are such numbers: they are
 * strings with a mark while the document is in memory.
 *
 * Should:   write a file whole or not at all.
 * Must not: change a number.
 * Fails:    closed, with the path. */
#include "oci/oci.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

/* The largest that engines write has some hundred KB. */
#define FILE_MAX ((size_t)16 * 1024 * 1024)

/* In one object, but for annotations. */
#define KEYS_MAX 512

/* In strings of the document it is refused. */
#define MARK "corral-large-integer:"

/* The smallest number of digits that may not fit. */
#define DIGITS 19

/* Appends the text with each long integer as a string. */
static void hide_large(struct buf *out, const char *text, size_t len) {
	bool in_string = false;

	for (size_t i = 0; i < len;) {
		size_t n = 0;
		while (!in_string && i + n < len && isdigit((unsigned char)text[i + n])) {
			n++;
		}
		bool whole = i + n >= len || strchr(".eE", text[i + n]) == NULL;
		if (n >= DIGITS && whole && (i == 0 || text[i - 1] != '-')) {
			buf_printf(out, "\"" MARK "%.*s\"", (int)n, text + i);
		} else if (n > 0) {
			buf_add(out, text + i, n);
		} else {
			n = in_string && text[i] == '\\' && i + 1 < len ? 2 : 1;
			in_string ^= n == 1 && text[i] == '"';
			buf_add(out, text + i, n);
		}
		i += n;
	}
}

static void show_large(struct buf *out, const char *text) {
	static const char mark[] = "\"" MARK;
	const char *at;

	while ((at = strstr(text, mark)) != NULL) {
		size_t digits = strspn(at + sizeof mark - 1, "0123456789");
		buf_add(out, text, (size_t)(at - text));
		buf_add(out, at + sizeof mark - 1, digits);
		text = at + sizeof mark - 1 + digits + 1; /* the quotation mark */
	}
	buf_puts(out, text);
}

/* Maps whose keys are values of the engine's user. */
static bool is_free_map(const char *key) {
	return streq(key, "annotations") || streq(key, "sysctl");
}

/* A runtime in Go ignores the case of keys, also of some letters beyond ASCII, and uses the last
 * one: both must see the same members. */
static bool keys_differ(json_t *value) {
	const char *key, *other;
	json_t *member, *unused;

	if (json_is_array(value)) {
		size_t i;
		json_array_foreach(value, i, member) {
			if (!keys_differ(member)) {
				return false;
			}
		}
	}
	json_t *object = json_is_object(value) ? value : NULL;
	bool good = json_object_size(object) <= KEYS_MAX;
	json_object_foreach(object, key, member) {
		good = good && (is_free_map(key) || keys_differ(member));
		for (const char *c = key; *c != '\0'; c++) {
			good = good && (unsigned char)*c < 0x80;
		}
		json_object_foreach(object, other, unused) {
			good = good && (streq(key, other) || strcasecmp(key, other) != 0);
		}
	}
	return good;
}

static int load(const char *path, const struct buf *text, json_t **ret, struct err *e) {
	struct buf shown;
	json_error_t why;

	if (text->data == NULL || strlen(text->data) != text->len ||
	    strstr(text->data, MARK) != NULL) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "%s is not a configuration", path);
	}
	buf_init(&shown);
	hide_large(&shown, text->data, text->len);
	json_t *value =
		buf_failed(&shown) ? NULL : json_loads(shown.data, JSON_REJECT_DUPLICATES, &why);
	bool failed = buf_failed(&shown);
	buf_done(&shown);
	if (failed) {
		return err_memory(e, OCI_WHERE);
	}
	if (value == NULL) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "%s, line %d: %s", path, why.line,
			       why.text);
	}
	if (!keys_differ(value)) {
		json_decref(value);
		return err_set(
			e, ERR_REFUSED, OCI_WHERE,
			"%s has keys that differ in case alone, or are not ASCII, or too many",
			path);
	}
	*ret = value;
	return 0;
}

int oci_json_read(const char *path, json_t **ret, struct err *e) {
	struct buf text;

	buf_init(&text);
	int rc = fd_read_file(path, FILE_MAX, &text) == 0
			 ? load(path, &text, ret, e)
			 : err_sys_at(e, OCI_WHERE, "cannot read", path);
	buf_done(&text);
	return rc;
}

static int replace(const char *path, const char *text, size_t len, struct err *e) {
	char draft[PATH_MAX];
	int n = snprintf(draft, sizeof draft, "%s.%d", path, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof draft) {
		return err_set(e, ERR_SETUP, OCI_WHERE, "the path is too long: %s", path);
	}
	auto_fd fd = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return err_sys_at(e, OCI_WHERE, "cannot create", draft);
	}
	if (fd_write_all(fd, text, len) != 0 || rename(draft, path) != 0) {
		(void)err_sys_at(e, OCI_WHERE, "cannot write", path);
		(void)unlink(draft); /* the error above matters */
		return -1;
	}
	return 0;
}

/* Appends the text of the document to `out`. */
static int print(const json_t *value, struct buf *out, struct err *e) {
	auto_free char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (text == NULL) {
		return err_memory(e, OCI_WHERE);
	}
	show_large(out, text);
	return buf_failed(out) ? err_memory(e, OCI_WHERE) : 0;
}

int oci_json_write(const char *path, const json_t *value, struct err *e) {
	struct buf text;

	buf_init(&text);
	int rc = print(value, &text, e) != 0 ? -1 : replace(path, text.data, text.len, e);
	buf_done(&text);
	return rc;
}

int oci_json_pass(const json_t *value, char ret[32], struct err *e) {
	struct buf text;

	buf_init(&text);
	int rc = print(value, &text, e);
	/* Not close-on-exec: the runtime reads it.  The command does not have it, because a sandbox
	 * closes what it inherits. */
	int fd = rc != 0 ? -1 : memfd_create("process", 0);
	if (rc == 0 && (fd < 0 || fd_write_all(fd, text.data, text.len) != 0)) {
		rc = err_sys(e, OCI_WHERE, "cannot write the process to memory");
	}
	buf_done(&text);
	(void)snprintf(ret, 32, "/proc/self/fd/%d", fd); /* it fits */
	return rc;
}

void oci_json_log(const char *path, const struct err *why) {
	json_t *line =
		json_pack("{s:s, s:s+++}", "level", "error", "msg", "corral oci: ", why->what,
			  why->fix[0] == '\0' ? "" : "; remedy: ", why->fix);
	auto_free char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);
	auto_fd fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

	if (text != NULL && fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0) {
		(void)!write(fd, "\n", 1); /* stderr has the error as well */
	}
	json_decref(line);
}
