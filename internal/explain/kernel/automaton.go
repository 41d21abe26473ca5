package kernel

import (
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
)

// automaton matches many patterns in one pass over a text, whereas regexp needs one pass per pattern. It is a
// deterministic automaton for all patterns together, with states created on first use. A test compares its results with
// those of regexp.
type automaton struct {
	mu      sync.Mutex
	code    []inst
	starts  []uint32
	symbols [utf8.RuneSelf]uint8 // class of each ASCII character
	fold    map[rune]uint8       // classes of other characters that some pattern distinguishes
	other   uint8                // class of all remaining characters
	runes   []rune               // one character of each class
	states  []node
	byKey   map[string]int32
	mark    []uint32 // for each instruction in code, the last closure that contained it
	now     uint32
}

// inst is an instruction of a pattern.
type inst struct {
	syntax.Inst
	out, arg uint32 // indices in code
	pattern  uint64 // bit of the pattern that matches
}

// node is a state: a set of instructions, as indices in code, and the preceding rune.
type node struct {
	pcs  []uint32
	prev rune
	next []edge // next state for each class; the last element is for the end of the text
}

type edge struct {
	to    int32 // next state; 0: not yet
	found uint64
}

// mostStates limits the memory of the automaton. When it has more states, all states are discarded.
const mostStates = 1 << 13

// others lists the non-ASCII runes that ASCII patterns can match, because case folding maps these runes to K and s.
var others = []rune{'\u017f', '\u212a'}

// newAutomaton returns an automaton for at most 64 patterns.
func newAutomaton(patterns []string) *automaton {
	a := &automaton{fold: map[rune]uint8{}}
	for i, p := range patterns {
		re, err := syntax.Parse(p, syntax.Perl)
		if err != nil {
			panic(err) // the built-in table is invalid
		}
		prog, err := syntax.Compile(re.Simplify())
		if err != nil {
			panic(err)
		}
		base := uint32(len(a.code))
		a.starts = append(a.starts, base+uint32(prog.Start))
		for _, x := range prog.Inst {
			a.code = append(a.code, inst{x, base + x.Out, base + x.Arg, 1 << i})
		}
	}
	a.mark = make([]uint32, len(a.code))
	a.classes()
	a.begin()
	return a
}

// classes assigns runes to classes. Runes that no pattern distinguishes are in the same class.
func (a *automaton) classes() {
	ids := map[string]uint8{}
	class := func(r rune) uint8 {
		key := []byte{0}
		if syntax.IsWordChar(r) {
			key[0] = 1
		}
		for i := range a.code {
			if x := &a.code[i]; takes(x, r) {
				key = binary.AppendUvarint(key, uint64(i))
			}
		}
		id, ok := ids[string(key)]
		if !ok {
			id = uint8(len(ids))
			ids[string(key)] = id
			a.runes = append(a.runes, r)
		}
		return id
	}
	for c := range rune(utf8.RuneSelf) {
		a.symbols[c] = class(c)
	}
	for _, r := range others {
		a.fold[r] = class(r)
	}
	a.other = class(utf8.RuneError)
}

// takes reports whether an instruction matches the rune.
func takes(x *inst, r rune) bool {
	switch x.Op {
	case syntax.InstRune, syntax.InstRune1:
		return x.MatchRune(r)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return false
}

// begin discards all states and creates the initial state. State 0 is unused.
func (a *automaton) begin() {
	a.states, a.byKey = make([]node, 1, 64), map[string]int32{}
	a.state(nil, -1)
}

func (a *automaton) state(pcs []uint32, prev rune) int32 {
	key := binary.AppendVarint(nil, int64(prev))
	for _, pc := range pcs {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	id, ok := a.byKey[string(key)]
	if !ok {
		id = int32(len(a.states))
		a.byKey[string(key)] = id
		a.states = append(a.states, node{pcs, prev, make([]edge, len(a.runes)+1)})
	}
	return id
}

// find returns the set of patterns that match text, with one bit per pattern.
func (a *automaton) find(text string) (found uint64) {
	at := int32(1)
	for i := 0; i < len(text); {
		class, n := a.other, 1
		if c := text[i]; c < utf8.RuneSelf {
			class = a.symbols[c]
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(text[i:])
			if other, ok := a.fold[r]; ok {
				class = other
			}
		}
		i += n
		e := a.states[at].next[class]
		if e.to == 0 {
			e = a.step(at, int(class))
		}
		found |= e.found
		at = e.to
	}
	e := a.states[at].next[len(a.runes)]
	if e.to == 0 {
		e = a.step(at, len(a.runes))
	}
	return found | e.found
}

// step computes the edge from a state for a class.
func (a *automaton) step(from int32, class int) edge {
	s := a.states[from]
	r := rune(-1)
	if class < len(a.runes) {
		r = a.runes[class]
	}
	holds := syntax.EmptyOpContext(s.prev, r)
	var next []uint32
	var e edge
	a.now++
	var follow func(pc uint32)
	follow = func(pc uint32) {
		if a.mark[pc] == a.now {
			return
		}
		a.mark[pc] = a.now
		x := &a.code[pc]
		switch x.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			follow(x.out)
			follow(x.arg)
		case syntax.InstNop, syntax.InstCapture:
			follow(x.out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(x.Arg)&^holds == 0 {
				follow(x.out)
			}
		case syntax.InstMatch:
			e.found |= x.pattern
		default:
			if r >= 0 && takes(x, r) {
				next = append(next, x.out)
			}
		}
	}
	for _, pc := range s.pcs {
		follow(pc)
	}
	for _, pc := range a.starts {
		follow(pc)
	}
	if r < 0 {
		e.to = 1
		a.states[from].next[class] = e
		return e
	}
	slices.Sort(next)
	prev := ' '
	if syntax.IsWordChar(r) {
		prev = 'a'
	}
	full := len(a.states) >= mostStates
	if full {
		a.begin()
	}
	e.to = a.state(slices.Compact(next), prev)
	if !full {
		a.states[from].next[class] = e
	}
	return e
}

// first returns the index of the first pattern found, or -1.
func first(found uint64) int {
	if found == 0 {
		return -1
	}
	return bits.TrailingZeros64(found)
}
