package gate

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"5%":                                   "5%",
		"0.05":                                 "5%",
		" 12.5 % ":                             "12.5%",
		"ttft.p99>5%":                          "ttft.p99>5%",
		"TTFT.p99 > 5%":                        "ttft.p99>5%",
		"throughput<-3%":                       "throughput<-3%",
		"ttft>0.1, output_throughput < -3% ,,": "ttft>10%,output_throughput<-3%",
		"5%,tpot>1%":                           "5%,tpot>1%",
		"":                                     "",
	} {
		got, err := Parse([]string{text})
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
			continue
		}
		if again, err := Parse([]string{got.String()}); err != nil || again.String() != want {
			t.Errorf("%q is not read back: %q, %v", want, again, err)
		}
	}
	for text, want := range map[string]string{
		"much":           "give a share such as 5% or 0.05, or a figure with a share, such as ttft.p99>5%",
		"5":              "did you mean 5%?",
		"-5%":            "give a share above 0",
		"0%":             "give a share above 0",
		"NaN":            "give a share",
		"ttft>5":         "ttft>5: give a share such as 5% or 0.05: did you mean 5%?",
		"ttft>":          "ttft>: give a share",
		">5%":            "which figure?",
		"throughput<3%":  "a limit on a fall needs a minus sign: throughput<-3%",
		"goodput<-100%":  "nothing can fall by 100% or more",
		"ttft=5%":        "give a share such as 5%",
		"ttft>5%>6%":     "give a share",
		"1e400%":         "give a share",
		"ttft.p99>-5%":   "give a share above 0",
		"5%, ttft.p99>x": "ttft.p99>x: give a share",
	} {
		if got, err := Parse([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestBroken(t *testing.T) {
	for _, c := range []struct {
		limit  string
		change float64
		want   bool
	}{
		{"x>5%", 0.06, true}, {"x>5%", 0.05, false}, {"x>5%", -0.5, false},
		{"x<-3%", -0.04, true}, {"x<-3%", -0.03, false}, {"x<-3%", 0.5, false},
	} {
		l, err := Parse([]string{c.limit})
		if err != nil || l[0].Broken(c.change) != c.want {
			t.Errorf("%s by %v: broken is %v, %v", c.limit, c.change, !c.want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	limits, err := Parse([]string{"5%,ttft.p90>5%"})
	if err != nil {
		t.Fatal(err)
	}
	if err := limits.Check([]string{"ttft.p90"}); err != nil {
		t.Error(err)
	}
	want := "ttft.p90>5%: unknown figure ttft.p90, did you mean ttft.p99? known figures: ttft.p99, tpot.p99"
	if err := limits.Check([]string{"ttft.p99", "tpot.p99"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
