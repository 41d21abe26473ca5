package launch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// clients is the number of concurrent clients: more than may run and wait, so that some are always refused.
const clients = 512

// maxBody limits bodies.
const maxBody = 64 << 10

// Allowed growth of memory in use after the load, compared with a warm-up of the same load. A request has dozens of
// objects, so 4096 are those of 100 requests lost out of thousands; without a loss the number differs by a few hundred.
// Bytes are a coarser measure: the buffers of the last profile window and of the largest batch differ by 3 MiB.
const (
	moreObjects = 4096
	moreBytes   = 8 << 20
)

// TestLoad keeps 512 clients of all kinds busy at a real server with real ranks,
// while others scrape it and profile it: see [site.visit] for what they do. Each
// well-formed request must end with the very tokens it would get alone, with a
// refusal, or by its own client. Afterwards nothing is left of them: no goroutine,
// no connection, no block of the KV cache, no memory.
//
// STEPSCOPE_SOAK=2m makes it last so long for each engine.
func TestLoad(t *testing.T) {
	lasts := time.Second
	if testing.Short() {
		lasts = 500 * time.Millisecond
	}
	if text := os.Getenv("STEPSCOPE_SOAK"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		change   func(*launch.ModelArgs)
		wave     time.Duration // clients come for this long before there is a rest
		retracts bool
	}{
		{"DP2", func(a *launch.ModelArgs) {
			a.DP, a.MaxTotalTokens, a.MaxRunningRequests, a.MaxQueuedRequests, a.GraphBS = 2, 16<<10, 32, 40, []int{8, 32}
		}, lasts, false},
		// A cache that is always full, and an optimistic admission, repeated after each rest because it learns.
		{"DP2 TP2 small cache", func(a *launch.ModelArgs) {
			a.DP, a.TP, a.MaxTotalTokens, a.Conservativeness = 2, 2, 3<<10, 0.01
		}, 5 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			http.DefaultClient.CloseIdleConnections() // of other tests
			eventually(t, "the connections of other tests are closed", func() bool { return !strings.Contains(stacks(), "net/http") })
			before := runtime.NumGoroutine()
			// Time for a body: even a busy machine sends a whole one within it.
			s := open(t, c.change, min(2*time.Second+lasts/10, 5*time.Second))
			defer s.close() // if something below is fatal
			s.learn()
			s.load(min(lasts, 10*time.Second)/2, 0)
			warm := s.rest()
			// Again, up to four times, if nothing happened to be retracted.
			for i, left := 0, lasts; left > 0 || c.retracts && s.retracted() == 0 && i < 5; i, left = i+1, left-c.wave {
				s.load(min(max(left, lasts), c.wave), uint64(left))
			}
			heap := s.rest()
			t.Logf("in use after the load: %d objects, %d KiB; after the warm-up: %d objects, %d KiB",
				heap.HeapObjects, heap.HeapAlloc>>10, warm.HeapObjects, warm.HeapAlloc>>10)
			if heap.HeapObjects > warm.HeapObjects+moreObjects || heap.HeapAlloc > warm.HeapAlloc+moreBytes {
				t.Error("memory grew more than allowed")
			}
			s.enough(c.retracts)
			s.close()
			eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// site is a server in front of real ranks, and its visitors.
type site struct {
	t      *testing.T
	engine *launch.Engine
	addr   string // host:port
	dir    string // for traces
	client *http.Client
	close  func()
	idle   [2]int // goroutines and open files without visitors

	asks atomic.Int64       // number of requests so far, for request ids
	want map[prompt][]int32 // the longest answers

	mu    sync.Mutex
	tally map[string]int // how requests ended
}

// narrow is a listener whose connections have small buffers, so that a slow reader makes the server wait.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(32 << 10)
	}
	return c, err
}

func open(t *testing.T, change func(*launch.ModelArgs), bodyTime time.Duration) *site {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e, err := launch.Load(t.Context(), args(func(a *launch.ModelArgs) {
		a.MaxRunningRequests, a.MaxQueuedRequests, a.ChunkedPrefill, a.GraphBS = 64, 80, 128, []int{8, 64}
		change(a)
	}), launch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		t: t, engine: e, addr: ln.Addr().String(), dir: t.TempDir(), want: map[prompt][]int32{}, tally: map[string]int{},
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: clients,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, addr)
				if tcp, ok := c.(*net.TCPConn); ok {
					tcp.SetReadBuffer(32 << 10)
				}
				return c, err
			},
		}},
	}
	hs := server.New(e, server.Options{EnableMetrics: true, MaxBodyBytes: maxBody, BodyTimeout: bodyTime, WriteTimeout: 20 * time.Second})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ctx, narrow{ln}) }()
	s.close = sync.OnceFunc(func() {
		s.client.CloseIdleConnections()
		stop()
		if err := errors.Join(<-served, e.Close()); err != nil {
			t.Error(err)
		}
	})
	s.scrape() // so that everything that serves has started
	s.client.CloseIdleConnections()
	eventually(t, "the first connections are closed", func() bool {
		return !strings.Contains(stacks(), "net/http.(*conn)") && !strings.Contains(stacks(), "net/http.(*persistConn)")
	})
	s.idle = [2]int{runtime.NumGoroutine(), openFiles()}
	return s
}

