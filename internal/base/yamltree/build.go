package yamltree

import (
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// scan splits a document into tokens.
func scan(text string) token.Tokens { return lexer.Tokenize(text) }

// builder builds a tree from the parser's nodes. It resolves aliases, merges the maps of merge keys (<<), and applies
// text tags.
type builder struct {
	anchors  map[string]*Node
	nodes    int
	full     bool // whether a limit is exceeded; the rest is then not read
	problems []Problem
}

// place returns the position of a parser node in the document.
func place(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // the token of the map node is the colon
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		n = m.Key
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	return 1, 1
}

func (b *builder) problem(at ast.Node, format string, args ...any) {
	if b.full {
		return
	}
	line, column := place(at)
	b.problems = append(b.problems, Problem{line, column, fmt.Sprintf(format, args...)})
}

// node converts a parser node. depth is the nesting depth of the node in aliases, tags and collections.
func (b *builder) node(from ast.Node, depth int) *Node {
	out := &Node{Line: 1, Column: 1}
	if from == nil {
		return out
	}
	out.Line, out.Column = place(from)
	if b.nodes++; b.nodes > mostNodes || depth > 10*mostDepth {
		b.problem(from, "too large: more than %d values, or %d levels", mostNodes, 10*mostDepth)
		b.full = true
	}
	if b.full {
		return out
	}
	switch from := from.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		out.Kind = Map
		b.entries(out, from.Values, depth)
	case *ast.MappingValueNode:
		out.Kind = Map
		b.entries(out, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		out.Kind = List
		for _, v := range from.Values {
			out.Items = append(out.Items, b.node(v, depth+1))
		}
	case *ast.AnchorNode:
		value := b.node(from.Value, depth+1)
		b.anchors[from.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		name := from.Value.GetToken().Value
		value, ok := b.anchors[name]
		if !ok {
			b.problem(from, "unknown anchor &%s", name)
			return out
		}
		b.nodes += value.size()
		return value
	case *ast.TagNode:
		return b.tagged(from, depth)
	default:
		b.scalar(out, from)
	}
	return out
}

// size returns the number of nodes of a tree.
func (n *Node) size() int {
	size := 1
	for _, item := range n.Items {
		size += item.size()
	}
	for _, e := range n.Entries {
		size += e.Value.size()
	}
	return size
}

// scalar converts a node that is not a collection.
func (b *builder) scalar(out *Node, from ast.Node) {
	t := from.GetToken()
	out.Kind, out.Source = Text, t.Value
	switch from := from.(type) {
	case *ast.StringNode:
		out.Source = from.Value
		out.Quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		out.Source, out.Quoted = from.Value.Value, true
	case *ast.BoolNode:
		out.Kind, out.Bool = Bool, from.Value
	case *ast.IntegerNode:
		out.Kind = Int
		switch v := from.Value.(type) {
		case int64:
			out.Int, out.Float = v, float64(v)
		case uint64:
			if out.Int, out.Float = int64(v), float64(v); v > math.MaxInt64 {
				out.Kind = Float
			}
		default:
			b.problem(from, "%q is not a valid number", t.Value)
		}
	case *ast.FloatNode:
		out.Kind, out.Float = Float, from.Value
	case *ast.InfinityNode:
		out.Kind, out.Float = Float, from.Value
	case *ast.NanNode:
		out.Kind, out.Float = Float, math.NaN()
	default:
		b.problem(from, "%s is not allowed here", strings.ToLower(from.Type().YAMLName()))
	}
}

// tagged converts a value with a tag. Only the tags of YAML's own types are supported.
func (b *builder) tagged(from *ast.TagNode, depth int) *Node {
	tag := from.Start.Value
	value := b.node(from.Value, depth+1)
	switch tag {
	case "!!str":
		if value.Kind == List || value.Kind == Map {
			b.problem(from, "!!str needs text")
			break
		}
		line, column := place(from)
		return &Node{Line: line, Column: column, Kind: Text, Source: value.Source, Quoted: true}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
	default:
		b.problem(from, "the tag %s is not allowed here", tag)
	}
	return value
}

// entries adds the entries of a map. Entries from a merge key come last, and explicit entries override them.
func (b *builder) entries(out *Node, values []*ast.MappingValueNode, depth int) {
	has := map[string]int{}
	var merged []*Node
	for _, v := range values {
		value := b.node(v.Value, depth+1)
		if v.Key.IsMergeKey() {
			for _, m := range mergeable(value) {
				if m.Kind != Map {
					b.problem(v.Key, "<< needs a map or a list of maps")
					continue
				}
				merged = append(merged, m)
			}
			continue
		}
		key := b.node(keyOf(v.Key), depth+1)
		line, column := key.Line, key.Column
		if key.Kind == List || key.Kind == Map {
			b.problem(v.Key, "a key must be text")
			continue
		}
		if first, twice := has[key.Source]; twice {
			b.problem(v.Key, "%s appears twice; the first is in line %d", key.Source, first)
			continue
		}
		has[key.Source] = line
		out.Entries = append(out.Entries, Entry{key.Source, line, column, value})
	}
	for _, m := range merged {
		for _, e := range m.Entries {
			if _, ok := has[e.Key]; !ok {
				has[e.Key] = e.Line
				out.Entries = append(out.Entries, e)
			}
		}
	}
}

func mergeable(n *Node) []*Node {
	if n.Kind == List {
		return n.Items
	}
	return []*Node{n}
}

// keyOf returns a key without the optional "? " before the key.
func keyOf(key ast.MapKeyNode) ast.Node {
	if k, ok := key.(*ast.MappingKeyNode); ok {
		return k.Value
	}
	return key
}
