package trace

import "strings"

// Call classifies API calls by name.
type Call uint8

// Classes of API calls.
const (
	OtherCall     Call = iota + 1
	Launches           // launches a kernel or a graph, and so starts GPU work, except during the capture of a graph
	BeginsCapture      // begins to capture a graph
	EndsCapture
	Copies      // copies asynchronously
	WaitsCopies // copies, and returns when a copy to the host is complete
	WaitsStream // waits for a stream
	WaitsDevice // waits for all streams
)

// CallOf returns the class of the API call with the given name. HIP's graph launches are OtherCall because the kernels
// they start may lack the launch's correlation id.
func CallOf(name string) Call {
	switch {
	case strings.Contains(name, "StreamBeginCapture"):
		return BeginsCapture
	case strings.Contains(name, "StreamEndCapture"):
		return EndsCapture
	case strings.Contains(name, "LaunchKernel"), strings.HasPrefix(name, "cudaGraphLaunch"), strings.HasPrefix(name, "cuGraphLaunch"):
		return Launches
	case strings.Contains(name, "MemcpyAsync"):
		return Copies
	case strings.HasPrefix(name, "hipMemcpyWithStream"), name == "hipMemcpy", name == "cudaMemcpy", strings.HasPrefix(name, "hipMemcpyDtoH"):
		return WaitsCopies
	case strings.Contains(name, "StreamSynchronize"), strings.HasPrefix(name, "aclrtSynchronizeStream"):
		return WaitsStream
	case strings.Contains(name, "DeviceSynchronize"), strings.HasPrefix(name, "aclrtSynchronizeDevice"):
		return WaitsDevice
	}
	return OtherCall
}

// BlitCategory returns the category of a kernel with the given name. ROCm runs some copies and fills as kernels, and
// before 7.2 it reports all copies as kernels.
func BlitCategory(name string) Category {
	switch {
	case strings.HasPrefix(name, "MEMORY_COPY_") || strings.HasPrefix(name, "__amd_rocclr_copyBuffer"):
		return Memcpy
	case strings.HasPrefix(name, "__amd_rocclr_fillBuffer"):
		return Memset
	}
	return Kernel
}

// Launching collects the launches of one thread that start GPU work. Launches that are captured into a CUDA graph start
// none. The zero value is ready to use.
type Launching struct {
	IDs       []int64 // ids of the launches, as given to Add
	capturing bool
	captured  bool // whether the window contains the beginning or the end of a capture
}

// Add adds the thread's next API call. The end of a capture without a beginning shows that the capture began before the
// window, and that all launches before this end were captured.
func (l *Launching) Add(kind Call, id int64) {
	switch kind {
	case BeginsCapture:
		l.capturing, l.captured = true, true
	case EndsCapture:
		if !l.captured {
			l.IDs = l.IDs[:0]
		}
		l.capturing, l.captured = false, true
	case Launches:
		if !l.capturing {
			l.IDs = append(l.IDs, id)
		}
	}
}
