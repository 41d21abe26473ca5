package device_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// marks notes what a device tells of its annotations.
type marks []string

func (m *marks) Bind(thread string) { *m = append(*m, "thread "+thread) }
func (m *marks) Push(text string)   { *m = append(*m, text) }
func (m *marks) Pop()               { *m = append(*m, "end") }

// TestMarks: Options.Marks is told of annotations and of nothing else, whether a window is open or not, and also when it
// closes inside of them.
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
		t.Errorf("told of %q, want %q", m, want)
	}
}
