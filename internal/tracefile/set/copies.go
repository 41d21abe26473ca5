package set

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// dropCopies finds pairs of byte-identical files that name different ranks of the same replica. It drops one file of
// each pair and adds a note about the dropped file. It keeps the file whose name agrees with the rank in
// distributedInfo, and leaves pairs without distributedInfo unchanged.
func (w *window) dropCopies() {
	bySize := map[int64][]int{}
	for i, f := range w.Files {
		if f.Size > 0 && !f.Report() {
			bySize[f.Size] = append(bySize[f.Size], i)
		}
	}
	copies := map[int]bool{}
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		same := bySize[size]
		for k, i := range same {
			for _, j := range same[k+1:] {
				if copies[i] || copies[j] || w.Files[i].Name.Rank == w.Files[j].Name.Rank || !equal(w.Files[i].Path, w.Files[j].Path) {
					continue
				}
				world := ReadHead(w.Files[j], nil).World
				if !world.Known || w.Files[i].Name.Rank.DP != w.Files[j].Name.Rank.DP {
					continue // each replica may have a separate world
				}
				of, copied := i, j
				if world.Rank == w.Files[j].Name.Rank.TP {
					of, copied = j, i
				}
				copies[copied] = true
				w.Notes = append(w.Notes, trace.Note{
					Kind: trace.NoteCopy, Source: w.Files[copied].Path, Count: 1, Names: []string{filepath.Base(w.Files[of].Path)},
				})
			}
		}
	}
	var kept []File
	for i, f := range w.Files {
		if !copies[i] {
			kept = append(kept, f)
		}
	}
	w.Files = kept
}

// equal reports whether two files have the same content.
func equal(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	left, right := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errA := io.ReadFull(x, left)
		m, errB := io.ReadFull(y, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return errA == errB
		}
	}
}
