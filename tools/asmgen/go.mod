module github.com/stepscope/stepscope/tools/asmgen

go 1.26.8

require (
	github.com/mmcloughlin/avo v0.6.0 // indirect
	golang.org/x/tools v0.30.0 // indirect
)
