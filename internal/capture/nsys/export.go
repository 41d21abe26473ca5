package nsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Export writes a report's SQLite export to dst with the nsys that [Find] returns. The file dst is either complete or
// absent. Errors do not name the report.
func Export(ctx context.Context, report, dst string) error {
	t, err := Find(ctx, "")
	if err != nil {
		return err
	}
	return t.Export(ctx, report, dst)
}

// exportPatience is the timeout of an export. It is long because reports may have many gigabytes.
const exportPatience = 6 * time.Hour

// Export does the same as the function Export, but with the nsys of t.
func (t *Tool) Export(ctx context.Context, report, dst string) error {
	// nsys interprets a file name without the suffix as another format.
	st, err := os.Stat(report)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("is not a report")
	}
	return atomicfile.File(dst, func(f *os.File) error {
		out, err := t.run(ctx, exportPatience, "export", "--type=sqlite", "--force-overwrite=true", "--quiet=true", "--output="+f.Name(), report)
		// SQLite leaves temporary files behind if nsys is interrupted.
		for _, left := range []string{"-journal", "-wal", "-shm"} {
			os.Remove(f.Name() + left)
		}
		if err != nil {
			return err
		}
		if out.status != 0 {
			return errors.New(t.exportProblem(out))
		}
		if st, err := os.Stat(f.Name()); err != nil || st.Size() == 0 {
			return fmt.Errorf("nsys %v exported nothing: %s", t.Version, out.problem())
		}
		return nil
	})
}

// exportProblem translates nsys's error message.
func (t *Tool) exportProblem(out output) string {
	text := strings.TrimPrefix(out.problem(), "Exportation error: ")
	switch {
	case strings.Contains(text, "Version number is invalid"):
		_, of, _ := strings.Cut(text, ": ")
		of = strings.ReplaceAll(strings.SplitN(of, "-", 2)[0], "@", ".")
		return fmt.Sprintf("was written by nsys %s, which is newer than this one (%v): give a newer nsys with --nsys or STEPSCOPE_NSYS", of, t.Version)
	case strings.Contains(text, "magic number"):
		return fmt.Sprintf("is damaged or not an nsys report (nsys %v says: %s)", t.Version, text)
	case strings.Contains(text, "database is locked"):
		return "the export needs a file system that supports locks: write it elsewhere with -o"
	}
	return fmt.Sprintf("nsys %v cannot export it: %s", t.Version, text)
}

// ExportName returns the usual name of a report's export, next to the report.
func ExportName(report string) string {
	return strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
}
