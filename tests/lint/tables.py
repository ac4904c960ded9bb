# SPDX-License-Identifier: Apache-2.0
"""Tables against what is written about them elsewhere: manual, help, schema, completion, header."""
import json
import os
import re
import sys

from harness import ROOT, append, check, replace

SHELLS = ("bash", "zsh", "fish")


def corral(tree, *words):
    """What the built program says."""
    status, said = tree.run(f"{tree.build}/corral", *words)
    assert status == 0, said
    return said


def option_names(tree):
    names = re.findall(r'^\t\{"([a-z-]+)"', tree.whole().text("src/data/options.c"), re.MULTILINE)
    assert len(names) > 20, f"found only {names}"
    return names


def key_names(tree):
    text = tree.whole().text("src/data/keys.c") + tree.whole().text("src/data/keys_service.inc")
    names = re.findall(r'\.name = "([a-z_.]+)"', text)
    assert len(names) > 30, f"found only {names}"
    return names


def manual(tree, page):
    return tree.whole().text(f"man/{page}").replace("\\-", "-")


@check("every option stands in corral(1)",
       append("src/data/options.c", '\t{"planted", 0, NULL, .help = "x"},\n'))
def options_in_manual(tree):
    page = manual(tree, "corral.1")
    return [f"--{name}" for name in option_names(tree) if not re.search(rf"^\.It.* Fl -{name}\b", page, re.MULTILINE)]


@check("corral(1) has no option that is not there", append("man/corral.1", ".It Fl -planted\n"))
def options_of_manual(tree):
    items = re.findall(r"^\.It(.* Fl .*)$", manual(tree, "corral.1"), re.MULTILINE)
    found = [name for item in items for name in re.findall(r"Fl -([a-z-]+)", item)]
    return [f"--{name}" for name in found if name not in option_names(tree) + ["version"]]  # main.c's own


@check("every option stands in the help and in each completion",
       append("src/data/options.c", '\t{"planted", 0, NULL, .help = "x"},\n'))
def options_in_program(tree):
    verbs = (("run",), ("explain",), ("status",), ("policy", "show"), ("apply",), ("discard",), ("home", "clean"), ("scan",),
             ("secret", "set"), ("why",), ("learn",), ("audit", "tail"), ("audit", "export"), ("session", "create"), ("session", "exec"),
             ("agents", "install"), ("mcp",), ("daemon",), ("ui",), ("oci",))
    said = {"help": "".join(corral(tree, *verb, "--help") for verb in verbs)}
    said.update({shell: corral(tree, "completion", shell) for shell in SHELLS})
    return [f"--{name} in {where}" for where, text in said.items() for name in option_names(tree)
            if not re.search(rf"(--|-l ){name}\b", text)]


@check("every option's row has a help of its own, and a name or letter that no other has",
       replace("src/data/options.c", '{"write", 0', '{"read", 0'),
       replace("src/data/options.c", "{\"write\", 0", "{\"write\", 'w'"))
def options_unique(tree):
    # What only `check`, `why`, `policy import`, the vault or the audit log takes may have the name of another verb's option.
    text = re.sub(r'^(\t\{"[a-z-]+)(".*\.verbs = (?:FOR_CHECK \| FOR_WHY|FOR_SECRET\w*\b[^,]*),)', r"\1-of-these\2",
                  tree.whole().text("src/data/options.c"), flags=re.MULTILINE)
    text = re.sub(r'^(\t\{"[a-z-]+)(".*\.verbs = FOR_WHY,)', r"\1-of-why\2", text, flags=re.MULTILINE)
    text = re.sub(r'^(\t\{"[a-z-]+)(".*\.verbs = FOR_POLICY_IMPORT,)', r"\1-of-import\2", text, flags=re.MULTILINE)
    text = re.sub(r'^(\t\{"[a-z-]+)(".*\.verbs = FOR_AUDIT\w*,)', r"\1-of-audit\2", text, flags=re.MULTILINE)
    text = re.sub(r'^(\t\{"[a-z-]+)(", )(0|\'\w\')(.*\.verbs = FOR_SESSION_EXEC,)', r"\1-of-exec\g<2>0\4", text, flags=re.MULTILINE)
    rows = re.findall(r"^\t\{(?:\"([a-z-]+)\"|NULL), (?:'(\w)'|0), .*\.help = \"([^\"]+)\"", text, re.MULTILINE)
    bad = []
    for kind, values in zip(("name", "letter", "help"), zip(*rows)):
        bad += [f"{kind} {value}" for value in sorted(set(values)) if value and values.count(value) > 1]
    return bad


