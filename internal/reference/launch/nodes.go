package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/mesh"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/nodes"
)

// NodeArgs select the number of nodes over which the ranks are distributed and the index of this node. Each node is one
// process. Names and meanings of the arguments are SGLang's.
type NodeArgs struct {
	NNodes      int           `name:"nnodes" default:"1" help:"Number of nodes that the ranks are spread over; start each with the same command and its own --node-rank." json:"nnodes"`
	NodeRank    int           `name:"node-rank" default:"0" help:"Index of this node; node 0 serves." json:"node_rank"`
	InitAddr    string        `name:"dist-init-addr" aliases:"nccl-init-addr" placeholder:"HOST:PORT" help:"Address where node 0 accepts the other nodes; use a trusted network, since nothing is encrypted." json:"dist_init_addr,omitempty"`
	Timeout     int           `name:"dist-timeout" default:"600" placeholder:"SECONDS" help:"Time limit for the nodes to join, and for the others to load after node 0." json:"dist_timeout"`
	Shared      string        `name:"dist-shm" enum:"auto,off" default:"auto" help:"auto: nodes of one host exchange data through shared memory; off: over TCP as well." json:"dist_shm"`
	ClockOffset time.Duration `name:"clock-offset" hidden:"" help:"Shift the clock of this node's traces." json:"-"`
}

// Several reports whether there is more than one node.
func (n *NodeArgs) Several() bool { return n.NNodes > 1 }

// Check checks the values independently of other arguments.
func (n *NodeArgs) Check(a *ModelArgs) error {
	switch {
	case n.NNodes < 1:
		return fmt.Errorf("--nnodes %d: give 1 or more", n.NNodes)
	case n.NodeRank < 0 || n.NodeRank >= n.NNodes:
		return fmt.Errorf("--node-rank %d: with --nnodes %d, give 0 to %d", n.NodeRank, n.NNodes, n.NNodes-1)
	case n.Timeout < 1:
		return fmt.Errorf("--dist-timeout %d: give seconds, 1 or more", n.Timeout)
	case !n.Several():
		return nil
	}
	if _, port, err := net.SplitHostPort(n.InitAddr); err != nil || port == "" {
		return fmt.Errorf("--dist-init-addr %q: with --nnodes give HOST:PORT of node 0, the same on all nodes", n.InitAddr)
	}
	return n.layout(a).Check()
}

func (n *NodeArgs) layout(a *ModelArgs) nodes.Layout {
	return nodes.Layout{Sizes: a.sizes(), Nodes: n.NNodes}
}

// here returns the number of ranks on this node.
func (n *NodeArgs) here(a *ModelArgs) int { return n.layout(a).PerNode() }

// job is a model whose ranks run on several nodes.
type job struct {
	m      *Model
	mesh   *mesh.Mesh
	layout nodes.Layout
	setup  *nodes.Setup
}

// offer is a node's capacity.
type offer struct{ Blocks int }

// plan is the configuration that all nodes use. Node 0 derives it from its arguments and the offers of all nodes.
type plan struct {
	Blocks, Seqs, Tokens int
	NoGraphs             bool
	GraphSizes           []int
	Boot                 string // boot id of node 0's host
	Ahead                int64  // ns by which node 0's clock is ahead of its host's clock; see device.HostClock
}

// made is a node's result of applying the plan.
type made struct {
	Error   string
	Ranks   []nodes.About
	Weights int64 // maximum of the ranks' weight bytes
}

// join connects to the other nodes.
func (m *Model) join(ctx context.Context, log func(string)) (*job, error) {
	n := &m.nodes
	j := &job{m: m, layout: n.layout(&m.args)}
	hash, err := m.fingerprint()
	if err != nil {
		return nil, err
	}
	m.shift(int64(n.ClockOffset))
	a := &m.args
	opt := mesh.Options{
		Node: n.NodeRank, Nodes: n.NNodes, Addr: n.InitAddr, Timeout: time.Duration(n.Timeout) * time.Second, Host: hostname(), Log: log, NoShared: n.Shared == "off",
		Now: func() int64 { return device.Now() + m.ahead.Load() },
		Terms: map[string]string{
			"--tp-size": strconv.Itoa(a.TP), "--dp-size": strconv.Itoa(a.DP), "--pp-size": strconv.Itoa(a.PP), "--ep-size": strconv.Itoa(a.EP),
			"model": hash, "weight format": m.format.String(), "protocol version": protocol,
		},
	}
	for node := range n.NNodes {
		opt.Names = append(opt.Names, j.layout.Name(node))
	}
	if j.mesh, err = mesh.Join(ctx, opt); err != nil {
		return nil, err
	}
	j.setup = nodes.NewSetup(j.mesh)
	m.spread = j.layout.Spread(j.mesh)
	return j, nil
}

