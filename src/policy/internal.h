/* Between the files of the policy room; nobody else includes this.
 *
 * A layer is a struct policy with holes: only the keys that one file, profile
 * or command line gave are set. */
#ifndef CORRAL_POLICY_INTERNAL_H
#define CORRAL_POLICY_INTERNAL_H

#include "policy/doc.h"
#include "policy/policy.h"

/* Room for an origin or a value in a message; longer ones are cut there. */
#define SHOWN_MAX 120

static inline void auto_buf_(struct buf *b) {
	buf_done(b);
}
#define auto_buf __attribute__((cleanup(auto_buf_))) struct buf

/* Where a value is read from, and what its paths are relative to. */
struct where {
	struct arena *a;
	struct origin origin;
	const char *cwd;  /* what a relative workspace is relative to */
	const char *base; /* what every other relative path is relative to */
	const char *home; /* for "~/"; NULL when there is none */
};

/* value.c: one value by the row of its key.  A list is appended to. */
int value_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		    struct err *e);
int value_from_doc(const struct where *w, const struct key *k, const struct doc *d, struct value *v,
		   struct err *e);

/* rule.c: the same for TYPE_RULES. */
int rule_from_text(const struct where *w, const struct key *k, const char *text, struct value *v,
		   struct err *e);

/* host_rule.c and endpoint.c: those of net. */
int host_rule_from_text(const struct where *w, const struct key *k, const char *text,
			struct value *v, struct err *e);
int host_rule_network_from_text(const struct where *w, const struct key *k, const char *text,
				struct value *v, struct err *e);
int endpoint_port_from_text(const struct where *w, const struct key *k, const char *text,
			    struct value *v, struct err *e);
int endpoint_socket_from_text(const struct where *w, const struct key *k, const char *text,
			      struct value *v, struct err *e);

/* value.c: refuses a value with its key and origin; a path in absolute and normal form. */
int value_refuse(const struct where *w, const struct key *k, const char *text, const char *why,
		 struct err *e);
int value_path(const struct where *w, const struct key *k, const char *text, const char **ret,
	       struct err *e);

/* Appends; an error when the list is full. */
int value_put(struct arena *a, const struct key *k, struct value *v, const struct item *item,
	      struct err *e);

/* settle.c: of the items of one group that speak of the same thing the last one stays, at
 * the place of the first; but not where an exception of the group stands between them: the
 * last that matches decides. */
int settle_value(struct arena *a, const struct key *k, struct value *v, struct err *e);

/* number.c: a number as a user would write it: "4G", "500ms", "none", "read-only"; and
 * one that was written so, whatever the key's range. */
bool number_read(const struct key *k, const char *text, int64_t *ret);
const char *number_value(const struct key *k, int64_t num, char *out, size_t cap);

bool value_key_is_list(const struct key *k);
const char *doc_type_name(enum doc_type type);

/* Whether the system's [floor] may speak of it. */
bool floor_has_key(const struct key *k);

/* Cut to the room there is, control characters replaced: for messages. */
const char *value_shown(const char *s, char *out, size_t cap);

/* layers.c: a document or a setting becomes a layer, layers become the policy. */
int layer_from_doc(const struct where *w, const struct doc *root, struct policy *layer,
		   struct policy *floor, struct err *e);
int layer_from_setting(const struct where *w, const struct setting *s, struct policy *layer,
		       struct err *e);
int layer_merge(struct arena *a, struct policy *p, const struct policy *layer, struct err *e);
int layer_narrows(const struct policy *p, const struct policy *layer, struct err *e);
int layer_list_add(struct arena *a, const struct key *k, struct value *to, const struct value *from,
		   struct err *e);
bool layer_loosens(const struct key *k, const struct value *v, const struct value *than);

/* floor.c: what the system's [floor] says, over everything (P4). */
int floor_apply(struct arena *a, struct policy *p, const struct policy *floor, struct err *e);

/* check.c: contradictions, and what no policy may say. */
int policy_check(const struct policy *p, struct err *e);
int policy_check_environment(const struct policy *p, struct err *e);
/* "A (origin) contradicts B (origin)". */
int check_contradiction(const char *a, const struct origin *oa, const char *b,
			const struct origin *ob, struct err *e);

/* net.c: an allowed host means a filtered network where nobody chose a mode. */
void net_imply(struct policy *p);
int policy_check_net(const struct policy *p, struct err *e);

int policy_check_workspace(const char *workspace, const char *home, const struct origin *o,
			   struct err *e);

/* print.c */
int policy_hash(struct arena *a, struct policy *p, struct err *e);

/* resolve.c: the whole of a policy file; ERR_USAGE when it cannot be one. */
int policy_file_read(int fd, const char *name, bool regular, struct buf *out, struct err *e);
int policy_file_error(struct err *e, const char *name, int sys);

/* trust.c */
int trust_lookup(const char *trust_file, const char *path, const char *sha256, bool *ret,
		 struct err *e);

#endif
