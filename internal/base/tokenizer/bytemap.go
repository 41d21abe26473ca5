package tokenizer

// GPT-2 writes a token's bytes as visible characters, so that a vocabulary is
// valid JSON: the bytes that print in Latin-1 stand for themselves, the 68
// others are U+0100 and on in order (a space is Ġ). Source: bytes_to_unicode of
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

// decodeMapped turns the written form of a token into its bytes; ok is false if
// it holds a character that stands for no byte.
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

// decodeToken is what the reference's ByteLevel decoder makes of a token. One
// that is not wholly in the alphabet, as an added token with a space in it,
// stands for itself.
func decodeToken(token string) []byte {
	if b, ok := decodeMapped(token); ok {
		return b
	}
	return []byte(token)
}
