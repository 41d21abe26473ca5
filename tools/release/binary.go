package main

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io"
)

// platform is a target of a release.
type platform struct {
	tags  []string     // of wheels, without "py3-none-"
	elf   elf.Machine  // on Linux
	macho macho.Cpu    // on macOS
	minOS machoVersion // on macOS: the release in the tag
}

// The manylinux and musllinux tags are true only of static binaries. The macOS release is the oldest one that the Go
// release in go.mod supports.
var platforms = map[string]platform{
	"linux/amd64":  {tags: linuxTags("x86_64"), elf: elf.EM_X86_64},
	"linux/arm64":  {tags: linuxTags("aarch64"), elf: elf.EM_AARCH64},
	"darwin/amd64": {tags: []string{"macosx_12_0_x86_64"}, macho: macho.CpuAmd64, minOS: 12 << 16},
	"darwin/arm64": {tags: []string{"macosx_12_0_arm64"}, macho: macho.CpuArm64, minOS: 12 << 16},
}

func linuxTags(machine string) []string {
	return []string{"manylinux_2_17_" + machine, "manylinux2014_" + machine, "musllinux_1_1_" + machine}
}

// check returns an error unless the binary runs on every machine that the platform's tags name.
func (p platform) check(binary io.ReaderAt) error {
	if p.macho != 0 {
		return p.checkMachO(binary)
	}
	return p.checkELF(binary)
}

func (p platform) checkELF(binary io.ReaderAt) error {
	f, err := elf.NewFile(binary)
	if err != nil {
		return err
	}
	if f.Machine != p.elf || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return fmt.Errorf("the binary is for %v, the tag for %v", f.Machine, p.elf)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Errorf("the file is of type %v, not a program", f.Type)
	}
	for _, prog := range f.Progs {
		switch prog.Type {
		case elf.PT_INTERP:
			return errors.New("the binary has an interpreter (PT_INTERP): build it with -tags static and CGO_ENABLED=0")
		case elf.PT_DYNAMIC:
			if err := checkDynamic(f, prog); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDynamic returns an error if the segment, pairs of a tag and a value, names a library.
func checkDynamic(f *elf.File, segment *elf.Prog) error {
	pairs, err := io.ReadAll(segment.Open())
	if err != nil {
		return err
	}
	for ; len(pairs) >= 16; pairs = pairs[16:] {
		if elf.DynTag(f.ByteOrder.Uint64(pairs)) == elf.DT_NEEDED {
			return errors.New("the binary needs a library (DT_NEEDED): build it with -tags static and CGO_ENABLED=0")
		}
	}
	return nil
}

// machoVersion is a version in a Mach-O file: 16 bits major, 8 bits minor, 8 bits patch.
type machoVersion uint32

func (v machoVersion) String() string { return fmt.Sprintf("%d.%d.%d", v>>16, v>>8&0xff, v&0xff) }

// Load commands of <mach-o/loader.h>, and its number of macOS.
const (
	loadVersionMinMacOS = 0x24 // cmd, cmdsize, version, sdk
	loadBuildVersion    = 0x32 // cmd, cmdsize, platform, minos, sdk, ntools
	platformMacOS       = 1
)

func (p platform) checkMachO(binary io.ReaderAt) error {
	f, err := macho.NewFile(binary)
	if err != nil {
		return err
	}
	if f.Cpu != p.macho {
		return fmt.Errorf("the binary is for %v, the tag for %v", f.Cpu, p.macho)
	}
	if f.Type != macho.TypeExec {
		return fmt.Errorf("the file is of type %v, not a program", f.Type)
	}
	minOS, err := minMacOS(f)
	if err != nil {
		return err
	}
	if minOS > p.minOS {
		return fmt.Errorf("the binary needs macOS %v, the tag promises %v: raise the tag", minOS, p.minOS)
	}
	return nil
}

// minMacOS returns the oldest release of macOS that runs the binary.
func minMacOS(f *macho.File) (machoVersion, error) {
	for _, l := range f.Loads {
		raw := l.Raw()
		word := func(i int) uint32 { return f.ByteOrder.Uint32(raw[4*i:]) }
		switch cmd := word(0); {
		case cmd == loadVersionMinMacOS && len(raw) >= 12:
			return machoVersion(word(2)), nil
		case cmd == loadBuildVersion && len(raw) >= 16 && word(2) == platformMacOS:
			return machoVersion(word(3)), nil
		}
	}
	return 0, errors.New("the binary does not state the oldest macOS that runs it")
}
