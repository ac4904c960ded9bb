# SPDX-License-Identifier: Apache-2.0
"""The levels at which the suites run, and how corral is asked for each.

A suite that is given no level asks for none, and gets the best that the host has.
"""

ORDER = ("full", "standard", "minimal", "none")
AUTO = "auto"

ASK = {
    AUTO: [],
    "full": ["--level", "full"],
    "standard": ["--level", "standard"],
    "minimal": ["--level", "minimal"],
    "none": ["--level", "none", "--accept-no-sandbox"],
}


def add_option(parser):
    parser.add_argument("--level", choices=(AUTO, *ORDER), default=AUTO,
                        help="ask corral for this level in every row")


def from_here_down(level):
    """The level and those above it, nearest first: what is not said at one holds as at the next."""
    at = ORDER.index("full" if level == AUTO else level)
    return ORDER[at::-1]
