# SPDX-License-Identifier: Apache-2.0
"""The public headers, for programs that read declarations: corral.h and the headers that it includes."""
import os
import re


def included(header):
    """The headers that corral.h includes, by their path beneath its directory, in its order."""
    with open(header, encoding="utf-8") as file:
        return re.findall(r'^#include "(corral/\w+\.h)"', file.read(), re.MULTILINE)


def text(header):
    """corral.h and all the headers that it includes as one text."""
    texts = []
    for path in (header, *(os.path.join(os.path.dirname(header), name) for name in included(header))):
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "".join(texts)
