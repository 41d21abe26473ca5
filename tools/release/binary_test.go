package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build compiles testdata/marker for a target, as a release does if static.
func build(t *testing.T, target string, static bool) []byte {
	t.Helper()
	goos, goarch, _ := strings.Cut(target, "/")
	out := filepath.Join(t.TempDir(), "marker")
	args := []string{"build", "-buildvcs=false", "-o", out}
	if static {
		args = append(args, "-tags", "static")
	}
	cmd := exec.Command("go", append(args, "./testdata/marker")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCheck holds real binaries, and the same with one field changed, against the tags of a platform.
func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: programs are compiled for three platforms")
	}
	static, dynamic := build(t, "linux/amd64", true), build(t, "linux/amd64", false)
	arm, mac := build(t, "linux/arm64", true), build(t, "darwin/arm64", true)
	for _, c := range []struct {
		name, target string
		data         []byte
		refused      string // part of the error; empty if accepted
	}{
		{"static", "linux/amd64", static, ""},
		{"static, arm64", "linux/arm64", arm, ""},
		{"macOS", "darwin/arm64", mac, ""},
		{"a plain build", "linux/amd64", dynamic, "PT_INTERP"},
		{"libraries without an interpreter", "linux/amd64", withoutInterp(t, dynamic), "DT_NEEDED"},
		{"another GOARCH", "linux/arm64", static, "EM_X86_64"},
		{"another GOARCH, arm64", "linux/amd64", arm, "EM_AARCH64"},
		{"another GOARCH, macOS", "darwin/amd64", mac, "CpuArm64"},
		{"another GOOS", "darwin/amd64", static, "magic"},
		{"another GOOS, macOS", "linux/arm64", mac, "magic"},
		{"an object file", "linux/amd64", patched(static, 16, uint16(elf.ET_REL)), "ET_REL"},
		{"a later macOS", "darwin/arm64", withMinOS(t, mac, 12<<16|1<<8), "macOS 12.1.0"},
		{"an earlier macOS", "darwin/arm64", withMinOS(t, mac, 11<<16), ""},
		{"a cut file", "linux/amd64", static[:40], "EOF"},
		{"a text", "linux/amd64", []byte("#!/bin/sh\necho stepscope\n"), "magic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := platforms[c.target].check(bytes.NewReader(c.data))
			if c.refused == "" && err != nil {
				t.Error(err)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("the error is %v, not about %s", err, c.refused)
			}
		})
	}
}

// patched returns a copy of the data with a value at an offset.
func patched(data []byte, offset int, value any) []byte {
	data = bytes.Clone(data)
	binary.Encode(data[offset:], binary.LittleEndian, value)
	return data
}

// withoutInterp makes the PT_INTERP header of a binary a PT_NULL.
func withoutInterp(t *testing.T, data []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return patched(data, 64+56*i, uint32(elf.PT_NULL)) // headers of 56 bytes follow the file's of 64
		}
	}
	t.Fatal("the binary has no PT_INTERP")
	return nil
}

// withMinOS sets the oldest macOS that a binary names.
func withMinOS(t *testing.T, data []byte, v machoVersion) []byte {
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	offset := 32 // load commands follow the file's header
	for _, l := range f.Loads {
		if f.ByteOrder.Uint32(l.Raw()) == loadBuildVersion {
			return patched(data, offset+12, uint32(v))
		}
		offset += len(l.Raw())
	}
	t.Fatal("the binary has no LC_BUILD_VERSION")
	return nil
}
