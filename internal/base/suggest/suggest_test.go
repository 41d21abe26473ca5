package suggest

import "testing"

func TestClosest(t *testing.T) {
	words := []string{"analyze", "compare", "profile", "--html", "--prompt", "--num-prompts"}
	for written, want := range map[string]string{
		"analyse": "analyze", "anaylze": "analyze", "profil": "profile", "--htlm": "--html", "--promt": "--prompt", "--num-promts": "--num-prompts",
		"report": "", "xyz": "", "--url": "", "--pram": "", "": "",
	} {
		if got := Closest(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
