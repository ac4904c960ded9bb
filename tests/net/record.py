#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""record FILE VERDICT TEXT…: whether the JSON result in FILE has a decision with that verdict and these words."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as source:
        text = source.read()
    result = json.JSONDecoder().raw_decode(text[text.index('{"version"'):])[0]
    for entry in result["network"]:
        shown = json.dumps(entry)
        if entry["verdict"] == sys.argv[2] and all(word in shown for word in sys.argv[3:]):
            return 0
    print(f"no such decision among {json.dumps(result['network'])[:400]}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
