#include "textflag.h"
#include "entry.h"

// entry is the entry point of releases (-ldflags '-E main.entry'). If the limit on address space (ulimit -v) is below
// 1.6 GB, it prints a line and exits with status 1. Otherwise it continues with Go's entry point. With so little address
// space, the Go runtime prints the stacks of its threads and exits with status 2 before any Go code runs.
TEXT ·entry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	SUBQ $16, SP
	MOVQ $302, AX // prlimit64(0, RLIMIT_AS, NULL, SP)
	MOVQ $0, DI
	MOVQ $9, SI
	MOVQ $0, DX
	MOVQ SP, R10
	SYSCALL
	MOVQ 0(SP), CX
	ADDQ $16, SP
	CMPQ AX, $0
	JNE  enough
	MOVQ $1600000000, DX
	CMPQ CX, DX
	JCC  enough
	MOVQ $1, AX // write(2, tooLittle, tooLittleSize)
	MOVQ $2, DI
	LEAQ tooLittle<>(SB), SI
	MOVQ $tooLittleSize, DX
	SYSCALL
	MOVQ $231, AX // exit_group(1)
	MOVQ $1, DI
	SYSCALL

enough:
	JMP _rt0_amd64_linux(SB)
