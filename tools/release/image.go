package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// The user of the image, and its home directory.
const (
	imageUser = "65532:65532"
	imageHome = "/work"
	rootsFile = "/etc/ssl/certs/ca-certificates.crt"
)

// descriptor refers to a blob, by https://github.com/opencontainers/image-spec/blob/v1.1.1/descriptor.md.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *ociPlatform      `json:"platform,omitempty"`
}

type ociPlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest is a manifest of an image, with a configuration and layers, or an index of manifests.
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

// config is the configuration of an image, by https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md.
type config struct {
	Created      string `json:"created"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User       string
		Env        []string
		Entrypoint []string
		Cmd        []string
		WorkingDir string
		Labels     map[string]string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []map[string]string `json:"history"`
}

const mediaPrefix = "application/vnd.oci.image."

// blobs are the blobs of an image by their paths in a layout.
type blobs map[string][]byte

func (b blobs) add(mediaType string, data []byte) descriptor {
	sum := digest(data)
	b[blobPath(sum)] = data
	return descriptor{MediaType: mediaPrefix + mediaType, Digest: sum, Size: len(data)}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// packImage writes an OCI image of the binaries, given as pairs of a platform and a path, into the directory out. For
// engines that load no OCI layouts it also writes an archive of each binary in the form of docker save.
func packImage(out, rootsPath string, pairs []string) error {
	roots, err := os.ReadFile(rootsPath)
	if err != nil {
		return err
	}
	all, index, version := blobs{}, manifest{SchemaVersion: 2, MediaType: mediaPrefix + "index.v1+json"}, ""
	for pair := range slices.Chunk(pairs, 2) {
		goos, arch, _ := strings.Cut(pair[0], "/")
		if goos != "linux" {
			return fmt.Errorf("%s: images are for linux", pair[0])
		}
		b, err := openProgram(pair[0], pair[1])
		if err != nil {
			return err
		}
		if version = strings.TrimPrefix(b.version, "v"); strings.ContainsAny(version, "+()") {
			return fmt.Errorf("%s: the version %q is no tag of images: build a clean checkout of a commit", pair[1], b.version)
		}
		own := blobs{}
		m, err := own.image(b, arch, roots)
		if err != nil {
			return err
		}
		archive, err := dockerArchive(own, m, version)
		if err != nil {
			return err
		}
		if err := write(out, "stepscope_"+version+"_docker_"+arch+".tar", archive); err != nil {
			return err
		}
		d := own.add("manifest.v1+json", encode(m))
		d.Platform = &ociPlatform{arch, "linux"}
		index.Manifests = append(index.Manifests, d)
		maps.Copy(all, own)
	}
	layout, err := ociLayout(all, index, version)
	if err != nil {
		return err
	}
	return write(out, "stepscope_"+version+"_oci.tar", layout)
}

// image adds the layer and the configuration of a binary's image, and returns its manifest.
func (b blobs) image(p program, arch string, roots []byte) (manifest, error) {
	layer, err := layerOf(p.data, roots)
	if err != nil {
		return manifest{}, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return manifest{}, err
	}
	if _, err := z.Write(layer); err != nil {
		return manifest{}, err
	}
	if err := z.Close(); err != nil {
		return manifest{}, err
	}
	var c config
	c.Created, c.Architecture, c.OS = p.at, arch, "linux"
	c.Config.User, c.Config.WorkingDir = imageUser, imageHome
	c.Config.Env = []string{"PATH=/usr/bin", "HOME=" + imageHome, "SSL_CERT_FILE=" + rootsFile}
	c.Config.Entrypoint, c.Config.Cmd = []string{"/usr/bin/stepscope"}, []string{"--help"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    "stepscope",
		"org.opencontainers.image.version":  strings.TrimPrefix(p.version, "v"),
		"org.opencontainers.image.source":   repository,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.revision": p.commit,
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{digest(layer)}
	c.History = []map[string]string{{"created": p.at, "created_by": "stepscope tools/release"}}
	of := b.add("config.v1+json", encode(c))
	return manifest{
		SchemaVersion: 2, MediaType: mediaPrefix + "manifest.v1+json", Config: &of,
		Layers: []descriptor{b.add("layer.v1.tar+gzip", packed.Bytes())},
	}, nil
}

// layerOf returns the files of an image as a tar file: the program, its licences, the user, root certificates, and two
// directories that everyone may write to. There is no shell.
func layerOf(program, roots []byte) ([]byte, error) {
	members := []member{
		{"etc/passwd", 0o644, []byte("stepscope:x:" + imageUser + "::" + imageHome + ":/usr/bin/stepscope\n")},
		{rootsFile[1:], 0o644, roots},
		{"tmp/", fs.ModeDir | fs.ModeSticky | 0o777, nil},
		{"usr/bin/stepscope", 0o755, program},
		{imageHome[1:] + "/", fs.ModeDir | fs.ModeSticky | 0o777, nil},
	}
	for _, name := range licences {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		members = append(members, member{"usr/share/doc/stepscope/" + name, 0o644, text})
	}
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/stepscope/"} {
		members = append(members, member{dir, fs.ModeDir | 0o755, nil})
	}
	return tarOf(members)
}

// ociLayout packs an image layout, by https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
func ociLayout(all blobs, index manifest, version string) ([]byte, error) {
	inner := all.add("index.v1+json", encode(index))
	inner.Annotations = map[string]string{"org.opencontainers.image.ref.name": version}
	outer := manifest{SchemaVersion: 2, MediaType: index.MediaType, Manifests: []descriptor{inner}}
	all["index.json"] = encode(outer)
	all["oci-layout"] = []byte(`{"imageLayoutVersion": "1.0.0"}`)
	return all.tar()
}

// dockerArchive packs one image in the form of docker save, which every release of docker load reads.
func dockerArchive(own blobs, m manifest, version string) ([]byte, error) {
	files := maps.Clone(own)
	files["manifest.json"] = encode([]map[string]any{{
		"Config": blobPath(m.Config.Digest), "RepoTags": []string{"stepscope:" + version}, "Layers": []string{blobPath(m.Layers[0].Digest)},
	}})
	return files.tar()
}

func (b blobs) tar() ([]byte, error) {
	var members []member
	for name, data := range b {
		members = append(members, member{name, 0o644, data})
	}
	return tarOf(members)
}

// tarOf returns a tar file of the members in the order of their names, without times and owners.
func tarOf(members []member) ([]byte, error) {
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: int64(m.mode.Perm()), Size: int64(len(m.data)), Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if m.mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if m.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// encode returns v, which has only fields that JSON can express, as JSON.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
