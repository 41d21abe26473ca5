"""litellm against a server: litellm_sdk.py URL MODEL. The last line says what it saw."""

import asyncio
import sys
import time

import litellm

url, model = sys.argv[1:]
hello = [{"role": "user", "content": "Hello"}]
litellm.suppress_debug_info = True
said = []
for provider in "openai", "hosted_vllm":
    to = {"model": f"{provider}/{model}", "api_base": url + "/v1", "api_key": "none", "num_retries": 0, "extra_body": {"ignore_eos": True}}
    chat = litellm.completion(messages=hello, max_tokens=8, **to)
    assert chat.usage.completion_tokens == 8, chat
    began, first, usage = time.perf_counter(), None, None
    for event in litellm.completion(messages=hello, max_tokens=16, stream=True, stream_options={"include_usage": True}, **to):
        if event.choices and event.choices[0].delta.content:
            first = first or time.perf_counter() - began
        usage = getattr(event, "usage", None) or usage
    assert usage.completion_tokens == 16, usage
    said.append(f"{provider}: chat, stream with usage")


async def many():
    return await asyncio.gather(*[litellm.acompletion(messages=hello, max_tokens=8, **to) for _ in range(8)])


assert all(c.usage.completion_tokens == 8 for c in asyncio.run(many()))
said.append("8 at once")
text = litellm.text_completion(model=f"text-completion-openai/{model}", prompt="Hello", max_tokens=8, api_base=url + "/v1", api_key="none", extra_body={"ignore_eos": True})
assert text.usage.completion_tokens == 8, text
said.append("text completion")
print(f"{'; '.join(said)}; TTFT {first * 1000:.1f} ms")
