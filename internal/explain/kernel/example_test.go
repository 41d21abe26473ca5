package kernel_test

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/kernel"
)

func Example() {
	name := "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals)"
	class := kernel.Classify(name, "kernel")
	op, _ := kernel.Collective(name)
	fmt.Println(kernel.Short(name))
	fmt.Println(class, class.Group(), op, kernel.Synchronising(op))
	// Output:
	// vllm::cross_device_reduce_2stage<bf16, 4>
	// comm communication AllReduce true
}
