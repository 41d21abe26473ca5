module github.com/stepscope/stepscope/tools/kubetest

go 1.26.8

replace github.com/stepscope/stepscope => ../..

require (
	github.com/stepscope/stepscope v0.0.0
	k8s.io/cri-streaming v0.36.3
	k8s.io/utils v0.0.0-20260210185600-b8788abfbbc2
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/moby/spdystream v0.5.1 // indirect
	golang.org/x/net v0.49.0 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/streaming v0.36.3 // indirect
)
