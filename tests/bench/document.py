# SPDX-License-Identifier: Apache-2.0
"""Writes the performance document and its plots from the JSON file of a bench.

Should:   name the machine, the versions, the load and the sections that were not run.
Must not: measure anything.
"""
import os
import textwrap

WIDTH = 118
HEAD = """`make bench` wrote this page: one program that measures Corral beside other sandboxes. Absolute times depend on the machine;
ratios of one interleaved run hold. `BENCH_ONLY=start,gate` measures some sections, `BENCH_QUICK=1` takes two minutes with small
sizes, and a run that was interrupted continues where it stopped. The guards against a slower Corral are counts of system calls
and not seconds: `tests/cost`."""


def wrapped(text, **more):
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False, **more)


def machine_lines(data):
    m = data["machine"]
    yield wrapped(f"Machine: {m['processor']}, {m['processors']} processors, {m['memory_gb']} GB, {m['system']}, Linux {m['kernel']}.")
    versions = "; ".join(f"{name} ({text})" if text else name for name, text in sorted(m["versions"].items()))
    yield wrapped(f"Programs: {versions}.")


def circumstances(entry, processors):
    before, after = entry["load"]
    busy = " Other programs used the processors: only ratios mean something." if max(before, after) > 1.5 * processors else ""
    size = " Small sizes (BENCH_QUICK)." if entry["quick"] else ""
    return wrapped(f"{entry['time']}, {entry['seconds']} s, corral {entry['binary']}, load average {before} before and {after} after."
                   f"{busy}{size}")


def section_lines(section, entry, folder, processors):
    yield f"## {section.TITLE}\n"
    yield wrapped(section.ABOUT) + "\n"
    yield circumstances(entry, processors) + "\n"
    for stem, plot in section.plots(entry["data"]):
        name = f"performance-{stem.replace('/', '-')}.svg"
        with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
            out.write(plot.draw())
        yield f"![{plot.title}]({name})\n"
    for table in section.tables(entry["data"]):
        yield table.markdown() + "\n"
    for note in dict.fromkeys(entry["notes"]):
        yield wrapped(note, initial_indent="- ", subsequent_indent="  ")
    if entry["notes"]:
        yield ""


def write(path, data, sections):
    folder, done = os.path.dirname(os.path.abspath(path)), data["sections"]
    lines = ["# Performance\n", wrapped(HEAD) + "\n", *(line + "\n" for line in machine_lines(data))]
    for section in sections:
        if section.NAME in done:
            lines += section_lines(section, done[section.NAME], folder, data["machine"]["processors"])
    missing = [section.NAME for section in sections if section.NAME not in done]
    if missing:
        lines += ["## Not run\n", f"These sections have no figures here: {', '.join(missing)}.\n"]
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines).rstrip() + "\n")
