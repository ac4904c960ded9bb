/* SPDX-License-Identifier: Apache-2.0 */
/* Plans which files may be executed, for commands.default = deny.
 *
 * Theory.  Two mechanisms together restrict descendants as well:
 *
 *   Landlock   execve(2), also of interpreters and loaders, needs the right EXECUTE on the file.
 *              It does not check mmap(2), and not files without a mount (memfd).
 *   mounts     every mount is noexec but those of this list: execve(2) and mmap(2) with PROT_EXEC
 *              of a file elsewhere fail, also for `ld.so FILE` and for LD_PRELOAD.
 *
 * The dynamic loader must be executable, because execve(2) of a dynamic program opens it with the
 * same check.  So a program in a directory of libraries could be run with `ld.so FILE`: such files
 * get a noexec mount each.  The filter refuses memfds: MFD_NOEXEC_SEAL prevents execve(2)
 * of one, but not `ld.so /proc/self/fd/N`.
 *
 * Should:   find the file of each listed command, its "#!" interpreters, its loader and libraries.
 * Must not: make a tree executable that commands can write.
 * Fails:    closed: a command whose file is not found is not executable; when the list is not
 *           complete, the guarantee is weaker. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/commands.h"
#include "data/syscalls.h"
#include "policy/command_rule.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* "#!" of a script whose interpreter is a script: the kernel follows 5. */
#define INTERPRETERS_MAX 5

/* The program headers and the name of the loader are in the first page. */
#define HEAD_BYTES 4096

/* Files in directories of libraries that get a mount each; and entries that are looked at. */
#define CLOSED_MAX 512
#define ENTRIES_MAX 100000
#define DEPTH_MAX 8

/* ---- the list ---- */

static struct exec_file *add(struct builder *b, const char *path, enum exec_kind kind) {
	struct plan *plan = b->plan;

	for (size_t i = 0; i < plan->nexecs; i++) {
		struct exec_file *f = &plan->execs[i];
		if (streq(f->path, path)) {
			f->kind = kind < f->kind ? kind : f->kind;
			return NULL;
		}
	}
	if (arena_grow(b->a, &plan->execs, plan->nexecs, &plan->execs_cap, sizeof *plan->execs) !=
	    0) {
		b->out_of_memory = true;
		return NULL;
	}
	plan->execs[plan->nexecs] = (struct exec_file){.path = path, .kind = kind};
	return &plan->execs[plan->nexecs++];
}

static const struct mount *mount_of(const struct plan *plan, const char *path, bool by_source) {
	const struct mount *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		const char *at = by_source ? m->source : m->target;
		bool shows = m->kind == MOUNT_BIND || m->kind == MOUNT_COW;
		if (at == NULL || m->kind == MOUNT_PIN || (by_source && !shows) ||
		    strlen(at) < longest || !path_within(path, at)) {
			continue;
		}
		best = m;
		longest = strlen(at);
	}
	return best;
}

/* The path inside of a canonical path of the host; NULL: it is not shown. */
static const char *inside_of(struct builder *b, const char *host) {
	const struct mount *m = mount_of(b->plan, host, true);

	if (m == NULL) {
		return NULL;
	}
	const char *path = plan_keep_rebased(b, host, m->source, m->target);
	return mount_of(b->plan, path, false) == m ? path : NULL;
}

/* ---- programs ---- */

/* Whether commands can change the file, by any of the paths at which the view shows it. */
static bool is_writable(const struct builder *b, const char *host) {
	return plan_writes(b->plan, host, plan_mount_visibility);
}

static void add_path(struct builder *b, const char *path, unsigned depth);
static void add_name(struct builder *b, const char *name, unsigned depth);

/* "#!/usr/bin/env NAME": env runs NAME. */
static void add_script(struct builder *b, char *line, unsigned depth) {
	char *save = NULL;
	const char *interpreter = strtok_r(line, " \t", &save);
	const char *argument = strtok_r(NULL, " \t", &save);

	if (interpreter == NULL || interpreter[0] != '/' || depth == INTERPRETERS_MAX) {
		return;
	}
	add_path(b, interpreter, depth + 1);
	const char *base = strrchr(interpreter, '/') + 1;
	if (streq(base, "env") && argument != NULL && streq(argument, "-S")) {
		argument = strtok_r(NULL, " \t", &save);
	}
	if (streq(base, "env") && argument != NULL && argument[0] != '-') {
		add_name(b, argument, depth + 1);
	}
}

static uint64_t number_at(const unsigned char *p, size_t bytes, bool big) {
	uint64_t n = 0;

	for (size_t i = 0; i < bytes; i++) {
		n = n << 8 | p[big ? i : bytes - 1 - i];
	}
	return n;
}

