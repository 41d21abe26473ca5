#include "textflag.h"
#include "entry_linux.h"

// entry is the entry point of releases (-ldflags '-E main.entry'). If the limit on address space (ulimit -v) is below
// 1.6 GB, it prints a line and exits with status 1. Otherwise it continues with Go's entry point. With so little address
// space, the Go runtime prints the stacks of its threads and exits with status 2 before any Go code runs.
TEXT ·entry(SB),NOSPLIT|NOFRAME|TOPFRAME,$0
	MOVD $261, R8 // prlimit64(0, RLIMIT_AS, NULL, RSP)
	SUB  $16, RSP
	MOVD $0, R0
	MOVD $9, R1
	MOVD $0, R2
	MOVD RSP, R3
	SVC
	MOVD 0(RSP), R4
	ADD  $16, RSP
	CBNZ R0, enough
	MOVD $1600000000, R5
	CMP  R5, R4
	BHS  enough
	MOVD $64, R8 // write(2, tooLittle, tooLittleSize)
	MOVD $2, R0
	MOVD $tooLittle<>(SB), R1
	MOVD $tooLittleSize, R2
	SVC
	MOVD $94, R8 // exit_group(1)
	MOVD $1, R0
	SVC

enough:
	JMP _rt0_arm64_linux(SB)