// shift moves the clock of this node's traces forward by by ns.
func (m *Model) shift(by int64) { m.ahead.Add(by) }

// protocol is the version of all messages between nodes.
const protocol = "1"

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// fingerprint identifies the model. It returns a hash of the configuration, of the names and shapes of all tensors, and
// of the first values of each tensor.
func (m *Model) fingerprint() (string, error) {
	h := sha256.New()
	e := json.NewEncoder(h)
	if err := e.Encode(m.cfg); err != nil {
		return "", err
	}
	for _, name := range m.src.Names() {
		shape, _ := m.src.Shape(name)
		size := 1
		for _, n := range shape {
			size *= n
		}
		first := make([]float32, min(size, 16))
		if err := m.src.Read(name, 0, first); err != nil {
			return "", err
		}
		fmt.Fprintln(h, name, shape, first)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// agree collects the offers of all nodes and applies the smallest one, so that all nodes have the same number of cache
// blocks.
func (j *job) agree(ctx context.Context) error {
	return hearAll(ctx, j, "reported their memory", func(_ int, o offer) error {
		if o.Blocks < 1 {
			return errors.New("a node offers no memory for the KV cache")
		}
		j.m.setBlocks(min(j.m.blocks, o.Blocks))
		return nil
	})
}

// hearAll receives one message from each other node. Every message must arrive within --dist-timeout of the call. what
// describes, in error messages, the action that a message confirms.
func hearAll[T any](ctx context.Context, j *job, what string, take func(node int, v T) error) error {
	limit := time.Duration(j.m.nodes.Timeout) * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	heard := make([]bool, j.mesh.Nodes())
	for range j.mesh.Nodes() - 1 {
		var v T
		node, err := j.setup.Hear(ctx, &v)
		if errors.Is(err, context.DeadlineExceeded) {
			var missing []string
			for n := 1; n < j.mesh.Nodes(); n++ {
				if !heard[n] {
					missing = append(missing, fmt.Sprintf("node %d (%s at %s)", n, j.layout.Name(n), j.mesh.Host(n)))
				}
			}
			return fmt.Errorf("not all nodes %s within %v (--dist-timeout); missing: %s", what, limit, strings.Join(missing, ", "))
		}
		if err == nil {
			heard[node], err = true, take(node, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// groups creates the ranks of all nodes, on node 0.
func (j *job) groups(ctx context.Context, seqs, tokens int) (_ []engine.Group, weights int64, err error) {
	m := j.m
	boot, ahead := device.HostClock()
	p := plan{Boot: boot, Ahead: ahead, Blocks: m.blocks, Seqs: seqs, Tokens: tokens, NoGraphs: m.args.DisableGraph, GraphSizes: m.args.graphSizes()}
	for node := 1; node < j.mesh.Nodes(); node++ {
		if err := j.setup.Tell(node, p); err != nil {
			return nil, 0, err
		}
	}
	local, weights, err := j.make(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	about := map[int]nodes.About{}
	err = hearAll(ctx, j, "loaded their ranks", func(node int, d made) error {
		if d.Error != "" {
			return fmt.Errorf("node %d at %s: %s", node, j.mesh.Host(node), d.Error)
		}
		weights = max(weights, d.Weights)
		for _, a := range d.Ranks {
			about[a.Rank] = a
		}
		return nil
	})
	if err != nil {
		return nil, 0, errors.Join(err, closeRanks(local))
	}
	files := nodes.NewFiles(j.mesh)
	var out []engine.Group
	for dp := range m.z.DP {
		out = append(out, nodes.NewGroup(j.mesh, j.layout, dp, local[dp], about, files))
	}
	return out, weights, nil
}

// stopping is a source whose reads fail as soon as stop returns an error. With it, loading can be stopped between two
// tensors.
type stopping struct {
	hf.Source
	stop func() error
}

func (s stopping) Read(name string, off int, dst []float32) error {
	if err := s.stop(); err != nil {
		return err
	}
	return s.Source.Read(name, off, dst)
}

// make loads this node's ranks and returns them, keyed by the number of the replica.
func (j *job) make(ctx context.Context, p plan) (_ map[int]*engine.Ranks, weights int64, err error) {
	out := map[int]*engine.Ranks{}
	j.m.args.DisableGraph, j.m.args.GraphBS, j.m.args.GraphMaxBS = p.NoGraphs, p.GraphSizes, 0
	j.m.src = stopping{j.m.src, func() error { return cmp.Or(ctx.Err(), j.mesh.Err()) }}
	for dp := range j.m.z.DP {
		if !j.layout.Has(dp, j.mesh.Node()) {
			continue
		}
		r, err := j.m.ranks(dp, p.Seqs, p.Tokens)
		if lost := j.mesh.Err(); lost != nil && err != nil {
			err = lost // the loss caused all other failures
		}
		if err != nil {
			return nil, 0, errors.Join(err, closeRanks(out))
		}
		out[dp], weights = r, max(weights, r.WeightBytes())
	}
	return out, weights, nil
}

func closeRanks(list map[int]*engine.Ranks) (err error) {
	for _, r := range list {
		err = errors.Join(err, r.Close())
	}
	return err
}

// FollowOptions configure Follow.
type FollowOptions struct {
	Grace  time.Duration     // time for which to continue after ctx has ended, to let current requests finish
	Log    func(line string) // any goroutine may call it
	Loaded func(percent int) // receives the value for GOGC, see Engine.GCPercent; may be nil
}

// Follow runs the ranks of a node other than node 0, until the job is over.
func Follow(ctx context.Context, a ModelArgs, n NodeArgs, opt FollowOptions) (err error) {
	log := opt.Log
	m, err := open(a, n, log)
	if err != nil {
		return err
	}
	closed := false
	done := func() error {
		if closed {
			return nil
		}
		closed = true
		return m.Close()
	}
	defer done()
	j, err := m.join(ctx, log)
	if err != nil {
		return err
	}
	left := ""
	defer func() { j.mesh.Leave(left) }()
	local, inUse, err := j.follow(ctx)
	if err != nil {
		left = err.Error()
		return err
	}
	defer func() { err = errors.Join(err, closeRanks(local)) }()
	if err := done(); err != nil {
		return err
	}
	log(fmt.Sprintf("Node %d runs %s for node 0 at %s", n.NodeRank, j.layout.Name(n.NodeRank), n.InitAddr))
	if opt.Loaded != nil {
		opt.Loaded(gcPercent(inUse))
	}
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		log(fmt.Sprintf("Shutting down: waiting up to %v for node 0 to end the job", opt.Grace))
		time.AfterFunc(opt.Grace, func() { cancel(context.Cause(ctx)) })
	})
	defer stop()
	if err = nodes.Follow(late, j.mesh, local); err != nil {
		left = err.Error()
		if ctx.Err() != nil && j.mesh.Err() == nil {
			left = "it was asked to stop"
		}
		return err
	}
	log("The job has ended")
	return nil
}

// follow exchanges the setup messages with node 0. It runs on every other node. inUse is the memory of this node's
// ranks in bytes.
func (j *job) follow(ctx context.Context) (_ map[int]*engine.Ranks, inUse int64, err error) {
	if err := j.setup.Tell(0, offer{j.m.blocks}); err != nil {
		return nil, 0, err
	}
	var p plan
	if _, err := j.setup.Hear(ctx, &p); err != nil {
		return nil, 0, err
	}
	j.m.setBlocks(p.Blocks)
	// Nodes of one host must share one time line, because a merge does not align the files of one host.
	if boot, ahead := device.HostClock(); boot != "" && boot == p.Boot {
		j.m.shift(p.Ahead - ahead)
	}
	local, weights, err := j.make(ctx, p)
	if err != nil {
		_ = j.setup.Tell(0, made{Error: err.Error()})
		return nil, 0, err
	}
	perBlock, err := j.m.cfg.KVBytesPerBlock(j.m.shard())
	if err != nil {
		return nil, 0, errors.Join(err, closeRanks(local))
	}
	d := made{Weights: weights}
	for dp, ranks := range local {
		for _, r := range ranks.Ranks() {
			d.Ranks = append(d.Ranks, nodes.About{Rank: dp*r.Meta.World + r.Meta.Rank, Host: r.Meta.Host, Device: r.Meta.Device})
		}
	}
	if err := j.setup.Tell(0, d); err != nil {
		return nil, 0, errors.Join(err, closeRanks(local))
	}
	return local, (weights + int64(j.m.blocks)*perBlock) * int64(j.layout.PerNode()), nil
}

func (m *Model) setBlocks(n int) { m.blocks, m.Capacity = n, n*model.BlockLen }