/* The name of the loader in the first page of an ELF file (PT_INTERP); NULL. */
static const char *loader_of(const char *head, size_t len) {
	const unsigned char *p = (const unsigned char *)head;
	bool wide = len > 64 && p[4] == 2, big = len > 64 && p[5] == 2;

	if (len < 64 || memcmp(head, "\177ELF", 4) != 0) {
		return NULL;
	}
	uint64_t at = number_at(p + (wide ? 32 : 28), wide ? 8 : 4, big);
	uint64_t size = number_at(p + (wide ? 54 : 42), 2, big);
	uint64_t count = number_at(p + (wide ? 56 : 44), 2, big);
	for (uint64_t i = 0; i < count && size >= 32 && at + size <= len; i++, at += size) {
		if (number_at(p + at, 4, big) != 3) {
			continue;
		}
		uint64_t from = number_at(p + at + (wide ? 8 : 4), wide ? 8 : 4, big);
		if (from < len && memchr(head + from, '\0', len - from) != NULL) {
			return head + from;
		}
	}
	return NULL;
}

static void add_tree(struct builder *b, const char *path, enum exec_kind kind) {
	const char *host = host_fs_resolve(b, path);

	if (host == NULL || host_fs_look(b, host).kind != LOOK_DIR) {
		return;
	}
	const char *inside = inside_of(b, host);
	if (inside != NULL && !is_writable(b, host)) {
		(void)add(b, inside, kind);
	}
}

/* The directory of the loader has the libraries of the system. */
static void add_loader(struct builder *b, const char *loader) {
	const char *host = loader[0] == '/' ? host_fs_resolve(b, loader) : NULL;
	char dir[PATH_MAX];

	add_path(b, loader, INTERPRETERS_MAX);
	if (host != NULL && path_parent(host, dir)) {
		add_tree(b, plan_keep_printf(b, "%s", dir), EXEC_LIBRARIES);
	}
}

/* A program in DIR/bin outside /usr has its libraries in DIR/lib. */
static void add_beside(struct builder *b, const char *host) {
	char dir[PATH_MAX], top[PATH_MAX];

	if (path_parent(host, dir) && path_parent(dir, top) && !streq(top, "/usr")) {
		add_tree(b, plan_keep_join(b, top, "lib"), EXEC_LIBRARIES);
	}
}

static void add_program(struct builder *b, const char *host, unsigned depth) {
	const char *inside = inside_of(b, host);
	char head[HEAD_BYTES + 1];

	if (inside == NULL || add(b, inside, EXEC_PROGRAM) == NULL || b->h->fs.head == NULL) {
		return;
	}
	size_t len = b->h->fs.head(b->h->fs.ctx, host, head, HEAD_BYTES);
	head[len] = '\0';
	if (head[0] == '#' && head[1] == '!') {
		head[strcspn(head, "\n")] = '\0';
		add_script(b, head + 2, depth);
		return;
	}
	const char *loader = loader_of(head, len);
	if (loader != NULL) {
		add_loader(b, plan_keep_printf(b, "%s", loader));
	}
	add_beside(b, host);
}

/* The "#!" interpreter or the loader of a listed program (depth > 0) is not listed itself. */
static void add_path(struct builder *b, const char *path, unsigned depth) {
	const char *host = host_fs_resolve(b, path);

	if (host == NULL || host_fs_look(b, host).kind != LOOK_FILE) {
		return;
	}
	if (depth > 0 && is_writable(b, host)) {
		plan_note(b,
			  plan_keep_printf(b,
					   "%s, which starts a listed program, cannot be executed: "
					   "commands can write it",
					   path));
		return;
	}
	add_program(b, host, depth);
}

static const char *search_path(const struct plan *plan) {
	for (size_t i = 0; i < plan->nenv; i++) {
		if (str_starts(plan->env[i], "PATH=")) {
			return plan->env[i] + strlen("PATH=");
		}
	}
	return "";
}

/* Every file of that name in PATH: a program may reset PATH.  But no file that an earlier run could
 * have put there. */
static void add_name(struct builder *b, const char *name, unsigned depth) {
	for (const char *p = search_path(b->plan); *p != '\0';) {
		size_t len = strcspn(p, ":");
		const char *path = plan_keep_printf(b, "%.*s/%s", (int)len, p, name);
		const char *host = len > 0 && p[0] == '/' ? host_fs_resolve(b, path) : NULL;
		if (host != NULL && !is_writable(b, host)) {
			add_path(b, path, depth);
		}
		p += len + (p[len] == ':');
	}
}

static bool is_row_for(const struct command_tree *row, const char *name) {
	size_t len = strlen(row->name);

	return row->name[len - 1] == '*' ? strncmp(row->name, name, len - 1) == 0
					 : streq(row->name, name);
}

