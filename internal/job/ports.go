package job

import (
	"net"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// given holds the ports that this process has assigned to workers on this machine. A worker with an assigned port may
// not be listening yet.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// Reserve assigns the next free ports of this machine to all workers of the job for which the job file specifies no
// ports. The ports remain reserved until release is called.
func (p *Plan) Reserve() (release func()) {
	given.Lock()
	defer given.Unlock()
	var mine []int
	next := func(port int) int {
		for n := port; n < 1<<16; n++ {
			if !given.ports[n] && portIsFree(n) {
				given.ports[n] = true
				mine = append(mine, n)
				return n
			}
		}
		return port
	}
	for i := range p.Workers {
		w := &p.Workers[i]
		w.Dist = next(w.Dist)
		if !has(p.Job.Backend.Config[w.Role], "port") {
			w.Port = next(w.Port)
		}
		if w.Bootstrap > 0 && !has(p.Job.Backend.Config[w.Role], "disaggregation-bootstrap-port") {
			w.Bootstrap = next(w.Bootstrap)
		}
	}
	if p.Router > 0 {
		p.Router = next(p.Router)
	}
	return func() {
		given.Lock()
		defer given.Unlock()
		for _, n := range mine {
			delete(given.ports, n)
		}
	}
}

// portIsFree reports whether a server could listen on the port now, on all addresses and on the loopback address.
func portIsFree(port int) bool {
	for _, host := range []string{"", "127.0.0.1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// leads returns the ports of all workers whose first node satisfies isNode, and the port of the router.
func (p *Plan) leads(isNode func(int) bool) (ports []int) {
	if p.Router > 0 && isNode(0) {
		ports = append(ports, p.Router)
	}
	for i := range p.Workers {
		w := &p.Workers[i]
		if !isNode(w.Nodes[0]) {
			continue
		}
		ports = append(ports, w.Port)
		if p.Job.Backend.Type != spec.StepScope || len(w.Nodes) > 1 {
			ports = append(ports, w.Dist)
		}
	}
	return ports
}
