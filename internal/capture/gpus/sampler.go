package gpus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Local is the source of the GPUs of this machine, read with nvidia-smi.
const Local = "nvidia-smi"

// Sampler samples GPUs until End.
type Sampler struct {
	host   string // of the samples of nvidia-smi
	unsure bool   // whether the servers may run on another host
	stop   func()
	wg     sync.WaitGroup

	mu     sync.Mutex
	states []State
	err    error
}

// Start samples the GPUs of a source: Local, or the URL of a DCGM exporter's /metrics. It returns an error if the first
// sample cannot be taken. It warns if the source is Local and no server has an address of this machine: a container and
// a load balancer have addresses of their own.
func Start(ctx context.Context, source string, warn func(string), servers ...string) (*Sampler, error) {
	s := &Sampler{}
	s.host, _ = os.Hostname()
	if source == Local {
		s.unsure = elsewhere(ctx, servers)
	}
	ctx, s.stop = context.WithCancel(ctx)
	first, err := s.begin(ctx, source)
	if err != nil {
		s.stop()
		return nil, err
	}
	select {
	case <-first:
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.states) == 0 {
		s.stop()
		return nil, fmt.Errorf("%s: no sample of a GPU: %w", source, cmp.Or(s.err, errors.New("it did not answer in time")))
	}
	if s.unsure {
		warn(fmt.Sprintf("%s is not an address of this machine: the samples of %s are those of this machine's GPUs, and hold only if the server runs here. Otherwise give the URL of a DCGM exporter there (--gpus=http://HOST:9400/metrics)", servers[0], Local))
	}
	return s, nil
}

// elsewhere reports whether no server has an address of this machine. A name without an address does not count.
func elsewhere(ctx context.Context, servers []string) bool {
	for _, server := range servers {
		if is, err := client.Here(ctx, server); is || err != nil {
			return false
		}
	}
	return len(servers) > 0
}

// begin starts reading. first is closed after the first sample, or when reading has failed.
func (s *Sampler) begin(ctx context.Context, source string) (first chan struct{}, err error) {
	first = make(chan struct{})
	done := sync.OnceFunc(func() { close(first) })
	read := func() error { return s.smi(ctx, done) }
	if source != Local {
		if !strings.Contains(source, "://") {
			source = "http://" + source
		}
		u, err := url.Parse(source)
		if err != nil || u.Port() == "" && u.Path == "" {
			return nil, fmt.Errorf("%s: give %s, or the URL of a DCGM exporter's metrics, such as http://HOST:9400/metrics", source, Local)
		}
		path := cmp.Or(u.EscapedPath(), "/metrics")
		server, err := client.New(u.Scheme+"://"+u.Host, nil)
		if err != nil {
			return nil, err
		}
		read = func() error { return s.dcgm(ctx, server, path, done) }
	} else if _, err := exec.LookPath(Local); err != nil {
		return nil, fmt.Errorf("%s is not installed here: give the URL of a DCGM exporter's metrics", Local)
	}
	s.wg.Go(func() {
		defer done()
		if err := read(); err != nil && ctx.Err() == nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
		}
	})
	return first, nil
}

// Sample samples the GPUs of a source until end is called, which returns the samples. If the source is "", there are
// none. warn is that of Start; lack reports that sampling ended early.
func Sample(ctx context.Context, source string, servers []string, warn, lack func(string)) (end func() []State, err error) {
	if source == "" {
		return func() []State { return nil }, nil
	}
	s, err := Start(ctx, source, warn, servers...)
	if err != nil {
		return nil, err
	}
	return func() []State {
		states, err := s.End()
		if err != nil {
			lack("The samples of the GPUs are incomplete: " + err.Error())
		}
		return states
	}, nil
}

// Between returns the samples between two moments, in ns since the epoch.
func (s *Sampler) Between(from, to int64) (out []State) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.states {
		if x.At >= from && x.At <= to {
			out = append(out, x)
		}
	}
	return out
}

// End stops sampling and returns the samples, and the error with which sampling ended early, if it did.
func (s *Sampler) End() ([]State, error) {
	s.stop()
	s.wg.Wait()
	return s.states, s.err
}

func (s *Sampler) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.states) == 0
}

// mostStates is the number of samples above which every second sample of each GPU is dropped.
const mostStates = 50_000

func (s *Sampler) add(states ...State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states, states...)
	if len(s.states) > mostStates {
		seen := map[[2]string]int{}
		s.states = slices.DeleteFunc(s.states, func(x State) bool {
			key := [2]string{x.Host, strconv.Itoa(x.GPU)}
			seen[key]++
			return seen[key]%2 == 0
		})
	}
}

