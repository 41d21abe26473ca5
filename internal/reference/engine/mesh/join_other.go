package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// other performs Join on every node except node 0.
func (j *joining) other(ctx context.Context) error {
	o := &j.opt
	c, err := j.dial(ctx, o.Addr, true)
	if err != nil {
		return fmt.Errorf("node 0 cannot be reached at --dist-init-addr %s within %v: %s", o.Addr, o.Timeout, causeText(err))
	}
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	if err == nil {
		err = j.listen(ctx, net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return err
	}
	h := hello{Lane: "join", Node: o.Node, Nodes: o.Nodes, Terms: o.Terms, Host: o.Host, Listen: j.ln.Addr().String()}
	if _, err := j.ask(c, "node 0", o.Addr, h); err != nil {
		return err
	}
	// Use the long limit, because the other nodes may join much later.
	j.own(c, o.Timeout)
	var w welcome
	switch err := hear(c, &w); {
	case ctx.Err() != nil:
		return fmt.Errorf("the job at %s did not start within %v: not all of its %d nodes have joined", o.Addr, o.Timeout, o.Nodes)
	case err != nil:
		return fmt.Errorf("node 0 at %s ended before the job started: %s", o.Addr, causeText(err))
	case w.Refused != "":
		return errors.New(w.Refused)
	case len(w.Addrs) != o.Nodes || len(w.Hosts) != o.Nodes:
		return fmt.Errorf("node 0 at %s: %w", o.Addr, errStranger)
	}
	w.Addrs[0] = o.Addr
	copy(j.m.hosts, w.Hosts)
	for node := range o.Node {
		fast, err := j.lane(ctx, node, &w)
		if err != nil {
			err = fmt.Errorf("node %d (%s at %s) cannot reach node %d (%s at %s): %s", o.Node, o.Names[o.Node], o.Host, node, o.Names[node], w.Hosts[node], causeText(err))
			_ = say(c, reply{Refused: err.Error()})
			return err
		}
		j.m.links[Fast][node] = fast
	}
	if err := j.lanes(ctx, w.Token); err != nil {
		_ = say(c, reply{Refused: err.Error()})
		return err
	}
	var start welcome
	err = say(c, reply{})
	if err == nil {
		err = hear(c, &start)
	}
	if err != nil {
		return fmt.Errorf("node 0 at %s ended before the job started: %s", o.Addr, causeText(err))
	}
	if start.Refused != "" {
		return errors.New(start.Refused)
	}
	j.m.links[Bulk][0] = j.m.newLink(0, Bulk, c)
	return nil
}

// lane sets up the fast lane to a lower-numbered node.
func (j *joining) lane(ctx context.Context, node int, w *welcome) (*link, error) {
	o := &j.opt
	c, err := j.dial(ctx, w.Addrs[node], false)
	if err != nil {
		return nil, err
	}
	l := j.m.newLink(node, Fast, c)
	h := hello{Lane: "fast", Node: o.Node, Nodes: o.Nodes, Host: o.Host, Token: w.Token}
	var mem []byte
	if id := hostID(); id != "" && !o.NoShared {
		name := shmName(w.Token, node, o.Node)
		if mem, err = makeShared(name); err == nil {
			h.HostID = id
			defer os.Remove(name) // at return, both nodes have opened the file or do not use it
		}
	}
	r, err := j.ask(c, fmt.Sprintf("node %d", node), w.Addrs[node], h)
	switch {
	case mem == nil:
	case err == nil && r.Shared:
		l.shm = rings(mem, false)
	default:
		unmapShared(mem)
	}
	return l, err
}

// dial connects to an address. If patient is set, dial retries until a process listens on the address.
func (j *joining) dial(ctx context.Context, addr string, patient bool) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime}
	said := false
	for {
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			j.own(c, answerTime)
			return c, nil
		}
		if !patient || ctx.Err() != nil {
			return nil, err
		}
		if !said {
			j.opt.Log(fmt.Sprintf("Waiting for node 0 at %s: %s", addr, causeText(err)))
			said = true
		}
		if !pause.For(ctx, dialPause) {
			return nil, err
		}
	}
}

// ask sends a hello and waits for the reply.
func (j *joining) ask(c net.Conn, who, addr string, h hello) (r reply, _ error) {
	err := say(c, h)
	if err == nil {
		err = hear(c, &r)
	}
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return r, fmt.Errorf("%s at %s accepts the connection but does not answer: is it the --dist-init-addr of node 0 of a running job?", who, addr)
	case err != nil:
		return r, fmt.Errorf("%s at %s: %s: is it the --dist-init-addr of node 0 of a job that is starting?", who, addr, causeText(err))
	case r.Refused != "":
		return r, errors.New(r.Refused)
	}
	return r, nil
}
