/* How the files of this room talk to each other while a plan is made.
 *
 * Theory.  Every rule becomes a wish: a mount with a target and a rank.  In a
 * stack of mounts the deepest target above a path decides what is seen there,
 * so one wish a target, sorted by path, says everything, and the order in
 * which rules were written cannot matter (L2).  At one target the higher rank
 * wins; between targets the more specific one does.
 *
 *   view, toolchains   what is shown: trees of the host, windows of our own
 *   masks              what is hidden or read-only within it, found by source,
 *                      so that a tree that is shown twice is masked twice
 *   compose            one wish a target, pins, mount points, the final list */
#ifndef CORRAL_PLAN_INTERNAL_H
#define CORRAL_PLAN_INTERNAL_H

#include "data/paths.h"
#include "plan/plan.h"

/* Who wins at one target. */
enum rank {
	RANK_PIN,
	RANK_SYSTEM,
	RANK_WINDOW,
	RANK_TOOLCHAIN,
	RANK_HOME,
	RANK_SENSITIVE, /* hidden by our own tables: an explicit grant re-opens it */
	RANK_READ,
	RANK_WRITE,
	RANK_WORKSPACE,
	RANK_PROTECT,
	RANK_CLEAN, /* protected, and read without what it holds of credentials */
	RANK_DENY,
	RANK_OWN, /* Corral's own files: nothing re-opens them */
};

struct mount_request {
	struct mount m;
	enum rank rank;
	bool own;   /* a tree of ours, though it is a bind: the private home */
	bool alias; /* the path as written, where the host has a symlink on the way */
	bool dropped;
};

/* A file of the host that must not be seen, or not be changed. */
struct hide {
	const char *path; /* canonical */
	struct look seen;
	enum rank rank;
	struct origin origin;
	const char *note;
	const char *written; /* by a rule; NULL when a table says so */
	const char *text;    /* RANK_CLEAN: what is read instead; NULL: nothing is */
};

/* What git uses for a tree that is shown. */
struct repository {
	const char *tree;  /* the tree */
	const char *link;  /* its .git, where that is a file; NULL */
	const char *alias; /* its .git, where that is a symlink; NULL */
	const char *named; /* dir and common as files name them, where they do; NULL */
	const char *common_named;
	const char *dir;     /* HEAD and index */
	const char *common;  /* hooks, configuration, objects; mostly the same; NULL where the
			      * .git cannot be read, which is then `dir` */
	bool has_submodules; /* a .gitmodules lies in the tree */
};

struct builder {
	struct arena *a;
	const struct policy *p;
	const struct host *h;
	struct plan *plan;
	bool out_of_memory;  /* sticks; checked between the steps */
	bool too_many_rules; /* sticks; checked when all are made */

	struct mount_request *wishes;
	size_t nwishes, wishes_cap;
	struct hide *hides;
	size_t nhides, hides_cap;
	struct repository *repositories;
	size_t nrepositories, repositories_cap;
	const char **tool_env; /* "NAME=VALUE" of toolchains that are shown */
	size_t ntool_env, tool_env_cap;

	const char **roots; /* canonical trees that commands can write */
	size_t nroots;
	bool excepts[EFFECT_COUNT][RULE_GROUPS]; /* whether a group's patterns except something */
	enum view view;
	bool read_only;          /* mode */
	bool no_namespaces;      /* the engine has no namespaces */
	const char *identity_at; /* where git's settings are put; NULL for nowhere */
};

#define WHERE "plan"

/* In the directory of the run, where there is no root of our own; and in Corral's
 * state, where nothing is made for every run. */
#define SHARED_HOME ".home"
#define SHARED_IDENTITY "gitconfig"
#define SHARED_IGNORES "gitignore"
#define SHARED_MODULES "gitmodules"

/* ---- plan.c: small tools that all files use ---- */

