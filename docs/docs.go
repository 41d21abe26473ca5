// Package docs embeds the definitions of all figures.
package docs

import _ "embed"

// Metrics is the text of metrics.md.
//
//go:embed metrics.md
var Metrics string
