package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// first performs Join on node 0.
func (j *joining) first(ctx context.Context) error {
	o := &j.opt
	if err := j.listen(ctx, o.Addr); err != nil {
		return fmt.Errorf("--dist-init-addr %s: %w", o.Addr, err)
	}
	w := welcome{Token: rand.Text(), Addrs: make([]string, o.Nodes), Hosts: make([]string, o.Nodes)}
	w.Hosts[0] = o.Host
	joined := make([]net.Conn, o.Nodes)
	tell := func(text string) error {
		for _, c := range joined {
			if c != nil {
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				_ = say(c, welcome{Refused: text})
			}
		}
		return errors.New(text)
	}
	nodes := "nodes"
	if o.Nodes == 2 {
		nodes = "node"
	}
	o.Log(fmt.Sprintf("Waiting for %d more %s at %s", o.Nodes-1, nodes, o.Addr))
	for n := 1; n < o.Nodes; n++ {
		a, err := j.arrival(ctx)
		if err != nil {
			return tell(fmt.Sprintf("%s did not join at %s within %v: start the same command there with its --node-rank", j.lacking(joined), o.Addr, o.Timeout))
		}
		if text := j.refuse(&a.hello, joined); text != "" {
			_ = say(a.c, reply{Refused: text})
			return tell(text)
		}
		if err := say(a.c, reply{}); err != nil {
			return tell(fmt.Sprintf("node %d (%s at %s) left while the job was starting: %s", a.Node, o.Names[a.Node], a.Host, causeText(err)))
		}
		_ = a.c.SetDeadline(time.Time{})
		joined[a.Node], w.Addrs[a.Node], w.Hosts[a.Node] = a.c, a.Listen, a.Host
		o.Log(fmt.Sprintf("Node %d (%s at %s) has joined", a.Node, o.Names[a.Node], a.Host))
	}
	copy(j.m.hosts, w.Hosts)
	left := func(node int, err error) error {
		if ctx.Err() != nil {
			return tell(fmt.Sprintf("node %d (%s at %s) was not ready within %v", node, o.Names[node], w.Hosts[node], o.Timeout))
		}
		return tell(fmt.Sprintf("node %d (%s at %s) left while the job was starting: %s", node, o.Names[node], w.Hosts[node], causeText(err)))
	}
	for node := 1; node < o.Nodes; node++ {
		if err := say(joined[node], w); err != nil {
			return left(node, err)
		}
	}
	if err := j.lanes(ctx, w.Token); err != nil {
		return tell(err.Error())
	}
	for node := 1; node < o.Nodes; node++ {
		var ready reply
		if err := hear(joined[node], &ready); err != nil {
			return left(node, err)
		}
		if ready.Refused != "" {
			return tell(ready.Refused)
		}
	}
	for node := 1; node < o.Nodes; node++ {
		if err := say(joined[node], reply{}); err != nil {
			return left(node, err)
		}
		j.m.links[Bulk][node] = j.m.newLink(node, Bulk, joined[node])
	}
	return nil
}

// lacking names the nodes that have not joined.
func (j *joining) lacking(joined []net.Conn) string {
	var out []string
	for node := 1; node < j.opt.Nodes; node++ {
		if joined[node] == nil {
			out = append(out, fmt.Sprintf("node %d (%s)", node, j.opt.Names[node]))
		}
	}
	return strings.Join(out, ", ")
}

// refuse returns the reason for which a node cannot join, or "".
func (j *joining) refuse(h *hello, joined []net.Conn) string {
	o := &j.opt
	switch {
	case h.Lane != "join":
		return fmt.Sprintf("node %d at %s belongs to a different job from the one starting at %s", h.Node, h.Host, o.Addr)
	case h.Nodes != o.Nodes:
		return fmt.Sprintf("node %d at %s cannot join: --nnodes %d, node 0 has %d", h.Node, h.Host, h.Nodes, o.Nodes)
	case h.Node < 1 || h.Node >= o.Nodes || joined[h.Node] != nil:
		return fmt.Sprintf("a node at %s cannot join: --node-rank %d is taken or outside 1 to %d", h.Host, h.Node, o.Nodes-1)
	}
	if d := differ(o.Terms, h.Terms); d != "" {
		return fmt.Sprintf("node %d at %s cannot join: %s", h.Node, h.Host, d)
	}
	return ""
}
