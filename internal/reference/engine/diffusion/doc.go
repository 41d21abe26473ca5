// Package diffusion generates images from prompts on the software GPU: it implements the pipeline that Diffusers calls
// ZImagePipeline. The weights are read from a directory in Diffusers' layout or are random.
//
// A [Config] describes the parts and a [Sources] yields their weights. A runner is one rank. It consists of a text
// encoder of the Qwen3 family, a single-stream transformer over picture and caption, and the decoder of a variational
// autoencoder. After the encoder and before the decoder, the transformer removes the noise by Euler's method on a
// schedule of noise levels.
//
//	config.go builtin.go names.go open.go   the model and the source of its weights
//	schedule.go noise.go prompt.go          noise levels, first noise, tokens
//	dit.go block.go attend.go               denoising
//	vae.go norm.go                          from latents to pixels
//	runner.go marker.go                     a rank, its stages and its ranges
//	pipeline.go output.go                   all ranks; pictures and timing reports
//	window.go span.go                       recordings of one picture, or of several
//
// Tokens, pixels and latents are rows, row-major float32 [rows][width]. The formulas are taken from diffusers 0.37
// (transformer_z_image.py, pipeline_z_image.py, autoencoder_kl.py, scheduling_flow_match_euler_discrete.py).
package diffusion
