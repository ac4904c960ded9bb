# SPDX-License-Identifier: Apache-2.0
"""The table of leak kinds with Python's `re`, independent of the scanner: patterns, edges and checks."""
import base64
import json
import math
import re
import re._constants as sre_constants
import re._parser as sre_parser
import subprocess
import zlib

EDGES = {"none": "", "word": "A-Za-z0-9_", "token": "A-Za-z0-9_-", "base64": "A-Za-z0-9+/=_-"}
BASE62 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_PART, CHECKSUM = 30, 6


def base62_crc32(body):
    number, digits = zlib.crc32(body), b""
    for _ in range(CHECKSUM):
        number, digit = divmod(number, 62)
        digits = BASE62[digit:digit + 1] + digits
    return digits


def decode_base64url(part):
    return base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def check_jwt(match, _row):
    try:
        parts = [decode_base64url(part) for part in match.group(0).split(b".")]
        head = json.loads(parts[0])
    except ValueError:
        return False
    return len(parts) == 3 and isinstance(head, dict) and "alg" in head


def check_luhn(match, _row):
    total = 0
    for place, digit in enumerate(reversed([int(chr(c)) for c in match.group(0) if chr(c).isdigit()])):
        total += digit if place % 2 == 0 else sum(divmod(2 * digit, 10))
    return total % 10 == 0


def check_crc32(match, _row):
    body = match.group(0)[-RANDOM_PART - CHECKSUM:]
    return base62_crc32(body[:RANDOM_PART]) == body[RANDOM_PART:]


def check_entropy(match, row):
    part = match.group(1)
    counts = [part.count(byte) for byte in set(part)]
    return -sum(n / len(part) * math.log2(n / len(part)) for n in counts) >= row["entropy"]


CHECKS = {"none": lambda match, row: True, "crc32": check_crc32, "jwt": check_jwt, "luhn": check_luhn,
          "entropy": check_entropy}


class Kind:
    """One row; `find` gives its matches in bytes."""

    def __init__(self, row, compile_regex):
        self.row = row
        self.name = row["name"]
        before, after = EDGES[row["before"]], EDGES[row["after"]]
        pattern = "(?:" + row["pattern"] + ")"
        if before:
            pattern = f"(?<![{before}])" + pattern
        if after:
            pattern += f"(?![{after}])"
        self.regex = compile_regex(pattern.encode())
        self.literals = [word.encode() for word in needed(row["pattern"]) or ()]

    def may_match(self, lower):
        """False for a file, in lower case, that lacks the literals of this kind."""
        return not self.literals or any(word in lower for word in self.literals)

    def find(self, data):
        for match in self.regex.finditer(data):
            if CHECKS[self.row["check"]](match, self.row):
                yield match


def load(dump, compile_regex=re.compile):
    """The rows, by the program leak_kinds_dump."""
    return [Kind(row, compile_regex) for row in json.loads(subprocess.run([dump], capture_output=True, check=True).stdout)]


def needed(pattern):
    """Lower-case literals of which every match contains one, or None: a file without them needs no regex."""
    return required(sre_parser.parse(pattern))


def required(tree):
    best, run = None, ""
    for op, value in [*tree, (None, None)]:
        if op is sre_constants.LITERAL:
            run += chr(value).lower()
            continue
        if run and (best is None or len(run) > min(map(len, best))):
            best = {run}
        run, found = "", None
        if op is sre_constants.SUBPATTERN:
            found = required(value[3])
        elif op is sre_constants.BRANCH:
            parts = [required(part) for part in value[1]]
            found = None if None in parts else set().union(*parts)
        elif op is sre_constants.MAX_REPEAT and value[0] > 0:
            found = required(value[2])
        if found and (best is None or min(map(len, found)) > min(map(len, best))):
            best = found
    return best
