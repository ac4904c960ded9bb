#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every function of the public headers with every pointer NULL, one at a time and all at once.

    tests/api/nulls.py --library build/src/libcorral.so [--header include/corral.h]

The functions and their parameters are read from corral.h and the headers that it includes, so that
a new one is tried without a word here.  Each call is made in a process of its own: none may end by a signal.
A call that can fail (it takes a struct corral_error) has to fail with CORRAL_E_USAGE,
unless OPTIONAL has the parameter, which its header then says too.  Speaks TAP.
"""
import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import public_headers  # noqa: E402  the path has to be set first

USAGE = 1
ROOM = 4096  # more than any structure of the headers

# What may be NULL by the headers' own words.
OPTIONAL = {
    ("corral_explain", "argv"), ("corral_explain_host", "argv"), ("corral_status", "starts"), ("corral_selftest", "failed"),
    ("corral_run", "options"), ("corral_spawn", "options"), ("corral_files_read", "range"),
    ("corral_files_write", "bytes"),  # of no bytes
    ("corral_files_edit", "count"), ("corral_files_send", "scan"), ("corral_files_check", "allowed"),
    ("corral_command_check", "allowed"), ("corral_why", "allowed"), ("corral_why_run", "id"), ("corral_why_run", "count"),
    ("corral_url_check", "options"), ("corral_cow_diff", "paths"), ("corral_cow_apply", "options"),
    ("corral_cow_discard", "id"), ("corral_home_clean", "options"), ("corral_home_clean", "left"),
    ("corral_audit_print", "count"), ("corral_audit_page", "options"), ("corral_audit_stats", "options"), ("corral_audit_verify", "intact"),
    ("corral_scanner_new", "options"), ("corral_scan_open", "calls"),
    ("corral_scan_feed", "bytes"),  # of no bytes
    ("corral_secret_set", "options"), ("corral_secret_set", "value"),  # of no bytes
    ("corral_secret_remove", "options"), ("corral_secret_list", "options"), ("corral_secret_import", "options"),
    ("corral_session_open", "options"), ("corral_session_run", "options"), ("corral_session_exec", "options"),
    ("corral_secret_import", "count"), ("corral_secret_rekey", "options"), ("corral_secret_export", "options"),
}


def prototypes(header):
    """(name, what it returns, [(type, name)]) of each function."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for returns, name, inside in re.findall(r"^([\w *]+?)(corral_\w+)\(([^()]*)\);", text, flags=re.MULTILINE):
        parameters = []
        for word in (inside.split(",") if inside.strip() != "void" else []):
            kind, own = re.fullmatch(r"\s*(.*?)(\w+)\s*", word, flags=re.DOTALL).groups()
            parameters.append((re.sub(r"\s+", " ", kind).strip(), own))
        found.append((name, returns.strip(), parameters))
    return found


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.keep = []
        self.c.corral_policy_new.restype = ctypes.c_void_p
        self.policy = self.c.corral_policy_new()
        self.c.corral_policy_no_config(ctypes.c_void_p(self.policy))
        self.files = self.made("corral_files_new")
        self.result = self.made("corral_run", self.words(), None)
        self.verdict = self.made("corral_url_check", first=b"http://192.0.2.1/", options=None)
        self.scanner = self.made_from("corral_scanner_new", None)
        self.scan = self.made_from("corral_scan_open", ctypes.c_void_p(self.scanner), None)

    def made(self, name, *more, first=None, options=()):
        out = ctypes.c_void_p()
        begin = [ctypes.c_char_p(first), options] if first else [ctypes.c_void_p(self.policy), *more]
        if getattr(self.c, name)(*begin, ctypes.byref(out), None) != 0:
            sys.exit(f"{name} fails with nothing NULL")
        return out.value

    def made_from(self, name, *begin):
        out = ctypes.c_void_p()
        if getattr(self.c, name)(*begin, ctypes.byref(out), None) != 0:
            sys.exit(f"{name} fails with nothing NULL")
        return out.value

    def words(self):
        self.keep.append((ctypes.c_char_p * 2)(b"/bin/true", None))
        return self.keep[-1]

    def room(self):
        self.keep.append(ctypes.create_string_buffer(ROOM))
        return self.keep[-1]

    def process(self):
        return self.made("corral_spawn", self.words(), None)

    def session(self):
        """In the process that makes the call: a session belongs to the process that opened it."""
        return self.made("corral_session_open", None)

    def command(self):
        return self.made_from("corral_session_exec", ctypes.c_void_p(self.session()), self.words(), None)

    def value(self, kind):
        """Something that is valid for a parameter of this type."""
        bare = kind.replace("const ", "").replace(" ", "")
        if "*" not in bare:
            return ctypes.c_size_t(0)
        handles = {"structcorral_policy*": lambda: self.policy, "structcorral_files*": lambda: self.files,
                   "structcorral_result*": lambda: self.result, "structcorral_url*": lambda: self.verdict,
                   "structcorral_process*": self.process, "structcorral_session*": self.session,
                   "structcorral_exec*": self.command, "structcorral_scanner*": lambda: self.scanner,
                   "structcorral_scan_stream*": lambda: self.scan}
        if bare in handles:
            return ctypes.c_void_p(handles[bare]())
        if bare == "char*":
            return ctypes.c_char_p(b"x")
        if kind == "const char *const *":
            return self.words()
        if bare.endswith(("_options*", "_calls*")):
            return None
        return self.room()