// fields are the properties that nvidia-smi is asked for, in the order in which line reads them. The property with the
// reasons has another name in drivers before R535.
const fields = "index,clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu,utilization.gpu,clocks_event_reasons.active,uuid,pci.bus_id"

// smi runs nvidia-smi, which prints a line for each GPU at each interval.
func (s *Sampler) smi(ctx context.Context, first func()) error {
	for _, query := range []string{fields, strings.Replace(fields, "event", "throttle", 1)} {
		cmd := exec.CommandContext(ctx, Local, "--query-gpu="+query, "--format=csv,noheader,nounits", "-lms", strconv.Itoa(int(every.Milliseconds())))
		cmd.WaitDelay = time.Second
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		got, refused := 0, ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if state, ok := line(lines.Text(), time.Now().UnixNano()); ok {
				state.Host, state.Unsure = s.host, s.unsure
				s.add(state)
				got++
				first()
			} else if refused == "" {
				refused = lines.Text()
			}
		}
		err = cmd.Wait()
		if got > 0 || ctx.Err() != nil {
			return err
		}
		if !strings.Contains(refused+errs.String(), "not a valid field") {
			return fmt.Errorf("%s: %s", Local, strings.TrimSpace(refused+" "+errs.String()))
		}
	}
	return errors.New("nvidia-smi knows no reasons for lower clocks: its driver is too old")
}

// line parses a line of nvidia-smi. Values that a GPU does not report, such as [N/A], are unknown.
func line(text string, at int64) (State, bool) {
	cells := strings.Split(text, ",")
	if len(cells) != strings.Count(fields, ",")+1 {
		return State{}, false
	}
	number := func(i int) float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(cells[i]), 64)
		if err != nil || !(v >= 0) {
			return -1
		}
		return v
	}
	gpu, err := strconv.Atoi(strings.TrimSpace(cells[0]))
	if err != nil || gpu < 0 {
		return State{}, false
	}
	busy := number(6)
	if busy > 0 {
		busy /= 100
	}
	var list []string
	if mask, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(cells[7]), "0x"), 16, 64); err == nil {
		list = reasonsOf(mask)
	}
	return State{At: at, GPU: gpu, SM: number(1), Memory: number(2), Power: number(3), Limit: number(4), Celsius: number(5), Busy: busy, Reasons: list,
		UUID: strings.TrimSpace(cells[8]), PCI: strings.TrimSpace(cells[9])}, true
}

// dcgm reads the metrics of a DCGM exporter once a second.
func (s *Sampler) dcgm(ctx context.Context, server *client.Server, path string, first func()) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	const patience = 5 // failures in sequence at which sampling ends
	for failed := 0; ; {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		text, err := server.Text(limited, http.MethodGet, path)
		end()
		if failed++; err != nil && (failed == patience || s.empty()) {
			return err
		}
		states := exported(text, time.Now().UnixNano())
		if err == nil && len(states) == 0 {
			return errors.New("these are no metrics of a DCGM exporter: they have no DCGM_FI_DEV_SM_CLOCK")
		}
		if err == nil {
			failed = 0
			s.add(states...)
			first()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// exported parses the metrics of a DCGM exporter. Names of fields are those of dcgm_fields.h.
func exported(text string, at int64) (out []State) {
	index := map[string]int{}
	for m := range client.Metrics(text) {
		gpu, err := strconv.Atoi(m.Label("gpu"))
		if err != nil || !strings.HasPrefix(m.Name, "DCGM_FI_DEV_") || !(m.Value >= 0) {
			continue
		}
		host := m.Label("Hostname")
		key := host + " " + m.Label("gpu")
		if _, ok := index[key]; !ok {
			index[key] = len(out)
			out = append(out, State{At: at, GPU: gpu, Host: host, UUID: m.Label("UUID"), PCI: m.Label("pci_bus_id"), SM: -1, Memory: -1, Power: -1, Limit: -1, Celsius: -1, Busy: -1})
		}
		s := &out[index[key]]
		switch strings.TrimPrefix(m.Name, "DCGM_FI_DEV_") {
		case "SM_CLOCK":
			s.SM = m.Value
		case "MEM_CLOCK":
			s.Memory = m.Value
		case "POWER_USAGE":
			s.Power = m.Value
		case "POWER_MGMT_LIMIT", "ENFORCED_POWER_LIMIT":
			s.Limit = m.Value
		case "GPU_TEMP":
			s.Celsius = m.Value
		case "GPU_UTIL":
			s.Busy = m.Value / 100
		case "CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS":
			s.Reasons = reasonsOf(uint64(m.Value))
		}
	}
	clocked := func(s State) bool { return s.SM >= 0 }
	if len(out) > 0 && !clocked(out[0]) {
		return nil
	}
	return out
}
