package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/trace"
)

// Manifest lists the contents of a run directory.
type Manifest struct {
	Format int    `json:"format"` // 1
	ID     string `json:"id"`     // id at the creation; the name of the directory takes precedence
	About
	Status  Status    `json:"status"`
	Error   string    `json:"error,omitempty"` // why the run failed
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	Machine Machine   `json:"machine"`
	PID     int       `json:"pid"`

	Files   []File   `json:"files"`
	Numbers []Number `json:"numbers,omitempty"` // the most important first
	Notes   []string `json:"notes,omitempty"`   // sentences about missing or lost data, for people
}

// About describes the command and its subject.
type About struct {
	Kind     string            `json:"kind"`           // part of the id: bench, profile, generate, demo
	Tool     string            `json:"tool"`           // the subcommand: "bench serving"
	Args     []string          `json:"args,omitempty"` // from the subcommand on; Create hides secrets in it
	Tags     []string          `json:"tags,omitempty"`
	Model    string            `json:"model,omitempty"`
	Backend  string            `json:"backend,omitempty"`
	URL      string            `json:"url,omitempty"`
	PlanHash string            `json:"plan_hash,omitempty"` // equal for runs that sent the same requests
	Versions map[string]string `json:"versions,omitempty"`  // of stepscope, the server, …
}

// Status is the state of a run.
type Status string

// Values of Status. Broken is never written to a manifest. It means that the manifest cannot be read, or that the
// status in the manifest is running although the process has ended.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Interrupted Status = "interrupted" // interrupted by the user; the data written until then is intact
	Failed      Status = "failed"
	Broken      Status = "broken"
)

// Machine describes the client's host.
type Machine struct {
	Host string `json:"host"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"` // number of CPUs that the client may use
}

// Number is one key figure of a run. The value must be finite.
type Number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // such as "ms", "tok/s"
}

// File is one file of a run.
type File struct {
	Path   string `json:"path"` // relative to the run directory, with slashes
	Kind   Kind   `json:"kind"`
	Format string `json:"format,omitempty"` // "json", "jsonl.zst", "kineto.json.gz", "pftrace", "html", "text"
	Size   int64  `json:"size"`             // in bytes; set by this package
	Count  int64  `json:"count,omitempty"`  // number of records, if the file holds records

	Host   string `json:"host,omitempty"`   // host that produced the file
	Source string `json:"source,omitempty"` // path or address of the file on that host
	Rank   *Rank  `json:"rank,omitempty"`
	Role   string `json:"role,omitempty"`   // server's role in disaggregated serving: prefill, decode
	Stage  string `json:"stage,omitempty"`  // stage of a window split by stage: EXTEND, DECODE
	Window string `json:"window,omitempty"` // the recorded batch, if the run has successive recordings
}

// Kind is the purpose of a file.
type Kind string

// Kinds of files. Readers skip kinds that they do not know, so new kinds may be added.
const (
	KindRun        Kind = "run"     // bench.Run
	KindRecords    Kind = "records" // bench.Record, one a line
	KindSummary    Kind = "summary"
	KindTrace      Kind = "trace"  // trace of one rank
	KindMerged     Kind = "merged" // merged trace of several ranks
	KindReport     Kind = "report"
	KindLog        Kind = "log"
	KindMetrics    Kind = "metrics" // servers' metrics during the run
	KindServerArgs Kind = "server_args"
	KindModel      Kind = "model_config" // config.json of the model
	KindBatches    Kind = "batches"      // bench.Batch, one a line
	KindFigures    Kind = "figures"      // figures of an image load, or figures in the format of SGLang's client
	KindNotes      Kind = "notes"        // notes of the viewer's users
)

// NotesFile is the file with the notes of a run. It is among the derived files, because notes are added to finished runs.
const NotesFile = derivedDir + "/notes.json"

// Nsys is the kind of a run under Nsight Systems, the kind of the run's reports, and the name of the directory that
// contains them.
const Nsys = "nsys"

