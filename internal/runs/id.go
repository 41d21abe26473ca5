package runs

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"
)

// Ids look like 20261122-142233-bench-a1b2. They consist of the UTC time, the kind and a number. Because the time is in
// UTC, names sort by time regardless of the time zone. The number makes the id unique and is sufficient as a reference
// to the run.
var (
	idPattern   = regexp.MustCompile(`^(\d{8}-\d{6})-([a-z][a-z0-9-]*)-[0-9a-f]{4}$`)
	kindPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
)

const idTime = "20060102-150405"

func newID(now time.Time, kind string) string {
	return fmt.Sprintf("%s-%s-%04x", now.UTC().Format(idTime), kind, rand.Uint32()>>16)
}

// parseID returns the time and kind in an id.
func parseID(id string) (at time.Time, kind string, ok bool) {
	m := idPattern.FindStringSubmatch(id)
	if m == nil {
		return at, "", false
	}
	at, err := time.Parse(idTime, m[1])
	return at, m[2], err == nil
}
