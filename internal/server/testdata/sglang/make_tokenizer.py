"""Writes a byte-level tokenizer that transformers loads: make_tokenizer.py DIR"""

import os
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocab = {c: i for i, c in enumerate(alphabet)} | {"<s>": 256, "</s>": 257}
t = Tokenizer(models.BPE(vocab=vocab, merges=[]))
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
os.makedirs(sys.argv[1], exist_ok=True)
fast = PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>")
fast.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
fast.save_pretrained(sys.argv[1])
