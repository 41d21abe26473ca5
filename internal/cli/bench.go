package cli

// benchCmd groups the benchmarks.
type benchCmd struct {
	Serving   benchServingCmd   `cmd:"" help:"Load a server and measure it, as bench_serving does."`
	OneBatch  oneBatchCmd       `cmd:"" aliases:"one_batch,bench_one_batch" help:"Measure single batches on the engine in process."`
	Server    batchServerCmd    `cmd:"" name:"one-batch-server" aliases:"one_batch_server,bench_one_batch_server" help:"Measure single batches on a server."`
	Offline   offlineCmd        `cmd:"" aliases:"offline_throughput,bench_offline_throughput" help:"Measure the throughput of the engine in process."`
	Diffusion benchDiffusionCmd `cmd:"" help:"Load a diffusion server and measure it."`
	Selftest  benchSelftestCmd  `cmd:"" help:"Measure how accurately this machine can time streams."`
	Mock      benchMockCmd      `cmd:"" hidden:""`
}
