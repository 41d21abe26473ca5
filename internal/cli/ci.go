package cli

// ciCmd is "ci".
type ciCmd struct {
	Gate    ciGateCmd    `cmd:"" help:"Load two builds, compare them, and write a report."`
	Comment ciCommentCmd `cmd:"" help:"Put the report into one comment of a pull request."`
}