static void add_command(struct builder *b, const char *name) {
	const char *base = strrchr(name, '/') == NULL ? name : strrchr(name, '/') + 1;

	if (name[0] == '/') {
		const char *host = host_fs_resolve(b, name);
		add_path(b, name, 0);
		if (host != NULL && is_writable(b, host)) {
			b->plan->exec_why =
				"a listed program lies in a directory that commands can "
				"write, so they can replace it by any other";
		}
	} else {
		add_name(b, name, 0);
	}
	for (size_t i = 0; i < command_trees_count; i++) {
		const struct command_tree *row = &command_trees[i];
		if (is_row_for(row, base)) {
			add_tree(b, row->path, row->executes ? EXEC_TREE : EXEC_LIBRARIES);
		}
	}
}

/* ---- programs among the libraries ---- */

struct walk {
	struct builder *b;
	const char *host, *inside; /* the directory */
	size_t *entries, *closed;
	unsigned depth;
};

static bool is_listed(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nexecs; i++) {
		if (plan->execs[i].kind != EXEC_LIBRARIES && streq(plan->execs[i].path, path)) {
			return true;
		}
	}
	return false;
}

static void close_programs(const struct walk *w);

static void close_entry(void *arg, const char *name) {
	const struct walk *w = arg;

	if (++*w->entries > ENTRIES_MAX || *w->closed >= CLOSED_MAX) {
		return;
	}
	/* A library is loaded, but has no main program. */
	bool library = strstr(name, ".so") != NULL;
	struct look seen = host_fs_look(w->b, plan_keep_join(w->b, w->host, name));
	const char *inside = plan_keep_join(w->b, w->inside, name);
	if (seen.kind == LOOK_DIR && w->depth < DEPTH_MAX && !is_listed(w->b->plan, inside)) {
		struct walk below = *w;
		below.host = plan_keep_join(w->b, w->host, name);
		below.inside = inside;
		below.depth++;
		close_programs(&below);
	} else if (seen.kind == LOOK_FILE && (seen.mode & 0111) != 0 && !library &&
		   !is_listed(w->b->plan, inside)) {
		++*w->closed;
		(void)add(w->b, inside, EXEC_CLOSED);
	}
}

static void close_programs(const struct walk *w) {
	struct walk copy = *w;

	(void)w->b->h->fs.list(w->b->h->fs.ctx, w->host, close_entry, &copy);
}

static void close_libraries(struct builder *b) {
	size_t entries = 0, closed = 0, n = b->plan->nexecs;

	for (size_t i = 0; i < n; i++) {
		const struct exec_file *f = &b->plan->execs[i];
		const struct mount *m = mount_of(b->plan, f->path, false);
		if (f->kind != EXEC_LIBRARIES || m == NULL || m->source == NULL) {
			continue;
		}
		const char *host = plan_keep_rebased(b, f->path, m->target, m->source);
		struct walk w = {b, host, f->path, &entries, &closed, 0};
		close_programs(&w);
	}
	if (entries > ENTRIES_MAX || closed >= CLOSED_MAX) {
		b->plan->exec_why = "the directories of libraries have too many files: a program "
				    "among them can be run with the dynamic loader";
	}
}

static int order(const void *left, const void *right) {
	const struct exec_file *a = left, *b = right;
	return path_order(a->path, b->path);
}

void exec_build(struct builder *b) {
	struct plan *plan = b->plan;
	const struct value *v = &b->p->values[KEY_COMMANDS];
	const struct value *deny = &b->p->values[KEY_COMMANDS_DEFAULT];

	if (!deny->set || deny->num != COMMANDS_DENY || plan->level < LEVEL_STANDARD) {
		return;
	}
	plan->exec_limited = true;
	plan->traits |= TRAIT_EXEC;
	if (plan->broker && plan->judges && plan->denials != DENIALS_OFF) {
		plan->traits |= TRAIT_WATCH_EXEC;
	}
	for (size_t i = 0; i < v->count; i++) {
		struct command_rule r = command_rule_of(&v->items[i]);
		if (command_rule_permits(b->p, r.name, r.name_len)) {
			add_command(b, plan_keep_printf(b, "%.*s", (int)r.name_len, r.name));
		}
	}
	if (b->h->shell != NULL) {
		add_command(b, b->h->shell);
	}
	if (!b->no_namespaces) {
		close_libraries(b);
	}
	if (plan->nexecs > 1) {
		qsort(plan->execs, plan->nexecs, sizeof *plan->execs, order);
	}
	for (size_t i = 0; i < plan->nmounts; i++) {
		plan->mounts[i].noexec = true;
	}
}