@check("every key stands in corral-policy(5)", append("src/data/keys.c", '.name = "fs.planted",\n'))
def keys_in_manual(tree):
    page = manual(tree, "corral-policy.5")
    return [name for name in key_names(tree) if not re.search(rf"\b{name.split('.')[-1]}\b", page)]


@check("every key stands in the schema, and no other",
       append("src/data/keys.c", '.name = "fs.planted",\n'), replace("docs/policy.schema.json", '"deny"', '"denied"'))
def keys_in_schema(tree):
    def leaves(schema, prefix=""):
        for name, value in schema.get("properties", {}).items():
            inner = list(leaves(value, f"{prefix}{name}."))
            yield from inner or [prefix + name]
    described = {name for name in leaves(json.loads(tree.whole().text("docs/policy.schema.json")))
                 if not name.startswith("floor.")}
    return sorted(described.symmetric_difference(key_names(tree)) - {"version", "agent"})


@check("the published schema is the one that the program prints", append("docs/policy.schema.json", "\n"))
def schema(tree):
    published = {"docs/policy.schema.json": (), "docs/skill.schema.json": ("skill",)}
    return [f"{path} is stale" for path, words in published.items()
            if corral(tree, "policy", "schema", *words) + "\n" != tree.whole().text(path)]


@check("the manual pages are clean", append("man/corral.1", ".Xx planted\n"))
def manuals(tree):
    # Pages of other packages need not be installed; examples stand before the
    # description, for a person in a hurry.
    harmless = re.compile(r"referenced manual not found|out of conventional order")
    said = tree.each(tree.files("man/*.[1-9]"), "mandoc", "-T", "lint", "-W", "warning")
    return [line for text in said for line in text.splitlines() if not harmless.search(line)]


def exit_statuses(tree):
    return set(re.findall(r"\[(CORRAL_E_\w+)\] = \{(\d+),", tree.whole().text("src/cli/main.c")))


@check("every error kind has an exit status, which stands in corral(1)",
       replace("src/cli/main.c", "[CORRAL_E_MEMORY] = {125", "[CORRAL_E_MEMORY] = {99"),
       replace("include/corral/error.h", "CORRAL_E_MEMORY,", "CORRAL_E_MEMORY, CORRAL_E_PLANTED,"))
def exits(tree):
    kinds = re.search(r"enum corral_error_kind \{(.*?)\};", tree.whole().public_text(), re.DOTALL)
    known = dict(exit_statuses(tree))
    documented = re.findall(r"^\.It (\d+)$", manual(tree, "corral.1"), re.MULTILINE)
    bad = [f"{kind} has no exit status" for kind in re.findall(r"\b(CORRAL_E_\w+)", kinds.group(1))
           if kind not in known]
    return bad + [f"{kind}: {status} is not in corral(1)" for kind, status in known.items()
                  if status not in documented]


@check("every kind of error inside has one outside",
       replace("src/base/err.h", "ERR_MEMORY,", "ERR_MEMORY, ERR_PLANTED,"))
def kinds(tree):
    inside = re.search(r"enum err_kind \{(.*?)\};", tree.whole().text("src/base/err.h"), re.DOTALL)
    return [kind for kind in re.findall(r"\b(ERR_\w+)", inside.group(1))
            if f"[{kind}] =" not in tree.whole().text("src/lib/error.c")]


def rows(text, name):
    """The first word of each row of the table."""
    body = re.search(rf"\b{name}\[\] = \{{\n(.*?)\n\}};", text, re.DOTALL)
    assert body, name
    return re.findall(r'^\t\{\s*"([^"]+)"', body.group(1), re.MULTILINE)


# Tables that are searched or reviewed by name; those of rules in an order of their own are not among them.
SORTED = {"src/data/paths.c": r"(\w+_rows|toolchains)", "src/data/credentials.c": r"(\w+_rows)",
          "src/data/environment.c": "(env_rows)",
          "src/data/profiles.c": "(profiles)"}


@check("every table that is looked up by name is sorted, without a name twice",
       replace("src/data/environment.c", '{"AWS_*"', '{"ZZZ_*"'),
       replace("src/data/profiles.c", '"strict"', '"aaa"'))
