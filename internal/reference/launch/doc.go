// Package launch starts the embedded engine from its command line: [ModelArgs] are SGLang's launch arguments. [Load]
// builds an [Engine] from them, with model, tokenizer, ranks and schedulers. Package server serves the Engine.
package launch
