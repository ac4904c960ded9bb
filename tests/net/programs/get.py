# SPDX-License-Identifier: Apache-2.0
"""get.py urllib|requests|session|aiohttp|httpx|asyncio|many URL: one way after another in which Python fetches."""
import asyncio
import sys
import urllib.parse
import urllib.request

HOW, URL = sys.argv[1:3]
AT = urllib.parse.urlsplit(URL)
PORT = AT.port or (443 if AT.scheme == "https" else 80)


async def fetch(path):
    """Both families at once, as happy eyeballs have it."""
    reader, writer = await asyncio.open_connection(AT.hostname, PORT, ssl=AT.scheme == "https" or None,
                                                   happy_eyeballs_delay=0.05)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {AT.netloc}\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode()


async def fetch_many():
    return "".join(sorted(await asyncio.gather(*(fetch(f"{AT.path}/{n}") for n in range(40)))))


def with_requests():
    import requests
    return requests.get(URL, timeout=20).text


def with_session():
    import requests
    with requests.Session() as session:
        return "".join(session.post(f"{URL}/{n}", data=b"x" * n * 1000, timeout=20).text for n in range(10))


async def with_aiohttp():
    """Several at once over one pool of connections."""
    import aiohttp
    async with aiohttp.ClientSession() as session:
        async def fetch_one(number):
            async with session.get(f"{URL}/{number}") as answer:
                return await answer.text()
        return "".join(await asyncio.gather(*map(fetch_one, range(10))))


def with_httpx():
    import httpx
    trust = "/etc/ssl/certs/ca-certificates.crt"
    with httpx.Client(verify=trust) as client:
        return "".join(client.get(f"{URL}/{n}").text for n in range(3))


WAYS = {
    "urllib": lambda: urllib.request.urlopen(URL, timeout=20).read().decode(),
    "requests": with_requests,
    "session": with_session,
    "aiohttp": lambda: asyncio.run(with_aiohttp()),
    "httpx": with_httpx,
    "asyncio": lambda: asyncio.run(fetch(AT.path)),
    "many": lambda: asyncio.run(fetch_many()),
}
sys.stdout.write(WAYS[HOW]())
