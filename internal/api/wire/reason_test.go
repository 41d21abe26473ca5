package wire

import "testing"

func TestReason(t *testing.T) {
	for body, want := range map[string]string{
		`{"object":"error","message":"too long","code":400}`: "too long",
		`{"error":{"message":"no such model","code":404}}`:   "no such model",
		`{"error":"Unauthorized"}`:                           "Unauthorized",
		`{"detail":"Not Found"}`:                             "Not Found",
		`{"detail":[{"loc":["body"]}]}`:                      `{"detail":[{"loc":["body"]}]}`,
		"Start profiling.\n":                                 "Start profiling.",
		"<html>\n  <b>502</b>\n</html>":                      "<html> <b>502</b> </html>",
		"":                                                   "",
	} {
		if got := Reason([]byte(body)); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}
