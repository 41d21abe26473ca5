package merge

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
)

// A throttled merge writes the same output, and rests after each piece: text is read, rewritten and compressed, so
// three times for each.
func TestRest(t *testing.T) {
	set := longSet(t, 2, 3)
	var alone, beside bytes.Buffer
	if _, err := To(context.Background(), set, &alone, Options{Level: 1, Align: Never}); err != nil {
		t.Fatal(err)
	}
	var rests atomic.Int64
	opt := Options{Level: 1, Align: Never, Rest: func(time.Duration) { rests.Add(1) }}
	if _, err := To(context.Background(), set, &beside, opt); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(alone.Bytes(), beside.Bytes()) {
		t.Errorf("%d bytes alone, others in %d beside", alone.Len(), beside.Len())
	}
	pieces := int64(0)
	for _, f := range set.Files {
		pieces += int64(len(packedtest.Read(t, f.Path))) / pieceBytes
	}
	if got := rests.Load(); got < 3*pieces {
		t.Errorf("%d rests; %d pieces of text were read, rewritten and compressed", got, pieces)
	}
}
