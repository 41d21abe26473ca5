package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is one entry of added_tokens. https://huggingface.co/docs/tokenizers/api/added-tokens
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // matches only without an adjacent word character
	LStrip     bool   `json:"lstrip"`      // includes the white space before the token
	RStrip     bool   `json:"rstrip"`      // includes the white space after the token
	Normalized *bool  `json:"normalized"`  // searched in normalised text; absent: true unless special
	Special    bool   `json:"special"`
}

// matcher is a trie of bytes that finds added tokens in a text. It finds the leftmost token. If several tokens begin at
// the same position, it finds the longest of them.
type matcher struct {
	nodes  []trieNode // nodes[0] is the root; empty: nothing to find
	first  [256]bool  // whether each byte begins a token
	only   byte       // first byte of all tokens, if they have the same first byte
	single bool
}

type trieNode struct {
	edges []trieEdge
	token *addedToken // token that ends here, or nil
}

type trieEdge struct {
	b  byte
	to int32
}

// add adds text to the matcher as an occurrence of tok.
func (m *matcher) add(text string, tok *addedToken) {
	if text == "" {
		return
	}
	if m.nodes == nil {
		m.nodes = make([]trieNode, 1)
		m.only, m.single = text[0], true
	}
	m.first[text[0]] = true
	m.single = m.single && m.only == text[0]
	at := int32(0)
	for i := range len(text) {
		to := m.step(at, text[i])
		if to < 0 {
			to = int32(len(m.nodes))
			m.nodes = append(m.nodes, trieNode{})
			m.nodes[at].edges = append(m.nodes[at].edges, trieEdge{text[i], to})
		}
		at = to
	}
	m.nodes[at].token = tok
}

func (m *matcher) step(at int32, b byte) int32 {
	for _, e := range m.nodes[at].edges {
		if e.b == b {
			return e.to
		}
	}
	return -1
}

// next finds the first token at or after i. tok is nil if there is none.
func (m *matcher) next(s string, i int) (start, end int, tok *addedToken) {
	for ; i < len(s); i++ {
		if m.single {
			n := strings.IndexByte(s[i:], m.only)
			if n < 0 {
				break
			}
			i += n
		} else if !m.first[s[i]] {
			continue
		}
		at := int32(0)
		for j := i; j < len(s); j++ {
			if at = m.step(at, s[j]); at < 0 {
				break
			}
			if t := m.nodes[at].token; t != nil {
				end, tok = j+1, t
			}
		}
		if tok != nil {
			return i, end, tok
		}
	}
	return 0, 0, nil
}

// split calls emit for the parts of s in order: added tokens with their ids, and the text between them with id [None].
func (m *matcher) split(s string, emit func(text string, id int32)) {
	done := 0 // s[:done] has been emitted
	for i := 0; m.nodes != nil; {
		start, end, tok := m.next(s, i)
		if tok == nil {
			break
		}
		i = end
		if tok.SingleWord {
			before, _ := utf8.DecodeLastRuneInString(s[:start])
			after, _ := utf8.DecodeRuneInString(s[end:])
			if start > 0 && isWord(before) || end < len(s) && isWord(after) {
				continue
			}
		}
		if tok.LStrip {
			// The previous token may already include the space.
			start = max(len(strings.TrimRightFunc(s[:start], unicode.IsSpace)), done)
		}
		if tok.RStrip {
			end = len(s) - len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))
		}
		if done < start {
			emit(s[done:start], None)
		}
		emit(s[start:end], tok.ID)
		done = end
	}
	if done < len(s) {
		emit(s[done:], None)
	}
}

// isWord reports whether r matches \w of Unicode Technical Standard 18, annex C.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || r == '\u200C' || r == '\u200D' ||
		unicode.In(r, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic)
}
