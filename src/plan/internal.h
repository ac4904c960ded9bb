/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and types that the files of src/plan share while they build a plan.
 *
 * Theory.  Every rule becomes a mount request: a mount with a target and a rank.  In a
 * stack of mounts the deepest target above a path decides about that path.  So one
 * request per target, sorted by path, is complete, and the order in which rules were
 * written cannot matter (L2).  At one target the higher rank wins; between targets the
 * deeper one does.
 *
 *   view, toolchains   requests for trees of the host and for private directories
 *   masks              requests that hide a path or make it read-only, found by source,
 *                      so that a tree that is mounted twice is masked twice
 *   compose            one request per target, pins, mount points, the final list */
#ifndef CORRAL_PLAN_INTERNAL_H
#define CORRAL_PLAN_INTERNAL_H

#include "data/paths.h"
#include "plan/plan.h"

/* Corral's own directory in the sandbox. */
#define OWN_DIR "/.corral"

/* At one target the highest rank wins. */
enum rank {
	RANK_PIN,
	RANK_SYSTEM,
	RANK_WINDOW,
	RANK_TOOLCHAIN,
	RANK_HOME,
	RANK_SENSITIVE, /* hidden by a built-in table: an explicit grant re-opens it */
	RANK_READ,
	RANK_WRITE,
	RANK_WORKSPACE,
	RANK_PROTECT,
	RANK_CLEAN, /* protected, and replaced by a copy without credentials */
	RANK_DENY,
	RANK_OWN, /* Corral's own files: no grant re-opens them */
};

struct mount_request {
	struct mount m;
	enum rank rank;
	bool own;   /* a bind mount of a directory of Corral, not of a tree of the host: the private
		     * home */
	bool alias; /* the target is the path as written, which contains a symlink of the host */
	bool mapped; /* a grant at another path than its own (mapped.c) */
	bool dropped;
	const char *root; /* of a granted request: the tree that contains it (P6); NULL */
};

/* A file of the host that must not be seen, or not be changed. */
struct hide {
	const char *path; /* canonical */
	struct look seen;
	enum rank rank;
	struct origin origin;
	const char *note;
	const char *written; /* the path as the rule has it; NULL when a table has it */
	const char *text;    /* RANK_CLEAN: the content that is read instead; NULL: none */
};

/* The directories that git uses for a working tree that is shown. */
struct repository {
	const char *tree;  /* the tree */
	const char *link;  /* its .git, where that is a file; NULL */
	const char *alias; /* its .git, where that is a symlink; NULL */
	const char *named; /* dir and common as `gitdir:` and commondir name them; NULL */
	const char *common_named;
	const char *dir;     /* HEAD and index */
	const char *common;  /* hooks, configuration, objects; mostly the same; NULL where the
			      * .git cannot be read, which is then `dir` */
	bool has_submodules; /* a .gitmodules lies in the tree */
};

struct etc_entry {
	const char *path;
	struct look seen;
};

struct builder {
	struct arena *a;
	const struct policy *p;
	const struct host *h;
	struct plan *plan;
	bool out_of_memory;  /* never reset; checked between the steps */
	bool too_many_rules; /* never reset; checked when all rules exist */

	struct mount_request *requests;
	size_t nrequests, requests_cap;
	struct hide *hides;
	size_t nhides, hides_cap;
	struct etc_entry *etc; /* of /etc, in a run of root; its masks and its rules need them */
	size_t netc, etc_cap;
	struct repository *repositories;
	size_t nrepositories, repositories_cap;
	const char **tool_env; /* "NAME=VALUE" of toolchains that are shown */
	size_t ntool_env, tool_env_cap;

	const char **roots; /* canonical trees that commands can write */
	size_t nroots;
	bool excepts[EFFECT_COUNT][RULE_GROUPS]; /* a pattern is an exception */
	enum view view;
	bool read_only;          /* mode */
	bool no_namespaces;      /* the engine has no namespaces */
	const char *identity_at; /* path of the generated git configuration; NULL: none */
};

#define WHERE "plan"

/* Where fs.agent is mounted. */
#define AGENT_AT "/agent"

/* User and group in the minimal view. */
#define MINIMAL_USER "sandbox"

/* Without namespaces: SHARED_HOME lies in the directory of the run; the other two lie in Corral's
 * state directory and are kept between runs. */
#define SHARED_HOME ".home"
#define SHARED_IDENTITY "gitconfig"
#define SHARED_IGNORES "gitignore"
#define SHARED_MODULES "gitmodules"

/* ---- plan.c: functions that all files use ---- */

