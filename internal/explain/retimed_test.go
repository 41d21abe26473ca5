package explain_test

import (
	"strings"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// blamesTransfers reports whether a finding blames slower transfers.
func blamesTransfers(f result.Finding) bool {
	return f.Kind == result.SlowLink || strings.Contains(f.Title.String(), "part_transfer")
}
