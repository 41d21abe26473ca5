package cli

import "runtime/debug"

// version is the module's version as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "stepscope (unknown version)"
	}
	return "stepscope " + info.Main.Version
}
