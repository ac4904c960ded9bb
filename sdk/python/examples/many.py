# SPDX-License-Identifier: Apache-2.0
"""asyncio: commands at once, and a cancelled task, whose processes are gone when it ends."""
import asyncio

from corral import aio


async def main() -> None:
    results = await asyncio.gather(*(aio.run(["sh", "-c", 'exit "$1"', "sh", str(n)]) for n in range(3)))
    print([result["exit_code"] for result in results])
    try:
        await asyncio.wait_for(aio.run("sleep 1000", grace=0.1), timeout=0.5)
    except asyncio.TimeoutError:
        print("cancelled")


asyncio.run(main())
# prints: [0, 1, 2]
# prints: cancelled
