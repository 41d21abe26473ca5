package chromejson

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzScanner checks that the fast and the general path give the same result for any text and any block edges.
func FuzzScanner(f *testing.F) {
	for i, c := range oddTexts {
		f.Add([]byte(c.text), uint8(i), uint8(i*3))
	}
	f.Add(sample(f), uint8(100), uint8(40))
	f.Add([]byte("["+strings.Repeat(span(gemmLine, "1", "2", `"External id": 1, "correlation": 2, "grid": [1]`)+",", 4)), uint8(100), uint8(200)) // with a shape
	f.Fuzz(func(t *testing.T, text []byte, block, headroom uint8) {
		if len(text) > 16<<10 {
			return
		}
		lim := defaultLimits
		if block%4 == 0 { // makes elements too large and guesses too short
			lim.element, lim.guess = 200+int(headroom), 100
		}
		want := collect(t, bytes.NewReader(text), lim, true)
		if want.Stats.Bytes != int64(len(text)) && want.Stats.End.Offset > 0 {
			t.Fatalf("read %d bytes of %d", want.Stats.Bytes, len(text))
		}
		small, least := lim, lim
		small.block, small.headroom = 1+int(block), int(headroom)
		least.block, least.headroom = tiny.block, tiny.headroom
		for name, got := range map[string]reading{
			"fast":         collect(t, bytes.NewReader(text), lim, false),
			"small blocks": collect(t, bytes.NewReader(text), small, false),
			"one byte":     collect(t, iotest.OneByteReader(bytes.NewReader(text)), least, false),
		} {
			if want.Stats.Events == 0 && want.Stats.End.Offset == 0 {
				got.Stats.Bytes, got.Stats.End.Lost = want.Stats.Bytes, want.Stats.End.Lost // not a document: not read to its end
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\n got %+v\nwant %+v", name, got, want)
			}
		}
	})
}

// jsonMembers lists the members of an object in file order, by encoding/json.
func jsonMembers(t *testing.T, object []byte) (keys []string, values []json.RawMessage) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		keys, values = append(keys, k.(string)), append(values, v)
	}
	return keys, values
}

// validText returns text with every broken byte replaced, as clean does it.
func validText(b []byte) string { return string([]rune(string(b))) }

// wantEvent returns the event as encoding/json reads the element.
func wantEvent(t *testing.T, raw []byte) seen {
	t.Helper()
	w := seen{Raw: validText(raw)}
	keys, values := jsonMembers(t, raw)
	for i, k := range keys {
		v := validText(values[i])
		var at *string
		switch k {
		case "ph":
			if w.Ph == 0 && len(v) == 3 && v[0] == '"' {
				w.Ph = v[1]
			}
			continue
		case "cat":
			at = &w.Cat
		case "name":
			at = &w.Name
		case "pid":
			at = &w.PID
		case "tid":
			at = &w.TID
		case "ts":
			at = &w.TS
		case "dur":
			at = &w.Dur
		case "id":
			at = &w.ID
		case "args":
			at = &w.Args
			if w.Args == "" && v[0] == '{' {
				names, args := jsonMembers(t, values[i])
				for j, n := range names {
					if id := argKey([]byte(n)); id != 0 {
						w.Known += strconv.Itoa(int(id)) + ":" + validText(args[j]) + " "
					}
				}
			}
		default:
			continue
		}
		if *at == "" {
			*at = v
		}
	}
	return w
}

var placeInKnown = regexp.MustCompile(`@\d+ `)

