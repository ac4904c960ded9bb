/* SPDX-License-Identifier: Apache-2.0 */
/* Charts of the audit log: runs over time, denials by rule, hosts, latency, the slowest runs.
 *
 * Should:   name the period, and say whether all records were read.
 * Must not: draw a chart without a number.
 * Fails:    with empty charts. */
#include "ui/page.h"

#include "base/auto.h"
#include "base/rfc3339.h"

#include <stdio.h>

#define BARS_MAX 32
#define LABEL 48

struct chart {
	struct bar bars[BARS_MAX];
	char labels[BARS_MAX][LABEL];
	size_t n;
};

static void section(struct ui_page *p, const char *title) {
	html_put(p->out, "<section class=chart><h2>%s</h2>", title);
}

static void end_section(struct ui_page *p) {
	buf_puts(p->out, "</section>");
}

/* An array of numbers between two times. */
static void over_time(struct ui_page *p, const json_t *data, const char *key, const char *title) {
	const json_t *values = json_object_get(data, key), *one;
	int64_t first = html_json_time(data, "first"), last = html_json_time(data, "last");
	size_t i, count = json_array_size(values);
	struct chart c = {.n = 0};

	if (count == 0) {
		return;
	}
	json_array_foreach(values, i, one) {
		char time[RFC3339_LENGTH + 1];
		if (c.n == BARS_MAX) {
			break;
		}
		rfc3339_text(first + (last - first) * (int64_t)i / (int64_t)count, time);
		(void)snprintf(c.labels[c.n], LABEL, "%.10s %.5s", time, time + 11);
		c.bars[c.n] = (struct bar){c.labels[c.n], json_integer_value(one)};
		c.n++;
	}
	char until[LABEL], time[RFC3339_LENGTH + 1];
	rfc3339_text(last, time);
	(void)snprintf(until, sizeof until, "%.10s %.5s", time, time + 11);
	section(p, title);
	svg_columns(p->out, title, c.bars, c.n, until);
	end_section(p);
}

/* Runs that took less than 1, 2, 4, … ms. */
static void latency(struct ui_page *p, const json_t *values) {
	struct chart c = {.n = 0};
	size_t i, last = 0;
	const json_t *one;

	json_array_foreach(values, i, one) {
		last = json_integer_value(one) > 0 ? i : last;
	}
	json_array_foreach(values, i, one) {
		int64_t below = (int64_t)1 << i;
		if (i > last || c.n == BARS_MAX) {
			break;
		}
		(void)snprintf(c.labels[c.n], LABEL,
			       below < 1024 ? "under %lld ms" : "under %lld s",
			       (long long)(below < 1024 ? below : below / 1024));
		c.bars[c.n] = (struct bar){c.labels[c.n], json_integer_value(one)};
		c.n++;
	}
	section(p, "How long commands took");
	svg_columns(p->out, "How long commands took", c.bars, c.n,
		    c.n == 0 ? "" : c.bars[c.n - 1].label);
	end_section(p);
}

/* An array of {"name", "count"}. */
static void named(struct ui_page *p, const json_t *list, const char *title, const char *none) {
	struct chart c = {.n = 0};
	const json_t *one;
	size_t i;

	section(p, title);
	json_array_foreach(list, i, one) {
		if (c.n < BARS_MAX) {
			c.bars[c.n++] = (struct bar){html_json_text(one, "name"),
						     html_json_number(one, "count")};
		}
	}
	if (c.n == 0) {
		html_put(p->out, "<p class=empty>%s</p>", none);
	} else {
		svg_rows(p->out, title, c.bars, c.n, false);
	}
	end_section(p);
}

static void slowest(struct ui_page *p, const json_t *list) {
	const json_t *one;
	size_t i;

	section(p, "The slowest commands");
	buf_puts(p->out, "<table class=bars>");
	json_array_foreach(list, i, one) {
		const char *id = html_json_text(one, "id");
		buf_puts(p->out, "<tr><th scope=row><a href=\"/runs/");
		html_url(p->out, id);
		buf_puts(p->out, "\">");
		if (json_object_get(one, "command") != NULL) {
			page_command(p, one);
		} else {
			html_put(p->out, "%s", id);
		}
		buf_puts(p->out, "</a><td class=num>");
		html_duration(p->out, html_json_number(one, "duration_ms"));
	}
	buf_puts(p->out, "</table>");
	end_section(p);
}

void show_charts(struct ui_page *p, const json_t *data) {
	buf_puts(p->out, "<h1>Charts</h1>");
	if (html_json_number(data, "records") == 0) {
		page_empty(p, "The audit log has no records yet.", "corral run -- ls");
		return;
	}
	html_put(p->out, "<p class=dim>%d commands and %d records since ",
		 (long long)html_json_number(data, "runs"),
		 (long long)html_json_number(data, "records"));
	html_time(p->out, html_json_time(data, "first"), p->now);
	buf_puts(p->out, json_is_false(json_object_get(data, "complete"))
				 ? "; older records were not read.</p>"
				 : ".</p>");
	buf_puts(p->out, "<div class=charts>");
	over_time(p, data, "runs_over_time", "Commands over time");
	over_time(p, data, "denials_over_time", "Refusals over time");
	named(p, json_object_get(data, "denials_by_rule"), "Refusals by rule",
	      "Nothing was refused.");
	named(p, json_object_get(data, "hosts"), "Hosts", "No command has contacted a host.");
	if (json_array_size(json_object_get(data, "latency")) > 0) {
		latency(p, json_object_get(data, "latency"));
	}
	slowest(p, json_object_get(data, "slowest"));
	buf_puts(p->out, "</div>");
}
