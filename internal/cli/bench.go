package cli

// benchCmd groups the benchmarks.
type benchCmd struct {
	Serving   benchServingCmd   `cmd:"" help:"Load a running server and measure it: SGLang's bench_serving."`
	OneBatch  oneBatchCmd       `cmd:"" aliases:"one_batch,bench_one_batch" help:"Measure single batches on the engine in process."`
	Server    batchServerCmd    `cmd:"" name:"one-batch-server" aliases:"one_batch_server,bench_one_batch_server" help:"Measure single batches on a server."`
	Offline   offlineCmd        `cmd:"" aliases:"offline_throughput,bench_offline_throughput" help:"Measure the throughput of the engine in process."`
	Diffusion benchDiffusionCmd `cmd:"" help:"Load a running diffusion server and measure it: SGLang's multimodal_gen bench_serving."`
	Selftest  benchSelftestCmd  `cmd:"" help:"Say how many streams this machine can time as a client, and how accurately."`
	Mock      benchMockCmd      `cmd:"" hidden:""`
}
