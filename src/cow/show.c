/* SPDX-License-Identifier: Apache-2.0 */
/* Prints pending changes: as a patch for `git apply`, or as one JSON object.
 *
 * Should:   print every change that git's format supports so that `git apply` accepts it, and
 *           the others as "#" lines, which it skips.
 * Must not: let a name break out of its line; hide a mode or an access control list that
 *           apply would set; hold more than TEXT_ALL in memory.
 * Fails:    out of memory; a file that cannot be read is reported as such in the patch. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

/* The largest file to print: it is in memory three times. */
#define TEXT_MAX ((size_t)8 * 1024 * 1024)

/* Of all files together. */
#define TEXT_ALL ((uint64_t)64 * 1024 * 1024)

/* From this size on, a file with several hard links is printed once. */
#define REPEAT_MIN ((uint64_t)64 * 1024)
#define SHOWN_MAX (TEXT_ALL / REPEAT_MIN)

struct show {
	const struct cow *c;
	uint64_t left; /* of TEXT_ALL */
	struct {
		uint64_t ino; /* in the upper tree */
		const char *path;
	} shown[SHOWN_MAX];
	size_t nshown;
	bool binary; /* the last file is binary */
};

void cow_time_text(struct timespec t, char out[24]) {
	struct tm utc;
	if (gmtime_r(&t.tv_sec, &utc) == NULL ||
	    strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
		(void)snprintf(out, 24, "unknown");
	}
}

/* ---- names ---- */

static bool needs_quotes(const char *path) {
	for (const char *p = path; *p != '\0'; p++) {
		size_t wide = str_utf8_length((const unsigned char *)p, strlen(p));
		if (*p == '"' || *p == '\\' || str_control_length(p) > 0 || wide == 0) {
			return true;
		}
		p += wide - 1;
	}
	return false;
}

static void quote_byte(struct buf *out, unsigned char c) {
	static const char letters[] = "abtnvfr"; /* from 7 on */
	if (c >= 7 && c <= 13) {
		buf_printf(out, "\\%c", letters[c - 7]);
	} else if (c == '"' || c == '\\') {
		buf_printf(out, "\\%c", c);
	} else if (c < 0x20 || c >= 0x7f) {
		buf_printf(out, "\\%03o", c);
	} else {
		buf_add(out, &c, 1);
	}
}

void cow_quote(struct buf *out, const char *prefix, const char *path) {
	if (!needs_quotes(path)) {
		buf_printf(out, "%s%s", prefix, path);
		return;
	}
	buf_printf(out, "\"%s", prefix);
	for (const char *p = path; *p != '\0'; p++) {
		quote_byte(out, (unsigned char)*p);
	}
	buf_puts(out, "\"");
}

/* ---- contents ---- */

enum state { CONTENT_TEXT, CONTENT_BINARY, CONTENT_LARGE, CONTENT_REPEATED, CONTENT_CLOSED };

static enum state read_link(int fd, struct buf *out) {
	char text[PATH_MAX];
	ssize_t n = fd < 0 ? -1 : readlinkat(fd, "", text, sizeof text);
	if (n < 0) {
		return CONTENT_CLOSED;
	}
	buf_add(out, text, (size_t)n);
	return CONTENT_TEXT;
}

static enum state read_side(const struct cow *c, bool upper, const char *path,
			    const struct cow_fact *f, struct buf *out) {
	if (f->mode == 0 || S_ISDIR(f->mode)) {
		return CONTENT_TEXT;
	}
	if (S_ISLNK(f->mode)) {
		auto_fd link = cow_open_beneath(upper ? c->upper : c->lower, path, O_PATH);
		return read_link(link, out);
	}
	if (!S_ISREG(f->mode) || f->size > TEXT_MAX) {
		return S_ISREG(f->mode) ? CONTENT_LARGE : CONTENT_BINARY;
	}
	int flags = O_RDONLY | O_NONBLOCK;
	auto_fd fd =
		upper ? cow_open_upper(c, path, flags) : cow_open_beneath(c->lower, path, flags);
	if (fd < 0 || fd_read_all(fd, TEXT_MAX, out) != 0) {
		return CONTENT_CLOSED;
	}
	struct cow_text text = {out->data, out->len};
	return cow_text_is_binary(text) ? CONTENT_BINARY
	       : cow_text_is_long(text) ? CONTENT_LARGE
					: CONTENT_TEXT;
}

