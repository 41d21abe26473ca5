package device_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marks records the annotations that a device reports.
type marks []string

func (m *marks) Bind(thread string) { *m = append(*m, "thread "+thread) }
func (m *marks) Push(text string)   { *m = append(*m, text) }
func (m *marks) Pop()               { *m = append(*m, "end") }

// TestMarks checks that Options.Marks receives annotations and nothing else, whether or not a window is open, and also
// when it closes inside them.
func TestMarks(t *testing.T) {
	var m marks
	d := device.New(device.Options{Marks: &m})
	defer d.Close()
	h := d.Host()
	h.Bind("scheduler TP0")
	defer h.Release()

	h.AnnotateStep("step[DECODE bs=1]", nil)
	h.Op("aten::linear")
	h.Annotate("layer")
	if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
		t.Fatal(err)
	}
	h.End()
	d.Stream().Launch(device.Kernel{Name: "gemm", Op: "aten::linear"})
	h.End()
	h.Annotate("last")
	d.StopRecording()
	h.End()
	h.End()
	want := marks{"thread scheduler TP0", "step[DECODE bs=1]", "layer", "end", "last", "end", "end"}
	if !slices.Equal(m, want) {
		t.Errorf("received %q, want %q", m, want)
	}
}
