# SPDX-License-Identifier: Apache-2.0
"""Text: documents against each other, and what no file may hold."""
import os
import re

from harness import append, check

TEXTS = ("*.md", "docs/**/*.*", "man/*.[1-9]", "src/**/*.[ch]", "src/**/*.js", "src/**/*.css", "include/**/*.h", "tests/**/*.[ch]", "tests/**/*.py",
         "tests/**/*.case", "tests/**/*.sh", "packaging/**/*", "Makefile", "**/meson.build", "meson_options.txt",
         "examples/**/*.*", "sdk/**/*.*", "tests/**/*.m[jt]s", ".editorconfig", ".gitlab-ci.yml", ".github/**/*.*", ".github/CODEOWNERS")
DOCUMENTS = ("*.md", "docs/**/*.md", "examples/*.md", "packaging/**/*.md", "sdk/**/*.md")
WIDE = 120


@check("no word that means 'not done'",
       append("src/base/fd.c", "/* TO" "DO: the rest */\n"), append("tests/lint/words.py", "# FIX" "ME\n"))
def unfinished(tree):
    word = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|\bfor " r"now\b|\bsimpli" r"fied\b")
    # The corpus has people search for such words.
    return [f"{f}:{n}: {line.strip()}" for f, n, line in tree.lines(*TEXTS)
            if word.search(line) and not f.startswith("tests/compat/")]


@check("every text is UTF-8, ends with one newline and has no blanks at line ends",
       append("src/base/fd.c", "/* x */ \n"), append("README.md", "no newline"), append("README.md", "\n\n\n"))
def blanks(tree):
    bad = []
    for name in tree.files(*TEXTS):
        with open(tree.path(name), "rb") as file:
            raw = file.read()
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            bad.append(f"{name}: {error}")
            continue
        bad += [f"{name}:{n}: blanks at the end" for n, line in enumerate(text.split("\n"), 1)
                if line != line.rstrip(" \t\r")]
        if not text.endswith("\n") or text.endswith("\n\n"):
            bad.append(f"{name}: does not end with one newline")
    return bad


def is_prose(line):
    return not re.search(r"^\s*\||https?://", line)  # a row of a table and an address cannot be broken


def in_console(tree):
    """Lines of console blocks: tests/docs compares them with what the program prints, however wide that is."""
    found = set()
    for name in tree.files(*DOCUMENTS):
        text = tree.text(name)
        for match in re.finditer(r"^```console\n.*?^```$", text, re.MULTILINE | re.DOTALL):
            first = text.count("\n", 0, match.start()) + 1
            found |= {(name, first + n) for n in range(match.group(0).count("\n"))}
    return found


@check("no line of prose is wider than 120 columns", append("README.md", "word " * 30 + "\n"),
       append("docs/guide.md", "word " * 30 + "\n"))
def wide(tree):
    console = in_console(tree)
    return [f"{f}:{n}: {len(line)}" for f, n, line in tree.lines(*DOCUMENTS)
            if len(line) > WIDE and is_prose(line) and (f, n) not in console]


@check("every link in a document leads somewhere",
       append("README.md", "[x](docs/nowhere.md)\n"), append("README.md", "[x](#nowhere)\n"))
def links(tree):
    bad = []
    for name in tree.files(*DOCUMENTS):
        for target in re.findall(r"\]\(([^)\s]+)\)", tree.text(name)):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(tree.path(file)):
                bad.append(f"{name}: {target}")
            elif anchor and anchor not in anchors(tree.text(file)):
                bad.append(f"{name}: {target}")
    return bad


def anchors(text):
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


# A file or directory of this tree, as a document writes it; build/ is made, and data/x.c means src/data/x.c.
NAMED = re.compile(r"`((?:src|tests|include|man|docs|packaging|completions|examples|base|data|policy|plan|linux|run|lib|cli)/"
                   r"[\w./-]*)`")


@check("every file that a document names exists", append("README.md", "see `src/nowhere.c`\n"))
def named(tree):
    return [f"{f}:{n}: {name}" for f, n, line in tree.lines("*.md") for name in NAMED.findall(line)
            if not any(os.path.exists(tree.path(prefix + name)) for prefix in ("", "src/"))]


