// Command release packs binaries of stepscope for package managers and container engines. scripts/release runs it in a
// checkout of the commit that the binaries were built from. It prints the names of the files that it writes into the
// directory OUT.
//
//	release wheel OUT SBOM GOOS/GOARCH BINARY       a Python wheel
//	release image OUT ROOTS [linux/GOARCH BINARY]…  an OCI image of all binaries, and for each an archive for docker
//	                                                load; ROOTS has root certificates in PEM
package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
)

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 5 && args[0] == "wheel":
		err = packWheel(args[1], args[2], args[3], args[4])
	case len(args) >= 5 && len(args)%2 == 1 && args[0] == "image":
		err = packImage(args[1], args[2], args[3:])
	default:
		fmt.Fprintln(os.Stderr, "usage: release wheel OUT SBOM GOOS/GOARCH BINARY\n       release image OUT ROOTS [linux/GOARCH BINARY]…")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// program is a binary, with facts that the Go tool recorded in it.
type program struct {
	data                []byte
	version, commit, at string // of the module, its revision, and the time of the revision in RFC 3339
}

// openProgram reads a binary, and refuses one that does not run everywhere on the platform.
func openProgram(target, path string) (program, error) {
	p, ok := platforms[target]
	if !ok {
		return program{}, fmt.Errorf("%s is no platform of a release", target)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return program{}, err
	}
	if err := p.check(bytes.NewReader(data)); err != nil {
		return program{}, fmt.Errorf("%s is not for %s: %w", path, target, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return program{}, fmt.Errorf("%s: %w", path, err)
	}
	b := program{data: data, version: info.Main.Version}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.at = s.Value
		}
	}
	return b, nil
}
