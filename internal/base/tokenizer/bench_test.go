package tokenizer

import (
	"strings"
	"testing"
)

// english returns 1 MB of sentences in which most words recur, as in real prompts.
func english() string {
	const text = `The licensee may copy and distribute the work in any medium, provided that each copy carries this notice.
It's the author's wish that you don't remove it; 3 copies (or 1,250) make no difference. If you modify the work,
say so, and say when: "changed on 14 May 2021". We'll not hold you to more than that, and nobody else should.

`
	var b strings.Builder
	for i := 0; b.Len() < 1<<20; i++ {
		b.WriteString(text)
	}
	return b.String()
}

// distinct returns text whose words are all new to any cache.
func distinct() string {
	var b strings.Builder
	const syllables = "lanoritevusakemidogaruphestbincaltrom"
	for i := 0; b.Len() < 1<<20; i++ {
		for n := i*7919 + 104729; n > 0; n /= 35 {
			b.WriteString(syllables[n%35 : n%35+2])
		}
		b.WriteByte(" \n"[i%11/10])
	}
	return b.String()
}

func BenchmarkEncode(b *testing.B) {
	texts := []struct{ name, text string }{
		{"english", english()},
		{"distinct", distinct()},
		{"chinese", strings.Repeat("被许可人可以复制和分发本作品，每份副本须带有本声明。", 1<<20/78)},
		{"one-word", strings.Repeat("thelicenseisthework", 1<<20/19)},
	}
	for _, name := range []string{"llama3", "qwen3"} {
		tok := load(b, name)
		for _, x := range texts {
			b.Run(name+"/"+x.name, func(b *testing.B) {
				b.SetBytes(int64(len(x.text)))
				for b.Loop() {
					tok.Encode(x.text, false)
				}
			})
		}
	}
}

func BenchmarkStream(b *testing.B) {
	tok := load(b, "llama3")
	ids := tok.Encode(english(), false)
	for b.Loop() {
		d := tok.NewDecoder(true)
		for _, id := range ids {
			d.Push(id)
		}
	}
	b.ReportMetric(float64(len(ids)*b.N)/b.Elapsed().Seconds(), "tokens/s")
}