struct contents {
	struct buf was, is;
	enum state state;
	const char *same_as; /* CONTENT_REPEATED */
};

static uint64_t text_size(const struct cow_fact *f, bool side) {
	return side && S_ISREG(f->mode) && f->size <= TEXT_MAX ? f->size : 0;
}

/* The path of a hard link to the same file that was printed already. */
static const char *find_shown(const struct show *s, const struct cow_fact *is) {
	for (size_t i = 0; i < s->nshown; i++) {
		if (s->shown[i].ino == is->ino) {
			return s->shown[i].path;
		}
	}
	return NULL;
}

static void note_shown(struct show *s, const struct cow_change *change) {
	if (change->is.size >= REPEAT_MIN && s->nshown < SHOWN_MAX) {
		s->shown[s->nshown].ino = change->is.ino;
		s->shown[s->nshown++].path = change->path;
	}
}

/* Reads both sides of a change. */
static void contents_read(struct show *s, const struct cow_change *change, bool was, bool is,
			  struct contents *ret) {
	uint64_t size = text_size(&change->was, was) + text_size(&change->is, is);
	bool large = is && text_size(&change->is, true) >= REPEAT_MIN;
	*ret = (struct contents){.same_as = large ? find_shown(s, &change->is) : NULL};
	if (ret->same_as != NULL || size > s->left) {
		ret->state = ret->same_as != NULL ? CONTENT_REPEATED : CONTENT_LARGE;
		return;
	}
	s->left -= size;
	enum state a =
		was ? read_side(s->c, false, change->path, &change->was, &ret->was) : CONTENT_TEXT;
	enum state b =
		is ? read_side(s->c, true, change->path, &change->is, &ret->is) : CONTENT_TEXT;
	ret->state = a > b ? a : b;
	if (is && ret->state == CONTENT_TEXT) {
		note_shown(s, change);
	}
}

static void contents_done(struct contents *t) {
	buf_done(&t->was);
	buf_done(&t->is);
}

/* ---- the patch ---- */

/* Git has two modes for files and one for symlinks. */
static unsigned git_mode(uint32_t mode) {
	if (S_ISLNK(mode)) {
		return 0120000;
	}
	return (mode & 0100) != 0 ? 0100755 : 0100644;
}

static void put_names(struct buf *out, const char *word, const char *prefix, const char *path) {
	buf_puts(out, word);
	cow_quote(out, prefix, path);
	buf_puts(out, "\n");
}

static void put_header(struct buf *out, const struct cow_change *change) {
	buf_puts(out, "diff --git ");
	cow_quote(out, "a/", change->from != NULL ? change->from : change->path);
	buf_puts(out, " ");
	cow_quote(out, "b/", change->path);
	buf_puts(out, "\n");
}

static int put_hunks(struct buf *out, const char *path, const struct contents *t, bool was, bool is,
		     struct err *e) {
	static const char *const why[] = {
		[CONTENT_LARGE] = "too large to be shown",
		[CONTENT_REPEATED] = "the same file (hard link) as ",
		[CONTENT_CLOSED] = "it cannot be read",
	};
	if (t->state != CONTENT_TEXT) {
		buf_puts(out, "Binary files ");
		cow_quote(out, was ? "a/" : "", was ? path : "/dev/null");
		buf_puts(out, " and ");
		cow_quote(out, is ? "b/" : "", is ? path : "/dev/null");
		buf_printf(out, " differ%s%s", t->state == CONTENT_BINARY ? "" : ": ",
			   t->state == CONTENT_BINARY ? "" : why[t->state]);
		cow_quote(out, "", t->same_as == NULL ? "" : t->same_as);
		buf_puts(out, "\n");
		return 0;
	}
	if (t->was.len == 0 && t->is.len == 0) {
		return 0;
	}
	put_names(out, "--- ", was ? "a/" : "", was ? path : "/dev/null");
	put_names(out, "+++ ", is ? "b/" : "", is ? path : "/dev/null");
	struct cow_text old = {t->was.data, t->was.len}, new = {t->is.data, t->is.len};
	return cow_text_diff(old, new, out, e);
}

