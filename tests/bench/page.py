# SPDX-License-Identifier: Apache-2.0
"""Tables as text and as Markdown, and plots as SVG.

Should:   print the same cells in both forms; draw plots that can be read on a light and on a dark page.
Must not: need a library.
"""
import html
import math

STYLE = ("<style>text{font:12px sans-serif;fill:#24292f}.t{font-weight:bold}.g{stroke:#8886;stroke-width:1}.n{fill:#57606a}"
         ".a{fill:#0a7d5a}.b{fill:#8c959f}.l{fill:none;stroke-width:2}"
         "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9da7b3}.a{fill:#3fb68b}.b{fill:#6e7681}}</style>")
COLOURS = ("#1a9c74", "#d9730d", "#3b82f6", "#a06bf0", "#d6539c", "#a08a00", "#8b949e", "#e5484d", "#2aa3b0")  # on light and dark
LEAST = 1e-3


def us(value):
    return f"{value:,.0f}".replace(",", " ")


class Table:
    """A caption, a header and rows of cells."""

    def __init__(self, caption, header, rows):
        self.caption, self.header = caption, [str(cell) for cell in header]
        self.rows = [["" if cell is None else str(cell) for cell in row] for row in rows]

    def text(self):
        lines = [self.header, *self.rows]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.header))]
        print_rows = ["  ".join(cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(line, widths))).rstrip()
                      for line in lines]
        return "\n".join([self.caption, *(f"  {line}" for line in print_rows)])

    def markdown(self):
        lines = [f"| {' | '.join(self.header)} |", "|" + "|".join("---" if n == 0 else "---:" for n in range(len(self.header))) + "|"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in self.rows]
        return "\n".join([f"**{self.caption[0].upper()}{self.caption[1:]}**", "", *lines])


def svg(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n{STYLE}\n'
            + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{html.escape(str(words))}</text>'


class Bars:
    """Horizontal bars; those whose name begins with `mark` stand out.  Logarithmic when the longest is much the longest."""

    LEFT, WIDTH, STEP = 190, 720, 22

    def __init__(self, title, rows, mark="", unit=""):
        self.title, self.rows, self.mark, self.unit = title, [(n, max(v, LEAST)) for n, v in rows], mark, unit

    def scale(self, value):
        most, least = max(v for _, v in self.rows), min(v for _, v in self.rows)
        room = self.WIDTH - self.LEFT - 70
        if most / least < 25:
            return room * value / most
        low = math.log10(least / 2)
        return room * (math.log10(value) - low) / (math.log10(most) - low)

    def draw(self):
        most, least = max(v for _, v in self.rows), min(v for _, v in self.rows)
        body = [text(8, 18, self.title + (", logarithmic" if most / least >= 25 else ""), ' class="t"')]
        for number, (name, value) in enumerate(self.rows):
            y = 32 + number * self.STEP
            long = max(1.0, self.scale(value))
            kind = "a" if name.startswith(self.mark) and self.mark else "b"
            body += [text(self.LEFT - 8, y + 13, name, ' text-anchor="end"'),
                     f'<rect class="{kind}" x="{self.LEFT}" y="{y}" width="{long:.0f}" height="{self.STEP - 6}"/>',
                     text(self.LEFT + long + 6, y + 13, f"{value:.3g}{self.unit}", ' class="n"')]
        return svg(self.WIDTH, 40 + len(self.rows) * self.STEP, body)


class Lines:
    """Curves over a logarithmic x axis and a logarithmic y axis."""

    LEFT, TOP, WIDTH, HEIGHT, RIGHT = 60, 34, 720, 360, 190

    def __init__(self, title, x_title, curves):
        self.title, self.x_title = title, x_title
        self.curves = {name: [(x, max(y, LEAST)) for x, y in points] for name, points in curves.items() if points}
        every = [point for points in self.curves.values() for point in points]
        self.x = (math.log10(min(x for x, _ in every)), math.log10(max(x for x, _ in every)))
        self.y = (math.floor(math.log10(min(y for _, y in every))), math.ceil(math.log10(max(y for _, y in every)) + 0.01))

    def place(self, x, y):
        width, height = self.WIDTH - self.LEFT - self.RIGHT, self.HEIGHT - self.TOP - 44
        along = (math.log10(x) - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (math.log10(y) - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return self.LEFT + width * along, self.TOP + height * (1 - up)

    def axes(self):
        for power in range(math.ceil(self.x[0]), math.floor(self.x[1]) + 1):
            x, bottom = self.place(10 ** power, 10 ** self.y[0])
            yield f'<path class="g" d="M{x:.0f} {self.TOP}V{bottom:.0f}"/>' + text(x, bottom + 16, short(10 ** power), ' class="n" text-anchor="middle"')
        for power in range(self.y[0], self.y[1] + 1):
            x, y = self.place(10 ** self.x[0], 10 ** power)
            right = self.WIDTH - self.RIGHT
            yield f'<path class="g" d="M{x:.0f} {y:.0f}H{right}"/>' + text(x - 6, y + 4, short(10 ** power), ' class="n" text-anchor="end"')

    def draw(self):
        body = [text(8, 18, self.title, ' class="t"'), *self.axes(),
                text(self.LEFT, self.HEIGHT - 6, self.x_title, ' class="n"')]
        taken = []
        for (name, points), colour in zip(self.curves.items(), COLOURS * 4):
            places = [self.place(x, y) for x, y in points]
            body.append(f'<path class="l" stroke="{colour}" d="M' + "L".join(f"{x:.0f} {y:.0f}" for x, y in places) + '"/>')
            y = places[-1][1]
            while any(abs(y - other) < 13 for other in taken):
                y += 4
            taken.append(y)
            body.append(text(self.WIDTH - self.RIGHT + 8, y + 4, name, f' style="fill:{colour}"'))
        return svg(self.WIDTH, self.HEIGHT, body)


def short(number):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
