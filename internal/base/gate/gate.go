// Package gate parses the conditions under which a comparison fails a build, such as "ttft.p99>5%".
package gate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/suggest"
)

// Limit is the largest tolerated rise or fall of a figure.
type Limit struct {
	Name  string  `json:"name"` // name of the figure; "": the limit holds for any figure that gets worse
	Falls bool    `json:"falls"`
	By    float64 `json:"by"` // fraction above 0
}

// Limits is a list of limits, all of which must hold.
type Limits []Limit

// Parse parses conditions separated by commas. "5%" applies to all figures; "ttft.p99>5%" and "throughput<-3%" apply to
// one figure.
func Parse(texts []string) (all Limits, err error) {
	for _, text := range strings.Split(strings.Join(texts, ","), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		l, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		all = append(all, l)
	}
	return all, nil
}

func parse(text string) (l Limit, err error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		if l.By, err = Share(text); err != nil && strings.ContainsFunc(text, letter) {
			err = errors.New("give a share such as 5% or 0.05, or a figure with a share, such as ttft.p99>5%")
		}
		return l, err
	}
	l.Name, l.Falls = strings.ToLower(strings.TrimSpace(text[:at])), text[at] == '<'
	by := strings.TrimSpace(text[at+1:])
	if l.Name == "" {
		return l, errors.New("which figure? give its name before the " + text[at:at+1])
	}
	if l.Falls {
		var minus bool
		if by, minus = strings.CutPrefix(by, "-"); !minus {
			return l, fmt.Errorf("a limit on a fall needs a minus sign: %s<-%s", l.Name, by)
		}
	}
	if l.By, err = Share(by); err == nil && l.Falls && l.By >= 1 {
		err = errors.New("nothing can fall by 100% or more")
	}
	return l, err
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// Share parses "5%" or "0.05" as 0.05.
func Share(s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, errors.New("give a share such as 5% or 0.05")
	}
	switch {
	case percent:
		f /= 100
	case f >= 1: // 5 must not mean 500 %: such a gate would never fail
		return 0, errors.New("give a share such as 5% or 0.05: did you mean " + number + "%?")
	}
	if !(f > 0 && f < 100) {
		return 0, errors.New("give a share above 0")
	}
	return f, nil
}

// String formats the limit as Parse reads it.
func (l Limit) String() string {
	by := strconv.FormatFloat(l.By*100, 'g', 6, 64) + "%"
	switch {
	case l.Name == "":
		return by
	case l.Falls:
		return l.Name + "<-" + by
	}
	return l.Name + ">" + by
}

// Broken reports whether a relative change exceeds the limit.
func (l Limit) Broken(change float64) bool {
	if l.Falls {
		change = -change
	}
	return change > l.By
}

// Any returns the limit for all figures, or 0 if there is none.
func (all Limits) Any() float64 {
	for _, l := range all {
		if l.Name == "" {
			return l.By
		}
	}
	return 0
}

// Named returns the limits that apply to a single figure.
func (all Limits) Named() (named Limits) {
	for _, l := range all {
		if l.Name != "" {
			named = append(named, l)
		}
	}
	return named
}

// Check returns an error for the first limit whose name is not in names.
func (all Limits) Check(names []string) error {
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	for _, l := range all.Named() {
		switch near := suggest.Closest(l.Name, names); {
		case known[l.Name]:
		case near != "":
			return fmt.Errorf("%s: unknown figure %s, did you mean %s? known figures: %s", l, l.Name, near, strings.Join(names, ", "))
		default:
			return fmt.Errorf("%s: unknown figure %s; known figures: %s", l, l.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

// String formats the limits as Parse reads them.
func (all Limits) String() string {
	parts := make([]string, len(all))
	for i, l := range all {
		parts[i] = l.String()
	}
	return strings.Join(parts, ",")
}