/* One section of the patch; a change of type is a deletion and an addition, as in git. */
static int put_section(struct show *s, const struct cow_change *change, bool was, bool is,
		       struct buf *out, struct err *e) {
	struct contents t;
	unsigned old = git_mode(change->was.mode), new = git_mode(change->is.mode);

	if ((!was || S_ISDIR(change->was.mode)) && (!is || S_ISDIR(change->is.mode))) {
		return 0; /* git does not record directories */
	}
	put_header(out, change);
	if (!was) {
		buf_printf(out, "new file mode %06o\n", new);
	} else if (!is) {
		buf_printf(out, "deleted file mode %06o\n", old);
	} else if (old != new) {
		buf_printf(out, "old mode %06o\nnew mode %06o\n", old, new);
	}
	if (change->kind == COW_RENAMED) {
		buf_puts(out, "similarity index 100%\n");
		put_names(out, "rename from ", "", change->from);
		put_names(out, "rename to ", "", change->path);
		return 0;
	}
	if (change->kind == COW_MODE) {
		return 0;
	}
	contents_read(s, change, was, is, &t);
	s->binary = s->binary || t.state == CONTENT_BINARY;
	int rc = put_hunks(out, change->path, &t, was, is, e);
	contents_done(&t);
	return rc;
}

static const char *type_name(uint32_t mode) {
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFREG:
		return "file";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case 0:
		return NULL;
	default:
		return "device";
	}
}

/* The mode that the patch implies: git records only one bit of a file's mode. */
static uint32_t implied_mode(const struct cow_change *change) {
	return S_ISDIR(change->is.mode)   ? 0755
	       : S_ISLNK(change->is.mode) ? 0777
					  : git_mode(change->is.mode) & 0777;
}

/* Changes that git's format does not support, in lines that `git apply` skips. */
static void put_remarks(struct buf *out, const struct cow_change *change) {
	bool dirs = S_ISDIR(change->was.mode) || S_ISDIR(change->is.mode);
	bool modes = change->is.mode != 0 && change->was.mode != 0 &&
		     ((change->was.mode ^ change->is.mode) & 0777) != 0 &&
		     !S_ISLNK(change->is.mode);
	if (dirs || change->cannot != NULL) {
		uint32_t mode = change->is.mode != 0 ? change->is.mode : change->was.mode;
		buf_printf(out, "# %s %s: ", cow_kind_name(change->kind), type_name(mode));
		put_names(out, "", "", change->path);
	}
	if (modes) {
		buf_printf(out, "# mode %04o was %04o: ", change->is.mode & 0777,
			   change->was.mode & 0777);
		put_names(out, "", "", change->path);
	} else if (change->was.mode == 0 && (change->is.mode & 0777) != implied_mode(change)) {
		buf_printf(out, "# mode %04o: ", change->is.mode & 0777);
		put_names(out, "", "", change->path);
	}
	if (change->conflict != NULL) {
		buf_printf(out, "# conflict, %s: ", change->conflict);
		put_names(out, "", "", change->path);
	}
	if (change->cannot != NULL) {
		buf_printf(out, "# never applied, %s: ", change->cannot);
		put_names(out, "", "", change->path);
	}
}

static int put_patch(struct show *s, const struct cow_change *change, struct buf *out,
		     struct err *e) {
	bool was = change->was.mode != 0, is = change->is.mode != 0;
	s->binary = false;
	put_remarks(out, change);
	if (change->cannot != NULL) {
		return 0;
	}
	cow_show_attributes(s->c, change, out);
	if (change->kind != COW_TYPE) {
		return put_section(s, change, was, is, out, e);
	}
	return put_section(s, change, true, false, out, e) != 0
		       ? -1
		       : put_section(s, change, false, true, out, e);
}

