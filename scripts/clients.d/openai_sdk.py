"""The OpenAI SDK against a server: openai_sdk.py URL MODEL. The last line says what it saw."""

import sys
import time

import openai

url, model = sys.argv[1:]
client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
hello = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}]
said = []

assert model in [m.id for m in client.models.list()]
said.append("models")

chat = client.chat.completions.create(model=model, messages=hello, max_tokens=8, n=2, temperature=1, seed=1, extra_body={"ignore_eos": True})
assert len(chat.choices) == 2 and chat.usage.completion_tokens == 16, chat
assert {c.finish_reason for c in chat.choices} == {"length"}, chat
said.append("chat n=2")

began, first, usage, pieces = time.perf_counter(), None, None, 0
stream = client.chat.completions.create(model=model, messages=hello, max_completion_tokens=16, stream=True, stream_options={"include_usage": True},
                                        extra_body={"ignore_eos": True})
for event in stream:
    if event.choices and event.choices[0].delta.content:
        first = first or time.perf_counter() - began
        pieces += 1
    usage = event.usage or usage
assert pieces and usage.completion_tokens == 16, (pieces, usage)
said.append("chat stream with usage")

chat = client.chat.completions.create(model=model, messages=hello, max_tokens=4, logprobs=True, top_logprobs=2, extra_body={"ignore_eos": True})
tokens = chat.choices[0].logprobs.content
assert len(tokens) == 4 and all(len(t.top_logprobs) == 2 and t.logprob <= 0 for t in tokens), chat
said.append("chat log probabilities")

text = client.completions.create(model=model, prompt=["One", "Two"], max_tokens=4, logprobs=1, extra_body={"ignore_eos": True})
assert [c.index for c in text.choices] == [0, 1] and len(text.choices[0].logprobs.tokens) == 4, text
said.append("completions of two prompts")

# What is refused must come as the SDK's own exception, with the reason.
for name, call in {
    "tools": lambda: client.chat.completions.create(model=model, messages=hello, tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}]),
    "unknown role": lambda: client.chat.completions.create(model=model, messages=[{"role": "nobody", "content": ""}]),
    "embeddings": lambda: client.embeddings.create(model=model, input="Hello"),
}.items():
    try:
        call()
    except openai.BadRequestError as e:
        assert len(e.message) > 20, e
    else:
        raise AssertionError(name + " was not refused")
    said.append(name + " refused")
print(f"{', '.join(said)}; TTFT {first * 1000:.1f} ms")
