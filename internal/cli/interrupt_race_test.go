//go:build unix && race

package cli

import "time"

func init() { endWithin = 10 * time.Second } // the detector's memory is large, and slow to free