/* ---- JSON ---- */

static void put_mode(struct emit *j, const char *key, uint32_t mode) {
	char text[16];
	(void)snprintf(text, sizeof text, "%06o", mode);
	emit_string(j, key, mode == 0 ? NULL : text);
}

/* A name that is not UTF-8 is not valid JSON: its bytes are added in hexadecimal. */
static void put_path(struct emit *j, const char *key, const char *hex_key, const char *path) {
	struct buf hex;
	bool plain = true;
	emit_string(j, key, path);
	for (const char *p = path == NULL ? "" : path; *p != '\0' && plain;) {
		size_t wide = str_utf8_length((const unsigned char *)p, strlen(p));
		plain = wide > 0;
		p += wide;
	}
	if (plain) {
		return;
	}
	buf_init(&hex);
	for (const char *p = path; *p != '\0'; p++) {
		buf_printf(&hex, "%02x", (unsigned char)*p);
	}
	emit_string(j, hex_key, buf_failed(&hex) ? NULL : hex.data);
	buf_done(&hex);
}

static int put_json(struct show *s, const struct cow_change *change, struct emit *j,
		    struct err *e) {
	struct buf patch;
	bool is = change->is.mode != 0;

	buf_init(&patch);
	if (put_patch(s, change, &patch, e) != 0) {
		buf_done(&patch);
		return -1;
	}
	emit_object(j, NULL);
	emit_string(j, "kind", cow_kind_name(change->kind));
	put_path(j, "path", "path_hex", change->path);
	put_path(j, "from", "from_hex", change->from);
	emit_string(j, "type", type_name(is ? change->is.mode : change->was.mode));
	put_mode(j, "mode_was", change->was.mode);
	put_mode(j, "mode", change->is.mode);
	emit_bool(j, "binary", s->binary);
	emit_string(j, "conflict", change->conflict);
	emit_string(j, "cannot", change->cannot);
	emit_bytes(j, "diff", patch.data == NULL ? "" : patch.data, patch.len);
	emit_end_object(j);
	if (buf_failed(&patch)) {
		return err_memory(e, COW_WHERE);
	}
	buf_done(&patch);
	return 0;
}

/* ---- all changes ---- */

static int show_json(struct show *s, const struct cow_changes *changes, const struct cow_view *v,
		     struct buf *out, struct err *e) {
	const struct cow *c = s->c;
	struct emit j;
	char when[24];
	int rc = 0;

	cow_time_text(c->started, when);
	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "id", c->id);
	emit_string(&j, "workspace", c->workspace);
	emit_string(&j, "started", when);
	emit_bool(&j, "workspace_replaced", c->lower < 0 || c->replaced);
	emit_array(&j, "changes");
	for (size_t i = 0; rc == 0 && i < changes->n; i++) {
		if (cow_selects(v->paths, v->npaths, &changes->items[i])) {
			rc = put_json(s, &changes->items[i], &j, e);
		}
	}
	emit_end_array(&j);
	emit_end_object(&j);
	return rc;
}

static int show_text(struct show *s, const struct cow_changes *changes, const struct cow_view *v,
		     struct buf *out, struct err *e) {
	const struct cow *c = s->c;
	if (c->lower < 0 || c->replaced) {
		buf_printf(out, "# the workspace %s: ",
			   c->lower < 0 ? "does not exist" : "was replaced");
		put_names(out, "", "", c->workspace);
	}
	for (size_t i = 0; i < changes->n; i++) {
		const struct cow_change *change = &changes->items[i];
		if (cow_selects(v->paths, v->npaths, change) && put_patch(s, change, out, e) != 0) {
			return -1;
		}
	}
	buf_puts(out, "");
	return 0;
}

int cow_show(const struct cow *c, const struct cow_changes *changes, const struct cow_view *v,
	     struct buf *out, struct err *e) {
	auto_free struct show *s = calloc(1, sizeof *s);
	if (s == NULL) {
		return err_memory(e, COW_WHERE);
	}
	s->c = c;
	s->left = TEXT_ALL;
	return (v->json ? show_json : show_text)(s, changes, v, out, e);
}
