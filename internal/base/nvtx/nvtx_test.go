package nvtx

import "testing"

// TestNobody: without a tool the methods of what constructors return do nothing, and take no memory.
func TestNobody(t *testing.T) {
	t.Setenv(EnvPath, "")
	if there, err := Attached(); there || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	thread, r := NewThread(), NewRange("stepscope", "x")
	if n := testing.AllocsPerRun(100, func() {
		thread.Bind("scheduler")
		thread.Push("step")
		thread.Pop()
		r.Start()
		r.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
