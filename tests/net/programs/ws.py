# SPDX-License-Identifier: Apache-2.0
"""ws.py URL: a message over a web socket, and what comes back."""
import asyncio
import sys

import websockets


async def talk():
    async with websockets.connect(sys.argv[1], open_timeout=10) as there:
        await there.send("said over a web socket")
        print(await there.recv())


asyncio.run(talk())
