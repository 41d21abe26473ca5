// Package launch starts the embedded engine from its command line. [ModelArgs] are SGLang's launch arguments. From
// them, [Load] builds an [Engine] with model, tokenizer, ranks and schedulers. Package server serves the Engine over
// HTTP.
package launch
