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
	}
	return OtherCall
}
