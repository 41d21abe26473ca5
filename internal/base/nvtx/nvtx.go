// Package nvtx marks the activity of a process for NVIDIA's tools (Nsight Systems): ranges pushed and popped on
// threads, and ranges that start and end anywhere.
//
// NVTX is a protocol and not a library. A tool names a library of its own in NVTX_INJECTION64_PATH. The process loads
// that library, which writes the addresses of its functions into tables of the process (nvtxDetail/nvtxInitDecls.h and
// nvtxTypes.h of NVTX v3). Loading a library without cgo needs purego, with which the binary requires libc at run time.
// So the implementation exists only on Linux for amd64 and arm64, and -tags static leaves it out. Without the
// implementation, or without a tool, constructors return nil, and methods of nil do nothing.
package nvtx

// EnvPath is the variable in which a tool names its library.
const EnvPath = "NVTX_INJECTION64_PATH"
