"""langchain-openai against a server: langchain_sdk.py URL MODEL. The last line says what it saw."""

import sys
import time

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAI

url, model = sys.argv[1:]
to = {"base_url": url + "/v1", "api_key": "none", "model": model, "max_retries": 0, "extra_body": {"ignore_eos": True}}
chat = ChatOpenAI(max_tokens=8, stream_usage=True, **to)
said = []

hello = [SystemMessage("Be short."), HumanMessage("Hello")]
assert chat.invoke(hello).usage_metadata["output_tokens"] == 8
said.append("invoke")

began, first, whole = time.perf_counter(), None, None
for chunk in chat.stream(hello):
    if chunk.content:
        first = first or time.perf_counter() - began
    whole = chunk if whole is None else whole + chunk
assert whole.usage_metadata["output_tokens"] == 8, whole
said.append("stream with usage")

assert [m.usage_metadata["output_tokens"] for m in chat.batch(["One", "Two", "Three"])] == [8] * 3
said.append("batch of 3")

called = AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "call_1"}])
assert chat.invoke(hello + [called, ToolMessage("2", tool_call_id="call_1")]).usage_metadata["output_tokens"] == 8
said.append("a call of a tool in the history")

assert OpenAI(max_tokens=8, **to).invoke("Hello")
said.append("completions")
print(f"{', '.join(said)}; TTFT {first * 1000:.1f} ms")
