// Package kineto writes a trace.Trace in the file format of PyTorch's profiler. Readers of that format (our merge, cut
// and check, Perfetto, HTA) thereby accept traces of other recorders too. The layout is that of libkineto
// (output_json.cpp of torch 2.x), including its white space, because package chromejson reads files in that layout
// fastest.
//
// The format carries everything that package read reads: reading a written file restores the same trace.Trace, except
// for these parts, which the format cannot represent:
//
//   - the path, size, event count and completeness of the source. The notes are written as the member "WARNING", which
//     no reader uses;
//   - the rank and the stage, which the file's name carries (see trace.FileName);
//   - rows without spans, and the device of a row without GPU work;
//   - inputs of operators other than matrix products and attention. They are written, but package read does not keep
//     them.
package kineto
