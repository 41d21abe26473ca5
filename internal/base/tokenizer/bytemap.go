package tokenizer

// GPT-2 writes a token's bytes as visible characters, so that a vocabulary is valid JSON. Bytes that are printable in
// Latin-1 map to themselves; the other 68 bytes map, in order, to the characters from U+0100 on (a space becomes Ġ).
// Source: bytes_to_unicode of https://github.com/openai/gpt-2/blob/master/src/encoder.py.
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

// decodeMapped converts the written form of a token to its bytes. ok is false if a character does not represent a byte.
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

// decodeToken decodes a token in the same way as the reference's ByteLevel decoder. If a token has a character that
// does not represent a byte, such as a space in an added token, the bytes are those of the token's text.
func decodeToken(token string) []byte {
	if b, ok := decodeMapped(token); ok {
		return b
	}
	return []byte(token)
}
