package tokenizer

// GPT-2 writes a token's bytes as visible characters, so that a vocabulary is valid JSON. Bytes that are printable in
// Latin-1 map to themselves; the 68 others map to U+0100 and on in order (a space is Ġ). Source: bytes_to_unicode of
// https://github.com/openai/gpt-2/blob/master/src/encoder.py.
var (
	byteToRune [256]rune
	runeToByte = map[rune]byte{}
)

func init() {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !('!' <= r && r <= '~' || '¡' <= r && r <= '¬' || '®' <= r && r <= 'ÿ') {
			r = next
			next++
		}
		byteToRune[b] = r
		runeToByte[r] = byte(b)
	}
}

// decodeMapped converts the written form of a token to its bytes. ok is false if a character maps to no byte.
func decodeMapped(token string) (b []byte, ok bool) {
	b = make([]byte, 0, len(token))
	for _, r := range token {
		v, ok := runeToByte[r]
		if !ok {
			return nil, false
		}
		b = append(b, v)
	}
	return b, true
}

// decodeToken decodes a token like the reference's ByteLevel decoder. A token with characters outside the alphabet,
// such as an added token with a space, is taken literally.
func decodeToken(token string) []byte {
	if b, ok := decodeMapped(token); ok {
		return b
	}
	return []byte(token)
}
