package signals

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/memory"
)

// TestTooManyRanks reads a server that reports as many ranks as there may be, and one that reports more.
func TestTooManyRanks(t *testing.T) {
	for _, route := range []string{"/metrics", "/v1/loads"} {
		for ranks, want := range map[int]string{memory.MostRanks: "", memory.MostRanks + 1: fmt.Sprintf("reports %d ranks", memory.MostRanks+1)} {
			var metrics, loads strings.Builder
			for i := range ranks {
				fmt.Fprintf(&metrics, "sglang:num_running_reqs{dp_rank=\"%d\"} 1\n", i)
				fmt.Fprintf(&loads, `,{"dp_rank":%d,"num_reqs":1}`, ranks-i)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == route && route == "/metrics":
					fmt.Fprint(w, metrics.String())
				case r.URL.Path == route:
					fmt.Fprintf(w, `{"loads":[%s]}`, loads.String()[1:])
				default:
					http.NotFound(w, r)
				}
			}))
			r := NewReader(server.URL, nil, nil)
			s, err := r.Read(t.Context())
			server.Close()
			switch {
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %d ranks: %v", route, ranks, err)
			case want == "" && (err != nil || len(s.Ranks) != ranks):
				t.Errorf("%s, %d ranks: %v", route, ranks, err)
			}
		}
	}
}

// TestTooManyBuckets observes more bounds than a histogram keeps.
func TestTooManyBuckets(t *testing.T) {
	var h Histogram
	for i := range 2 * mostBuckets {
		h.observe(fmt.Sprint(-i), 1)
	}
	if len(h.Bounds) != mostBuckets {
		t.Errorf("%d bounds", len(h.Bounds))
	}
}
