package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// stateFile has what a job is doing, in its directory.
const stateFile = "state.json"

// Stage is how far a job is.
type Stage string

// The stages, in order; a job that failed or was cancelled has gathered what there was.
const (
	Submitted Stage = "submitted"
	Starting  Stage = "starting"  // nodes are prepared, workers start
	Awaiting  Stage = "awaiting"  // workers load their models
	Loading   Stage = "loading"   // the loads run, and the windows
	Stopping  Stage = "stopping"  // workers end
	Gathering Stage = "gathering" // files come home
	Analyzing Stage = "analyzing"
	Completed Stage = "completed"
	Failed    Stage = "failed"
	Cancelled Stage = "cancelled"
)

// Ended tells whether nothing more happens.
func (s Stage) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// State is what a job is doing, or what became of it.
type State struct {
	Job     string    `json:"job"`  // its id
	Name    string    `json:"name"` // of its file
	On      string    `json:"on"`   // local; slurm: a batch script of its own conducts it; allocation: a process in one
	Stage   Stage     `json:"stage"`
	Since   time.Time `json:"since"` // this stage
	Began   time.Time `json:"began"`
	Dir     string    `json:"dir"`
	Host    string    `json:"host"` // that the directory is on, unless it is shared
	PID     int       `json:"pid"`  // of who conducts it, on Host
	Nodes   []Node    `json:"nodes,omitempty"`
	Failure *Failure  `json:"failure,omitempty"`
	Slurm   string    `json:"slurm,omitempty"` // what Slurm says of a job that has not said anything itself
	Lacks   []string  `json:"lacks,omitempty"` // what is missing of what was expected
	Advice  []string  `json:"advice,omitempty"`
	Runs    []string  `json:"runs,omitempty"`   // kept, their directories
	Status  int       `json:"status,omitempty"` // exit status
}

// Cause is what a job failed by.
type Cause string

// The causes, and the exit statuses that tell them.
const (
	ByWorker    Cause = "worker"    // a server ended, or never became ready
	ByLoad      Cause = "load"      // a load or its window failed
	ByNode      Cause = "node"      // a node is down, or nothing can be written there
	ByScheduler Cause = "scheduler" // cancelled from outside, or the time limit
	ByJob       Cause = "job"       // anything else
)

var statuses = map[Cause]int{ByJob: 1, ByWorker: 10, ByLoad: 11, ByNode: 12, ByScheduler: 13}

// Failure is why a job did not do what it should.
type Failure struct {
	Cause Cause    `json:"cause"`
	What  string   `json:"what"`           // one line
	Lines []string `json:"last,omitempty"` // of the output of who failed

	of *Proc // who did; nil: nobody in particular
}

func (f *Failure) Error() string { return f.What }

func fail(cause Cause, format string, args ...any) *Failure {
	return &Failure{Cause: cause, What: fmt.Sprintf(format, args...)}
}

// Read is the state of the job in a directory.
func Read(dir string) (*State, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// first keeps the state unless the job itself, which may have begun meanwhile, has kept one.
func (s *State) first() error {
	f, err := os.OpenFile(filepath.Join(s.Dir, stateFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(s), f.Close())
}

// write keeps the state in its directory.
func (s *State) write() error { return atomicfile.JSON(filepath.Join(s.Dir, stateFile), s) }
