package slurm

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// State is Slurm's state of a job or of a task of an array.
type State struct {
	ID     string // id of the job; a task of an array gets a separate id when the task begins
	Task   string // array only: task number, or numbers of the pending tasks, such as 3-9
	Is     string // such as PENDING, RUNNING, COMPLETED or NODE_FAIL
	Reason string // reason why the job is pending or has ended; "": none
	Nodes  string // node list, see Hostnames; "" until the job runs
	Exit   int    // exit status of the batch script
	Signal int    // signal that ended the batch script; 0: none
}

// ErrUnknown means that Slurm has no record of a job.
var ErrUnknown = errors.New("no such job in Slurm")

// alive holds the states of pending and running jobs. All other states are final.
var alive = map[string]bool{
	"PENDING": true, "RUNNING": true, "SUSPENDED": true, "COMPLETING": true, "CONFIGURING": true, "STOPPED": true, "SIGNALING": true,
	"STAGE_OUT": true, "RESIZING": true, "REQUEUED": true, "REQUEUE_FED": true, "REQUEUE_HOLD": true, "SPECIAL_EXIT": true, "RESV_DEL_HOLD": true,
}

// Ended reports whether the job is over.
func (s *State) Ended() bool { return !alive[s.Is] }

// States returns the state of a job, or the state of each task of an array. Slurm forgets a job some minutes after the
// end of the job. In that case States queries Slurm's accounting, if the cluster has accounting.
func States(ctx context.Context, id string) ([]State, error) {
	out, err := ask(ctx, "", "scontrol", "--oneliner", "show", "job", id)
	if err == nil {
		return ParseJobs(out), nil
	}
	var e *Error
	if !errors.As(err, &e) || !gone(e.Text) {
		return nil, err
	}
	out, err = ask(ctx, "", "sacct", "--noheader", "--parsable2", "--allocations", "--format=JobID,State,ExitCode,NodeList", "--jobs="+id)
	if err != nil {
		return nil, ErrUnknown // the cluster has no accounting
	}
	if all := parseAccounts(out); len(all) > 0 {
		return all, nil
	}
	return nil, ErrUnknown
}

// fields matches the fields of scontrol's lines that this package parses. Only the first occurrence of a field counts.
// Later occurrences may come from text that the user has chosen. The name of the job, which comes before the fields, is
// removed first.
var (
	fields  = regexp.MustCompile(`(?:^| )(JobId|ArrayTaskId|JobState|Reason|ExitCode|NodeList)=(\S*)`)
	jobName = regexp.MustCompile(` JobName=.*? UserId=`)
)

// ParseJobs parses the output of scontrol --oneliner show job.
func ParseJobs(text string) (all []State) {
	for line := range strings.Lines(text) {
		of := map[string]string{}
		for _, f := range fields.FindAllStringSubmatch(jobName.ReplaceAllLiteralString(strings.TrimSpace(line), " UserId="), -1) {
			if _, seen := of[f[1]]; !seen {
				of[f[1]] = none(f[2])
			}
		}
		if of["JobId"] == "" {
			continue
		}
		s := State{ID: of["JobId"], Is: of["JobState"], Reason: of["Reason"], Nodes: of["NodeList"]}
		s.Task, _, _ = strings.Cut(of["ArrayTaskId"], "%")
		s.exit(of["ExitCode"])
		all = append(all, s)
	}
	return all
}

// parseAccounts parses sacct's lines: ID or ID_TASK, state, exit code, nodes.
func parseAccounts(text string) (all []State) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			continue
		}
		s := State{Nodes: none(f[3])}
		s.ID, s.Task, _ = strings.Cut(f[0], "_")
		s.Is, s.Reason, _ = strings.Cut(f[1], " ") // f[1] is a state, possibly with a reason, such as CANCELLED by 0
		s.exit(f[2])
		all = append(all, s)
	}
	return all
}

// exit parses CODE:SIGNAL.
func (s *State) exit(text string) {
	code, sig, _ := strings.Cut(text, ":")
	s.Exit, _ = strconv.Atoi(code)
	s.Signal, _ = strconv.Atoi(sig)
}

func none(text string) string {
	if text == "None" || text == "(null)" || text == "None assigned" {
		return ""
	}
	return text
}
