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

// stateFile is the name of the file, in a job's directory, that holds the state of the job.
const stateFile = "state.json"

// Stage is the stage that a job has reached.
type Stage string

// Stages, in order. Even if a job has failed or was cancelled, the files that existed have been collected.
const (
	Submitted Stage = "submitted"
	Starting  Stage = "starting"  // nodes are being prepared, workers started
	Awaiting  Stage = "awaiting"  // workers are loading their models
	Loading   Stage = "loading"   // loads and windows are in progress
	Stopping  Stage = "stopping"  // workers are shutting down
	Gathering Stage = "gathering" // files are being collected
	Analyzing Stage = "analyzing"
	Completed Stage = "completed"
	Failed    Stage = "failed"
	Cancelled Stage = "cancelled"
)

// Ended reports whether the job is over.
func (s Stage) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// State is the state or the outcome of a job.
type State struct {
	Job     string    `json:"job"`  // id
	Name    string    `json:"name"` // name in the job file
	On      string    `json:"on"`   // local; slurm: in a separate batch job; allocation: in an existing allocation
	Stage   Stage     `json:"stage"`
	Since   time.Time `json:"since"` // start time of the stage
	Began   time.Time `json:"began"`
	Dir     string    `json:"dir"`
	Host    string    `json:"host"` // host of the job's directory, unless the directory is shared
	PID     int       `json:"pid"`  // id of the process on Host that runs the job
	Nodes   []Node    `json:"nodes,omitempty"`
	Failure *Failure  `json:"failure,omitempty"`
	// Slurm's state of the job, set if the job has not reported its state itself
	Slurm  string   `json:"slurm,omitempty"`
	Lacks  []string `json:"lacks,omitempty"` // descriptions of items that were expected but are missing
	Advice []string `json:"advice,omitempty"`
	Runs   []string `json:"runs,omitempty"`   // directories of the stored runs
	Status int      `json:"status,omitempty"` // exit status
}

// Cause is the cause of a job's failure.
type Cause string

// Causes, each with its own exit status.
const (
	ByWorker    Cause = "worker"    // a server ended or never became ready
	ByLoad      Cause = "load"      // a load or the window of a load failed
	ByNode      Cause = "node"      // a node is down or not writable
	ByScheduler Cause = "scheduler" // the job was cancelled from outside or reached its time limit
	ByJob       Cause = "job"       // any other cause
)

var statuses = map[Cause]int{ByJob: 1, ByWorker: 10, ByLoad: 11, ByNode: 12, ByScheduler: 13}

// Failure is the reason why a job failed.
type Failure struct {
	Cause Cause    `json:"cause"`
	What  string   `json:"what"`           // description in one line
	Lines []string `json:"last,omitempty"` // last lines of the failed task's output

	of *Proc // the failed task; nil: no particular task failed
}

func (f *Failure) Error() string { return f.What }

func fail(cause Cause, format string, args ...any) *Failure {
	return &Failure{Cause: cause, What: fmt.Sprintf(format, args...)}
}

// Read returns the state of the job in a directory.
func Read(dir string) (*State, error) {
	text, err := atomicfile.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// first writes the initial state, unless the job itself has already written a state.
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

// write writes the state to the directory of the job.
func (s *State) write() error { return atomicfile.JSON(filepath.Join(s.Dir, stateFile), s) }