// load lets all visitors in for the given time and waits until the last has left.
func (s *site) load(lasts time.Duration, seed uint64) {
	over := time.Now().Add(lasts)
	var visitors sync.WaitGroup
	for i := range clients {
		visitors.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			for time.Now().Before(over) && !s.t.Failed() {
				kind, err := s.visit(rnd)
				if err != nil {
					s.t.Errorf("client %d, %s: %v", i, kind, err)
				}
				s.count(kind)
			}
		})
	}
	visitors.Go(func() {
		for time.Now().Before(over) && !s.t.Failed() {
			s.scrape()
		}
	})
	visitors.Go(func() {
		for i := 0; time.Now().Before(over) && !s.t.Failed(); i++ {
			s.profile(i)
		}
	})
	visitors.Wait()
}

func (s *site) count(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[kind]++
}

// enough checks that the load covered every case.
func (s *site) enough(retracts bool) {
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(s.tally)) {
		fmt.Fprintf(&text, "\n%8d %s", s.tally[kind], kind)
	}
	retracted := s.retracted()
	s.t.Logf("%d retractions%s%s", retracted, text.String(), peak())
	for _, kind := range []string{kindWhole, kindRefused, kindLeft, kindAborted, kindMalformed, kindTooLong, kindTooLarge, kindHalf, kindScrape, kindProfile} {
		if s.tally[kind] == 0 {
			s.t.Errorf("no request ended as %q", kind)
		}
	}
	if retracts && retracted == 0 && !testing.Short() {
		s.t.Error("nothing was retracted")
	}
}

// retracted returns the number of requests retracted so far.
func (s *site) retracted() (n int64) {
	for _, st := range s.engine.Stats() {
		n += st.RetractedRequests
	}
	return n
}

// rest waits until nothing is left of the visitors and returns the memory in use.
func (s *site) rest() *runtime.MemStats {
	t := s.t
	t.Helper()
	s.client.CloseIdleConnections()
	eventually(t, "no request runs and no block is held", func() bool {
		for _, st := range s.engine.Stats() {
			if st.Running+st.Waiting+st.UsedTokens != 0 || st.FreeTokens+st.EvictableTokens != st.Capacity {
				return false
			}
		}
		return true
	})
	if err := s.engine.FlushCache(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the cache is empty", func() bool {
		for _, st := range s.engine.Stats() {
			if st.FreeTokens != st.Capacity {
				return false
			}
		}
		return true
	})
	eventually(t, fmt.Sprintf("goroutines and open files are %d again", s.idle), func() bool {
		return s.idle == [2]int{runtime.NumGoroutine(), openFiles()}
	})
	for range 3 { // pools keep unused entries for two collections
		runtime.GC()
	}
	m := new(runtime.MemStats)
	runtime.ReadMemStats(m)
	return m
}

// eventually waits until ok, a condition that other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s; goroutines:\n%s", what, stacks())
		}
	}
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	var text strings.Builder
	pprof.Lookup("goroutine").WriteTo(&text, 1)
	return text.String()
}

// openFiles counts the file descriptors of this process, where the system reports them.
func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// peak is the peak memory of this process, where the system reports it.
func peak() string {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return "\npeak RSS of server and clients: " + strings.TrimSpace(size)
		}
	}
	return ""
}
