package model_test

import (
	"fmt"
	"log"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// A prompt of three tokens, then four tokens one by one, on one rank.
func Example() {
	cfg, err := model.BuiltinConfig("llama-tiny", nil)
	if err != nil {
		log.Fatal(err)
	}
	dev := device.New(device.Options{})
	defer dev.Close()
	r, err := model.NewRunner(cfg, model.NewDummy(cfg, 1), model.Shard{}, dev, model.Groups{}, model.Options{NumBlocks: 1})
	if err != nil {
		log.Fatal(err)
	}
	seq := model.Seq{Tokens: []int32{10, 20, 30}, Blocks: []int32{0}}
	batch := &model.Batch{Mode: model.Extend, Seqs: []model.Seq{seq}}
	for range 4 {
		logits, err := r.Forward(batch)
		if err != nil {
			log.Fatal(err)
		}
		seq.Start += len(seq.Tokens)
		seq.Tokens = []int32{int32(tensor.MaxIdx(logits[0]))}
		batch = &model.Batch{Mode: model.Decode, Seqs: []model.Seq{seq}}
		fmt.Println(len(logits), "row of", len(logits[0]), "logits; next position", seq.Start)
	}
	// Output:
	// 1 row of 512 logits; next position 3
	// 1 row of 512 logits; next position 4
	// 1 row of 512 logits; next position 5
	// 1 row of 512 logits; next position 6
}
