package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/view/timeline"
)

// pack holds the answers in an exported page within a size limit. The keys are the addresses that the page requests.
// Answers that are used together are compressed together in a block, which the page decompresses when it first needs
// one of these answers:
//
//	block 0    JSON: [address, block, offset, length] of each answer, in bytes of the decompressed block
//	block n    the answers, concatenated
//
// Each block is compressed by gzip and encoded in base64.
type pack struct {
	left   int
	blocks []string
	sized  map[[sha256.Size]byte]string // blocks that were only sized, by the hash of their text
	index  [][4]any
}

// indexBytes is the approximate compressed size of an answer's entry in block 0. It is small because most addresses
// have much text in common.
const indexBytes = 24

// Left returns the number of bytes left.
func (p *pack) Left() int { return p.left }

// under makes a pack usable as a timeline.Pack.
type under struct{ *pack }

// Add adds answers of the timeline. Their paths are relative to timeline/.
func (p under) Add(leave int, answers ...timeline.Answer) bool {
	own := make([]timeline.Answer, len(answers))
	for i, a := range answers {
		path, query, _ := strings.Cut(a.What, "?")
		v, _ := url.ParseQuery(query) // valid, since this program generated it
		own[i] = timeline.Answer{What: address("timeline/"+path, v), Of: a.Of}
	}
	return p.pack.Add(leave, own...)
}

// Size returns the number of bytes that answers would take as one block.
func (p *pack) Size(answers ...timeline.Answer) int {
	block, _, sum := p.block(answers)
	if p.sized == nil {
		p.sized = map[[sha256.Size]byte]string{}
	}
	p.sized[sum] = block
	return len(block) + len(`"",`) + indexBytes*len(answers)
}

// block returns answers as a block, and their entries in block 0.
func (p *pack) block(answers []timeline.Answer) (string, [][4]any, [sha256.Size]byte) {
	var whole []byte
	at := make([][4]any, len(answers))
	for i, a := range answers {
		text, ok := a.Of.([]byte)
		if !ok {
			text, _ = json.Marshal(a.Of) // cannot fail for plain values
		}
		at[i] = [4]any{a.What, len(p.blocks) + 1, len(whole), len(text)}
		whole = append(whole, text...)
	}
	sum := sha256.Sum256(whole)
	block, known := p.sized[sum]
	if !known {
		block = compressed(whole)
	}
	return block, at, sum
}

// Add adds answers as one block if at least leave bytes then remain free; otherwise it adds none of them.
func (p *pack) Add(leave int, answers ...timeline.Answer) bool {
	block, at, _ := p.block(answers)
	takes := len(block) + len(`"",`) + indexBytes*len(answers)
	if p.left-takes < leave {
		return false
	}
	p.left -= takes
	p.blocks, p.index = append(p.blocks, block), append(p.index, at...)
	return true
}

// JSON returns the list of blocks as JSON.
func (p *pack) JSON() []byte {
	index, _ := json.Marshal(p.index)
	text, _ := json.Marshal(append([]string{compressed(index)}, p.blocks...))
	return text
}

func compressed(text []byte) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	z.Write(text)
	z.Close() // writes to a buffer cannot fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// address formats a request in the same way as the page does (ui/src/api.ts). Parameters are sorted by name and encoded
// by the rules of URLSearchParams, which escapes fewer characters than Go.
func address(path string, v url.Values) string {
	text := "api/" + path
	if query := v.Encode(); query != "" {
		text += "?" + strings.NewReplacer("%2A", "*", "~", "%7E").Replace(query)
	}
	return text
}
