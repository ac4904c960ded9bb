"""Fixtures of the shell, text and git rows."""
import os
import subprocess

# Fixed, so that every run makes the same commits.
GIT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
}
IDENTITY = ("user.name=Ann", "user.email=ann@example.org")


def write(top, name, text, mode=0o644):
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def git(top, *words):
    subprocess.run(["git", "-C", top, *words], env=GIT, check=True, stdout=subprocess.DEVNULL)


def commit(top, message):
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", message)


def empty_repository(top):
    git(top, "init", "-q", "-b", "main", ".")
    for setting in IDENTITY:
        git(top, "config", *setting.split("="))


def repository(top):
    """Three commits, a tag, and a branch `side` that merges without a conflict."""
    empty_repository(top)
    write(top, "README.md", "# A project\n\nOne line.\n")
    write(top, "src/main.c", "int main(void) {\n\treturn 0;\n}\n")
    commit(top, "first")
    write(top, "notes.txt", "".join(f"note {n}\n" for n in range(1, 21)))
    commit(top, "second: notes")
    git(top, "tag", "-a", "v1.0", "-m", "the first version")
    git(top, "branch", "side")
    write(top, "README.md", "# A project\n\nOne line.\nAnother.\n")
    commit(top, "third: the readme grows")
    git(top, "switch", "-q", "side")
    write(top, "side.txt", "made on the side\n")
    commit(top, "side: a file")
    git(top, "switch", "-q", "main")


def conflict(top):
    """`repository`, and a branch `clash` that changes the same line as main."""
    repository(top)
    git(top, "switch", "-q", "-c", "clash", "HEAD~1")
    write(top, "README.md", "# A project\n\nOne line.\nSomething else.\n")
    commit(top, "clash: the readme differs")
    git(top, "switch", "-q", "main")


def text_files(top):
    """Words, numbers, a table and source lines to search and reshape."""
    names = ("oak", "elm", "ash", "fir", "yew", "box", "bay", "fig")
    write(top, "words.txt", "".join(f"{name}\n" for name in names))
    write(top, "table.csv", "name,height,year\n" + "".join(
        f"{name},{10 + 3 * i},{1990 + i}\n" for i, name in enumerate(names)))
    write(top, "data.json", '{"trees": [{"name": "oak", "height": 10}, {"name": "elm", "height": 13}], "count": 2}\n')
    write(top, "prose.txt", "The quick brown fox jumps over the lazy dog. " * 12 + "\n")
    write(top, "src/a.c", "/* TODO: shorter */\nint a(void) { return 1; }\n")
    write(top, "src/b.c", "int b(void) { return 2; } // TODO\n")
    write(top, "src/deep/c.py", "def c():\n    return 3  # TODO\n")


FIXTURES = {
    "conflict": conflict,
    "empty-repo": empty_repository,
    "repo": repository,
    "text": text_files,
}
