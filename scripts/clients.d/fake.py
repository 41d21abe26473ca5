"""fake.py: a server of completions for comparing clients. Prints "Listening on URL".

The name of the model selects the stream of 16 tokens: a first event after 100 ms, then one every 10 ms.
plain: a token an event. empty: every other event has no text. several: 4 tokens every 40 ms.
"""

import asyncio
import json

FIRST, GAP, TOKENS = 0.1, 0.01, 16


def http(kind, body):
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


async def stream(writer, request):
    model = request["model"]
    each = 4 if model == "several" else 1
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    loop = asyncio.get_running_loop()
    start = loop.time() + FIRST

    def event(data):
        text = f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
        writer.write(f"{len(text):x}\r\n{text}\r\n".encode())

    for i in range(0, TOKENS, each):
        await asyncio.sleep(max(start + i * GAP - loop.time(), 0))
        text = "" if model == "empty" and i % 2 else "word " * each
        event({"choices": [{"index": 0, "text": text, "finish_reason": "length" if i + each == TOKENS else None}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        event({"choices": [], "usage": {"prompt_tokens": 32, "completion_tokens": TOKENS, "total_tokens": 32 + TOKENS}})
    event("[DONE]")
    writer.write(b"0\r\n\r\n")


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = next((int(x.split(":")[1]) for x in head.split("\r\n") if x.startswith("content-length:")), 0)
            body = await reader.readexactly(size)
            path = head.split()[1]
            if path == "/v1/completions":
                await stream(writer, json.loads(body))
            elif path == "/tokenize":
                writer.write(http("application/json", json.dumps({"count": len(json.loads(body).get("prompt", "").split()), "max_model_len": 8192})))
            elif path in ("/health", "/v1/models"):
                writer.write(http("application/json", json.dumps({"data": [{"id": m, "object": "model"} for m in ("plain", "empty", "several")]})))
            else:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"Listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