def order(tree):
    bad = []
    for path, names in SORTED.items():
        text = tree.whole().text(path)
        for name in re.findall(rf"\bstruct \w+ {names}\[\] = ", text):
            found = [row.encode() for row in rows(text, name)]
            bad += [f"{path}: {name}: {b.decode()} stands after {a.decode()}"
                    for a, b in zip(found, found[1:]) if a >= b]
    return bad


@check("every file of src is built, and every file that is built is there",
       append("src/meson.build", "files('base/planted.c')\n"), append("src/base/planted.c", "/* x */\n"))
def built(tree):
    named = {f"src/{name}" for name in re.findall(r"(?<!output: )'([\w/]+\.c)'", tree.whole().text("src/meson.build"))}
    named |= {f"src/windows/{name}" for name in re.findall(r"^ +'(\w+\.c)',$", tree.whole().text("src/windows/meson.build"), re.MULTILINE)}
    named |= {f"src/{name}" for name in re.findall(r"^ +'\.\./([\w/]+\.c)',$", tree.whole().text("src/windows/meson.build"), re.MULTILINE)}
    # scripts/macos-build.sh compiles all of src/macos, and files of base that are of macOS alone.
    named |= set(tree.whole().files("src/macos/*.c"))
    named |= set(re.findall(r"\bsrc/base/\w+_macos\.c", tree.whole().text("scripts/macos-build.sh")))
    return sorted(named.symmetric_difference(tree.whole().files("src/**/*.c")))


@check("corral.h includes every public header, and the build installs it",
       append("include/corral/planted.h", "/* x */\n"), replace("include/corral.h", '#include "corral/url.h"\n', ""),
       replace("src/meson.build", "'../include/corral/url.h',", ""))
def installed(tree):
    whole = tree.whole()
    block = re.search(r"install_headers\(([^()]*)subdir: 'corral'\)", whole.text("src/meson.build")).group(1)
    written = set(whole.files("include/corral/**/*.h"))
    lists = {"corral.h": whole.public_headers(), "src/meson.build": re.findall(r"'\.\./([^']+)'", block)}
    return [f"{name}: {where} lacks it, or it does not exist" for where, listed in lists.items()
            for name in sorted(written.symmetric_difference(listed))]


@check("the version is the same everywhere", replace("include/corral.h", 'CORRAL_VERSION "', 'CORRAL_VERSION "9.'))
def version(tree):
    header = re.search(r'CORRAL_VERSION "([^"]+)"', tree.whole().text("include/corral.h")).group(1)
    build = re.search(r"version: '([^']+)'", tree.whole().text("meson.build")).group(1)
    return [] if header == build else [f"corral.h says {header}, meson.build {build}"]


MUTATION = "tests/mutation"


def quotations(tree):
    """(name, file below src, text) of every edit that tests/mutation makes."""
    sys.path.insert(0, os.path.join(ROOT, MUTATION))
    try:
        import mutants
        import switches
    finally:
        sys.path.pop(0)
    for name, edits in switches.SWITCHES.items():
        yield from ((name, file, old) for file, old, _ in edits)
    for name, (edits, _, _) in mutants.STEPS.items():
        yield from ((name, file, old) for file, old, _ in edits)
    for name, (file, begin, *_) in mutants.TABLES.items():
        yield name, file, begin


@check("every text that a mutation replaces stands once in the sources",
       replace("src/linux/layers/terminal.c", "if (setsid() < 0) {", "if (setsid() == -1) {"))
def quoted(tree):
    bad = []
    for name, file, old in quotations(tree):
        path = tree.path(f"src/{file}")
        found = tree.whole().text(f"src/{file}").count(old) if os.path.exists(path) else 0
        if found != 1:
            bad.append(f"{MUTATION}: {name}: src/{file} has {found} of {old!r}")
    return bad


@check("every word of `layers` in the escape rows is in a table of tests/mutation/switches.py",
       replace("tests/escape/page.case", "layers = judge+gate", "layers = judge+gates"))
def layers(tree):
    places = [os.path.join(ROOT, "tests/escape"), os.path.join(ROOT, MUTATION)]
    sys.path[:0] = places
    try:
        import rows
        import switches
    finally:
        del sys.path[:len(places)]
    words = {**switches.SWITCHES, **switches.FIXED}
    return [f"{row.where}: {row.ident}: layers: {word}" for row in rows.read_rows(tree.path("tests/escape"))
            if not row["limit"] and row.concerns("full")
            for word in re.sub(r"\([0-9]+\)", "", row["layers"]).replace("+", " ").split() if word not in words]
