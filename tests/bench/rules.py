# SPDX-License-Identifier: Apache-2.0
"""Rules about files on a large tree: what fifty deny patterns add to the start of a run in 300,000 files."""
import os

from bench import figures
from page import Table, us

NAME, TITLE = "rules", "Deny patterns on a large tree"
ABOUT = ("The patterns are not expanded: a run in a tree of 300,000 files costs what it costs in a small one. The walk looks "
         "only for names that a mount has to cover.")
DIRECTORIES, FILES = 30000, 300000

# Fifty patterns as people write them: endings, names, places, classes, exceptions.
GLOBS = (
    ".env", ".env.*", "!.env.example", "*.pem", "*.key", "!*.pub", "*.p12", "*.pfx", "*.kdbx", "id_rsa", "id_ed25519",
    "id_ecdsa", "*.jks", "*.keystore", "credentials.json", "credentials.y*ml", "service-account*.json", "secrets.*",
    "!secrets.example", "*.tfstate", "*.tfvars", ".netrc", ".pgpass", ".htpasswd", ".git-credentials", ".npmrc.local",
    "**/private/**", "**/secrets/*.txt", "config/*/production.*", "deploy/**/vault*", "**/node_modules/**/*.token",
    "[sS]ecret*", "[Pp]assword*", "*.[oO][vV][pP][nN]", "**/.aws/credentials", "**/.ssh/*", "kube*config", "*.ppk", "*.p8",
    "*_rsa", "*_dsa", "client_secret*.json", "**/fixtures/real-*/**", "backup-????.sql", "dump.[0-9][0-9]", "*.sqlite-secret",
    "certs/*.crt", "!certs/ca.crt", "**/terraform/**/*.auto.tfvars", "*.mobileprovision",
)


def globs():
    return [word for text in GLOBS for word in ("--deny", text)]


def big_tree(bench):
    """The tree of BENCH_TREE, which stays, or one that is removed at the end; a tenth of it for a quick run."""
    kept = os.environ.get("BENCH_TREE")
    size = 10 if bench.quick and not kept else 1
    big = bench.make_dir(kept or "big")
    if not os.path.exists(f"{big}/lib-1"):
        bench.run([bench.program("tree"), big, str(DIRECTORIES // size), str(FILES // size)], bench.place)
    return big, FILES // size


def contenders(bench, big, small):
    yield "bare spawn", ["/bin/true"]
    for size, place in (("small tree", small), ("large tree", big)):
        if bench.base:
            yield f"{size}, BENCH_BASE", [*bench.corral_words(place, program=bench.base), "/bin/true"]
        yield f"{size}, default rules", [*bench.corral_words(place), "/bin/true"]
        yield f"{size}, 50 denies more", [*bench.corral_words(place, *globs()), "/bin/true"]
        yield f"{size}, bubblewrap", [*bench.bwrap_words(place, "--unshare-all"), "/bin/true"]


def measure(bench):
    small = bench.make_dir("small")
    big, files = big_tree(bench)
    rounds, seconds = (12, 30) if bench.quick else (100, 120)
    raced = bench.race(list(contenders(bench, big, small)), rounds, seconds, small)
    return {"files": files, "rows": {name: figures(values) for name, values in raced.items()}}


def tables(data):
    rows = data["rows"]
    bare = rows["bare spawn"]["median"]
    yield Table(f"the large tree has {data['files']} files", ("run", "median µs", "minimum", "p99", "added µs"),
                [(name, us(row["median"]), us(row["min"]), us(row["p99"]), us(row["median"] - bare)) for name, row in rows.items()])


def plots(_data):
    return ()
