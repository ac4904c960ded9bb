# SPDX-License-Identifier: Apache-2.0
"""The table of leak kinds with Python's `re`, independent of the scanner: patterns, edges and checks."""
import base64
import json
import math
import re
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

    def __init__(self, row):
        self.row = row
        self.name = row["name"]
        before, after = EDGES[row["before"]], EDGES[row["after"]]
        pattern = "(?:" + row["pattern"] + ")"
        if before:
            pattern = f"(?<![{before}])" + pattern
        if after:
            pattern += f"(?![{after}])"
        self.regex = re.compile(pattern.encode())

    def find(self, data):
        for match in self.regex.finditer(data):
            if CHECKS[self.row["check"]](match, self.row):
                yield match


def load(dump):
    """The rows, by the program leak_kinds_dump."""
    return [Kind(row) for row in json.loads(subprocess.run([dump], capture_output=True, check=True).stdout)]
