# SPDX-License-Identifier: Apache-2.0
"""A small evaluator of SBPL, the language of Seatbelt: what a profile allows, by the last rule that matches.

It knows the operations and filters that Corral writes; another one is an error, so that a profile cannot gain a rule
that no test understands.  Paths and strings are bytes.
"""
import functools
import re

OPERATIONS = {
    "default", "process-exec", "process-fork", "process-info*", "signal", "file-read*", "file-read-data",
    "file-read-metadata", "file-read-xattr", "file-write*", "file-write-data", "file-write-create", "file-write-unlink",
    "file-ioctl", "sysctl-read", "mach-lookup", "ipc-posix-sem", "ipc-posix-shm-read-data", "pseudo-tty",
    "system-socket", "network*", "network-outbound", "network-inbound", "network-bind"}


class Bad(Exception):
    """Text that is not a profile, or has a word that this evaluator does not know."""


class Symbol(str):
    """A word; strings are bytes."""


TOKEN = re.compile(rb'\s+|;[^\n]*|([()])|"((?:[^"\\]|\\.)*)"|([^\s()";]+)', re.S)


def tokens(text):
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Bad(f"at byte {at}: {text[at:at + 40]!r}")
        at = found.end()
        if found[1]:
            yield Symbol(found[1].decode())
        elif found[2] is not None:
            yield re.sub(rb"\\(.)", rb"\1", found[2], flags=re.S)
        elif found[3]:
            yield Symbol(found[3].decode("ascii"))


def parse(text):
    """A list of forms; a form is a list of Symbol, bytes and forms."""
    stack = [[]]
    for token in tokens(text):
        if token == "(" and isinstance(token, Symbol):
            stack.append([])
        elif token == ")" and isinstance(token, Symbol):
            if len(stack) == 1:
                raise Bad("one ) too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise Bad("a ( is not closed")
    return stack[0]


def within(path, tree):
    return tree == b"/" or path == tree or path.startswith(tree + b"/")


@functools.lru_cache(maxsize=100000)
def expression(text):
    """Seatbelt's $ is the end of the text; Python's also stands before a newline there."""
    return re.compile(re.sub(rb"(\\.)|\$", lambda m: m[1] or rb"\Z", text, flags=re.S), re.S)


class Profile:
    def __init__(self, text, params):
        self.params = params
        forms = parse(text)
        if forms[:2] != [[Symbol("version"), Symbol("1")], [Symbol("deny"), Symbol("default")]]:
            raise Bad(f"it begins with {forms[:2]}")
        self.rules = [self.rule(form) for form in forms[2:]]
        self.matching = {}

    def rule(self, form):
        if not isinstance(form, list) or not form or form[0] not in ("allow", "deny"):
            raise Bad(f"not a rule: {form}")
        names = [part for part in form[1:] if isinstance(part, Symbol)]
        filters = [part for part in form[1:] if not isinstance(part, Symbol)]
        if not names or form[1:1 + len(names)] != names or not OPERATIONS.issuperset(names) or "default" in names:
            raise Bad(f"operations of {form}")
        return form[0] == "allow", names, [self.filter(f) for f in filters]

    def value(self, part):
        if isinstance(part, bytes):
            return part
        if isinstance(part, list) and len(part) == 2 and part[0] == "param":
            return self.params[part[1].decode("ascii")]
        raise Bad(f"not a string: {part}")

    def filter(self, form):
        """A function of a question: whether the filter matches."""
        if not isinstance(form, list) or not form:
            raise Bad(f"not a filter: {form}")
        name, *rest = form
        if name in ("require-all", "require-any", "require-not"):
            parts = [self.filter(part) for part in rest]
            if not parts or (name == "require-not" and len(parts) != 1):
                raise Bad(f"parts of {form}")
            return {"require-all": lambda q: all(p(q) for p in parts),
                    "require-any": lambda q: any(p(q) for p in parts),
                    "require-not": lambda q: not parts[0](q)}[name]
        if name in ("remote", "local"):
            return self.address(form)
        if len(rest) != 1:
            raise Bad(f"arguments of {form}")
        return self.simple(name, rest[0], form)

    def simple(self, name, argument, form):
        if name in ("vnode-type", "target", "socket-domain", "socket-protocol"):
            return lambda q: q.get(name) == str(argument)
        text = self.value(argument)
        if name in ("literal", "path"):
            return lambda q: q.get("path") == text
        if name == "subpath":
            return lambda q: "path" in q and within(q["path"], text)
        if name == "path-ancestors":
            return lambda q: "path" in q and q["path"] != text and within(text, q["path"])
        if name == "regex":
            compiled = expression(text)
            return lambda q: "path" in q and compiled.search(q["path"]) is not None
        if name in ("global-name", "sysctl-name", "ipc-posix-name", "extension"):
            return lambda q: q.get(name) == text
        raise Bad(f"filter {form}")

    def address(self, form):
        side, kind, *rest = form
        if kind == "ip" and len(rest) == 1:
            host, _, port = self.value(rest[0]).decode("ascii").rpartition(":")
            if host not in ("localhost", "*") or not (port == "*" or 0 < int(port) < 65536):
                raise Bad(f"address {form}")
            return lambda q: (q.get("side") == side and q.get("port") is not None and port in ("*", str(q["port"]))
                              and (host == "*" or q["loopback"]))
        if kind == "unix-socket" and len(rest) == 1:
            inner = self.filter(rest[0])
            return lambda q: q.get("side") == side and q.get("port") is None and inner(q)
        raise Bad(f"address {form}")

    def allows(self, operation, **question):
        if operation not in self.matching:
            self.matching[operation] = [
                (allow, filters) for allow, names, filters in reversed(self.rules)
                if any(n == operation or (n.endswith("*") and operation.startswith(n[:-1])) for n in names)]
        for allow, filters in self.matching[operation]:
            if not filters or any(f(question) for f in filters):
                return allow
        return False
