/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG, without a library and without a script.
 *
 * Should:   have a number for every bar, as a tool tip or as text, and the same as a table.
 * Must not: use style attributes: the policy of the page refuses them.
 * Fails:    out of memory, through the buffer. */
#include "ui/page.h"

#define WIDTH 600
#define HEIGHT 120
#define GAP 2

static int64_t most_of(const struct bar *bars, size_t n) {
	int64_t most = 1;

	for (size_t i = 0; i < n; i++) {
		most = bars[i].value > most ? bars[i].value : most;
	}
	return most;
}

void svg_columns(struct buf *b, const char *title, const struct bar *bars, size_t n,
		 const char *end) {
	int64_t most = most_of(bars, n);
	size_t step = n == 0 ? WIDTH : WIDTH / n;

	html_put(b,
		 "<svg class=columns role=img aria-label=\"%s\" viewBox=\"0 0 %d %d\" "
		 "preserveAspectRatio=none><line x1=0 x2=%d y1=%d y2=%d></line>",
		 title, (long long)WIDTH, (long long)HEIGHT + 1, (long long)WIDTH,
		 (long long)HEIGHT, (long long)HEIGHT);
	for (size_t i = 0; i < n; i++) {
		long long tall = bars[i].value * (HEIGHT - 4) / most;
		tall = bars[i].value > 0 && tall < 2 ? 2 : tall;
		html_put(b, "<rect x=%u y=%d width=%u height=%d><title>%s: %d</title></rect>",
			 i * step + GAP / 2, HEIGHT - tall, step > GAP ? step - GAP : 1, tall,
			 bars[i].label, (long long)bars[i].value);
	}
	html_put(b, "</svg><p class=axis><span>%s</span><span>most: %d</span><span>%s</span></p>",
		 n == 0 ? "" : bars[0].label, (long long)(n == 0 ? 0 : most), end);
}

void svg_rows(struct buf *b, const char *title, const struct bar *bars, size_t n, bool duration) {
	int64_t most = most_of(bars, n);

	html_put(b, "<table class=bars><caption class=hide>%s</caption>", title);
	for (size_t i = 0; i < n; i++) {
		html_put(b,
			 "<tr><th scope=row>%s<td><svg viewBox=\"0 0 100 8\" "
			 "preserveAspectRatio=none aria-hidden=true><rect width=%d height=8 rx=0>"
			 "</rect></svg><td class=num>",
			 bars[i].label, (long long)(bars[i].value * 100 / most));
		if (duration) {
			html_duration(b, bars[i].value);
		} else {
			html_put(b, "%d", (long long)bars[i].value);
		}
	}
	buf_puts(b, "</table>");
}
