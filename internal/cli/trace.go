package cli

// traceCmd groups the verbs that work on trace files.
type traceCmd struct {
	Merge  mergeCmd  `cmd:"" help:"Merge rank files into one."`
	Check  checkCmd  `cmd:"" help:"Report the content and the problems of a set of files."`
	Cut    cutCmd    `cmd:"" help:"Cut a window out as a smaller valid trace."`
	Export exportCmd `cmd:"" help:"Export all spans as a table: Parquet, CSV or SQLite."`
	Open   openCmd   `cmd:"" aliases:"view" help:"Hand a trace to ui.perfetto.dev in the browser."`
}
