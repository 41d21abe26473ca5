// Package launch starts the embedded engine as its command line describes it:
// [Args] are SGLang's launch arguments, [Load] makes an engine of them (model,
// tokenizer, ranks and schedulers), and [Engine] is what package server serves.
package launch
