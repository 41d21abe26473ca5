// Package yamltree parses a YAML or JSON document into a tree whose nodes know their line and column, for use in error
// messages.
package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Kind is the kind of a node.
type Kind int

// Kinds of nodes.
const (
	Null Kind = iota
	Bool
	Int
	Float
	Text
	List
	Map
)

// Node is a value and its position. Lines and columns count from 1.
type Node struct {
	Line, Column int
	Kind         Kind
	Source       string // text of a scalar as written, without quotes
	Quoted       bool   // whether the scalar is explicitly a text: quoted, or a block
	Bool         bool
	Int          int64
	Float        float64 // also set for an Int
	Items        []*Node // elements of a list
	Entries      []Entry // entries of a map, in the order of the file
}

// Entry is a key of a map and its value.
type Entry struct {
	Key          string
	Line, Column int // position of the key
	Value        *Node
}

// Problem is an error in a document.
type Problem struct {
	Line, Column int
	Text         string
}

func (p Problem) Error() string { return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text) }

// MostBytes is the maximum length of a document. It is limited because the parser's time grows with the square of the
// number of keys.
const MostBytes = 256 << 10

// The depth is limited because the parser recurses, and the number of nodes because aliases multiply nodes.
const (
	mostDepth = 100
	mostNodes = 100_000
)

// Parse parses a document. It may return a tree even if there are problems: if a key occurs twice, for example, the
// tree has the first entry. A document without a value yields a node of kind Null.
func Parse(data []byte) (tree *Node, problems []Problem) {
	if len(data) > MostBytes {
		return nil, []Problem{{1, 1, fmt.Sprintf("longer than %d bytes", MostBytes)}}
	}
	// The parser is large and has panicked on odd input. Report a panic as a problem of the document.
	defer func() {
		if r := recover(); r != nil {
			tree, problems = nil, []Problem{{1, 1, "not valid YAML"}}
		}
	}()
	tokens := scan(string(data))
	if p := tooDeep(tokens); p != nil {
		return nil, []Problem{*p}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []Problem{syntax(err)}
	}
	b := builder{anchors: map[string]*Node{}}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if tree != nil {
			b.problem(doc.Body, "a second document begins here; want only one")
			break
		}
		tree = b.node(doc.Body, 0)
	}
	if tree == nil {
		tree = &Node{Line: 1, Column: 1}
	}
	return tree, b.problems
}

// syntax converts an error of the parser to a Problem.
func syntax(err error) Problem {
	p := Problem{1, 1, err.Error()}
	if e, ok := err.(yaml.Error); ok {
		p.Text = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
	}
	return p
}

// tooDeep returns a Problem for input that would overflow the parser's stack: deeply nested brackets, and markers that
// nest on one line ("- - - x").
func tooDeep(tokens token.Tokens) *Problem {
	depth, marks, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType, token.MappingValueType:
			if t.Position.Line != line {
				line, marks = t.Position.Line, 0
			}
			if marks++; t.Type == token.MappingValueType && depth > 0 {
				marks = 0 // the keys of {a: 1, b: 2} on one line do not nest
			}
		}
		if depth > mostDepth || marks > mostDepth {
			return &Problem{t.Position.Line, t.Position.Column, fmt.Sprintf("nested deeper than %d levels", mostDepth)}
		}
	}
	return nil
}

// Plain returns the node's value in the Go types of encoding/json, except that integers are int64.
func (n *Node) Plain() any {
	switch n.Kind {
	case Bool:
		return n.Bool
	case Int:
		return n.Int
	case Float:
		return n.Float
	case Text:
		return n.Source
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Plain()
		}
		return m
	}
	return nil
}
