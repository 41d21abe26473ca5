package view

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/base/browsertest"
)

var screenshots = flag.String("screenshots", "", "write pictures of all views to this directory, light and dark")

// views are addresses that show what there is to see.
var views = []struct{ name, hash string }{
	{"summary", "#tab=summary"},
	{"summary-selected", "#tab=summary&map=host&sel=0"},
	{"kernels", "#tab=kernels"},
	{"timeline", "#tab=timeline"},
	{"timeline-span", "#tab=timeline&step=9&rank=0&sel=10000"},
	{"timeline-stretched", "#tab=timeline&step=9&align=stretched&heat=wait"},
	{"timeline-range", "#tab=timeline&step=9&align=step&only=2%2C0&r0=420000000&r1=470000000"},
	{"whatif", "#tab=whatif"},
	{"whatif-set", "#tab=whatif&rank=2&set=TP02.host%3Dpeers%7Ccollective%3D0.5%7Cclass:gemm%3D1.5"},
	{"kernels-op", "#tab=kernels&by=op&kind=decode&q=mm"},
	{"kernels-frame", "#tab=kernels&by=frame&c=stacks"},
	{"kernels-against", "#tab=kernels&kind=decode&sort=-diff&vs=against"},
}

// TestViewsFit: each view can be read at 1280 pixels, in light and dark, and by everybody.
func TestViewsFit(t *testing.T) {
	url := serve(t, Options{Given: []*Capture{captureOf(t, "compute_skew", "0"), captureOf(t, "balanced", "against"), captureOf(t, "stacks", "stacks")}, Root: t.TempDir()})
	tab := browsertest.Open(t, url)
	tab.Size(1280, 900)
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			for _, scheme := range []string{"light", "dark"} {
				show(t, tab, url+"/"+v.hash+"&theme="+scheme)
				for _, what := range append(tab.Misfits(), tab.Barriers()...) {
					t.Errorf("%s: %s", scheme, what)
				}
				if *screenshots != "" {
					if err := os.WriteFile(filepath.Join(*screenshots, v.name+"-"+scheme+".png"), tab.Picture(false), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// show opens an address anew, and waits for all of it.
func show(t *testing.T, tab *browsertest.Tab, url string) {
	t.Helper()
	tab.Show("about:blank")
	tab.Wait(`location.href === "about:blank"`)
	tab.Show(url)
	ready(t, tab)
}
