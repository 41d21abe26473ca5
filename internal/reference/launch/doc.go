// Package launch starts the embedded engine from its command line: [ModelArgs] are SGLang's launch arguments, [Load]
// builds an engine from them (model, tokenizer, ranks and schedulers), and package server serves the [Engine].
package launch
