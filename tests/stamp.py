# SPDX-License-Identifier: Apache-2.0
"""What a result that is kept in docs/ names: the commit that was tested, and the day."""
import datetime
import os
import subprocess


def stamp():
    here = os.path.dirname(os.path.abspath(__file__))
    commit = subprocess.run(["git", "-C", here, "rev-parse", "--short=10", "HEAD"], stdout=subprocess.PIPE, text=True,
                            check=False).stdout.strip() or "unknown"
    return f"{commit}, {datetime.date.today()}"