/* Never NULL: when memory is out the flag sticks and "" comes back. */
const char *plan_keep_join(struct builder *b, const char *dir, const char *rest);
const char *plan_keep_printf(struct builder *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
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
/* The same for a path that exists and was looked at: what is no link and lies
 * directly in the root or the home, which are canonical, costs no question. */
const char *host_fs_canonical(struct builder *b, const char *path, struct look seen);

/* Corral's own directory that holds this path, or NULL. */
const char *plan_own_dir(const struct builder *b, const char *path);

/* Why no rule and no variable may show this path, or NULL. */
const char *plan_reserved_reason(const char *path);

/* ---- mount_request.c ---- */

struct mount_request *mount_request_add(struct builder *b, struct mount m, enum rank rank);

/* A tree of the host at its own path.  Both the path as written and the one
 * that it resolves to are made to work. */
struct show {
	const char *path;      /* as written, normal */
	const char *canonical; /* resolved */
	struct look seen;      /* of the canonical path */
	bool writable;
	enum reach reach;
	enum rank rank;
	struct origin origin;
	const char *note;
};
void mount_request_show(struct builder *b, const struct show *s);

/* Entries of a root of our own. */
void mount_request_dir(struct builder *b, const char *path, uint32_t mode, enum reach reach);
void mount_request_link(struct builder *b, const char *path, const char *text, const char *note);
/* reach: of its own, where no directory around it has one. */
void mount_request_file(struct builder *b, const char *path, const char *text, enum reach reach);
void mount_request_private(struct builder *b, const char *path, uint32_t mode, enum rank rank,
			   const char *note);

/* True for a tree of the host (not our own home): it has a source. */
bool mount_request_is_tree(const struct mount_request *w);
/* patterns.c: what the user shows of the host: a pattern without a place holds in each. */
bool pattern_ground_is(const struct mount_request *w);

/* ---- compose.c ---- */

/* One wish a target: the others are dropped. */
void compose_settle(struct builder *b);

/* Which of the first n wishes, settled before, decides what is seen at a path
 * inside; NULL for the bare root. */
const struct mount_request *compose_at(const struct builder *b, size_t n, const char *path);

/* Where path, which lies in the source of w, is seen inside. */
const char *compose_inside(struct builder *b, const struct mount_request *w, const char *path);

/* Prunes, pins, decides where mount points may be made, fills plan->mounts. */
int compose(struct builder *b, struct err *e);

/* ---- follow.c ---- */

/* Which of the plan's files are to be followed when the host replaces them; where
 * that cannot be, a note says so. */
void follow_mark(struct builder *b);

/* ---- the steps, in their order ---- */

void home_choose(struct builder *b);
void home_show(struct builder *b);
void skeleton_show(struct builder *b);
/* Puts the caller's name and address for git in a file, if there are any; behind git_show(). */
void skeleton_show_git_settings(struct builder *b);
/* engine.c: which engine, and whether it reaches the level that was asked for. */
int engine_choose(struct plan *plan, const struct policy *p, const struct host *h, struct err *e);
/* floor.c: whether the plan enforces what the system's floor says; whether its fs.read or
 * fs.write lets a canonical path be shown so. */
int floor_check(const struct plan *plan, const struct policy *p, struct err *e);
bool floor_allows(struct builder *b, enum key_id key, const char *path);
/* Whether something is granted that the floor's patterns and sets deny or protect. */
int floor_grants(struct builder *b, struct err *e);
/* no_namespaces.c: what differs where the view is the host's own tree. */
int no_namespaces_check(const struct builder *b, struct err *e);
void no_namespaces_skeleton(struct builder *b);
void no_namespaces_open_view(struct builder *b);
int no_namespaces_spread(struct builder *b, struct err *e);
void no_namespaces_traits(struct builder *b);
/* patterns.c: rules about names. */
void patterns_build(struct builder *b);
int patterns_check(const struct builder *b, struct err *e);
/* broker_traits.c: what they ask of the filter; the broker where there are namespaces. */
unsigned broker_traits_set(const struct builder *b);
void broker_traits_needed(struct builder *b);
/* No mount is made for it. */
bool pattern_alone_covers(struct builder *b, enum key_id key, const struct item *it);
/* A rule for a pattern beneath a directory of the host, wherever that is shown. */
void pattern_beneath(struct builder *b, struct rule r, const char *dir, const char *pattern);

/* agents.c: granted directories of agents, as part of "@agents". */
void agents_keep(struct builder *b, struct rule r);
void agents_warn(struct builder *b);

/* Protects one path, be it there or not. */
void pattern_for_path(struct builder *b, const char *path, const char *note);
/* Each link that a path goes through.  Returns the path with a canonical directory. */
const char *pattern_for_links(struct builder *b, const char *path, const char *note);
/* A file that is read by this path: its end, and each link that leads there.  Returns the end. */
const char *pattern_for_file(struct builder *b, const char *path, const char *note);

/* ---- links.c ---- */

#define LINKS_MAX 40 /* the kernel's own */

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
/* Where the words of a link in `dir` lead: its directory as the kernel walks it, the name
 * itself as it is. */
const char *link_target(struct builder *b, const char *dir, char *words);
/* Where the link at a path with a canonical directory ends, though nothing is there yet: the
 * file that a program would make through it.  NULL when it is no link. */
const char *link_end(struct builder *b, const char *path);

/* net.c: what of the network the gate lets through; the sockets that are passed; and, when
 * the repositories are known, the rest and what it asks of the filter. */
int net_choose(struct builder *b, struct err *e);
int net_show(struct builder *b, struct err *e);
int net_finish(struct builder *b, struct err *e);
void net_add(struct builder *b, const struct net_rule *rule);
/* registries.c and remotes.c: the sets of net.allow. */
void registries_add(struct builder *b, const struct item *set);
void remotes_add(struct builder *b, const struct item *set);
/* explain.c: ends the line that began at start, and hides what a name in it would do. */
void explain_end_line(struct buf *out, size_t start);
/* explain_net.c */
const char *explain_net_mode(const struct plan *plan);
void explain_net_text(const struct plan *plan, struct buf *out);
void explain_net_json(const struct plan *plan, struct emit *j);
/* cow.c: whether changes of the workspace are kept apart, and that no grant shows it
 * past them. */
int cow_choose(struct builder *b, struct err *e);
int cow_check(const struct builder *b, struct err *e);
int view_build(struct builder *b, struct err *e);
/* Whether the way of path to what it resolves to goes through a link that a command
 * may have put there. */
bool view_led_astray(struct builder *b, const char *path, const char *full);
int toolchains_show(struct builder *b, struct err *e);
int masks_build(struct builder *b, struct err *e);
int environment_build(struct builder *b, struct err *e);
void guarantees_make(struct plan *plan);
/* Of what is hidden or kept, by a mechanism and by the broker. */
struct guarantee_report guarantee_deny(const struct plan *plan, const char *by);
/* That only allowed names are reached, where a gate judges them. */
struct guarantee_report guarantees_named(const struct plan *plan);
/* guarantees_no_namespaces.c: the same for engines without namespaces. */
void guarantees_no_namespaces(struct plan *plan);
void guarantees_warn(struct builder *b);
/* Whether the caller named this loss. */
bool plan_accepts_loss(const struct policy *p, const char *name);
int guarantees_check(const struct plan *plan, const struct policy *p, struct err *e);

/* masks.c: hides a path if it exists, is reachable and a tree shows it. */
void masks_hide_if_shown(struct builder *b, const char *path, const char *note);
void masks_hide(struct builder *b, struct hide h);
/* Whether a tree of the host that is shown holds the path. */
bool masks_is_shown(const struct builder *b, const char *path);
/* Whether a command could write it, if no rule kept it. */
bool git_can_be_written(const struct builder *b, const char *path);
/* own.c: what decides about the next run is not written by this one. */
void own_keep_files(struct builder *b);

/* git.c: finds the repositories of the trees that are shown; where one lies outside
 * and says itself that the workspace is its tree, it is shown as well. */
void git_show(struct builder *b);
/* Where a file of one line leads that begins with `head`: counted from `base` and
 * canonical; NULL when that cannot be told. */
const char *git_follow(struct builder *b, const char *file, const char *head, const char *base);
/* The path from `base` as the kernel walks it; NULL where that needs a walk. */
const char *git_path(struct builder *b, const char *base, const char *path);
/* protect.c: keeps what decides about the next command of git, on the host. */
void git_protect(struct builder *b);

#endif
