package job

import (
	"net"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// given are the ports of workers that this process conducts on this machine: who has one need not serve yet.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// Reserve gives the workers of a job on this machine the next ports that nobody has, where the file names none. They
// are theirs until release is called.
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
	}
	return func() {
		given.Lock()
		defer given.Unlock()
		for _, n := range mine {
			delete(given.ports, n)
		}
	}
}

// portIsFree tells whether a server could listen there now, on all addresses or on the host's own.
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

// leads are the ports that workers will listen at on a node that is the first of theirs.
func (p *Plan) leads(isNode func(int) bool) (ports []int) {
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
