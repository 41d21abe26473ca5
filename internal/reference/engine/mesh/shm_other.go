//go:build !linux

package mesh

import "errors"

func hostID() string { return "" }

func makeShared(string) ([]byte, error) { return nil, errors.ErrUnsupported }
func openShared(string) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapShared([]byte)                {}
