package slurmtest

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// takeNetwork makes the bridge between the nodes, with addresses that are meant for
// tests (RFC 2544). Only one cluster can have made a bridge of that name, which so
// says whose the addresses are.
func (c *Cluster) takeNetwork() error {
	err := errors.New("no network for a cluster: 256 have one")
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

// hosts is what nodes have as /etc/hosts.
func (c *Cluster) hosts() string {
	text := "127.0.0.1 localhost\n" + c.net + ".254 controller"
	if name, err := os.Hostname(); err == nil {
		text += " " + name // srun on the host says that it waits there
	}
	for _, n := range c.nodes {
		text += fmt.Sprintf("\n%s %s", n.Addr, n.Name)
	}
	return text + "\n"
}
