package slurm

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// State is what Slurm says of one job, or of one task of an array.
type State struct {
	ID     string // of the job; tasks of an array that have begun have one of their own
	Task   string // of an array: its number, or the numbers of those that wait, as 3-9; "" else
	Is     string // as PENDING, RUNNING, COMPLETED, NODE_FAIL
	Reason string // why it waits, or ended; "" if there is none
	Nodes  string // a list, see Hostnames; "" before it runs
	Exit   int    // of the batch script
	Signal int    // that ended it; 0: none
}

// ErrUnknown means that Slurm has no record of a job.
var ErrUnknown = errors.New("the job is not known to Slurm")

// These are said of jobs that wait or run; all other states are ends.
var alive = map[string]bool{
	"PENDING": true, "RUNNING": true, "SUSPENDED": true, "COMPLETING": true, "CONFIGURING": true, "STOPPED": true, "SIGNALING": true,
	"STAGE_OUT": true, "RESIZING": true, "REQUEUED": true, "REQUEUE_FED": true, "REQUEUE_HOLD": true, "SPECIAL_EXIT": true, "RESV_DEL_HOLD": true,
}

// Ended tells that the job is over.
func (s *State) Ended() bool { return !alive[s.Is] }

// States says what became of a job: of an array, of each of its tasks. Slurm forgets
// jobs some minutes after their end, and then its accounting, where there is any, is
// asked.
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
		return nil, ErrUnknown // there is no accounting
	}
	if all := parseAccounts(out); len(all) > 0 {
		return all, nil
	}
	return nil, ErrUnknown
}

// fields are those members of scontrol's lines that are read here. The first of each
// counts: what users write freely comes after them, but for the job's name, which is
// taken out.
var (
	fields  = regexp.MustCompile(`(?:^| )(JobId|ArrayTaskId|JobState|Reason|ExitCode|NodeList)=(\S*)`)
	jobName = regexp.MustCompile(` JobName=.*? UserId=`)
)

// ParseJobs reads what scontrol --oneliner show job says.
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

// parseAccounts reads sacct's lines: ID or ID_TASK, state, exit code, nodes.
func parseAccounts(text string) (all []State) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 {
			continue
		}
		s := State{Nodes: none(f[3])}
		s.ID, s.Task, _ = strings.Cut(f[0], "_")
		s.Is, s.Reason, _ = strings.Cut(f[1], " ") // CANCELLED by 0
		s.exit(f[2])
		all = append(all, s)
	}
	return all
}

// exit takes CODE:SIGNAL.
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