// FuzzAgainstJSON compares with encoding/json on texts that it accepts.
func FuzzAgainstJSON(f *testing.F) {
	for _, c := range oddTexts {
		if json.Valid([]byte(c.text)) {
			f.Add([]byte(c.text))
		}
	}
	f.Add(sample(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		// Unlike encoding/json, nesting is bounded, and keys are compared as written.
		if !json.Valid(text) || bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxDepth ||
			bytes.Contains(text, []byte(`\u`)) {
			return
		}
		var want []seen
		var meta []pair
		var skipped int64
		elements := func(array []byte) {
			var list []json.RawMessage
			if err := json.Unmarshal(array, &list); err != nil {
				t.Fatal(err)
			}
			for _, raw := range list {
				if raw[0] == '{' {
					want = append(want, wantEvent(t, raw))
				} else {
					skipped++
				}
			}
		}
		switch bytes.TrimSpace(text)[0] {
		case '[':
			elements(text)
		case '{':
			keys, values := jsonMembers(t, text)
			for i, k := range keys {
				if k == "traceEvents" && values[i][0] == '[' {
					elements(values[i])
				} else {
					meta = append(meta, pair{k, validText(values[i])})
				}
			}
		default:
			return
		}
		got := collect(t, bytes.NewReader(text), defaultLimits, false)
		st := got.Stats
		if !st.End.Complete || st.End.Lost != 0 || st.Repaired != 0 || st.Skipped != skipped || (st.Cleaned > 0) == utf8.Valid(text) && skipped == 0 {
			t.Fatalf("stats %+v; want all of it and %d skipped", st, skipped)
		}
		if len(got.Events) != len(want) || len(got.Meta) != len(meta) {
			t.Fatalf("%d events and %d members; want %d and %d", len(got.Events), len(got.Meta), len(want), len(meta))
		}
		for i, g := range got.Events {
			w := want[i]
			have := seen{
				Ph: g.Ph, Cat: g.Cat, Name: g.Name, PID: g.PID, TID: g.TID, TS: g.TS, Dur: g.Dur, ID: g.ID,
				Args: g.Args, Raw: g.Raw, Known: placeInKnown.ReplaceAllString(g.Known, " "),
			}
			if have != w {
				t.Fatalf("event %d:\n got %+v\nwant %+v", i, have, w)
			}
		}
		for i, g := range got.Meta {
			var key string
			if err := json.Unmarshal([]byte(`"`+g.Key+`"`), &key); err != nil {
				t.Fatal(err)
			}
			if w := meta[i]; key != w.Key || g.Value != w.Value {
				t.Fatalf("member %d: %+v; want %+v", i, g, w)
			}
		}
	})
}

// FuzzClean: accepted text comes out as JSON, and JSON comes out unchanged.
func FuzzClean(f *testing.F) {
	for _, c := range oddTexts {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for m := strict; m <= lenientAtEnd; m++ {
			out, n := clean(nil, text, m, array)
			if n > 0 && !json.Valid(out) || n > len(text) || n == 0 {
				t.Fatalf("mode %d: %d bytes used, %q", m, n, out)
			}
		}
		if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxDepth {
			return
		}
		out, n := clean(nil, text, strict, array)
		var g grammar
		if end := g.value(text, 0); end != n {
			t.Fatalf("the grammar ends at %d, clean at %d", end, n)
		}
		if n > 0 && g.flags&needsClean == 0 {
			if !bytes.Equal(out, []byte(validText(text[:n]))) {
				t.Fatalf("clean text was changed: %q", out)
			}
			if !json.Valid(text[:n]) {
				t.Fatalf("the grammar takes %q for JSON", text[:n])
			}
		}
		// The byte after a number or a word is needed to know that it has ended.
		if json.Valid(text) && n < 0 {
			if c := bytes.TrimSpace(text)[0]; c == '{' || c == '[' || c == '"' {
				t.Fatalf("valid JSON is refused: %d", n)
			}
		}
	})
}

var decimalText = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE]([+-]?[0-9]+))?$`)

// FuzzParseMicros compares with arbitrary-precision arithmetic.
func FuzzParseMicros(f *testing.F) {
	for _, s := range []string{
		"0", "-0.0005", "4436331679556.096", "1.2345", "1e3", "1.5E-06", "9223372036854774.999", "9223372036854775",
		"92233720368547747e-1", "0.0004999", "00", "1e-400", "1.", ".5", "-", "1e", "5e99999999999999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseMicros([]byte(s))
		m := decimalText.FindStringSubmatch(s)
		if m == nil {
			if ok {
				t.Fatalf("%q is not a number but gives %d", s, got)
			}
			return
		}
		if e, err := strconv.Atoi(m[3]); m[3] != "" && (err != nil || e > 5000 || e < -5000) || len(s) > 1000 {
			return // not worth the memory
		}
		x, parsed := new(big.Rat).SetString(s)
		if !parsed {
			t.Fatal(s)
		}
		neg := x.Sign() < 0
		x.Abs(x).Mul(x, big.NewRat(1000, 1)).Add(x, big.NewRat(1, 2))
		want := new(big.Int).Quo(x.Num(), x.Denom())
		if neg {
			want.Neg(want)
		}
		if fits := new(big.Int).Abs(want).Cmp(big.NewInt(1<<63-1)) <= 0; ok != fits {
			t.Fatalf("%q: accepted %v, but it is %s ns", s, ok, want)
		}
		if ok && want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%q: %d ns; want %s", s, got, want)
		}
		if back, ok2 := ParseMicros(AppendMicros(nil, got)); ok && (!ok2 || back != got) {
			t.Fatalf("%d ns is written %s, which is read %d", got, AppendMicros(nil, got), back)
		}
	})
}
