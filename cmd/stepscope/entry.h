// tooLittle is the line that entry prints.
#define tooLittleSize 76
DATA tooLittle<>+0(SB)/8, $"stepscop"
DATA tooLittle<>+8(SB)/8, $"e: it ne"
DATA tooLittle<>+16(SB)/8, $"eds an a"
DATA tooLittle<>+24(SB)/8, $"ddress s"
DATA tooLittle<>+32(SB)/8, $"pace of "
DATA tooLittle<>+40(SB)/8, $"1.6 GB: "
DATA tooLittle<>+48(SB)/8, $"raise th"
DATA tooLittle<>+56(SB)/8, $"e limit "
DATA tooLittle<>+64(SB)/8, $"(ulimit "
DATA tooLittle<>+72(SB)/8, $"-v)\n\000\000\000\000"
GLOBL tooLittle<>(SB), RODATA, $80
