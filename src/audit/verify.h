/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the chain of the audit log from the oldest line to the head. */
#ifndef CORRAL_AUDIT_VERIFY_H
#define CORRAL_AUDIT_VERIFY_H

#include "audit/audit.h"

enum audit_fault {
	AUDIT_EDITED,     /* a line does not have the hash that it should have */
	AUDIT_REMOVED,    /* lines are missing before this one */
	AUDIT_REORDERED,  /* a line comes after one with a higher number */
	AUDIT_NO_RECORD,  /* a line is no record */
	AUDIT_CUT,        /* the log ends before its head */
	AUDIT_HEAD_LOST,  /* the head is missing, or was when this line was written */
	AUDIT_HEAD_OTHER, /* the head names another hash than the last line has */
	/* From here on: no fault, the traces of a writer that was killed. */
	AUDIT_TORN,       /* a part of a record was removed before this line */
	AUDIT_UNFINISHED, /* the end has records or a part of one that the head does not have yet */
	AUDIT_FAULTS
};

struct audit_finding {
	enum audit_fault fault;
	uint64_t file, line; /* the place; line counts in the file, from 1; 0: the end */
	uint64_t seq;        /* of the record there, or the last that is there */
	uint64_t count;      /* lines or bytes, by fault */
};

/* More are counted only. */
#define AUDIT_FINDINGS 32

struct audit_report {
	struct audit_finding findings[AUDIT_FINDINGS];
	size_t n;
	uint64_t faults; /* all of them, without the traces of killed writers */
	uint64_t records, files;
	bool has_head;
	struct audit_head head; /* the stored one */
};

/* -1: the log cannot be read.  Locks the head for the time it takes to read. */
int audit_verify(const struct audit_place *p, struct audit_report *ret, struct err *e);

/* One sentence. */
void audit_finding_text(const struct audit_finding *f, struct buf *out);
const char *audit_fault_name(enum audit_fault fault);

#endif
