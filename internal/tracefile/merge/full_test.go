package merge

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"syscall"
	"testing"
)

// fullDisk accepts a limited number of bytes.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// TestFullDisk: the first error is reported, not the cancellations that it causes.
func TestFullDisk(t *testing.T) {
	set := longSet(t, 2, 1)
	for name, write := range map[string]func(*merger, context.Context, io.Writer) error{
		"chrome": (*merger).run,
		"pftrace": func(m *merger, ctx context.Context, w io.Writer) error {
			return m.perfetto(ctx, w, filepath.Join(t.TempDir(), "out"))
		},
	} {
		for _, left := range []int{0, 1000, 20_000} {
			m, err := plan(t.Context(), set, Options{Level: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := write(m, t.Context(), &fullDisk{left}); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) {
				t.Errorf("%s, after %d bytes: %v", name, left, err)
			}
		}
	}
}
