package yamltree

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func dump(n *Node) string {
	at := fmt.Sprintf("@%d:%d", n.Line, n.Column)
	switch n.Kind {
	case Null:
		return "null" + at
	case List:
		var s []string
		for _, i := range n.Items {
			s = append(s, dump(i))
		}
		return "[" + strings.Join(s, " ") + "]" + at
	case Map:
		var s []string
		for _, e := range n.Entries {
			s = append(s, fmt.Sprintf("%s@%d:%d=%s", e.Key, e.Line, e.Column, dump(e.Value)))
		}
		return "{" + strings.Join(s, " ") + "}" + at
	case Text:
		return fmt.Sprintf("%q%s", n.Source, at)
	}
	return fmt.Sprintf("%v%s", n.Plain(), at)
}

// Each node knows its place, and values follow YAML's rules.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "null@1:1"},
		{"# only a remark\n", "null@1:1"},
		{"a: 1\nb:\n  c: x # why\n  d: [1, 2.5, true, null, \"s\"]\n",
			`{a@1:1=1@1:4 b@2:1={c@3:3="x"@3:6 d@4:3=[1@4:7 2.5@4:10 true@4:15 null@4:21 "s"@4:27]@4:6}@3:3}@1:1`},
		{"a:\n- x\n- y: 1\n  z:\n", `{a@1:1=["x"@2:3 {y@3:3=1@3:6 z@4:3=null@4:6}@3:3]@2:1}@1:1`},
		{"a: {b: 1, c}\n", `{a@1:1={b@1:5=1@1:8 c@1:11=null@1:12}@1:4}@1:1`},
		{"a: &x {k: 1}\nb: *x\n", `{a@1:1={k@1:8=1@1:11}@1:7 b@2:1={k@1:8=1@1:11}@1:7}@1:1`},
		{"x: &x\n  k: 1\n  l: 2\ny:\n  <<: *x\n  l: 3\n", `{x@1:1={k@2:3=1@2:6 l@3:3=2@3:6}@2:3 y@4:1={l@6:3=3@6:6 k@2:3=1@2:6}@5:3}@1:1`},
		{"a: !!str 12\n? b\n: |\n  text\n", `{a@1:1="12"@1:4 b@2:3="text\n"@3:3}@1:1`},
		{`{"a": [0x10, -3, 1.0e3], "b": "c"}`, `{a@1:2=[16@1:8 -3@1:14 1000@1:18]@1:7 b@1:26="c"@1:31}@1:1`},
		{"1: a\ntrue: b\n0.5.5: c\n", `{1@1:1="a"@1:4 true@2:1="b"@2:7 0.5.5@3:1="c"@3:8}@1:1`},
	} {
		tree, problems := Parse([]byte(c.text))
		if problems != nil || dump(tree) != c.want {
			t.Errorf("%q:\n got %s %v\nwant %s", c.text, dump(tree), problems, c.want)
		}
	}
}

// Errors give their place; the valid parts around them are still read.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: 2\na: 3\n", "3:1: a appears twice; the first is in line 1"},
		{"a: [1, 2\nb: 3\n", "2:1: ',' or ']' must be specified"},
		{"a: 1\n\tb: 2\n", "2:1: "},
		{"a: *x\n", "1:4: unknown anchor &x"},
		{"a: 1\n---\nb: 2\n", "3:1: a second document begins here; want only one"},
		{"a: !python/object x\n", "1:4: the tag !python/object is not allowed here"},
		{"[a]: x\n", "1:4: found an invalid key"},
		{"a:\n  <<: 3\n", "2:3: << needs a map or a list of maps"},
		{strings.Repeat("[", 1000), "1:101: nested deeper than 100 levels"},
		{strings.Repeat("- ", 100_000), "1:201: nested deeper than 100 levels"},
		{strings.Repeat("{a: ", 50_000), ": nested deeper than 100 levels"},
		{strings.Repeat(" ", MostBytes+1), "1:1: longer than 262144 bytes"},
	} {
		_, problems := Parse([]byte(c.text))
		if len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.text, problems, c.want)
		}
	}
}

// Aliases of aliases do not grow without bound.
func TestAliasesGrow(t *testing.T) {
	var text strings.Builder
	text.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&text, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	began := time.Now()
	_, problems := Parse([]byte(text.String()))
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "too large") || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", problems, time.Since(began))
	}
}

// FuzzParse: no input causes a crash, and every node has a place.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a: 1\n", "a: &x {k: [1, -2.5e3]}\nb: *x\n", "? a\n: |\n  t\n", "<<: *x", "- - !!str 1\n", "%YAML 1.2\n---\na", "a: {b, c}\n...\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, problems := Parse(data)
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Text == "" {
				t.Errorf("%q: %#v", data, p)
			}
		}
		if tree == nil {
			if len(problems) == 0 {
				t.Errorf("%q: neither a tree nor a problem", data)
			}
			return
		}
		tree.Plain()
	})
}
