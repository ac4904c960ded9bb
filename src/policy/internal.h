/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of src/policy only.
 *
 * A layer is a partial struct policy: it has only the keys that one file, profile or
 * command line sets. */
#ifndef CORRAL_POLICY_INTERNAL_H
#define CORRAL_POLICY_INTERNAL_H

#include "policy/doc.h"
#include "policy/policy.h"
#include "policy/value.h"

/* Room for an origin or a value in a message; longer ones are truncated. */
#define SHOWN_MAX 120

static inline void auto_buf_(struct buf *b) {
	buf_done(b);
}
#define auto_buf __attribute__((cleanup(auto_buf_))) struct buf

/* rule.c: the same for TYPE_RULES. */
int rule_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		   struct err *e);

/* host_rule.c and endpoint.c: the same for the keys of net. */
int host_rule_from_text(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e);
int host_rule_network_from_text(const struct where *w, const struct key *k, const char *text,
				struct value *v, struct err *e);
int endpoint_port_from_text(const struct where *w, const struct key *k, const char *text,
			    struct value *v, struct err *e);
int endpoint_socket_from_text(const struct where *w, const struct key *k, const char *text,
			      struct value *v, struct err *e);

/* The table of commands.default and commands.NAME. */
#define COMMANDS_TABLE "commands"

/* command_rule.c: the same for TYPE_COMMANDS; from "commands.NAME.MEMBER" and its value; whether
 * the items of an untrusted layer only narrow; removes items that exceptions name. */
int command_rule_from_text(const struct where *w, const struct key *k, const char *text,
			   struct value *v, struct err *e);
int command_rule_from_setting(const struct where *w, const char *key, const char *text,
			      struct value *v, struct err *e);
int command_rule_from_doc(const struct where *w, const struct doc *d, struct value *v,
			  struct err *e);
int command_rule_narrows(const struct policy *p, const struct value *v, struct err *e);
void command_rule_settle(struct value *v);

/* provider.c: adds the hosts, variables, files and commands of `providers` to the layer. */
int provider_expand(const struct where *w, struct policy *layer, struct err *e);

/* value.c: an error that names key, value and origin; a path made absolute and normal. */
int value_refuse(const struct where *w, const struct key *k, const char *text, const char *why,
		 struct err *e);
int value_path(const struct where *w, const struct key *k, const char *text, const char **ret,
	       struct err *e);

/* Appends; an error when the list is full. */
int value_put(struct arena *a, const struct key *k, struct value *v, const struct item *item,
	      struct err *e);

/* settle.c: removes repeated items of a group.  The last one stays, at the place of the first;
 * but not across an exception of the group: of two rules that match, the later decides. */
int settle_value(struct arena *a, const struct key *k, struct value *v, struct err *e);

/* number.c: parses a number ("4G", "500ms") without a check of the key's range, and formats
 * a value as a user writes it ("4G", "none", "read-only"). */
bool number_read(const struct key *k, const char *text, int64_t *ret);
const char *number_value(const struct key *k, int64_t num, char *out, size_t cap);

bool value_key_is_list(const struct key *k);
const char *doc_type_name(enum doc_type type);

/* Whether the system's [floor] may contain the key. */
bool floor_has_key(const struct key *k);

/* Copies s for a message: truncated to cap, control characters replaced. */
const char *value_shown(const char *s, char *out, size_t cap);

/* layers.c: a document or a setting becomes a layer, layers become the policy. */
int layer_from_doc(const struct where *w, const struct doc *root, struct policy *layer,
		   struct policy *floor, struct err *e);
/* The keys of one table, such as [agent.ID]. */
int layer_from_table(const struct where *w, const struct doc *table, struct policy *layer,
		     struct err *e);
int layer_from_setting(const struct where *w, const struct setting *s, struct policy *layer,
		       struct err *e);
int layer_merge(struct arena *a, struct policy *p, const struct policy *layer, struct err *e);
int layer_narrows(const struct policy *p, const struct policy *layer, struct err *e);
int layer_list_add(struct arena *a, const struct key *k, struct value *to, const struct value *from,
		   struct err *e);
bool layer_loosens(const struct key *k, const struct value *v, const struct value *than);

/* tool.c: adds the directories of env.tools to fs.read and env.path_prepend. */
int tool_expand(struct arena *a, const struct policy_inputs *in, struct policy *p, struct err *e);

/* floor.c: applies the system's [floor] to the merged policy (P4). */
int floor_apply(struct arena *a, struct policy *p, const struct policy *floor, struct err *e);

/* check.c: contradictions between keys, and values that no policy may have. */
int policy_check(const struct policy *p, const struct policy_fs *fs, struct err *e);
/* Contradictions between values of one file, which a run finds in the merged policy. */
int policy_check_layer(const struct policy *layer, struct err *e);
int policy_check_environment(const struct policy *p, struct err *e);
int policy_check_calls(const struct policy *p, struct err *e); /* seccomp.extra_deny */
/* "A (origin) contradicts B (origin)". */
int check_contradiction(const char *a, const struct origin *oa, const char *b,
			const struct origin *ob, struct err *e);

/* full_access.c: mode full-access implies net.mode full when no layer chose a mode. */
void full_access_imply(struct policy *p);
int policy_check_full_access(const struct policy *p, struct err *e);
/* The part of it that is about other keys. */
int full_access_contradiction(const struct policy *p, struct err *e);

/* prefix.c: env.prefix and env.labels; whether the prefix reserves a variable. */
int policy_check_prefix(const struct policy *p, struct err *e);
bool prefix_reserves(const struct policy *p, const char *name);

/* net.c: net.allow implies net.mode filtered when no layer chose a mode. */
void net_imply(struct policy *p);
int policy_check_net(const struct policy *p, struct err *e);

/* home is a real path, or NULL. */
int policy_check_workspace(const char *workspace, const char *home, const struct origin *o,
			   struct err *e);

/* check.c: policy_fs.find() of fs, or of the file system itself when fs is NULL. */
int policy_path_find(const struct policy_fs *fs, const char *path, char *ret_real, bool *ret_dir);

/* print.c */
void print_quoted(struct buf *out, const char *s);

/* file.c: reads a whole policy file; ERR_USAGE when it is too large or no file. */
int policy_file_read(int fd, const char *name, bool regular, struct buf *out, struct err *e);
int policy_file_error(struct err *e, const char *name, int sys);
/* N of "fd:N"; -1 for any other text. */
int policy_file_descriptor(const char *name);
/* The version of a standing file that was read before; NULL: none was. */
const struct standing_file *policy_find_standing(const struct policy_inputs *in, const char *path);
/* The workspace cannot be used; returns -1. */
int policy_workspace_error(struct err *e, const struct value *v, int sys);

/* resolve.c: "unknown profile", with the list of all. */
int policy_unknown_profile(const struct value *v, struct err *e);

/* trust.c */
int trust_lookup(const char *trust_file, const char *path, const char *sha256, bool *ret,
		 struct err *e);

/* A SHA-256 in hexadecimal. */
void trust_hex(const unsigned char hash[32], char ret_hex[65]);

#endif
