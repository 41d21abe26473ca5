// Package nvtx tells NVIDIA's tools (Nsight Systems) what a process is doing: ranges pushed and popped on threads, and
// ranges that start and end anywhere.
//
// NVTX is a protocol and not a library: a tool names a library of its own in NVTX_INJECTION64_PATH, and a process that
// wants to be seen loads it and lets it write its functions into tables (nvtxDetail/nvtxInitDecls.h and nvtxTypes.h of
// NVTX v3). To load a library, Go without cgo needs purego, with which the binary wants libc when it runs; so all of that
// is here, on Linux for amd64 and arm64, and is left out with -tags static. Without it, or without a tool, there is
// nobody to tell: constructors return nil, and methods of nil do nothing.
package nvtx

// EnvPath is the variable in which a tool names its library.
const EnvPath = "NVTX_INJECTION64_PATH"
