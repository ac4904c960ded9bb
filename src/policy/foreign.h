/* SPDX-License-Identifier: Apache-2.0 */
/* Documents in another form than a policy file: the output of `policy show --json`, and sections of
 * other products' configuration.  They become the tree of a policy file, which is then read like
 * any other. */
#ifndef CORRAL_POLICY_FOREIGN_H
#define CORRAL_POLICY_FOREIGN_H

#include "policy/doc.h"

struct foreign_section;

enum foreign_kind {
	FOREIGN_VALUE,  /* became a value of the policy */
	FOREIGN_NEEDED, /* needs no value, for the reason `why` */
	FOREIGN_SECRET, /* a credential, which no policy holds; a run warns */
	FOREIGN_LOST,   /* has no equivalent: an error, except in `policy import` */
};

/* One setting of the document. */
struct foreign_line {
	enum foreign_kind kind;
	const char *from; /* dotted */
	int line;         /* 0 when the format has none */
	const char *key;  /* FOREIGN_VALUE: of the policy, dotted */
	const struct doc *value;
	const char *why; /* or NULL */
};

struct foreign {
	struct doc *root; /* the tree of a policy file */
	bool shown;       /* the document was the output of `policy show --json` */
	const struct foreign_section *sections[8];
	size_t nsections; /* 0: the document was a policy file */
	struct foreign_line *lines;
	size_t nlines, cap;
};

struct foreign_text {
	const char *name; /* of the file */
	const char *text;
	size_t len;
	const char *agent; /* whose sandbox of [[agents]] counts; NULL: there must be one */
};

/* --agent also chooses the agent of another product's file; NULL without it. */
struct setting;
const char *foreign_agent(const struct setting *settings, size_t n);

int foreign_parse(struct arena *a, const struct foreign_text *t, struct foreign *ret,
		  struct err *e);

/* Texts for the warnings of a run: a credential that is not used. */
struct policy;
int foreign_remarks(struct arena *a, const char *name, const struct foreign *f, struct policy *p,
		    struct err *e);

/* The same for a document whose every setting must have an equivalent. */
int foreign_parse_all(struct arena *a, const struct foreign_text *t, struct foreign *ret,
		      struct err *e);

#endif