def attempt(library, function, nulls):
    """None, or what is wrong with a call with these parameters NULL."""
    name, returns, parameters = function
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_RDWR), 2)
        values = [None if own in nulls else library.value(kind) for kind, own in parameters]
        call = getattr(library.c, name)
        call.restype = ctypes.c_void_p if "*" in returns else ctypes.c_long if "64" in returns else ctypes.c_int
        error = next((v for (kind, _), v in zip(parameters, values) if "corral_error *" in kind and v is not None), None)
        answer = call(*values)
        must_fail = [own for own in nulls if (name, own) not in OPTIONAL and own != "err"]
        kind = int.from_bytes(error.raw[:4], sys.byteorder) if error is not None else USAGE
        takes_error = any(own == "err" for _, own in parameters)
        os._exit(10 if takes_error and must_fail and (answer != -1 or kind != USAGE) else 0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        return f"signal {-status}"
    return None if status == 0 else "it does not fail with CORRAL_E_USAGE" if status == 10 else f"status {status}"


def exported(path):
    done = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines() if " T " in line}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--header", default=f"{here}/../../include/corral.h")
    args = parser.parse_args()
    functions = prototypes(public_headers.text(args.header))
    path = os.path.abspath(args.library)
    top = tempfile.mkdtemp(prefix="corral-nulls-", dir="/var/tmp")
    try:
        os.mkdir(f"{top}/ws")
        os.chdir(f"{top}/ws")
        os.environ.update(HOME=top, XDG_STATE_HOME=f"{top}/state")
        missing = exported(path) ^ {name for name, _, _ in functions}
        print(f"{'not ok' if missing else 'ok'} 1 - every exported function is one of the headers' {len(functions)}"
              f"{''.join(' ' + name for name in sorted(missing))}")
        library = Library(path)
        bad = len(missing)
        for number, function in enumerate(functions, 2):
            pointers = [own for kind, own in function[2] if "*" in kind]
            wrong = [(nulls, attempt(library, function, nulls)) for nulls in [[own] for own in pointers] + [pointers]]
            wrong = [f"{' and '.join(nulls)}: {why}" for nulls, why in wrong if why]
            for line in wrong:
                print(f"# {line}")
            print(f"{'not ok' if wrong else 'ok'} {number} - {function[0]} takes NULL for an error", flush=True)
            bad += bool(wrong)
        print(f"1..{len(functions) + 1}")
    finally:
        os.chdir("/")
        shutil.rmtree(top, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
