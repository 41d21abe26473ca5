package job

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// gatherLimit is the timeout for transferring the files of one node.
const gatherLimit = time.Hour

// last is the name of the last entry of a pack. The entry holds the number of files that precede the entry. A truncated
// stream lacks this entry.
const last = ".last"

// Pack writes a directory as a tar stream. If parts are named, Pack writes only those parts of the directory that
// exist.
func Pack(w io.Writer, dir string, parts ...string) error {
	tw, n := tar.NewWriter(w), 0
	if len(parts) == 0 {
		parts = []string{"."}
	}
	for _, part := range parts {
		matches, err := filepath.Glob(filepath.Join(dir, part))
		if err != nil {
			return err
		}
		for _, m := range matches {
			if err := packTree(tw, dir, m, &n); err != nil {
				return err
			}
		}
	}
	count := strconv.Itoa(n)
	if err := tw.WriteHeader(&tar.Header{Name: last, Size: int64(len(count)), Mode: 0o644}); err != nil {
		return err
	}
	if _, err := io.WriteString(tw, count); err != nil {
		return err
	}
	return tw.Close()
}

func packTree(tw *tar.Writer, dir, top string, n *int) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := atomicfile.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(name, ".") {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(name), Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		*n++
		_, err = io.CopyN(tw, f, info.Size()) // omit data that are appended while packing
		return err
	})
}

// Unpack extracts a pack to a directory and returns the number of files. Each file is extracted completely or not at
// all. A truncated stream is an error, but the files received before the error remain.
func Unpack(dir string, r io.Reader) (n int, err error) {
	root, err := os.OpenRoot(dir) // no file name can lead outside the directory
	if err != nil {
		return 0, err
	}
	defer root.Close()
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return n, errors.New("the stream of files was cut off")
		case err != nil:
			return n, err
		case h.Name == last:
			text, err := io.ReadAll(io.LimitReader(tr, 20))
			if err == nil && string(text) != strconv.Itoa(n) {
				err = fmt.Errorf("received only %d of %s files", n, text)
			}
			io.Copy(io.Discard, r) // drain the stream, so that the writer can finish
			return n, err
		case h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name):
			return n, fmt.Errorf("%q is not a file below the job's directory", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), 0o755); err != nil {
			return n, err
		}
		err = atomicfile.Write(filepath.Join(dir, h.Name), func(w io.Writer) error {
			_, err := io.Copy(w, tr)
			return err
		})
		if err != nil {
			return n, err
		}
		os.Chtimes(filepath.Join(dir, h.Name), h.ModTime, h.ModTime)
		n++
	}
}

// gather copies files to the job's directory on this machine. It copies them from all nodes that do not share the
// directory, through steps of the job.
func (r *Run) gather(ctx context.Context) error {
	return everywhere(r.c, func(i int) error {
		if r.here == nil || r.here[i].Addr == "" || r.here[i].Shared {
			return nil
		}
		name, began := r.c.Nodes()[i].Name, time.Now()
		in, out := io.Pipe()
		come := make(chan error, 1)
		n := 0
		go func() {
			var err error
			n, err = Unpack(r.dir, in)
			in.CloseWithError(err)
			come <- err
		}()
		err := streamed(ctx, r.c, "gather", i, gatherLimit, out, r.plan.Program, "job", "pack", r.dir, "profiles", "runs", "bench_*", "*_config.json")
		out.Close()
		if cut := <-come; err == nil {
			err = cut
		}
		if err != nil {
			return fmt.Errorf("the files of %s could not be fetched: %w; they are still there, in %s", name, err, r.dir)
		}
		if _, err := short(ctx, r.c, "forget", i, time.Minute, r.plan.Program, "job", "forget", r.dir, r.token); err != nil {
			r.Log(fmt.Sprintf("%s keeps its copy in %s: %v", name, r.dir, err))
		}
		r.Log(fmt.Sprintf("fetched %d files from %s in %.1f s", n, name, time.Since(began).Seconds()))
		return nil
	})
}

// flatten moves the traces from the subdirectory of each window to dir, the directory in which srtctl stores traces.
func flatten(dir string) error {
	windows, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, w := range windows {
		if !w.IsDir() {
			continue
		}
		if err := moveTraces(filepath.Join(dir, w.Name()), dir); err != nil {
			return err
		}
	}
	return nil
}

// moveTraces moves the traces of a directory to another one and, if nothing is left, removes the directory.
func moveTraces(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".json") || strings.HasSuffix(f.Name(), ".json.gz") {
			if err := os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
				return err
			}
		}
	}
	os.Remove(from) // succeeds only if the directory is empty
	return nil
}
