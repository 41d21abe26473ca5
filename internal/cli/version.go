package cli

import (
	"runtime/debug"
	"strings"
)

// release is the version without the program's name.
func release() string { return strings.TrimPrefix(version(), "stepscope ") }

// version is the module's version as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "stepscope (unknown version)"
	}
	v := "stepscope " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
