// Package diffusion makes pictures of prompts on the software GPU: the pipeline that Diffusers calls ZImagePipeline, from
// a directory of its layout or with random weights.
//
// A [Config] says what the parts are, a [Sources] yields their weights, and a runner is one rank: a text encoder of the
// Qwen3 family, a transformer of one stream over picture and caption, the decoder of a variational autoencoder. The steps
// between them are a schedule of noise levels and Euler's method.
//
//	config.go builtin.go names.go open.go   what the model is and where its weights come from
//	schedule.go noise.go prompt.go          noise levels, first noise, tokens
//	dit.go block.go attend.go               what is taken away of the noise
//	vae.go norm.go                          from latents to pixels
//	runner.go marker.go                     a rank, its stages and its ranges
//	pipeline.go output.go                   all ranks; pictures and reports of times
//	window.go span.go                       what is recorded of one picture, or of several
//
// Tokens, pixels and latents are rows, row-major float32 [rows][width]. Formulas are those of diffusers 0.37
// (transformer_z_image.py, pipeline_z_image.py, autoencoder_kl.py, scheduling_flow_match_euler_discrete.py).
package diffusion
