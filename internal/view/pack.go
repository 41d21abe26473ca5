package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/internal/view/timeline"
)

// A pack is the answers that stand in an exported page, by the addresses that the page asks for, within so many bytes.
// Answers that are used together are compressed together; the page opens a block when it needs one of them:
//
//	block 0    JSON: [address, block, offset, length] of each answer, in the bytes of the block once it is opened
//	block n    the answers, one after the other
//
// each compressed by gzip and written in base64.
type pack struct {
	left   int
	blocks []string
	index  [][4]any
}

// indexBytes is about what an answer takes in block 0, on paper; names of spans come in long lists of like ones.
const indexBytes = 24

// Left is how many bytes are left.
func (p *pack) Left() int { return p.left }

// under gives the timeline's part of a pack.
type under struct{ *pack }

// Add takes answers of the timeline.
func (p under) Add(leave int, answers ...timeline.Answer) bool {
	own := make([]timeline.Answer, len(answers))
	for i, a := range answers {
		path, query, _ := strings.Cut(a.What, "?")
		v, _ := url.ParseQuery(query) // it is ours
		own[i] = timeline.Answer{What: address("timeline/"+path, v), Of: a.Of}
	}
	return p.pack.Add(leave, own...)
}

// Add takes answers as one block, if so many bytes are left after it; else it takes none of them.
func (p *pack) Add(leave int, answers ...timeline.Answer) bool {
	var whole []byte
	at := make([][4]any, len(answers))
	for i, a := range answers {
		text, ok := a.Of.([]byte)
		if !ok {
			text, _ = json.Marshal(a.Of) // plain values
		}
		at[i] = [4]any{a.What, len(p.blocks) + 1, len(whole), len(text)}
		whole = append(whole, text...)
	}
	block := compressed(whole)
	takes := len(block) + len(`"",`) + indexBytes*len(answers)
	if p.left-takes < leave {
		return false
	}
	p.left -= takes
	p.blocks, p.index = append(p.blocks, block), append(p.index, at...)
	return true
}

// JSON is the list of blocks.
func (p *pack) JSON() []byte {
	index, _ := json.Marshal(p.index)
	text, _ := json.Marshal(append([]string{compressed(index)}, p.blocks...))
	return text
}

func compressed(text []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close() // a buffer takes all
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// address is how the page writes a question (ui/src/api.ts): parameters in the order of their names, by the rules of
// URLSearchParams, which leave other characters as they are than Go does.
func address(path string, v url.Values) string {
	text := "api/" + path
	if query := v.Encode(); query != "" {
		text += "?" + strings.NewReplacer("%2A", "*", "~", "%7E").Replace(query)
	}
	return text
}
