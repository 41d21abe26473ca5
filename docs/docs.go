// Package docs embeds the definitions of all figures, and the skill for coding agents.
package docs

import _ "embed"

// Metrics is the text of metrics.md.
//
//go:embed metrics.md
var Metrics string

// Skill is the text of skill/SKILL.md, with an empty version and checksum.
//
//go:embed skill/SKILL.md
var Skill string
