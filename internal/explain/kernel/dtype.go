package kernel

import "strings"

// dtypeSizes holds the bytes per element of types, by the last word of the type's name in lower case.
var dtypeSizes = map[string]int{
	"double": 8, "float64": 8, "long": 8, "int64": 8, "int64_t": 8, "uint64": 8, "long int": 8, "unsigned long": 8, "complexfloat": 8,
	"complex<float>": 8, "f64": 8, "i64": 8, "u64": 8,
	"float": 4, "float32": 4, "int": 4, "int32": 4, "uint32": 4, "unsigned int": 4, "complexhalf": 4, "f32": 4, "i32": 4, "u32": 4,
	"half": 2, "float16": 2, "bfloat16": 2, "short": 2, "int16": 2, "uint16": 2, "short int": 2, "unsigned short": 2, "bf16": 2,
	"f16": 2, "fp16": 2,
	"byte": 1, "char": 1, "bool": 1, "uint8": 1, "int8": 1, "unsigned char": 1, "signed char": 1, "i8": 1, "u8": 1,
	"f8e4m3": 1, "f8e5m2": 1,
	"complexdouble": 16, "complex<double>": 16,
}

// DTypeSize returns the bytes per element of a type. It accepts Kineto's names for collectives ("BFloat16", "Half",
// "Float8_e4m3fn") and for operators ("c10::BFloat16", "long int", "unsigned char"), and the names in NCCL's kernel
// names ("bf16", "f8e4m3"). The size is 1 for all Float8 types, and also for Float4_e2m1fn_x2, which packs two values
// into a byte. ok is false for unknown types. ok is also false for "", "Scalar" and "TensorList", which Kineto records
// for arguments that are not tensors.
func DTypeSize(dtype string) (n int, ok bool) {
	s := strings.ToLower(dtype)
	s = s[strings.LastIndexByte(s, ':')+1:]
	if n, ok = dtypeSizes[s]; ok {
		return n, true
	}
	if strings.HasPrefix(s, "float8_") || strings.HasPrefix(s, "float4_") {
		return 1, true
	}
	return 0, false
}
