package client

import (
	"context"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// Here reports whether a server's URL refers to this host. It returns an error if the name in the URL has no address.
func Here(ctx context.Context, server string) (bool, error) {
	u, err := url.Parse(server)
	if err != nil {
		return false, err
	}
	if name, err := os.Hostname(); err == nil && strings.EqualFold(name, u.Hostname()) {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return false, err
	}
	own, _ := net.InterfaceAddrs()
	for _, ip := range ips {
		if ip.IP.IsLoopback() || ip.IP.IsUnspecified() {
			return true, nil
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip.IP) {
				return true, nil
			}
		}
	}
	return false, nil
}
