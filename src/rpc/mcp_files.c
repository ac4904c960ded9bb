/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP tools on single files: read_file, write_file, edit_file, list_directory, send_file.
 *
 * Should:   use the file tools of the library, with the server's policy; pass each text to the leak
 *           rules (rpc/mcp_leaks.c).
 * Must not: open a path itself; return a part of a file whose whole was not scanned, because a
 *           secret could be read piece by piece.
 * Fails:    closed: content that cannot be scanned is not passed on. */
#include "rpc/mcp_call.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* A model reads less; with escapes, as text and as data, a reply is twelve times this at most. */
#define READ_DEFAULT ((int64_t)256 * 1024)
#define LIST_MAX ((size_t)2000)

/* A handle of the call's own: no other thread has it, and it has the present policy files. */
static struct corral_files *open_files(const struct mcp_call *call, struct mcp_reply *reply) {
	struct corral_files *files = NULL;
	struct corral_error err;

	if (mcp_leaks_names(call, reply) != 0) {
		return NULL;
	}
	if (corral_files_new(call->config->policy, &files, &err) != 0) {
		mcp_text_error(reply, &err);
		return NULL;
	}
	return files;
}

/* ---- read ---- */

/* Text as it is; anything else as base64. */
static json_t *content_of(const char *bytes, size_t len, bool text) {
	if (text) {
		return json_stringn(bytes, len);
	}
	auto_free char *encoded = mcp_text_encode(bytes, len);
	return encoded == NULL ? NULL : json_string(encoded);
}

static void give_content(const char *bytes, size_t len, const struct corral_range *range,
			 struct mcp_reply *reply) {
	size_t whole = range->offset + len < range->size ? mcp_text_whole(bytes, len) : len;
	bool text = mcp_text_is_utf8(bytes, whole);
	size_t shown = text ? whole : len;
	bool cut = range->offset + shown < range->size;

	json_t *content = content_of(bytes, shown, text);
	reply->data = json_pack("{s:o, s:s, s:I, s:I, s:I, s:b}", "content", content, "encoding",
				text ? "utf-8" : "base64", "offset", (json_int_t)range->offset,
				"length", (json_int_t)shown, "size", (json_int_t)range->size,
				"truncated", (int)cut);
	const char *words = json_string_value(json_object_get(reply->data, "content"));
	buf_puts(&reply->text, words == NULL ? "" : words);
	if (cut) {
		unsigned long long from = range->offset, next = from + shown;
		buf_printf(&reply->text,
			   "\n[bytes %llu to %llu of %llu; read on with offset %llu]\n", from, next,
			   (unsigned long long)range->size, next);
	}
}

/* The range of a file that was read and cleaned as a whole. */
static void give_part(const char *bytes, size_t len, struct corral_range range,
		      struct mcp_reply *reply) {
	size_t begin = range.offset < len ? (size_t)range.offset : len;
	size_t n = len - begin < range.length ? len - begin : range.length;

	range.offset = begin;
	range.size = len;
	give_content(bytes + begin, n, &range, reply);
}

void mcp_files_read(const struct mcp_call *call, struct mcp_reply *reply) {
	struct corral_range range = {
		.offset = (uint64_t)mcp_text_number(call, "offset", 0),
		.length = (size_t)mcp_text_number(call, "length", READ_DEFAULT),
	};
	bool scans = call->config->output != MCP_LEAK_PASS;
	const char *path = mcp_text_argument(call, "path");
	struct corral_files *files = open_files(call, reply);
	auto_free char *bytes = NULL;
	struct corral_error err;
	size_t len = 0;

	if (files == NULL) {
		return;
	}
	if (corral_files_read(files, path, scans ? NULL : &range, &bytes, &len, &err) != 0) {
		mcp_text_error(reply, &err);
	} else if (!scans) {
		give_content(bytes, len, &range, reply);
	} else if (mcp_leaks_output(call, &bytes, &len, reply) == 0) {
		give_part(bytes, len, range, reply);
	}
	corral_files_free(files);
}

/* ---- write ---- */

static char *decoded(const struct mcp_call *call, size_t *ret_len, struct mcp_reply *reply) {
	const char *encoding = mcp_text_argument(call, "encoding");
	const char *content = mcp_text_argument(call, "content");
	char *bytes = NULL;

	if (encoding == NULL || streq(encoding, "utf-8")) {
		*ret_len = strlen(content);
		bytes = strdup(content);
	} else {
		bytes = mcp_text_decode(content, ret_len);
	}
	if (bytes == NULL) {
		mcp_text_misuse(reply, "Invalid argument `content`: it is not base64.");
	}
	return bytes;
}

void mcp_files_write(const struct mcp_call *call, struct mcp_reply *reply) {
	unsigned flags = (mcp_text_flag(call, "create_parents", true) ? CORRAL_WRITE_PARENTS : 0U) |
			 (mcp_text_flag(call, "must_be_new", false) ? CORRAL_WRITE_NEW : 0U);
	struct corral_error err;
	size_t len = 0;
	auto_free char *bytes = decoded(call, &len, reply);

	if (bytes == NULL || mcp_leaks_argument(call, bytes, len, reply) != 0) {
		return;
	}
	struct corral_files *files = open_files(call, reply);
	if (files == NULL) {
		return;
	}
	if (corral_files_write(files, mcp_text_argument(call, "path"), bytes, len, flags, &err) !=
	    0) {
		mcp_text_error(reply, &err);
	} else {
		reply->data = json_pack("{s:I}", "bytes", (json_int_t)len);
		buf_printf(&reply->text, "Wrote %zu bytes.", len);
	}
	corral_files_free(files);
}

