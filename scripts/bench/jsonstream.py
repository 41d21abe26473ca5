"""Read a Chrome trace event by event with the standard library, in constant memory.

Every byte of the document goes through json.JSONDecoder, so a document that is not valid JSON is an error.
"""

import json
import re

CHUNK_CHARS = 4 << 20


class Window:
    """A view on the unread part of a text stream: `text` from index `at` on."""

    def __init__(self, stream):
        self.stream = stream
        self.text = ""
        self.at = 0
        self.ended = False
        # Floats stay text: a ts has 16 digits and is wanted exactly.
        self.decoder = json.JSONDecoder(parse_float=str)

    def fill(self):
        """Read one more chunk and forget what was consumed."""
        chunk = self.stream.read(CHUNK_CHARS)
        self.ended = not chunk
        self.text = self.text[self.at :] + chunk
        self.at = 0

    def peek(self):
        """Skip white space; return the next character, or "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.fill()

    def expect(self, character):
        found = self.peek()
        if found != character:
            raise ValueError(f"found {found!r} where {character!r} must stand")
        self.at += 1

    def value(self):
        """Decode one whole value."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
                # A number that touches the end of the window may go on in the next chunk.
                if end < len(self.text) or self.ended:
                    self.at = end
                    return value
            except json.JSONDecodeError:
                if self.ended:
                    raise
            self.fill()

    def members(self, closing):
        """Yield once before each member of the array or object that `closing` ends, and consume commas and the end."""
        if self.peek() == closing:
            self.at += 1
            return
        while True:
            yield
            if self.peek() != ",":
                self.expect(closing)
                return
            self.at += 1


def events_of(stream):
    """Yield the events of a trace, and read the rest of the document too."""
    window = Window(stream)
    window.expect("{")
    for _ in window.members("}"):
        key = window.value()
        window.expect(":")
        if key != "traceEvents":
            window.value()
            continue
        window.expect("[")
        for _ in window.members("]"):
            yield window.value()
    if window.peek():
        raise ValueError("text after the end of the document")


def find_integer(stream, key):
    """Return the first integer that stands behind "key" anywhere in the stream, or None.

    The base time may come before or after the events, and is needed before the first one.
    """
    pattern = re.compile(rf'"{re.escape(key)}"\s*:\s*(-?\d+)\b')
    kept = ""
    while chunk := stream.read(CHUNK_CHARS):
        text = kept + chunk
        if match := pattern.search(text):
            return int(match.group(1))
        kept = text[-len(key) - 64 :]
    return None
