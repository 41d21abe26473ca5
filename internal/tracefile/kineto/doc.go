// Package kineto writes a trace.Trace as a file of PyTorch's profiler, so that
// whatever reads those files (our own merge, cut and check, Perfetto, HTA)
// takes traces of other recorders too. The layout is libkineto's
// (output_json.cpp of torch 2.x), down to its white space: it is the one that
// package chromejson reads fastest.
//
// What the format carries is everything that package read reads of a file:
// reading what was written gives the same table again. It has no place for
//
//   - the path, size and number of events of the source, and whether it was
//     complete: Notes are written as the member "WARNING", which nothing reads
//     back;
//   - rank and stage: they are in the file's name, see trace.FileName;
//   - rows without a single span, and the device of rows that had no GPU work;
//   - inputs of operators that are no matrix product or attention: they are
//     written, but package read does not keep them.
package kineto
