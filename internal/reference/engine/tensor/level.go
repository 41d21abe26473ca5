package tensor

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// Level names an instruction set that has separate kernels. A higher level is faster and includes the instructions of
// all lower levels.
type Level uint8

// Levels, in rising order.
const (
	Generic    Level = iota // plain Go, on any CPU
	AVX2                    // AVX2, FMA: 8 floats per vector
	AVX512                  // AVX-512 F, BW, DQ, VL: 16 floats per vector
	AVX512BF16              // AVX512 and VDPBF16PS, the dot product of bf16 pairs
	numLevels  int   = iota
)

// EnvLevel is the environment variable that forces a level. Unknown names and levels that the CPU does not support are
// ignored and reported by [LevelNote].
const EnvLevel = "STEPSCOPE_CPU"

var levelNames = [numLevels]string{"generic", "avx2", "avx512", "avx512bf16"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// ParseLevel is the inverse of [Level.String]. It ignores case.
func ParseLevel(s string) (Level, error) {
	for i, name := range levelNames {
		if strings.EqualFold(s, name) {
			return Level(i), nil
		}
	}
	return 0, fmt.Errorf("no CPU level %q: want one of %s", s, strings.Join(levelNames[:], ", "))
}

var (
	current   atomic.Uint32 // the Level in use
	levelNote string
)

func init() {
	var l Level
	l, levelNote = startLevel(os.Getenv(EnvLevel), Best())
	Use(l)
}

// startLevel chooses the initial level. wish is the requested level, and best is the highest level that the CPU
// supports. If the request cannot be met, startLevel also returns a note.
func startLevel(wish string, best Level) (Level, string) {
	if wish == "" {
		return best, ""
	}
	l, err := ParseLevel(wish)
	switch {
	case err != nil:
		return best, fmt.Sprintf("%s: %v; using %s", EnvLevel, err, best)
	case l > best:
		return best, fmt.Sprintf("%s=%s: this CPU or build supports at most %s; using that", EnvLevel, l, best)
	}
	return l, ""
}

// Best returns the highest level that this CPU, operating system and build can run.
func Best() Level { return bestLevel }

// Current returns the level in use.
func Current() Level { return Level(current.Load()) }

// Use makes all later calls run at level l. It is intended for tests and comparisons. Calls that are already running
// keep their level. Use panics if l is above [Best].
func Use(l Level) {
	if l > Best() {
		panic(fmt.Sprintf("tensor: level %s on a CPU or build that supports at most %s", l, Best()))
	}
	current.Store(uint32(l))
}

// LevelNote returns the reason for which the level requested by [EnvLevel] is not in use, as text for a log line. If
// the requested level is in use, LevelNote returns "".
func LevelNote() string { return levelNote }
