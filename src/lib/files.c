/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools of corral.h that read and write content: read, write, edit, list, send and check.
 *
 * Should:   keep the policy from the creation of the handle; file_task.h plans anew for every
 *           call.
 * Must not: depend on the host's kernel features: the tools check paths themselves, so the
 *           plan is always that of level full.
 * Fails:    closed: without a plan no file is opened. */
#include "lib/internal.h"

#include "backend/probe.h"
#include "base/auto.h"
#include "base/errno_name.h"
#include "base/str.h"
#include "files/tools.h"
#include "lib/file_leaks.h"
#include "lib/file_task.h"
#include "lib/file_verdict.h"
#include "lib/leaks.h"

#include <limits.h>
#include <stdio.h>

/* All features that a plan with namespaces needs from a host. */
static void pretend_full(struct prepared *p) {
	p->host.userns = p->host.seccomp = p->host.notify = p->host.sockets = true;
	p->host.landlock_abi = INT_MAX;
	p->host.cgroup.memory = p->host.cgroup.cpu = p->host.cgroup.pids = true;
	p->policy.values[KEY_LEVEL].num = LEVEL_AUTO;
	p->policy.values[KEY_MIN_LEVEL].num = LEVEL_NONE;
	p->policy.values[KEY_REQUIRE].count = 0;
}

/* ---- the handle ---- */

int corral_files_new(const struct corral_policy *policy, struct corral_files **files,
		     struct corral_error *err) {
	struct err e = {0};
	struct file_task t;

	if (lib_need(files, "files", err) != 0) {
		return -1;
	}
	struct corral_files *made = calloc(1, sizeof *made);

	if (made == NULL) {
		(void)err_memory(&e, "library");
		return lib_fail(&e, err);
	}
	int rc = prepared_resolve(policy, true, &made->base, &e);
	if (rc == 0) {
		pretend_full(&made->base);
		if (policy_num(&made->base.policy, KEY_MODE) == MODE_FULL_ACCESS) {
			/* Such a plan names a directory of the run; none is made here. */
			rc = probe_without_namespaces(&made->base.arena, &made->base.host, &e);
		}
		/* The plan of a run with --cow needs a name; nothing is created. */
		made->base.host.cow_dir =
			cow_dir_of(&made->base.arena, made->base.host.state_dir, "none");
		rc = rc != 0 ? rc
			     : file_task_to_read(made, "/", &t,
						 &e); /* fails if the policy cannot be planned */
		rc = file_task_end(&t, rc, &e, err);
	} else {
		(void)lib_fail(&e, err);
	}
	if (rc != 0) {
		corral_files_free(made);
		return -1;
	}
	*files = made;
	return 0;
}

void corral_files_free(struct corral_files *files) {
	if (files != NULL) {
		file_leaks_end(files->leaks, &files->base);
		arena_done(&files->base.arena);
		free(files);
	}
}

void corral_files_reject_symlinks(struct corral_files *files) {
	if (files != NULL) {
		files->reject_links = true;
	}
}

void corral_files_by_name(struct corral_files *files) {
	if (files != NULL) {
		files->slow = true;
	}
}

int corral_files_leak(struct corral_files *files, const char *path,
		      const struct corral_finding *finding, int blocked, struct corral_error *err) {
	struct leak_record found = {.place = LEAK_IN_FILE,
				    .action = blocked != 0 ? LEAK_BLOCK : LEAK_REDACT,
				    .count = 1};
	struct err e = {0};

	if (lib_need(files, "files", err) != 0 || lib_need(path, "path", err) != 0 ||
	    lib_need(finding, "finding", err) != 0) {
		return -1;
	}
	(void)snprintf(found.kind, sizeof found.kind, "%s", finding->kind); /* may be cut */
	(void)snprintf(found.view, sizeof found.view, "%s", finding->view); /* likewise */
	(void)snprintf(found.fingerprint, sizeof found.fingerprint, "%s", finding->fingerprint);
	return file_leaks_add(&files->leaks, &files->base, path, &found, &e) == 0
		       ? 0
		       : lib_fail(&e, err);
}

/* ---- the tools ---- */

static void give_bytes(struct buf *b, char **bytes, size_t *len) {
	*len = b->len;
	*bytes = buf_take(b);
}

