package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// untar reads the files of a tar file, and the headers in their order.
func untar(t *testing.T, data []byte) (headers []*tar.Header, files map[string][]byte) {
	t.Helper()
	files = map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers = append(headers, h); h.Format != tar.FormatUSTAR || h.ModTime.Unix() != 0 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s has a format, a time or an owner: %+v", h.Name, h)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// imaged makes images of small programs for two processors, as packImage does.
func imaged(t *testing.T) (layout, docker []byte) {
	t.Helper()
	all, index := blobs{}, manifest{SchemaVersion: 2, MediaType: mediaPrefix + "index.v1+json"}
	for _, arch := range []string{"amd64", "arm64"} {
		own := blobs{}
		p := program{data: []byte("\x7fELF " + arch), version: "v1.2.3", commit: "dd48f28b", at: "2026-11-28T11:13:18Z"}
		m, err := own.image(p, arch, []byte("roots"))
		if err != nil {
			t.Fatal(err)
		}
		if docker, err = dockerArchive(own, m, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		d := own.add("manifest.v1+json", encode(m))
		d.Platform = &ociPlatform{arch, "linux"}
		index.Manifests = append(index.Manifests, d)
		maps.Copy(all, own)
	}
	layout, err := ociLayout(all, index, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return layout, docker
}

// get decodes the blob of a descriptor, and checks its digest and size.
func get(t *testing.T, files map[string][]byte, d descriptor, v any) []byte {
	t.Helper()
	data, ok := files[blobPath(d.Digest)]
	if !ok || digest(data) != d.Digest || len(data) != d.Size {
		t.Fatalf("the blob of %+v has %d bytes and the digest %s", d, len(data), digest(data))
	}
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func TestImageLayout(t *testing.T) {
	t.Chdir("../..")
	layout, _ := imaged(t)
	headers, files := untar(t, layout)
	if !slices.IsSortedFunc(headers, func(a, b *tar.Header) int { return strings.Compare(a.Name, b.Name) }) || files["oci-layout"] == nil {
		t.Error("the files of the layout are not sorted, or oci-layout is missing")
	}
	var outer, index manifest
	if err := json.Unmarshal(files["index.json"], &outer); err != nil || len(outer.Manifests) != 1 {
		t.Fatalf("index.json: %v\n%s", err, files["index.json"])
	}
	get(t, files, outer.Manifests[0], &index)
	if len(index.Manifests) != 2 || len(files) != 2+1+2*3 {
		t.Fatalf("the layout has %d files, and manifests %+v", len(files), index.Manifests)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		var m manifest
		var c config
		get(t, files, index.Manifests[i], &m)
		get(t, files, *m.Config, &c)
		if p := index.Manifests[i].Platform; p.Architecture != arch || c.Architecture != arch {
			t.Errorf("the image of %s is for %s, %s", arch, p.Architecture, c.Architecture)
		}
		if c.Config.User != "65532:65532" || c.Config.WorkingDir != "/work" || c.Created != "2026-11-28T11:13:18Z" || c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			t.Errorf("the configuration is %+v", c)
		}
		z, err := gzip.NewReader(bytes.NewReader(get(t, files, m.Layers[0], nil)))
		if err != nil || z.Name != "" || !z.ModTime.IsZero() {
			t.Fatalf("the layer has a name or a time: %v, %+v", err, z.Header)
		}
		layer, err := io.ReadAll(z)
		if err != nil || digest(layer) != c.RootFS.DiffIDs[0] {
			t.Errorf("the layer is not that of the configuration: %v", err)
		}
		checkLayer(t, layer, arch)
	}
}

// checkLayer checks the contents and modes of the files of an image, and that each follows its directory.
func checkLayer(t *testing.T, layer []byte, arch string) {
	headers, files := untar(t, layer)
	modes := map[string]int64{}
	for _, h := range headers {
		if dir := h.Name[:strings.LastIndex(strings.TrimSuffix(h.Name, "/"), "/")+1]; dir != "" && modes[dir] == 0 {
			t.Errorf("%s comes before its directory", h.Name)
		}
		modes[h.Name] = h.Mode
	}
	for name, mode := range modes {
		want := map[string]int64{"tmp/": 0o1777, "work/": 0o1777, "usr/bin/stepscope": 0o755}[name]
		if want == 0 && strings.HasSuffix(name, "/") {
			want = 0o755
		} else if want == 0 {
			want = 0o644
		}
		if mode != want {
			t.Errorf("%s has the mode %o, not %o", name, mode, want)
		}
	}
	for name, want := range map[string]string{
		"usr/bin/stepscope": "\x7fELF " + arch, "etc/ssl/certs/ca-certificates.crt": "roots",
		"etc/passwd": "stepscope:x:65532:65532::/work:/usr/bin/stepscope\n",
	} {
		if string(files[name]) != want {
			t.Errorf("%s is %q", name, files[name])
		}
	}
	for _, name := range licences {
		if len(files["usr/share/doc/stepscope/"+name]) == 0 {
			t.Errorf("the image lacks %s", name)
		}
	}
}

func TestDockerArchive(t *testing.T) {
	t.Chdir("../..")
	_, docker := imaged(t)
	_, files := untar(t, docker)
	var m []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &m); err != nil || len(m) != 1 || len(m[0].Layers) != 1 {
		t.Fatalf("manifest.json: %v\n%s", err, files["manifest.json"])
	}
	if files[m[0].Config] == nil || files[m[0].Layers[0]] == nil || m[0].RepoTags[0] != "stepscope:1.2.3" || len(files) != 3 {
		t.Errorf("manifest.json names %+v", m[0])
	}
}

// TestImageSame: the same input gives the same bytes.
func TestImageSame(t *testing.T) {
	t.Chdir("../..")
	layout, docker := imaged(t)
	again, dockerAgain := imaged(t)
	if !bytes.Equal(layout, again) || !bytes.Equal(docker, dockerAgain) {
		t.Error("packed twice, the image has other bytes")
	}
}
