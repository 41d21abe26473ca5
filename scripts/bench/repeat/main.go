// Command repeat makes rank traces N times as long, to measure the cost of a longer capture. It writes the events of
// each file N times. Each copy is later than the previous copy by the length of the longest file, so that the ranks of a
// capture stay together. Each copy has separate
// ids, so that launches, kernels and arrows keep their partners. The command streams, so its memory does not grow with
// the file or with N.
//
// It reads the JSON that torch writes and any other well-formed trace. It does not repair malformed traces.
//
//	repeat -n 10 -o OUTDIR FILE...
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

func main() {
	copies := flag.Int("n", 10, "how many times the events are repeated")
	outDir := flag.String("o", "", "folder for the longer files, which keep their names")
	flag.Parse()
	if err := run(*copies, *outDir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "repeat:", err)
		os.Exit(1)
	}
}

func run(copies int, outDir string, paths []string) error {
	if copies < 1 || outDir == "" || len(paths) == 0 {
		return errors.New("give -n 1 or more, -o DIR and the files, as in: repeat -n 10 -o OUTDIR *.json.gz")
	}
	extents := make([]*extent, len(paths))
	err := each(paths, func(i int) (err error) {
		extents[i], err = extentOf(opener(paths[i]))
		return err
	})
	if err != nil {
		return err
	}
	var span int64
	for _, x := range extents {
		span = max(span, x.last-x.first)
	}
	return each(paths, func(i int) error {
		return repeatFile(paths[i], filepath.Join(outDir, filepath.Base(paths[i])), copies, extents[i], span)
	})
}

// each calls do for each path in parallel.
func each(paths []string, do func(int) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			if err := do(i); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func opener(path string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(path) }
}

// repeatFile writes path's trace to out with its events repeated, as gzip of level 1.
func repeatFile(path, out string, copies int, x *extent, span int64) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	compressor, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(compressor, 1<<20)
	return errors.Join(repeat(opener(path), w, copies, x, span), w.Flush(), compressor.Close(), file.Close())
}
