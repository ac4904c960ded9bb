/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `corral audit`: lines for people, the records as they are, and two formats of other
 * systems. */
#ifndef CORRAL_AUDIT_PRINT_H
#define CORRAL_AUDIT_PRINT_H

#include "audit/read.h"
#include "base/emit.h"

enum audit_form {
	AUDIT_AS_TEXT,   /* one line a record */
	AUDIT_AS_DETAIL, /* all members, one a line */
	AUDIT_AS_JSON,   /* the lines of the log */
	AUDIT_AS_OTLP,   /* one ExportLogsServiceRequest */
	AUDIT_AS_OCSF,   /* one event a line */
	AUDIT_AS_TRACES, /* one ExportTraceServiceRequest: a span for each run */
};

struct audit_print {
	const char *dir; /* $state/audit */
	enum audit_form form;
	int fd;      /* where it is written */
	bool colour; /* of text */
	size_t last; /* only the last records of those that pass; 0: all */
	bool follow; /* goes on until the reader closes fd */
	const char *host_name;
	int64_t until; /* of audit_stats(), CLOCK_MONOTONIC in milliseconds: reads the newest
			* records first, until then; 0: all, forwards */
};

/* 0, also when the reader closed its end.  *ret_count is the number of records. */
int audit_print(const struct audit_print *p, const struct audit_query *q, uint64_t *ret_count,
		struct err *e);

/* Counts, and charts for people. */
int audit_stats(const struct audit_print *p, const struct audit_query *q, struct buf *out,
		struct err *e);

/* list.c */
void audit_text_line(const struct audit_line *l, const struct audit_fields *f, bool colour,
		     struct buf *out);
/* Replaces control characters from `from` on. */
void audit_clean(struct buf *out, size_t from);
void audit_detail(const struct audit_line *l, struct buf *out);
/* export.c */
void audit_otlp_begin(const struct audit_print *p, struct buf *out);
void audit_otlp_record(const struct audit_line *l, const struct audit_fields *f, bool first,
		       struct buf *out);
void audit_otlp_end(struct buf *out);
void audit_otlp_resource(const struct audit_print *p, struct buf *out);
void audit_otlp_attributes(struct emit *j, const struct audit_line *l);
/* traces.c */
bool audit_trace_has(const struct audit_fields *f);
void audit_trace_begin(const struct audit_print *p, struct buf *out);
void audit_trace_span(const struct audit_line *l, const struct audit_fields *f, bool first,
		      struct buf *out);
/* ocsf.c */
void audit_ocsf_event(const struct audit_print *p, const struct audit_line *l,
		      const struct audit_fields *f, struct buf *out);

/* The number of milliseconds since 1970 of a record; 0 when its time is not one. */
int64_t audit_time(const struct audit_fields *f);

/* The same for one record after the other: most have the minute of the one before. */
#define AUDIT_MINUTE 16
struct audit_minute {
	char text[AUDIT_MINUTE]; /* "2026-11-17T09:30" */
	int64_t ms;              /* 0: none */
};
int64_t audit_time_next(struct audit_minute *m, const struct audit_fields *f);

#endif