int corral_files_read(const struct corral_files *files, const char *path,
		      struct corral_range *range, char **bytes, size_t *len,
		      struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	struct buf out;
	uint64_t size;

	if (lib_need(bytes, "bytes", err) != 0 || lib_need(len, "len", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = file_task_to_read(files, path, &t, &e);
	if (rc == 0) {
		struct range all = {0};
		rc = tool_read(&t.view, path,
			       range == NULL ? all : (struct range){range->offset, range->length},
			       &out, &size, &e);
	}
	if (rc == 0) {
		give_bytes(&out, bytes, len);
		if (range != NULL) {
			range->size = size;
		}
	}
	buf_done(&out);
	return file_task_end(&t, rc, &e, err);
}

int corral_files_write(const struct corral_files *files, const char *path, const void *bytes,
		       size_t len, unsigned flags, struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	unsigned known = CORRAL_WRITE_PARENTS | CORRAL_WRITE_NEW;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0 && ((flags & ~known) != 0 || (bytes == NULL && len > 0))) {
		rc = err_set(&e, ERR_USAGE, "library", "unknown flags, or bytes is NULL");
	}
	if (rc == 0) {
		unsigned how = ((flags & CORRAL_WRITE_PARENTS) != 0 ? WRITE_PARENTS : 0U) |
			       ((flags & CORRAL_WRITE_NEW) != 0 ? WRITE_NEW : 0U);
		rc = tool_write(&t.view, path, (struct bytes){len == 0 ? "" : bytes, len}, how, &e);
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_edit(const struct corral_files *files, const char *path,
		      const struct corral_edit *edit, size_t *count, struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	size_t replaced;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0 && (edit == NULL || edit->old_text == NULL || edit->new_text == NULL)) {
		rc = err_set(&e, ERR_USAGE, "library", "edit, old_text or new_text is NULL");
	}
	if (rc == 0) {
		struct replacement r = {
			.old = {edit->old_text, strlen(edit->old_text)},
			.new = {edit->new_text, strlen(edit->new_text)},
			.all = edit->all != 0,
		};
		rc = tool_edit(&t.view, path, &r, &replaced, &e);
	}
	if (rc == 0 && count != NULL) {
		*count = replaced;
	}
	return file_task_end(&t, rc, &e, err);
}

/* Entries and names in one block, so that the caller frees it with one free(). */
static struct corral_entry *entries_of(const struct listing *list) {
	size_t names = 0;

	for (size_t i = 0; i < list->count; i++) {
		names += strlen(list->entries[i].name) + 1;
	}
	struct corral_entry *all = calloc(1, (list->count + 1) * sizeof *all + names);
	char *at = all == NULL ? NULL : (char *)(all + list->count + 1);
	for (size_t i = 0; all != NULL && i < list->count; i++) {
		const struct entry *from = &list->entries[i];
		size_t len = strlen(from->name) + 1;
		memcpy(at, from->name, len);
		all[i] = (struct corral_entry){at, from->kind, from->size, from->mode};
		at += len;
	}
	return all;
}

int corral_files_list(const struct corral_files *files, const char *path,
		      struct corral_entry **entries, size_t *count, struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	struct listing list = {0};
	struct corral_entry *all = NULL;

	if (lib_need(entries, "entries", err) != 0 || lib_need(count, "count", err) != 0) {
		return -1;
	}
	int rc = file_task_to_read(files, path, &t, &e);
	if (rc == 0) {
		rc = tool_list(&t.view, path, &t.arena, &list, &e);
	}
	if (rc == 0) {
		all = entries_of(&list);
		rc = all == NULL ? err_memory(&e, "library") : 0;
	}
	if (rc == 0) {
		*entries = all;
		*count = list.count;
	}
	return file_task_end(&t, rc, &e, err);
}

int corral_files_send(const struct corral_files *files, const char *path,
		      const struct corral_scan *scan, char **bytes, size_t *len,
		      struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	struct scanner scanner = {0};
	struct buf out;

	if (lib_need(bytes, "bytes", err) != 0 || lib_need(len, "len", err) != 0) {
		return -1;
	}
	if (scan != NULL) {
		scanner = (struct scanner){scan->scan, scan->arg};
	}
	buf_init(&out);
	int rc = file_task_to_read(files, path, &t, &e);
	if (rc == 0) {
		rc = tool_send(&t.view, path, scanner, &out, &e);
	}
	if (rc == 0) {
		rc = leaks_check_file(&files->base, path, &out, &e);
	}
	if (rc == 0) {
		audit_file_sent(&files->base, path, out.len);
		give_bytes(&out, bytes, len);
	}
	buf_done(&out);
	return file_task_end(&t, rc, &e, err);
}

int corral_files_symlink(const struct corral_files *files, const char *target, const char *path,
			 struct corral_error *err) {
	struct err e = {0};
	struct file_task t;

	int rc = file_task_to_write(files, path, &t, &e);
	if (rc == 0) {
		rc = target == NULL ? err_set(&e, ERR_USAGE, "library", "the target is NULL")
				    : tool_symlink(&t.view, target, path, &e);
	}
	return file_task_end(&t, rc, &e, err);
}

/* ---- the verdict alone ---- */

int file_verdict(const struct lens *v, const struct corral_check *check, struct place *p,
		 struct verdict *ret, struct err *e) {
	if (place_find(v, check->path, 0, p, e) == 0) {
		enum access want = check->write ? ACCESS_WRITE : ACCESS_READ;
		access_judge(v, p, want, ret);
		access_is_hidden(v, p, want, ret);
		ret->closed = ret->kind == ERR_NONE && access_is_closed(p, want);
		place_done(p);
		return 0;
	}
	if (e->kind != ERR_FILE) {
		return -1;
	}
	*ret = (struct verdict){.kind = ERR_FILE, .rule = "the system"};
	(void)snprintf(ret->origin, sizeof ret->origin, "%s",
		       e->sys == 0 ? "-" : errno_name(e->sys));
	(void)snprintf(ret->reason, sizeof ret->reason, "%s", e->what); /* may be cut: a message */
	(void)snprintf(ret->remedy, sizeof ret->remedy, "use another path");
	p->path[0] = '\0';
	return 0;
}

static void print_json(const struct corral_check *check, const struct place *p,
		       const struct verdict *verdict, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "version", 1);
	emit_string(&j, "path", check->path);
	emit_string(&j, "resolved", p->path[0] == '\0' ? NULL : p->path);
	emit_string(&j, "access", check->write ? "write" : "read");
	emit_bool(&j, "allowed", verdict->kind == ERR_NONE);
	if (verdict->kind != ERR_NONE && verdict->kind != ERR_PROTECTED) {
		emit_null(&j, "exists");
	} else {
		emit_bool(&j, "exists", p->kind != PLACE_MISSING);
	}
	emit_string(&j, "error", access_refusal_name(verdict->kind));
	emit_string(&j, "rule", verdict->rule);
	emit_string(&j, "origin", verdict->origin);
	emit_string(&j, "reason", verdict->reason[0] == '\0' ? NULL : verdict->reason);
	emit_string(&j, "remedy", verdict->remedy[0] == '\0' ? NULL : verdict->remedy);
	emit_end_object(&j);
}

/* One line: a name may contain a newline. */
static void end_line(struct buf *out, size_t from) {
	if (!buf_failed(out)) {
		str_hide_controls(out->data + from, false);
	}
	buf_puts(out, "\n");
}

static void print_text(const struct lens *v, const struct corral_check *check,
		       const struct place *p, const struct verdict *verdict, struct buf *out) {
	size_t from = out->len;
	if (verdict->kind == ERR_NONE) {
		bool home = plan_visibility(v->plan, p->path) == VISIBILITY_PRIVATE;
		buf_printf(out, "allowed: %s %s%s%s (%s, %s)%s", check->write ? "write" : "read",
			   p->path, p->kind == PLACE_MISSING ? ", which does not exist" : "",
			   home ? ", in the private HOME and not in yours" : "", verdict->rule,
			   verdict->origin,
			   verdict->closed
				   ? "; but the file's mode bits deny it, with or without Corral"
				   : "");
		end_line(out, from);
		return;
	}
	const char *also = verdict->kind == ERR_FILE ? verdict->origin : "";
	buf_printf(out, "refused: %s%s%s", verdict->reason, also[0] == '\0' ? "" : ": ", also);
	end_line(out, from);
	from = out->len;
	buf_printf(out, "  remedy: %s", verdict->remedy);
	end_line(out, from);
}

int corral_files_check(const struct corral_files *files, const struct corral_check *check,
		       enum corral_format format, char **text, int *allowed,
		       struct corral_error *err) {
	struct err e = {0};
	struct file_task t;
	struct place p = {.fd = -1, .dir = -1};
	struct verdict verdict = {0};
	struct buf out;

	if (lib_need(text, "text", err) != 0 || lib_need(check, "check", err) != 0) {
		return -1;
	}
	buf_init(&out);
	int rc = file_task_to_read(files, check->path, &t, &e);
	if (rc == 0) {
		rc = file_verdict(&t.view, check, &p, &verdict, &e);
	}
	if (rc == 0) {
		if (format == CORRAL_JSON) {
			print_json(check, &p, &verdict, &out);
		} else {
			print_text(&t.view, check, &p, &verdict, &out);
		}
		rc = lib_give(&out, text, &e);
	}
	if (rc == 0 && allowed != NULL) {
		*allowed = verdict.kind == ERR_NONE;
	}
	return file_task_end(&t, rc, &e, err);
}