void mcp_files_edit(const struct mcp_call *call, struct mcp_reply *reply) {
	struct corral_edit edit = {
		.old_text = mcp_text_argument(call, "old_text"),
		.new_text = mcp_text_argument(call, "new_text"),
		.all = mcp_text_flag(call, "replace_all", false),
	};
	struct corral_error err;
	size_t count = 0;

	if (mcp_leaks_argument(call, edit.new_text, strlen(edit.new_text), reply) != 0) {
		return;
	}
	struct corral_files *files = open_files(call, reply);
	if (files == NULL) {
		return;
	}
	if (corral_files_edit(files, mcp_text_argument(call, "path"), &edit, &count, &err) != 0) {
		mcp_text_error(reply, &err);
	} else {
		reply->data = json_pack("{s:I}", "replacements", (json_int_t)count);
		buf_printf(&reply->text, "Replaced %zu occurrence%s.", count,
			   count == 1 ? "" : "s");
	}
	corral_files_free(files);
}

/* ---- list ---- */

/* A name may contain a newline, which would forge another line. */
static void put_entry(struct buf *out, const struct corral_entry *e, const json_t *name) {
	auto_free char *shown = name == NULL ? NULL : strdup(json_string_value(name));

	if (shown != NULL) {
		str_hide_controls(shown, false);
		buf_printf(out, "%-9s %10llu  %s\n", e->kind, (unsigned long long)e->size, shown);
	}
}

/* The names as lines: one scan for those of a whole directory. */
static int scan_names(const struct mcp_call *call, const struct corral_entry *entries, size_t shown,
		      bool *ret_found, struct mcp_reply *reply) {
	struct buf lines;

	buf_init(&lines);
	for (size_t i = 0; i < shown; i++) {
		buf_printf(&lines, "%s\n", entries[i].name);
	}
	int rc = buf_failed(&lines) ? -1
				    : mcp_leaks_find(call, lines.data == NULL ? "" : lines.data,
						     lines.len, ret_found, reply);
	reply->text.failed = reply->text.failed || buf_failed(&lines);
	buf_done(&lines);
	return rc;
}

/* The name of an entry without secrets; NULL: reply has the reason. */
static json_t *name_of(const struct mcp_call *call, const struct corral_entry *e, bool found,
		       struct mcp_reply *reply) {
	size_t len = strlen(e->name);
	auto_free char *name = found ? strdup(e->name) : NULL;

	if (!found) {
		return mcp_text_value(e->name, len);
	}
	if (name == NULL || mcp_leaks_output(call, &name, &len, reply) != 0) {
		return NULL;
	}
	return mcp_text_value(name, len);
}

static void give_entries(const struct mcp_call *call, const struct corral_entry *entries,
			 size_t count, struct mcp_reply *reply) {
	size_t shown = count < LIST_MAX ? count : LIST_MAX;
	bool found = false;

	if (scan_names(call, entries, shown, &found, reply) != 0) {
		return;
	}
	json_t *list = json_array();
	for (const struct corral_entry *e = entries; e < entries + shown; e++) {
		json_t *name = name_of(call, e, found, reply);
		if (name == NULL) {
			json_decref(list);
			return;
		}
		put_entry(&reply->text, e, name);
		(void)json_array_append_new(
			list, json_pack("{s:o, s:s, s:I, s:i}", "name", name, "kind", e->kind,
					"size", (json_int_t)e->size, "mode", (int)e->mode));
	}
	reply->data = json_pack("{s:o, s:I, s:b}", "entries", list, "count", (json_int_t)count,
				"truncated", (int)(shown < count));
	buf_printf(&reply->text, "[%zu entries%s]\n", count,
		   shown < count ? ", the first 2000 are shown" : "");
}

void mcp_files_list(const struct mcp_call *call, struct mcp_reply *reply) {
	const char *path = mcp_text_argument(call, "path");
	struct corral_files *files = open_files(call, reply);
	struct corral_entry *entries = NULL;
	struct corral_error err;
	size_t count = 0;

	if (files == NULL) {
		return;
	}
	if (corral_files_list(files, path == NULL ? "." : path, &entries, &count, &err) != 0) {
		mcp_text_error(reply, &err);
	} else {
		give_entries(call, entries, count, reply);
	}
	free(entries);
	corral_files_free(files);
}

/* ---- send ---- */

/* An embedded resource with the whole file. */
static json_t *resource_of(const char *path, const char *bytes, size_t len) {
	bool text = mcp_text_is_utf8(bytes, len);
	struct buf uri;

	buf_init(&uri);
	buf_printf(&uri, "file://%s%s", path[0] == '/' ? "" : "/", path);
	json_t *named = buf_failed(&uri) ? NULL : mcp_text_value(uri.data, uri.len);
	buf_done(&uri);
	json_t *resource = json_pack("{s:o, s:s, s:o}", "uri", named, "mimeType",
				     text ? "text/plain" : "application/octet-stream",
				     text ? "text" : "blob", content_of(bytes, len, text));
	return json_pack("[{s:s, s:o}]", "type", "resource", "resource", resource);
}

void mcp_files_send(const struct mcp_call *call, struct mcp_reply *reply) {
	const char *path = mcp_text_argument(call, "path");
	struct corral_files *files = open_files(call, reply);
	auto_free char *bytes = NULL;
	struct corral_error err;
	size_t len = 0;

	if (files == NULL) {
		return;
	}
	if (corral_files_send(files, path, NULL, &bytes, &len, &err) != 0) {
		mcp_text_error(reply, &err);
	} else {
		reply->content = resource_of(path, bytes, len);
		reply->data = json_pack("{s:I}", "size", (json_int_t)len);
		buf_printf(&reply->text, "The file has %zu bytes.", len);
	}
	corral_files_free(files);
}