// Derived reports whether the file was computed from other files. Such a file may be deleted.
func (f *File) Derived() bool { return strings.HasPrefix(f.Path, derivedDir+"/") }

// Rank is a position in the parallel layout. In JSON, absent coordinates are omitted.
type Rank trace.Rank

// At converts a rank to the type of File.Rank.
func At(r trace.Rank) *Rank { return (*Rank)(&r) }

type rankJSON struct {
	TP *int `json:"tp,omitempty"`
	DP *int `json:"dp,omitempty"`
	PP *int `json:"pp,omitempty"`
	EP *int `json:"ep,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Rank) MarshalJSON() ([]byte, error) {
	present := func(n int) *int {
		if n < 0 {
			return nil
		}
		return &n
	}
	return json.Marshal(rankJSON{present(r.TP), present(r.DP), present(r.PP), present(r.EP)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rank) UnmarshalJSON(text []byte) error {
	var j rankJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*r = Rank(trace.NoRank)
	for _, c := range []struct {
		to   *int
		from *int
	}{{&r.TP, j.TP}, {&r.DP, j.DP}, {&r.PP, j.PP}, {&r.EP, j.EP}} {
		if c.from != nil && *c.from < 0 {
			return fmt.Errorf("rank coordinate %d", *c.from)
		} else if c.from != nil {
			*c.to = *c.from
		}
	}
	return nil
}

// maxManifest limits the size of a manifest that is read: a file entry takes about 300 bytes.
const maxManifest = 64 << 20

func readManifest(dir string) (m Manifest, err error) {
	name := filepath.Join(dir, manifestFile)
	f, err := atomicfile.Open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return m, err
	}
	if m, err = parseManifest(text); err != nil {
		err = fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, err
}

// parseManifest parses a manifest. The manifest may come from another machine or person, so parseManifest rejects paths
// that lead out of the run directory.
func parseManifest(text []byte) (m Manifest, err error) {
	if len(text) > maxManifest {
		return m, fmt.Errorf("over %d MB", maxManifest>>20)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, err
	}
	if m.Format != 1 {
		return m, fmt.Errorf("format %d, this stepscope reads format 1", m.Format)
	}
	if m.Created.IsZero() || m.Status == "" {
		return m, fmt.Errorf("it has no time or no status")
	}
	seen := map[string]bool{}
	for i := range m.Files {
		p := m.Files[i].Path
		if err := checkPath(p); err != nil {
			return m, err
		}
		if seen[p] {
			return m, fmt.Errorf("the file %q is listed twice", p)
		}
		seen[p] = true
	}
	return m, nil
}

// checkPath returns an error unless p is a valid name of a file in a run directory. The path must stay inside the
// directory on every operating system. The name must not be one that this package reserves.
func checkPath(p string) error {
	local, err := filepath.Localize(p)
	if err != nil || local != filepath.Clean(local) || strings.ContainsAny(p, `\:`) || path.Clean(p) != p || p == "." {
		return fmt.Errorf("the file %q is not in the run directory", p)
	}
	if p == manifestFile || strings.HasPrefix(p, ".") {
		return fmt.Errorf("the file %q has a reserved name", p)
	}
	return nil
}

// Inside returns an error unless all files in the manifest, with symbolic links resolved, are inside the run's
// directory. It is for programs that serve runs by id to other users.
func (r *Run) Inside() error {
	root, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		return err
	}
	for _, f := range r.Manifest().Files {
		at, err := filepath.EvalSymlinks(r.Path(f.Path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, at); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("run %s: %s is a link to a file outside the run: give that file itself if you want it", r.ID(), f.Path)
		}
	}
	return nil
}

// write replaces the manifest. The new manifest is synced to disk before it is renamed, so after a power failure either
// the old or the new manifest is intact.
func (m *Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.File(filepath.Join(dir, manifestFile), func(f *os.File) error {
		if _, err := f.Write(append(text, '\n')); err != nil {
			return err
		}
		return f.Sync()
	})
}