@check("every make command of a document is in the Makefile", append("README.md", "    make nothing\n"))
def commands(tree):
    whole = tree.whole()
    targets = re.findall(r"^([a-z][\w -]*):", whole.text("Makefile"), re.MULTILINE)
    known = {word for line in targets for word in line.split()}
    return [f"{f}:{n}: make {word}" for f, n, line in tree.lines("*.md")
            for word in re.findall(r"(?:^|`)\s*make ([a-z][a-z-]*)", line) if word not in known]


def rows_of_escape(tree):
    whole = tree.whole()
    text = "\n".join(whole.text(name) for name in whole.files("tests/escape/*.case"))
    return set(re.findall(r"^\[([A-Z]+[0-9]+[a-z]?)\]$", text, re.MULTILINE))


@check("every row that the threat model cites exists", append("docs/THREAT_MODEL.md", "By FS99.\n"))
def cited_rows(tree):
    known = rows_of_escape(tree)
    return [f"{f}:{n}: {word}" for f, n, line in tree.lines("docs/THREAT_MODEL.md")
            for word in re.findall(r"\b([A-Z]{2}[0-9]{2}[a-z]?)\b", line) if word not in known]


def limits_below_full(tree):
    """Sections of the escape rows that are limits at a lower level only."""
    whole, found = tree.whole(), set()
    for name in whole.files("tests/escape/*.case"):
        section = ""
        for line in whole.text(name).splitlines():
            section = line[1:-1] if line.startswith("[") else section
            if re.match(r"limit-\w+ = (\[.*?\] )?[^-[]", line):
                found.add(section)
    return found


@check("the threat model cites every known limit", append("tests/escape/limits-known.case", "[LM99]\n"),
       append("tests/escape/files.case", "[FS98]\nlimit-standard = because\n"))
def cited_limits(tree):
    text = tree.whole().text("docs/THREAT_MODEL.md")
    limits = {row for row in rows_of_escape(tree) if row.startswith("LM")} | limits_below_full(tree)
    return [row for row in sorted(limits) if not re.search(rf"\b{row}\b", text)]


# Words that stand for a subject or a term of art which the sentence leaves out, and how many of 1,000 words of comments
# and messages they may be.  seatd, bubblewrap, crun and passt have at most 1.0, 0.2, 0.3 and 0.8 in their comments.
VAGUE = {r"who|whom|whose|whoever": 1.2, r"nobody|somebody|anybody|everybody|someone": 0.2, r"what|whatever": 0.5,
         r"asks?|asked|asking|tells?|told|telling|says?|said|saying|hears?|heard|hearing": 0.8}


@check("comments and messages name the subject and use the term of art",
       append("src/base/fd.c", "/* " + "Whoever asks is told what was said, and nobody hears what it was. " * 30 + "*/\n"))
def vague(tree):
    text = "\n".join(tree.text(path) for path in tree.sources())
    comments = re.findall(r"/\*.*?\*/", text, re.DOTALL)
    strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE))
    bad = []
    for kind, said in (("comments", " ".join(comments)), ("messages", " ".join(strings))):
        said = re.sub(r"--ask\b|\bask[._]\w+", "", said)  # an option, a key, files
        words = max(len(re.findall(r"[A-Za-z']+", said)), 1)
        bad += [f"{found:.1f} of 1,000 words of {kind} are: {pattern}" for pattern, most in VAGUE.items()
                if (found := 1000 * len(re.findall(rf"\b({pattern})\b", said, re.IGNORECASE)) / words) > most]
    return bad


# Inputs of tests are compared to the byte, and have no line of their own.
SOURCES = ("src/**/*.[ch]", "include/**/*.h", "examples/**/*.[ch]", "tests/**/*.[ch]", "tests/**/*.py", "**/*.sh",
           "sdk/**/*.py", "sdk/**/*.js", "sdk/**/*.mjs", "sdk/**/*.ts", "tests/**/*.m[jt]s")
APART = ("tests/compat/fixtures/", "tests/fuzz/corpus/")


@check("every source file names its license",
       append("src/base/planted.c", "/* x */\n"), append("tests/lint/planted.py", "\"\"\"x\"\"\"\n"),
       append("packaging/planted.sh", "#!/bin/sh\n# x\n"), append("sdk/node/src/planted.js", "// x\n"))
def licenses(tree):
    line = re.compile(r"(/\* SPDX-License-Identifier: Apache-2\.0 \*/|(#!.*\n)?(#|//) SPDX-License-Identifier: Apache-2\.0)\n")
    return [name for name in tree.files(*SOURCES) if not name.startswith(APART) and not line.match(tree.text(name))]
