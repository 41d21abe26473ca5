package nvtx

import "testing"

// TestNobody: without a tool, the methods of the constructors' results do nothing and allocate nothing.
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
