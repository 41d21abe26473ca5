package tokenizer

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// step is a step of the pre-tokeniser. cut splits s and appends the words.
type step interface {
	cut(words []string, s string) []string
}

// prefixSpace prepends a space to text without one (add_prefix_space).
type prefixSpace struct{}

func (prefixSpace) cut(words []string, s string) []string {
	if !strings.HasPrefix(s, " ") {
		s = " " + s
	}
	return append(words, s)
}

// digits separates numeric characters from other text. If each is set, every numeric character is a word; otherwise
// every run of numeric characters is a word.
type digits struct{ each bool }

func (d digits) cut(words []string, s string) []string {
	from, was := 0, false // s[from:i] is the current word; was is set if the word consists of numeric characters
	for i := 0; i < len(s); {
		c, n := at(s, i)
		is := c == number
		if i > from && (is != was || is && d.each) {
			words = append(words, s[from:i])
			from = i
		}
		was = is
		i += n
	}
	if from < len(s) {
		words = append(words, s[from:])
	}
	return words
}

// split splits at the matches of a regular expression.
type split struct {
	re     *regexp2.Regexp
	how    string // Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext
	invert bool   // whether to swap matches and gaps
}

// span is a byte range of a text.
type span struct {
	from, to int
	match    bool
}

func (p split) cut(words []string, s string) []string {
	if s == "" {
		return words
	}
	spans := p.spans(s)
	var kept []span
	switch p.how {
	case "Removed":
		for _, x := range spans {
			if !x.match {
				kept = append(kept, x)
			}
		}
	case "Contiguous":
		for _, x := range spans {
			if n := len(kept); n > 0 && kept[n-1].match == x.match {
				kept[n-1].to = x.to
			} else {
				kept = append(kept, x)
			}
		}
	case "MergedWithPrevious":
		was := false
		for _, x := range spans {
			if n := len(kept); n > 0 && x.match && !was {
				kept[n-1].to = x.to
			} else {
				kept = append(kept, x)
			}
			was = x.match
		}
	case "MergedWithNext":
		for i, x := range spans {
			if n := len(kept); n > 0 && !x.match && spans[i-1].match {
				kept[n-1].to = x.to
			} else {
				kept = append(kept, x)
			}
		}
	default: // Isolated
		kept = spans
	}
	for _, x := range kept {
		if x.from < x.to {
			words = append(words, s[x.from:x.to])
		}
	}
	return words
}

// Limits of the time for matching a pattern, which comes from a file and may backtrack for ever: for one match, and for
// each rune of the text. Ordinary patterns take a thousandth of this.
const (
	matchTime   = 5 * time.Second
	timePerRune = 100 * time.Microsecond
)

// spans splits s into matches and the gaps between them. If matching takes too long, the rest of s is one gap.
func (p split) spans(s string) []span {
	// The engine counts in runes, and an invalid byte counts as one rune.
	runes := []rune(s)
	var spans []span
	done, last := 0, -1 // bytes already covered; end of the last match
	pos, posRune := 0, 0
	bytesAt := func(r int) int {
		for ; posRune < r; posRune++ {
			_, n := utf8.DecodeRuneInString(s[pos:])
			pos += n
		}
		return pos
	}
	until := time.Now().Add(matchTime + time.Duration(len(runes))*timePerRune)
	m, err := p.re.FindRunesMatch(runes)
	for ; m != nil && err == nil && time.Now().Before(until); m, err = p.re.FindNextMatch(m) {
		from, to := bytesAt(m.Index), bytesAt(m.Index+m.Length)
		if from == to && from == last {
			continue // ignore an empty match directly after another match
		}
		last = to
		if done < from {
			spans = append(spans, span{done, from, p.invert})
		}
		spans = append(spans, span{from, to, !p.invert})
		done = to
	}
	if done < len(s) {
		spans = append(spans, span{done, len(s), p.invert})
	}
	return spans
}

// newSplit returns a hand-written scanner if the pattern has one.
func newSplit(pattern, how string, invert bool) (step, error) {
	if next, ok := scanners[pattern]; ok && (how == "Isolated" || how == "Removed" && invert) {
		return next, nil
	}
	// In Oniguruma ^ and $ match at the start and end of every line.
	re, err := regexp2.Compile(pattern, regexp2.Multiline)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchTime
	return split{re, how, invert}, nil
}
