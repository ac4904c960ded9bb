/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved policy: the user's settings, independent of the host.
 *
 * A policy is one value per key of data/keys.c, each with its origin.  It is
 * resolved once from all layers (built-in < profile < /etc/corral < the user's
 * file < the project's file < command line), checked, and then never changed.
 *
 * Invariants, cited by tests:
 *  P1  every value has its origin;
 *  P2  an unknown key, a wrong type or an unimplemented value stops the run;
 *  P3  an untrusted project file never loosens a value of a lower layer;
 *  P4  no layer loosens the floor of /etc/corral;
 *  P5  the same inputs give the same policy and the same hash;
 *  P6  a request of an agent's table or a skill is granted only as far as all other layers grant
 *      it: neither can widen a policy. */
#ifndef CORRAL_POLICY_POLICY_H
#define CORRAL_POLICY_POLICY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/err.h"
#include "data/keys.h"

enum origin_kind {
	ORIGIN_BUILTIN,
	ORIGIN_PROFILE, /* name = the profile's */
	ORIGIN_SYSTEM,  /* /etc/corral, outside [floor] */
	ORIGIN_USER,    /* the user's own file */
	ORIGIN_PROJECT, /* the workspace's file */
	ORIGIN_FILE,    /* --policy FILE */
	ORIGIN_OPTION,  /* name = the option as written, or the library call */
	ORIGIN_AGENT,   /* an [agent.ID] table; name = its file */
	ORIGIN_SKILL,   /* name = the skill's file */
	ORIGIN_FLOOR,   /* /etc/corral, [floor] */
};

struct origin {
	enum origin_kind kind;
	int line;         /* 1-based; 0 when the format has none */
	const char *name; /* file, profile or option; NULL for built-in */
};

/* The form of a rule of fs.deny or fs.protect. */
enum item_kind {
	ITEM_PLAIN,   /* a name or an absolute path */
	ITEM_PATTERN, /* absolute, or with "**" first: beneath every granted tree */
	ITEM_SET,     /* names of data/names.c */
};

/* The source of an item.  An exception or a repetition affects items of its own group only:
 * otherwise an untrusted file could take over a rule of a trusted layer by repeating it
 * (P3, P4). */
enum rule_group {
	GROUP_OURS,
	GROUP_FLOOR,
	GROUP_UNTRUSTED,
	GROUP_MODULES, /* the plan's own: new repositories of submodules */
	RULE_GROUPS
};

struct item {
	const char *str;
	enum item_kind kind;
	bool except;    /* written with '!': takes its matches out of the rules before it */
	bool bound;     /* of an untrusted file: it excepts from that file's own rules alone */
	bool optional;  /* written with a trailing '?': may be missing */
	const char *at; /* fs.read "PATH:DEST": the path inside; NULL: its own */
	bool tool; /* the directory of an installed tool, the one part of Corral's own directories
		    * that a run can see */
	const char *part_of; /* a granted request (P6): the tree of the policy that contains the
			      * path, canonical; its masks and protections hold here */
	struct origin origin;
};

static inline enum rule_group item_group(const struct item *it) {
	if (it->origin.kind == ORIGIN_FLOOR) {
		return GROUP_FLOOR;
	}
	return it->bound ? GROUP_UNTRUSTED : GROUP_OURS;
}

struct value {
	bool set; /* false: no layer sets it and there is no default */
	int64_t num;
	const char *str;
	struct item *items;
	size_t count, cap;
	struct origin origin;
};

/* The answer to one request of an agent's table or a skill (policy/request.h). */
enum request_answer { REQUEST_GRANTED, REQUEST_REDUCED, REQUEST_REFUSED };

struct request {
	const char *asker; /* "agent bot", "skill pdf" */
	enum key_id key;
	const char *text;  /* as requested */
	const char *given; /* REQUEST_REDUCED: the value in force */
	const char *why;   /* not granted: the reason; the remedy or NULL */
	const char *fix;
	enum request_answer answer;
	struct origin origin;
};

/* The key of a request as a user writes it in a skill: "commands" has names. */
static inline const char *request_key(const struct request *r) {
	return r->key == KEY_COMMANDS ? "commands" : keys[r->key].name;
}

/* The origin of net.sockets for the socket of a session, which a skill cannot lose. */
#define SESSION_ORIGIN "session"

struct policy {
	struct value values[KEY_COUNT];
	const struct value *floor; /* the values of the system's [floor], by key; or NULL */
	const char
		*files[4]; /* the system's, that of --policy, the campaign's, the skill's; NULL */
	char sha256[65];   /* of the canonical text, lower-case hex */
	const char **remarks; /* about settings that a run does not use, and refused requests */
	size_t nremarks;
	struct request *requests;
	size_t nrequests;
	/* A skill gets of the agent's secrets these names only. */
	const char **agent_secrets;
	size_t nagent_secrets, agent_secrets_cap;
	bool agent_secrets_bound;
};

/* The floor's value of a key; NULL when the floor does not set it. */
static inline const struct value *policy_floor(const struct policy *p, enum key_id id) {
	return p->floor != NULL && p->floor[id].set ? &p->floor[id] : NULL;
}

/* One setting from the command line or the library, applied last, in order. */
struct setting {
	const char *key;    /* dotted name */
	const char *value;  /* as written; lists take one element a setting */
	const char *origin; /* "--timeout", "corral_policy_set" */
};

/* A path of the host, symlinks resolved: 0 or an errno.  ret_real has room for PATH_MAX bytes, or
 * is NULL.  NULL in struct policy_inputs: the file system itself. */
struct policy_fs {
	void *ctx;
	int (*find)(void *ctx, const char *path, char *ret_real, bool *ret_dir);
};

/* A standing policy file that was read before: a run then has one version of it. */
struct standing_file {
	const char *path;
	const char *text; /* NULL: it did not exist */
	size_t len;
};

struct policy_inputs {
	const struct policy_fs *fs; /* for the paths that a policy names; policy files are opened */
	const char *cwd;       /* absolute; the default workspace and the base of relative paths */
	const char *home;      /* the caller's home, canonical; NULL when there is none */
	const char *workspace; /* the default workspace instead of cwd, or NULL */
	const char *system_file; /* "/etc/corral/policy.toml"; NULL: none */
	const char *user_file;   /* "~/.config/corral/corral.toml", or NULL */
	const char *xdg_file;    /* below XDG_CONFIG_HOME, if another path; or NULL */
	const char *trust_file;  /* hashes of trusted project files, or NULL */
	const char *tools_dir;   /* of installed tools, or NULL */
	const char *extra_file;  /* --policy: a path, "-" for stdin, "fd:N"; or NULL */
	bool no_config;          /* read no configuration file, but still the floor (P4) */
	bool skip_hash;          /* the caller does not need sha256: it stays empty */
	bool tool_call;          /* the defaults of tool calls: 120 s, 1 MiB a stream */
	const struct setting *settings;
	size_t nsettings;
	const struct standing_file *standing; /* instead of the files of these paths; or NULL */
	size_t nstanding;
};

/* Installed tools are in this directory of the state; each has a directory with one program. */
#define TOOLS_NAME "tools"
#define TOOL_BIN "bin"
/* Where the sandbox shows them; without namespaces it does at their own paths. */
#define TOOLS_AT "/.corral/tools"
bool policy_tool_name(const char *name);

/* The name of the project's file, directly in the workspace. */
#define PROJECT_FILE ".corral.toml"

/* The same of profile campaign, which reads it after the project's file. */
#define CAMPAIGN_PROFILE "campaign"
#define CAMPAIGN_DIR ".campaign"
#define CAMPAIGN_NAME "sandbox.yaml"
#define CAMPAIGN_FILE CAMPAIGN_DIR "/" CAMPAIGN_NAME

/* Upper bound of a list, all layers together.  Each item may become a mount, and the broker
 * compares each path with each rule: a huge list in a project's file would make every run
 * slow. */
#define LIST_ITEMS_MAX 4096

/* Upper bound of a policy file: more is garbage, not policy. */
#define POLICY_FILE_MAX ((size_t)1024 * 1024)

int policy_resolve(struct arena *a, const struct policy_inputs *in, struct policy *ret,
		   struct err *e);

static inline int64_t policy_num(const struct policy *p, enum key_id id) {
	return p->values[id].num;
}

static inline const char *policy_str(const struct policy *p, enum key_id id) {
	return p->values[id].set ? p->values[id].str : NULL;
}

/* Adds "NAME=VALUE" variables to env.set, as settings of this origin, each in the place of one of
 * that name in env.set or env.pass.  The policy has new arrays, which belong to the arena, as
 * copies of the texts do.  Refuses what the command line could not set. */
int policy_add_variables(struct policy *p, const char *const *entries, const char *origin,
			 struct arena *a, struct err *e);

/* Whether a key of net.* has an effect with that mode; and the origin of the last layer that
 * set the key, NULL when none did. */
bool net_means(enum key_id key, int64_t mode);
const struct origin *net_asked(const struct policy *p, enum key_id key);

/* Where a value was set, as text: "built-in", "profile strict", "/etc/corral/policy.toml:12",
 * "--write". */
const char *policy_origin_text(const struct origin *o, char *out, size_t cap);
void policy_origin_emit(struct emit *j, const char *key, const struct origin *o);

/* The whole resolved policy, each value with its origin; text or JSON. */
void policy_print(const struct policy *p, bool json, struct buf *out);

/* The requests of the run's agent and skill, with their answers: text with a heading, nothing
 * without requests; or a JSON array. */
void policy_print_requests(const struct policy *p, bool json, struct buf *out);

/* The JSON Schema of a policy file, made from data/keys.c. */
void policy_schema(struct buf *out);
/* That of a skill.toml. */
void policy_skill_schema(struct buf *out);

/* Reads and checks one file on its own (`corral policy check FILE`). */
int policy_check_file(struct arena *a, const char *path, struct err *e);

/* The same for its text. */
int policy_check_text(struct arena *a, const struct standing_file *file, struct err *e);

/* Reads a standing file as a run would: its owner is checked.  *ret belongs to the arena. */
int policy_read_standing(struct arena *a, const char *path, struct standing_file *ret,
			 struct err *e);

/* The same, and a line for each value that makes the boundary wider. */
int policy_review(struct arena *a, const char *path, struct buf *out, struct err *e);

/* Prints the configuration of another product as a policy file; of several agents that of `agent`,
 * or NULL. */
int policy_import(struct arena *a, const char *path, const char *agent, struct buf *out,
		  struct err *e);

/* owner.c: refuses a path, or its parent directory, that another user owns or can write. */
int owner_check(const char *path, struct err *e);
int owner_check_dir(const char *path, struct err *e);

void trust_sha256_hex(const void *data, size_t len, char ret_hex[65]);

/* Computes p->sha256 (P5), for a policy that was resolved with skip_hash. */
int policy_hash(struct arena *a, struct policy *p, struct err *e);

/* Records the SHA-256 of a project file in trust_file. */
int policy_trust(const char *trust_file, const char *path, struct err *e);

#endif
