"""A model as a policy: it gets the tools by function calling, over an OpenAI-compatible server."""

import asyncio
import json
import os
import re
import urllib.request

TASK = """You diagnose profiler captures of LLM servers with the given tools. Call tools, then reply with one JSON object:
{"kind": "late" | "host_bound" | "healthy" | "slower" | "same",
 "late": [{"rank": label, "since": first step or null, "cause": "work" | "device" | "host" | "communication",
           "wait_ms": wait of the other ranks per step, "worth_ms": time per step that a fix saves, or null}],
 "noticed": [the same for ranks whose lateness is too small or too short to matter],
 "missing": [labels of ranks without a file], "cut": [labels of ranks whose file ends early],
 "slower": names of the kernels that take longer, or "", "says": [sentences with the figures that prove it]}
late: a rank makes the others wait for more than 5 % of a step. host_bound: no rank is late, and the GPUs mostly wait for
the CPU in decode steps. healthy: neither. slower and same are answers about a pair of captures. Quote figures as the
tools give them."""


def question(p):
    """Returns the question of a problem."""
    if p.base:
        return f"Is the capture {p.run} slower than the capture {p.base}? Which kernels take longer?"
    return f"What is wrong with the capture {p.run}?"


async def policy(client, url, name):
    """Returns the policy that asks the model."""
    tools = [{"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}} for t in (await client.list_tools()).tools]

    async def ask(s, p):
        messages = [{"role": "system", "content": TASK}, {"role": "user", "content": question(p)}]
        while True:
            got = await asyncio.to_thread(post, url, {"model": name, "messages": messages, "tools": tools})
            said = got["choices"][0]["message"]
            messages.append(said)
            if not said.get("tool_calls"):
                return parse(said.get("content") or "")
            for call in said["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"] or "{}")
                text, _, _ = await s.result(call["function"]["name"], arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    return ask


def post(url, body):
    """Sends a request for a chat completion and returns the reply."""
    url = url.rstrip("/").removesuffix("/v1") + "/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    if key := os.environ.get("OPENAI_API_KEY"):
        request.add_unredirected_header("Authorization", f"Bearer {key}")  # the key goes only to this server
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.load(reply)


def parse(text):
    """Returns the answer in a reply, which may stand between other words."""
    found = re.search(r"\{.*\}", text, re.DOTALL)
    if not found:
        raise ValueError(f"no JSON object in the reply: {text[:100]!r}")
    said = json.loads(found[0])
    late, noticed = (
        [
            {"rank": l["rank"], "since": l.get("since"), "cause": l["cause"], "wait": l.get("wait_ms"), "worth": l.get("worth_ms"), "quotes": []}
            for l in said.get(part) or []
        ]
        for part in ("late", "noticed")
    )
    return {
        "kind": said["kind"], "late": late, "noticed": noticed, "missing": said.get("missing") or [], "cut": said.get("cut") or [],
        "slower": str(said.get("slower") or ""), "says": [str(x) for x in said.get("says") or []],
    }
