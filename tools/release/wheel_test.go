package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"io"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPythonVersion(t *testing.T) {
	for _, c := range []struct{ go_, python string }{
		{"v1.2.3", "1.2.3"},
		{"v0.10.0", "0.10.0"},
		{"v1.2.3-rc.1", "1.2.3rc1"},
		{"v1.2.3-rc.10", "1.2.3rc10"},
		{"v1.2.3-rc1", "1.2.3rc1"},
		{"v1.2.3-alpha.2", "1.2.3a2"},
		{"v1.2.3-beta.3", "1.2.3b3"},
		{"v1.2.3-beta", "1.2.3b0"},
		{"v0.0.0-20261128111318-dd48f28b0123", "0.0.0.dev20261128111318"},
		{"v1.2.4-0.20261128111318-dd48f28b0123", "1.2.4.dev20261128111318"},
		{"v1.2.3-rc.1.0.20261128111318-dd48f28b0123", "1.2.3rc2.dev20261128111318"},
		{"v1.2.3-beta.0.20261128111318-dd48f28b0123", "1.2.3b1.dev20261128111318"},
		{"v1.2.3+dirty", ""},
		{"v0.0.0-20261128111318-dd48f28b0123+dirty", ""},
		{"v1.2.3-nightly", ""},
		{"v1.2.3-rc.1.2", ""},
		{"v1.2.3-nightly.0.20261128111318-dd48f28b0123", ""},
		{"v1.2", ""},
		{"1.2.3", ""},
		{"(devel)", ""},
		{"", ""},
	} {
		got, err := pythonVersion(c.go_)
		if c.python == "" && err == nil || c.python != "" && (err != nil || got != c.python) {
			t.Errorf("%q is %q, %v; want %q", c.go_, got, err, c.python)
		}
	}
}

// packed packs a wheel of the checkout with a small program.
func packed(t *testing.T) (wheel, []byte) {
	t.Helper()
	t.Chdir("../..")
	w := wheel{
		version: "1.2.3rc1", tags: platforms["linux/amd64"].tags, commit: "dd48f28b",
		binary: bytes.Repeat([]byte("\x7fELF program "), 1000), sbom: []byte(`{"bomFormat": "CycloneDX"}`),
	}
	var out bytes.Buffer
	if err := w.pack(&out); err != nil {
		t.Fatal(err)
	}
	return w, out.Bytes()
}

// contents reads the members of a zip file in their order.
func contents(t *testing.T, data []byte) (names []string, files map[string][]byte) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for _, f := range r.File {
		body, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(body); err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
	}
	return names, files
}

func TestWheelMembers(t *testing.T) {
	w, data := packed(t)
	if want := "stepscope-1.2.3rc1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"; w.name() != want {
		t.Errorf("the file is named %s, not %s", w.name(), want)
	}
	names, files := contents(t, data)
	const info = "stepscope-1.2.3rc1.dist-info/"
	want := []string{
		"stepscope-1.2.3rc1.data/scripts/stepscope",
		info + "METADATA", info + "WHEEL", info + "licenses/LICENSE", info + "licenses/NOTICE",
		info + "licenses/THIRD_PARTY_NOTICES", info + "sboms/stepscope.cdx.json",
		"stepscope/__init__.py", "stepscope/__main__.py", "stepscope/_find_stepscope.py",
		info + "RECORD",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the members are %q, not %q", names, want)
	}
	if !bytes.Equal(files[want[0]], w.binary) || !bytes.Equal(files[info+"sboms/stepscope.cdx.json"], w.sbom) {
		t.Error("the program or the SBOM has other bytes")
	}
	if wheelFile := string(files[info+"WHEEL"]); !strings.Contains(wheelFile, "Root-Is-Purelib: false\n"+
		"Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n") {
		t.Errorf("WHEEL is\n%s", wheelFile)
	}
	record, err := csv.NewReader(bytes.NewReader(files[info+"RECORD"])).ReadAll()
	if err != nil || len(record) != len(names) {
		t.Fatalf("RECORD has %d lines for %d members: %v", len(record), len(names), err)
	}
	for i, row := range record[:len(record)-1] {
		sum := sha256.Sum256(files[names[i]])
		if digest := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]); row[0] != names[i] || row[1] != digest || row[2] != strconv.Itoa(len(files[names[i]])) {
			t.Errorf("RECORD has %q for %s with %s", row, names[i], digest)
		}
	}
}

func TestWheelMetadata(t *testing.T) {
	_, data := packed(t)
	_, files := contents(t, data)
	m, err := mail.ReadMessage(bytes.NewReader(files["stepscope-1.2.3rc1.dist-info/METADATA"]))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"Metadata-Version": "2.4", "Name": "stepscope", "Version": "1.2.3rc1", "License-Expression": "Apache-2.0",
		"Requires-Python": ">=3.8", "Description-Content-Type": "text/markdown",
	} {
		if got := m.Header.Get(key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	if m.Header["Requires-Dist"] != nil {
		t.Errorf("Requires-Dist is %q", m.Header["Requires-Dist"])
	}
	if got := m.Header["License-File"]; !slices.Equal(got, licences) {
		t.Errorf("License-File is %q", got)
	}
	text, err := io.ReadAll(m.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# stepscope\n", "NVTX", "](" + repository + "/raw/dd48f28b/docs/pictures/", "](" + repository + "/blob/dd48f28b/docs/verbs.md)"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the description lacks %q", part)
		}
	}
	if left := relativeLink.FindAllString(string(text), -1); left != nil {
		t.Errorf("relative links are left: %q", left)
	}
}

func TestAbsoluteLinks(t *testing.T) {
	const at = repository + "/blob/abc/"
	for _, c := range []struct{ in, out string }{
		{"[verbs](docs/verbs.md)", "[verbs](" + at + "docs/verbs.md)"},
		{"[formats](docs/formats/)", "[formats](" + at + "docs/formats/)"},
		{"[part](docs/verbs.md#part)", "[part](" + at + "docs/verbs.md#part)"},
		{"![plot](docs/a.png)", "![plot](" + repository + "/raw/abc/docs/a.png)"},
		{"[two\nlines](SECURITY.md)", "[two\nlines](" + at + "SECURITY.md)"},
		{"[web](https://semver.org)", "[web](https://semver.org)"},
		{"[here](#limits)", "[here](#limits)"},
	} {
		if got := string(absoluteLinks([]byte(c.in), "abc")); got != c.out {
			t.Errorf("%q becomes %q, not %q", c.in, got, c.out)
		}
	}
}

// TestWheelSame: the same input gives the same bytes, and no member has a time, extra fields or a size after its data.
func TestWheelSame(t *testing.T) {
	w, once := packed(t)
	var twice bytes.Buffer
	if err := w.pack(&twice); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once, twice.Bytes()) {
		t.Error("packed twice, the wheel has other bytes")
	}
	r, err := zip.NewReader(bytes.NewReader(once), int64(len(once)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		mode := uint32(0o100644) // S_IFREG
		if f.Name == "stepscope-1.2.3rc1.data/scripts/stepscope" {
			mode = 0o100755
		}
		if f.CreatorVersion>>8 != 3 || f.ExternalAttrs>>16 != mode {
			t.Errorf("%s has the mode %o of system %d", f.Name, f.ExternalAttrs>>16, f.CreatorVersion>>8)
		}
		if f.Flags&8 != 0 || len(f.Extra) > 0 || !f.Modified.Equal(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s has flags %x, extra fields %x and the time %v", f.Name, f.Flags, f.Extra, f.Modified)
		}
	}
}
