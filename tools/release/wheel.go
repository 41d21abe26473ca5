package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const repository = "https://github.com/stepscope/stepscope"

//go:embed python/stepscope/*.py
var python embed.FS

// licences are files of the checkout, which the program must come with.
var licences = []string{"LICENSE", "NOTICE", "THIRD_PARTY_NOTICES"}

// wheel is a wheel of a binary, by
// https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
type wheel struct {
	version string // by PEP 440
	tags    []string
	commit  string // for links of the description
	binary  []byte
	sbom    []byte // CycloneDX
}

// packWheel writes the wheel of a binary into the directory out.
func packWheel(out, sbom, target, binary string) error {
	b, err := openProgram(target, binary)
	if err != nil {
		return err
	}
	w := wheel{tags: platforms[target].tags, commit: b.commit, binary: b.data}
	if w.version, err = pythonVersion(b.version); err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	if w.sbom, err = os.ReadFile(sbom); err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := w.pack(&packed); err != nil {
		return err
	}
	return write(out, w.name(), packed.Bytes())
}

// write writes a file of the release, and prints its name.
func write(out, name string, data []byte) error {
	fmt.Println(name)
	return os.WriteFile(filepath.Join(out, name), data, 0o644)
}

// name returns the name of the file.
func (w wheel) name() string {
	return fmt.Sprintf("stepscope-%s-py3-none-%s.whl", w.version, strings.Join(w.tags, "."))
}

// pack writes the wheel. It reads the licences and the README from the working directory.
func (w wheel) pack(out io.Writer) error {
	base := "stepscope-" + w.version
	info := base + ".dist-info/"
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	members := []member{
		{base + ".data/scripts/stepscope", 0o755, w.binary},
		{info + "METADATA", 0o644, w.metadata(readme)},
		{info + "WHEEL", 0o644, w.format()},
		{info + "sboms/stepscope.cdx.json", 0o644, w.sbom},
	}
	for _, name := range licences {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		members = append(members, member{info + "licenses/" + name, 0o644, text})
	}
	modules, err := python.ReadDir("python/stepscope")
	if err != nil {
		return err
	}
	for _, m := range modules {
		text, err := python.ReadFile("python/stepscope/" + m.Name())
		if err != nil {
			return err
		}
		members = append(members, member{"stepscope/" + m.Name(), 0o644, text})
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return writeZip(out, append(members, record(info+"RECORD", members)))
}

// format returns the file WHEEL.
func (w wheel) format() []byte {
	var b bytes.Buffer
	b.WriteString("Wheel-Version: 1.0\nGenerator: stepscope tools/release\nRoot-Is-Purelib: false\n")
	for _, tag := range w.tags {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return b.Bytes()
}

// metadata returns the file METADATA, by https://packaging.python.org/en/latest/specifications/core-metadata/. The
// README is the description.
func (w wheel) metadata(readme []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `Metadata-Version: 2.4
Name: stepscope
Version: %s
Summary: Benchmarks, profiles and explains LLM serving with SGLang and vLLM
Keywords: llm,sglang,vllm,profiler,benchmark
License-Expression: Apache-2.0
`, w.version)
	for _, name := range licences {
		fmt.Fprintf(&b, "License-File: %s\n", name)
	}
	fmt.Fprintf(&b, `Requires-Python: >=3.8
Project-URL: Source, %[1]s
Project-URL: Changelog, %[1]s/blob/main/CHANGELOG.md
Description-Content-Type: text/markdown

`, repository)
	b.Write(absoluteLinks(readme, w.commit))
	return b.Bytes()
}

var relativeLink = regexp.MustCompile(`(!?)(\[[^\]]*\]\()([\w./-]+[)#])`)

// absoluteLinks makes links to files of the checkout, which a package index cannot resolve, links to the repository.
func absoluteLinks(markdown []byte, commit string) []byte {
	return relativeLink.ReplaceAllFunc(markdown, func(link []byte) []byte {
		m := relativeLink.FindSubmatch(link)
		kind := "blob"
		if len(m[1]) > 0 {
			kind = "raw"
		}
		return fmt.Appendf(nil, "%s%s%s/%s/%s/%s", m[1], m[2], repository, kind, commit, m[3])
	})
}

// record returns the file RECORD: the name, digest and size of each member, and a line for the file itself.
func record(name string, members []member) member {
	var b bytes.Buffer
	for _, m := range members {
		sum := sha256.Sum256(m.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", m.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(m.data))
	}
	fmt.Fprintf(&b, "%s,,\n", name)
	return member{name, 0o644, b.Bytes()}
}
