// Package diffusion makes pictures of prompts on the software GPU: the pipeline that Diffusers calls ZImagePipeline, from
// a directory of its layout or with random weights.
//
// A [Config] says what the parts are, a [Sources] yields their weights, and a [Runner] is one rank: a text encoder of the
// Qwen3 family, a transformer of one stream over picture and caption, the decoder of a variational autoencoder. The steps
// between them are a schedule of noise levels and Euler's method.
//
//	config.go builtin.go names.go open.go   what the model is and where its weights come from
//	schedule.go noise.go                    noise levels, first noise
//	text.go dit.go block.go attend.go       the prompt, and what is taken away of the noise
//	vae.go conv.go norm.go                  from latents to pixels
//	runner.go                               a rank, and its stages
//
// Tokens, pixels and latents are rows, row-major float32 [rows][width]. Formulas are those of diffusers 0.37
// (transformer_z_image.py, pipeline_z_image.py, autoencoder_kl.py, scheduling_flow_match_euler_discrete.py).
package diffusion
