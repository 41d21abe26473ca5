package mcp

// addTools adds the tools that only read.
func (s *Server) addTools() {
	tool(s, "list_runs", "Lists the runs of load tests and captures, newest first.", s.listRuns)
	tool(s, "overview", "The answer for a capture or run: verdict, shares of time, up to five findings with cost and evidence, distance from the device's limit, missing data.", s.overview)
	tool(s, "finding", "All evidence of one finding: cost, gain from a fix, next actions, guide. Ids come from overview.", s.finding)
	tool(s, "steps", "Forward steps with batch, time, compute, wait and idle; slow steps are marked.", s.steps)
	tool(s, "kernels", "Kernels by GPU time: share, count, median, spread over ranks, source.", s.kernels)
	tool(s, "timeline", "Spans of one rank in a step or interval, in order.", s.timeline)
	tool(s, "collectives", "Who arrives last at collectives and makes others wait; wait and transfer. With step: one step on all ranks.", s.collectives)
	tool(s, "requests", "Of a load test: percentiles, the slowest requests, and the causes of their waits.", s.requests)
	tool(s, "compare", "Compares two captures or two load tests: verdict, regressions, causes, kernels; or why they cannot be compared.", s.compare)
	tool(s, "whatif", "Replays the steps with changed times: step time and tokens/s with the change.", s.whatIf)
	tool(s, "check", "Tells what a directory of traces holds and what is wrong with it.", s.check)
	tool(s, "explain", "Definition of a figure, a column or a kind of finding.", s.explain)
}
