"""vllm bench serve without torch: shells stand in for the modules that the client imports but never calls.

PYTHONPATH must contain internal/cli/testdata/sglang, whose sitecustomize.py makes the shells.
"""

import argparse
import asyncio
import sys

import sitecustomize

SHELLS = (
    "distributed", "distributed.parallel_state", "env_override", "lora", "lora.request", "lora.utils",
    "multimodal", "multimodal.audio", "multimodal.image", "multimodal.utils",
)
sitecustomize.CONSTANTS.update({f"vllm.{name}": {} for name in SHELLS})

from transformers import AutoTokenizer  # noqa: E402
from vllm.benchmarks import serve  # noqa: E402

# vLLM's own function reads the model's configuration with the modules of its engine.
serve.get_tokenizer = lambda name, **_: AutoTokenizer.from_pretrained(name)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    serve.add_cli_args(parser)
    asyncio.run(serve.main_async(parser.parse_args(sys.argv[1:])))
