package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/scripts/bench/goal"
)

// mostBinary is the goal for the static binary without symbols, in bytes.
const mostBinary = 26e6

// binary builds the binary of a release for linux/amd64 and reports its size: the code by its origin, and the rest.
func binary(dir string) error {
	full, stripped := filepath.Join(dir, "full"), filepath.Join(dir, "stripped")
	for out, flags := range map[string]string{full: "", stripped: "-s -w"} {
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "static", "-ldflags", flags, "-o", out, "./cmd/stepscope")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w: %s", err, said)
		}
	}
	st, err := os.Stat(stripped)
	if err != nil {
		return err
	}
	f, err := elf.Open(full)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	code := map[string]float64{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			code[owner(packageOf(s.Name))] += float64(s.Size)
		}
	}
	fmt.Printf("\n%-32s %9s\n", "code in the static binary", "MB")
	for _, whose := range []string{standard, own, others} {
		fmt.Printf("%-32s %9.1f\n", whose, code[whose]/1e6)
	}
	fmt.Printf("%-32s %9.1f\n", "tables of functions", float64(f.Section(".gopclntab").Size)/1e6)
	fmt.Printf("%-32s %9.1f\n\n", "constants, types and pages", float64(f.Section(".rodata").Size)/1e6)
	goal.Say(float64(st.Size()) <= mostBinary, "binary, static and stripped: %.1f MB (goal %.0f)", float64(st.Size())/1e6, mostBinary/1e6)
	return nil
}

// packageOf returns the package of a function. Instances of generic functions count to the package that defines them.
func packageOf(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "type:.eq."), "type:.hash.")
	if name, _, _ = strings.Cut(name, "["); strings.HasPrefix(name, "main.") {
		return module
	}
	at := strings.LastIndex(name, "/") + 1
	pkg, _, _ := strings.Cut(name[at:], ".")
	return name[:at] + pkg
}
