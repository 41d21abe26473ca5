package cli

// traceCmd groups the verbs on trace files.
type traceCmd struct {
	Merge  mergeCmd  `cmd:"" help:"Many rank files into one."`
	Check  checkCmd  `cmd:"" help:"Say what a set of files holds and what is wrong."`
	Cut    cutCmd    `cmd:"" help:"A smaller valid trace of a window, for sharing."`
	Export exportCmd `cmd:"" help:"All spans as a table: Parquet, CSV or SQLite."`
	Open   openCmd   `cmd:"" aliases:"view" help:"Hand a trace to ui.perfetto.dev in the browser."`
}
