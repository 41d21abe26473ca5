// Package kineto writes a trace.Trace as a file of PyTorch's profiler, so that readers of those files (our merge, cut
// and check, Perfetto, HTA) accept traces of other recorders too. The layout is that of libkineto (output_json.cpp of
// torch 2.x), including its white space, because package chromejson reads that layout fastest.
//
// The format carries everything that package read reads: reading a written file gives the same table again. It cannot
// represent
//
//   - the path, size, event count and completeness of the source. Notes are written as the member "WARNING", which no
//     reader uses;
//   - rank and stage, which are in the file's name, see trace.FileName;
//   - rows without spans, and the device of rows without GPU work;
//   - inputs of operators other than matrix products and attention. They are written, but package read does not keep
//     them.
package kineto
