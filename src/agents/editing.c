/* SPDX-License-Identifier: Apache-2.0 */
/* Edits a settings file as a text with its parsed form: finds, adds and removes entries.
 *
 * Should:   parse the text again after each edit, so that a broken one is found before it is
 *           written.
 * Must not: write a file.
 * Fails:    closed: a text that cannot be parsed is an error. */
#include "agents/editing.h"

#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SETTINGS_MAX ((size_t)64 * 1024 * 1024)

/* Reads a file of settings into before and after; behind a symlink the file that it names. */
int editing_load(struct change *c, const char *path, struct err *e) {
	char real[PATH_MAX];
	struct stat st;

	c->missing = realpath(path, real) == NULL;
	(void)snprintf(c->path, sizeof c->path, "%s", c->missing ? path : real);
	if (c->missing && errno != ENOENT) {
		return err_sys_at(e, "agents", "cannot find the settings", path);
	}
	if (c->missing && lstat(path, &st) == 0) {
		(void)err_set(e, ERR_USAGE, "agents", "%.200s is a symlink to a missing file",
			      path);
		return err_fix(e, "restore that file, or remove the symlink");
	}
	if (!c->missing && fd_read_file(c->path, SETTINGS_MAX, &c->before) != 0) {
		return err_sys_at(e, "agents", "cannot read the settings", c->path);
	}
	buf_add(&c->after, c->before.data == NULL ? "" : c->before.data, c->before.len);
	return buf_failed(&c->after) ? err_memory(e, "agents") : 0;
}

void editing_done(struct editing *ed) {
	json_decref(ed->root);
	ed->root = NULL;
	buf_done(&ed->plain);
}

int editing_parse(struct editing *ed, struct err *e) {
	char why[160];

	editing_done(ed);
	buf_init(&ed->plain);
	if (ed->text->len == strspn(ed->text->data == NULL ? "" : ed->text->data, " \t\r\n")) {
		buf_done(ed->text);
		buf_puts(ed->text, "{}\n");
	}
	ed->root = jsonc_parse(ed->text, &ed->plain, why);
	if (ed->root != NULL) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "agents", "%.200s is not valid JSON: %s", ed->path, why);
	return err_fix(e, "repair the file; nothing was changed");
}

/* Takes the new text, and parses it. */
static int editing_take(struct editing *ed, struct buf *text, struct err *e) {
	if (buf_failed(text)) {
		buf_done(text);
		return err_memory(e, "agents");
	}
	buf_done(ed->text);
	*ed->text = *text;
	*text = (struct buf){0};
	return editing_parse(ed, e);
}

int editing_add(struct editing *ed, struct span container, const char *item, struct err *e) {
	struct buf out;

	buf_init(&out);
	jsonc_append(ed->text, &ed->plain, container, item, &out);
	return editing_take(ed, &out, e);
}

int editing_remove(struct editing *ed, struct span container, size_t i, struct err *e) {
	struct buf out;

	buf_init(&out);
	jsonc_remove(ed->text, &ed->plain, container, i, &out);
	return editing_take(ed, &out, e);
}

/* The member of an object, with its number; -1. */
long editing_member(const struct editing *ed, struct span object, const char *key,
		    struct span *ret_value) {
	struct span member, item;

	if (!jsonc_member(&ed->plain, object, key, &member, ret_value)) {
		return -1;
	}
	long i = 0;
	while (jsonc_item(&ed->plain, object, (size_t)i, &item) && item.at != member.at) {
		i++;
	}
	return i;
}

/* The value of hooks.EVENT, or of another pair of keys; `inner` NULL: of one key. */
bool editing_find(const struct editing *ed, const char *outer, const char *inner,
		  struct span *ret) {
	struct span member, value;

	if (!jsonc_member(&ed->plain, jsonc_root(&ed->plain), outer, &member, &value)) {
		return false;
	}
	if (inner == NULL) {
		*ret = value;
		return true;
	}
	return ed->plain.data[value.at] == '{' &&
	       jsonc_member(&ed->plain, value, inner, &member, ret);
}

/* Removes hooks.EVENT and hooks where they became empty. */
int editing_prune(struct editing *ed, const char *outer, const char *inner, struct err *e) {
	struct span root = jsonc_root(&ed->plain), value, item;
	long i = editing_member(ed, root, outer, &value);

	if (i < 0) {
		return 0;
	}
	struct span object = value;
	long k = inner == NULL ? -1 : editing_member(ed, object, inner, &value);
	if (k >= 0 && !jsonc_item(&ed->plain, value, 0, &item)) {
		if (editing_remove(ed, object, (size_t)k, e) != 0) {
			return -1;
		}
		return editing_prune(ed, outer, NULL, e);
	}
	return inner == NULL && !jsonc_item(&ed->plain, object, 0, &item)
		       ? editing_remove(ed, root, (size_t)i, e)
		       : 0;
}

bool editing_differs(const struct change *c) {
	return c->before.len != c->after.len ||
	       (c->after.len > 0 && memcmp(c->before.data, c->after.data, c->after.len) != 0);
}

/* Adds an item to the container at outer.inner, which is made where it is missing.  The brackets
 * are those of the inner container. */
int editing_add_at(struct editing *ed, const char *outer, const char *inner, const char *item,
		   struct err *e) {
	struct span value;
	struct buf made;
	bool has_outer = editing_find(ed, outer, NULL, &value);

	if (has_outer && ed->plain.data[value.at] != '{') {
		return err_set(e, ERR_USAGE, "agents", "%s in %.200s is not an object", outer,
			       ed->path);
	}
	struct span object = value;
	if (has_outer && inner != NULL && editing_find(ed, outer, inner, &value)) {
		return ed->plain.data[value.at] == '['
			       ? editing_add(ed, value, item, e)
			       : err_set(e, ERR_USAGE, "agents", "%s.%s in %.200s is not a list",
					 outer, inner, ed->path);
	}
	buf_init(&made);
	if (!has_outer) {
		buf_printf(&made, "\"%s\": {\n    ", outer);
	}
	if (inner != NULL) {
		buf_printf(&made, "\"%s\": [\n      %s\n    ]", inner, item);
	} else {
		buf_puts(&made, item);
	}
	buf_puts(&made, has_outer ? "" : "\n  }");
	int rc = buf_failed(&made) ? err_memory(e, "agents")
				   : editing_add(ed, has_outer ? object : jsonc_root(&ed->plain),
						 made.data, e);
	buf_done(&made);
	return rc;
}