/* Never NULL: on failure they set out_of_memory and return "". */
const char *plan_keep_join(struct builder *b, const char *dir, const char *rest);
const char *plan_keep_printf(struct builder *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* path_rebase(): the path with dir replaced by to. */
const char *plan_keep_rebased(struct builder *b, const char *path, const char *dir, const char *to);
/* The first len bytes of a text, which has as many. */
const char *plan_keep_cut(struct builder *b, const char *text, size_t len);
const char *plan_keep_copy(struct builder *b, const char *text);
/* dir + "/" + name, len bytes, as they are */
const char *plan_keep_child(struct builder *b, const char *dir, const char *name, size_t len);
void plan_note(struct builder *b, const char *text);
void plan_warn(struct builder *b, const char *text);

/* A note that a protection is not applied, or not to all: fs.deny is weaker for it. */
void plan_add_unkept(struct builder *b, const char *text);
/* The whole of a regular file, symlinks followed, as text up to a NUL; NULL when it is not
 * there, unreadable or longer than limit. */
const char *host_fs_text(struct builder *b, const char *path, size_t limit);

struct look host_fs_look(const struct builder *b, const char *path);
/* The canonical path, or NULL when it does not exist. */
const char *host_fs_resolve(struct builder *b, const char *path);
/* The same for a path that exists and has been looked at.  An entry of / or of the home, which are
 * canonical, that is not a symlink needs no look-up. */
const char *host_fs_canonical(struct builder *b, const char *path, struct look seen);
/* Calls each for the entries of a directory that are symlinks, and maybe for others; for none when
 * the directory is unreadable. */
void host_fs_links(const struct builder *b, const char *dir,
		   void (*each)(void *arg, const char *name), void *arg);

/* The directory of Corral that contains this path, or NULL. */
const char *plan_own_dir(const struct builder *b, const char *path);

/* Why no rule and no variable may show this path, or NULL. */
const char *plan_reserved_reason(const char *path);

/* ---- mount_request.c ---- */

struct mount_request *mount_request_add(struct builder *b, struct mount m, enum rank rank);

/* Mounts a tree of the host at its own path, and at the path as written where that differs. */
struct show {
	const char *path;      /* as written, normal */
	const char *canonical; /* resolved */
	struct look seen;      /* of the canonical path */
	bool writable;
	enum reach reach;
	enum rank rank;
	struct origin origin;
	const char *note;
	const char *root; /* as in struct mount_request */
	bool tool;        /* an installed tool, in a directory of Corral's own */
};
void mount_request_show(struct builder *b, const struct show *s);

/* mapped.c: mounts it at another path.  Returns why that is not possible; NULL: it is. */
const char *mapped_show(struct builder *b, const struct show *s, const char *at);
/* Fails when another grant, or the workspace, has the place of a mapped grant. */
int mapped_check(const struct builder *b, struct err *e);
/* Drops the mapped grants whose place, or a directory above it, the rule of fs.deny names. */
void mapped_deny(struct builder *b, const struct item *it);

/* Entries of the new root. */
void mount_request_dir(struct builder *b, const char *path, uint32_t mode, enum reach reach);
void mount_request_link(struct builder *b, const char *path, const char *text, const char *note);
/* reach: its own Landlock right, where no directory around it has one. */
void mount_request_file(struct builder *b, const char *path, const char *text, enum reach reach);
void mount_request_private(struct builder *b, const char *path, uint32_t mode, enum rank rank,
			   const char *note);

/* True for a tree of the host, which has a source; false for the private home.  Inline: a plan asks
 * this a few thousand times. */
static inline bool mount_request_is_tree(const struct mount_request *w) {
	bool shown = w->m.kind == MOUNT_BIND || w->m.kind == MOUNT_COW;
	return !w->dropped && shown && !w->own;
}
/* The tree that is mounted at a path; NULL. */
const struct mount_request *mount_request_tree_at(const struct builder *b, const char *target);
/* mount_request_sort.c: by target, then by rank; -1 when memory is out. */
int mount_request_sort(struct builder *b);
/* patterns.c: true for a tree that the user grants: a pattern without a slash applies in each. */
bool pattern_ground_is(const struct mount_request *w);

/* ---- compose.c ---- */

/* Keeps one request per target and drops the others. */
void compose_settle(struct builder *b);

/* The request among the first n, settled before, that decides about a path inside; NULL: none, the
 * empty root. */
const struct mount_request *compose_at(const struct builder *b, size_t n, const char *path);

/* The path inside of `path`, which lies in the source of w. */
const char *compose_inside(struct builder *b, const struct mount_request *w, const char *path);

/* Prunes, pins, decides where mount points may be created, fills plan->mounts. */
int compose(struct builder *b, struct err *e);

/* exec.c: which files may be executed, when commands.default is deny; after the environment. */
void exec_build(struct builder *b);

/* ---- follow.c ---- */

/* Marks the files that are remounted when the host replaces them; adds a note for a file where
 * that is not possible. */
void follow_mark(struct builder *b);

/* ---- the steps, in their order ---- */

void home_choose(struct builder *b);
void home_show(struct builder *b);
/* The name of a home on the host, in a directory of its own. */
#define HOME_DIR "home"
/* home_set.c: fills plan->home_set; after compose(). */
void home_set_build(struct builder *b);
/* The same without namespaces; before the home is chosen. */
void home_set_without_mounts(struct builder *b);
/* The home that runs with this set use while others use the workspace's. */
const char *home_set_apart(struct builder *b, const char *home);
void skeleton_show(struct builder *b);
/* Requests a git configuration file with the caller's name and address, if git has any; after
 * git_show(). */
void skeleton_show_git_settings(struct builder *b);
/* engine.c: chooses the engine; fails when it does not reach the requested level. */
int engine_choose(struct plan *plan, const struct policy *p, const struct host *h, struct err *e);
/* floor.c: whether the plan enforces the administrator's floor; whether its fs.read or fs.write
 * allows a canonical path to be shown. */
int floor_check(const struct plan *plan, const struct policy *p, struct err *e);
bool floor_allows(struct builder *b, enum key_id key, const char *path);
/* Fails when a grant is a path that the floor's patterns or sets deny or protect. */
int floor_grants(struct builder *b, struct err *e);
/* no_namespaces.c: the steps that differ where the view is the host's own tree. */
int no_namespaces_check(const struct builder *b, struct err *e);
void no_namespaces_skeleton(struct builder *b);
void no_namespaces_open_view(struct builder *b);
int no_namespaces_spread(struct builder *b, struct err *e);
void no_namespaces_traits(struct builder *b);
/* patterns.c: rules about names. */
void patterns_build(struct builder *b);
int patterns_check(const struct builder *b, struct err *e);

/* nested.c: what a sandbox inside this one may use.  Choose after the engine; check before the net;
 * the traits of the filter that follow, once plan->broker is known. */
unsigned nested_depth(const struct host *h);
void nested_choose(struct plan *plan, const struct policy *p, const struct host *h);
int nested_check(struct builder *b, struct err *e);
unsigned nested_traits(const struct plan *plan);
/* broker_traits.c: the filter traits that those rules need; whether a run with namespaces has a
 * broker. */
unsigned broker_traits_set(const struct builder *b);

/* The traits for --ask: every open; 0 without a broker. */
unsigned broker_traits_ask(const struct builder *b);

/* Adds the traits that the records of denials need; none without a broker. */
unsigned broker_traits_watch(const struct builder *b, unsigned traits);
void broker_traits_needed(struct builder *b);
/* True when the broker alone enforces the item, and no mount is made for it.  full: the canonical
 * path of a plain item; NULL where it does not exist. */
bool pattern_alone_covers(const struct builder *b, enum key_id key, const struct item *it,
			  const char *full);
/* Adds a rule for a pattern beneath a directory of the host, at each place where that is
 * mounted. */
void pattern_beneath(struct builder *b, struct rule r, const char *dir, const char *pattern);

/* agents.c: granted directories of agents, as part of "@agents". */
void agents_keep(struct builder *b, struct rule r);
void agents_warn(struct builder *b);

/* ---- tree_top.c ---- */

/* The names at the top of a granted tree. */
struct tree_top {
	bool listed;
	struct name_filter names;
};

struct tree_tops {
	struct tree_top *list; /* by the index of rules.anchors; NULL: look each name up */
	size_t next;           /* the index after that of the last question */
};

/* Lists the trees of rules.anchors. */
struct tree_tops tree_top_list(struct builder *b);
/* Whether a list shows that the tree at the anchor has no such name.  Fast for rules in the order
 * of the anchors, as a pattern without a leading slash has them. */
bool tree_top_lacks(const struct builder *b, struct tree_tops *tops, const char *anchor,
		    const struct glob_name *name);

/* Protects one path, whether it exists or not. */
void pattern_for_path(struct builder *b, const char *path, const char *note);
/* Protects each symlink that a path goes through.  Returns the path with a canonical directory. */
const char *pattern_for_links(struct builder *b, const char *path, const char *note);
/* Protects a file and each symlink that leads to it from this path.  Returns the file's path. */
const char *pattern_for_file(struct builder *b, const char *path, const char *note);

/* ---- links.c ---- */

#define LINKS_MAX 40 /* MAXSYMLINKS of the kernel */

/* The deepest directory above a path that exists. */
struct link_ground_of {
	const char *full; /* in canonical form */
	size_t len;       /* of the path as it is written, up to there; 0 for the root */
};

struct link_ground_of link_ground_of(struct builder *b, const char *path);
const char *link_deepest_directory(struct builder *b, const char *path);
/* The path with that directory in canonical form. */
const char *link_half_resolved(struct builder *b, const char *path);
const char *link_cut_path(struct builder *b, const char *path, size_t len);
/* The path that a symlink in `dir` with the target `words` leads to: its directory resolved as the
 * kernel does, its last name as written. */
const char *link_target(struct builder *b, const char *dir, char *words);
/* The end of the symlink at a path with a canonical directory, although it does not exist yet: the
 * file that a program would create through it.  NULL when it is not a symlink. */
const char *link_end(struct builder *b, const char *path);

/* net.c, in three steps: the rules of the gate; the unix sockets that are passed; and, when the
 * repositories are known, the rest of the rules and the filter traits. */
int net_choose(struct builder *b, struct err *e);
int net_show(struct builder *b, struct err *e);
int net_finish(struct builder *b, struct err *e);
void net_add(struct builder *b, const struct net_rule *rule);
/* registries.c and remotes.c: the sets of net.allow. */
void registries_add(struct builder *b, const struct item *set);
void remotes_add(struct builder *b, const struct item *set);
/* explain.c: ends the line that began at start, and replaces control characters in it. */
void explain_end_line(struct buf *out, size_t start);
/* explain_net.c */
const char *explain_net_mode(const struct plan *plan);
void explain_net_text(const struct plan *plan, struct buf *out);
void explain_net_json(const struct plan *plan, struct emit *j);
/* cow.c: whether the workspace is an overlay; fails when a grant shows it a second time, without
 * the overlay. */
int cow_choose(struct builder *b, struct err *e);
int cow_check(const struct builder *b, struct err *e);
int view_build(struct builder *b, struct err *e);
/* Whether `path` resolves to `full` through a symlink that a command may have created. */
bool view_led_astray(struct builder *b, const char *path, const char *full);
int toolchains_show(struct builder *b, struct err *e);
int masks_build(struct builder *b, struct err *e);
int hard_links_check(const struct builder *b, struct err *e);
/* environment.c: adds "NAME=VALUE", or replaces the value of NAME. */
void plan_set_entry(struct builder *b, const char *entry);

/* secrets.c: mounts for the secrets that are files; then the variables of all of them. */
int plan_secrets_show(struct builder *b, struct err *e);
void plan_secrets_variables(struct builder *b);
/* Whether the vault gives this run a secret for that variable. */
bool plan_secrets_has(const struct host *h, const char *variable);

int environment_build(struct builder *b, struct err *e);
void guarantees_make(struct plan *plan);
/* The state of fs.deny: enforced by the mechanism `by` and by the broker. */
struct guarantee_report guarantee_deny(const struct plan *plan, const char *by);
/* The state of net.names, which the gate enforces. */
struct guarantee_report guarantees_named(const struct plan *plan);
/* Why `privileges` is weaker in a run that allows a nested sandbox, or has no filter; rows of
 * selftest/checks.c look for its beginning. */
#define PRIVILEGES_NAMESPACES                                                                      \
	"user namespaces can be created, and a process has capabilities in its own"
/* guarantees_no_namespaces.c: the same for engines without namespaces. */
void guarantees_no_namespaces(struct plan *plan);

/* seatbelt/guarantees.c: the same for macOS. */
void guarantees_seatbelt(struct plan *plan);
/* Last, when limits and leaks have their states: none is enforced. */
void guarantees_seatbelt_lower(struct plan *plan);

/* seatbelt/rules.c: adds rules for the directories of the run itself. */
void seatbelt_extend_rules(struct builder *b);
void guarantees_warn(struct builder *b);
/* Whether --allow-degraded names this guarantee. */
bool plan_accepts_loss(const struct policy *p, const char *name);

/* masks.c: hides a path if it exists, is reachable and a tree shows it. */
void masks_hide_if_shown(struct builder *b, const char *path, const char *note);
void masks_hide(struct builder *b, struct hide h);
/* Whether a tree of the host that is shown contains the path. */
bool masks_is_shown(const struct builder *b, const char *path);
/* Whether a command could write it if no rule protected it. */
bool git_can_be_written(const struct builder *b, const char *path);
/* own.c: makes the policy files read-only, which decide about the next run. */
void own_keep_files(struct builder *b);

/* git.c: finds the repositories of the trees that are shown; shows one that lies outside when its
 * own files name the workspace as its working tree (L6). */
void git_show(struct builder *b);
/* The path in a file of one line that begins with `head` ("gitdir: "): relative to `base`,
 * canonical; NULL when it cannot be read or resolved. */
const char *git_follow(struct builder *b, const char *file, const char *head, const char *base);
/* The path relative to `base`, as the kernel resolves it; NULL when that needs a look-up of
 * directories. */
const char *git_path(struct builder *b, const char *base, const char *path);
/* protect.c: protects the files that decide which programs the next git command on the host
 * runs. */
void git_protect(struct builder *b);

#endif
