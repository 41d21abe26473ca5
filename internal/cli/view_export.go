package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/view"
)

// exportedPage is a page that "view" writes instead of serving.
type exportedPage struct {
	path string // "-": stdout
	most int    // maximum size in bytes; 0: usualSize
}

// page returns the page to write, or nil if no page is requested. It checks for errors that would otherwise be detected
// only after all the work.
func (c *viewCmd) page() (*exportedPage, error) {
	if c.Export == "" {
		return nil, nil
	}
	if len(c.Paths) == 0 {
		return nil, usagef("--export writes the views of one capture: name it")
	}
	most, err := int64(0), error(nil)
	if c.ExportSize != "" {
		most, err = memory.Parse(c.ExportSize)
	}
	if err == nil && c.ExportSize != "" && most < view.LeastExport {
		err = fmt.Errorf("give at least %s", metric.Bytes(view.LeastExport))
	}
	if err != nil {
		return nil, usagef("--export-size %q: %v", c.ExportSize, err)
	}
	c.Export, err = target(c.Export, "", "view.html")
	return &exportedPage{c.Export, int(most)}, err
}

// usualSize returns the maximum size of a page if the user gives none. With the columns of all spans and their details, a
// page is about as large as the files of the capture.
func usualSize(capture *view.Capture) int {
	files := map[string]int64{}
	for _, t := range capture.Traces {
		if info, err := os.Stat(t.Source.Path); err == nil {
			files[t.Source.Path] = info.Size()
		}
	}
	sum := int64(0)
	for _, size := range files {
		sum += size
	}
	return int(min(max(sum+sum/5, 2_900_000), 20_000_000))
}

// export writes the page of the capture that the user has named.
func (c *viewCmd) export(ctx context.Context, e *env, page *exportedPage, opt view.Options) error {
	if err := c.give(ctx, e, &opt, map[string]inputFlags{}); err != nil {
		return err
	}
	if len(opt.Given) == 0 {
		return fmt.Errorf("%s: the run has no window to export; for a page of its load: stepscope bench serving --html", c.Paths[0])
	}
	most := cmp.Or(page.most, usualSize(opt.Given[0]))
	var out *view.Exported
	written := atomicfile.Counter{}
	write := func(w io.Writer) (err error) {
		written.W = w
		out, err = view.Export(ctx, &written, opt.Given[0], opt.Version, most)
		return err
	}
	if page.path == "-" {
		if err := write(e.data()); err != nil {
			return err
		}
	} else {
		if err := atomicfile.Write(page.path, write); err != nil {
			return atomicfile.Named(page.path, err)
		}
		e.Warn("page written: %s, %s", page.path, metric.Bytes(written.N))
	}
	for _, text := range out.LeftOut {
		e.Warn("left out: %s", text)
	}
	return nil
}
