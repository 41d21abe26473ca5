package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/base/loglimit"
)

// How nodes find each other:
//
//	k → 0    hello join: node, terms, k's listening address
//	0 → k    reply: accepted, or the reason why not
//	0 → k    welcome, once all have joined: a token, all addresses
//	k → j<k  hello lane: node, lane, token; reply
//	k → 0    ready; 0 → k: go
//
// Each message is the magic, its length (4 bytes, little endian) and JSON. The connection on which a node joined
// becomes that node's bulk lane.

const (
	magic       = "SSD1"
	mostMessage = 1 << 20
	// answerTime limits the wait for an answer that the other node can send immediately.
	answerTime = 10 * time.Second
	dialTime   = 5 * time.Second
	dialPause  = 200 * time.Millisecond
)

// arrival is a connection that has sent its hello.
type arrival struct {
	hello
	c net.Conn
}

// Join finds the other nodes. It returns when all nodes are connected. If Join fails, it returns an error of one line
// and also sends that error to the other nodes. The caller must end the mesh with Leave.
func Join(ctx context.Context, opt Options) (_ *Mesh, err error) {
	opt = opt.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, opt.Timeout, errTime)
	defer cancel()
	j := &joining{opt: opt, arrivals: make(chan arrival), conns: map[net.Conn]bool{}}
	j.m = &Mesh{
		opt: opt, hosts: make([]string, opt.Nodes), channels: map[uint32]*Channel{}, lost: make(chan struct{}), ended: make(chan struct{}),
		gone: make([]atomic.Bool, opt.Nodes),
	}
	for lane := range j.m.links {
		j.m.links[lane] = make([]*link, opt.Nodes)
	}
	ctx, j.stop = context.WithCancel(ctx)
	defer j.close()
	// When ctx ends, end all waits on connections.
	context.AfterFunc(ctx, j.hurry)
	if opt.Node == 0 {
		err = j.first(ctx)
	} else {
		err = j.other(ctx)
	}
	if err != nil {
		for _, l := range j.m.links[Fast] {
			if l != nil && l.shm != nil {
				l.shm.unmap()
			}
		}
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errTime) {
			return nil, cause
		}
		return nil, err
	}
	j.handOver()
	return j.m, nil
}

// handOver makes the mesh the owner of the connections.
func (j *joining) handOver() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, list := range j.m.links {
		for _, l := range list {
			if l != nil {
				delete(j.conns, l.c)
				_ = l.c.SetDeadline(time.Time{})
				l.start()
			}
		}
	}
}

var errTime = errors.New("the time limit for joining has passed")

// joining is a Join in progress.
type joining struct {
	opt      Options
	m        *Mesh
	ln       net.Listener
	arrivals chan arrival
	stop     context.CancelFunc
	wg       sync.WaitGroup
	logs     loglimit.Lines // limits the log lines that unknown peers can cause

	mu     sync.Mutex
	conns  map[net.Conn]bool
	passed bool // waits must end at once
}

// own registers a connection. The connection is closed at the end of Join, unless the mesh becomes its owner.
func (j *joining) own(c net.Conn, most time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.conns[c] = true
	at := time.Now().Add(most)
	if j.passed {
		at = time.Unix(1, 0)
	}
	_ = c.SetDeadline(at)
}

// hurry ends all waits on connections at once.
func (j *joining) hurry() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.passed = true
	for c := range j.conns {
		_ = c.SetDeadline(time.Unix(1, 0))
	}
}

func (j *joining) drop(c net.Conn) {
	j.mu.Lock()
	delete(j.conns, c)
	j.mu.Unlock()
	c.Close()
}

// close releases everything that Join has created, except what the mesh already owns.
func (j *joining) close() {
	if j.ln != nil {
		j.ln.Close()
	}
	j.stop()
	j.hurry()
	j.wg.Wait()
	for c := range j.conns {
		c.Close()
	}
}

// listen accepts connections and passes on each connection on which a hello arrives.
func (j *joining) listen(ctx context.Context, addr string) (err error) {
	if j.ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
		return err
	}
	j.wg.Go(func() {
		for {
			c, err := j.ln.Accept()
			if err != nil {
				return
			}
			j.own(c, answerTime)
			j.wg.Go(func() {
				a := arrival{c: c}
				if err := hear(c, &a.hello); err != nil {
					if ctx.Err() == nil {
						j.logs.Printf(j.opt.Log, "%s connected to %s but is not a node of this job: %v", c.RemoteAddr(), addr, causeText(err))
					}
					j.drop(c)
					return
				}
				select {
				case j.arrivals <- a:
				case <-ctx.Done():
					j.drop(c)
				}
			})
		}
	})
	return nil
}

func (j *joining) arrival(ctx context.Context) (arrival, error) {
	select {
	case a := <-j.arrivals:
		return a, nil
	case <-ctx.Done():
		return arrival{}, context.Cause(ctx)
	}
}

// lanes accepts the fast lanes of the higher-numbered nodes.
func (j *joining) lanes(ctx context.Context, token string) error {
	o := &j.opt
	for n := o.Node + 1; n < o.Nodes; n++ {
		a, err := j.arrival(ctx)
		if err != nil {
			return fmt.Errorf("not all nodes connected to node %d (%s at %s) within %v", o.Node, o.Names[o.Node], o.Host, o.Timeout)
		}
		if a.Lane != "fast" || a.Token != token || a.Node <= o.Node || a.Node >= o.Nodes || j.m.links[Fast][a.Node] != nil {
			_ = say(a.c, reply{Refused: fmt.Sprintf("node %d at %s is not expected: another job is starting there", a.Node, a.Host)})
			j.drop(a.c)
			n--
			continue
		}
		l := j.m.newLink(a.Node, Fast, a.c)
		if a.HostID != "" && a.HostID == hostID() {
			if mem, err := openShared(shmName(token, o.Node, a.Node)); err == nil {
				l.shm = rings(mem, true)
			}
		}
		if err := say(a.c, reply{Shared: l.shm != nil}); err != nil {
			return fmt.Errorf("node %d (%s at %s) left while the job was starting: %s", a.Node, o.Names[a.Node], a.Host, causeText(err))
		}
		j.m.links[Fast][a.Node] = l
	}
	return nil
}
