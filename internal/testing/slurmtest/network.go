package slurmtest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// takeNetwork creates the bridge between the nodes, with addresses reserved for tests (RFC 2544). Bridge names are
// unique, so creating the bridge also reserves the addresses of this cluster.
func (c *Cluster) takeNetwork() error {
	err := errors.New("no network left for a cluster: 256 are in use")
	for i := range 256 {
		tag := fmt.Sprintf("slurm%d", i)
		if err = c.ip("link", "add", tag, "type", "bridge"); err == nil {
			c.tag, c.net = tag, fmt.Sprintf("198.18.%d", i)
			return errors.Join(c.ip("addr", "add", c.net+".254/24", "dev", tag), c.ip("link", "set", tag, "up"))
		}
		if !strings.Contains(err.Error(), "exists") {
			break
		}
	}
	return err
}

func (c *Cluster) ip(args ...string) error {
	out, err := c.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// hosts returns the content of the nodes' /etc/hosts.
func (c *Cluster) hosts() string {
	text := "127.0.0.1 localhost\n" + c.net + ".254 controller"
	if name, err := os.Hostname(); err == nil {
		text += " " + name // name under which nodes reach srun on the host
	}
	for _, n := range c.nodes {
		text += fmt.Sprintf("\n%s %s", n.Addr, n.Name)
	}
	return text + "\n"
}
