package kernel

import (
	"regexp"
	"strings"
)

// shortLimit is the length of a short name above which template arguments are dropped. Identifiers are never truncated.
const shortLimit = 100

// Short returns a kernel's name in a form for human readers. It omits the return type, parameters, at::native:: and
// anonymous namespaces. Namespaces are removed from template arguments, and types are written in their usual short
// forms (bf16). A PyTorch lambda becomes the name of the enclosing function with the lambda's parameter types:
// `elementwise_kernel<128, 4, silu_kernel[bf16]>`. In a long name, inner template arguments, and then trailing ones,
// become "…".
//
// Two kernels can have the same short name. Use the full name or Normalize to distinguish them.
func Short(name string) string {
	d := parseDecl(name)
	for depth := 3; depth >= 0; depth-- {
		s := shortName(d.name, depth, 0)
		if len(s) <= shortLimit || depth == 0 && !strings.Contains(s, "<") {
			return s
		}
	}
	return shortName(d.name, 0, shortLimit)
}

// Normalize returns a kernel's name in a form that is identical in all captures of the same code. The form is like that
// of Short, but it keeps all template arguments. It omits addresses, lambda numbers, and the suffixes of Triton and
// Inductor (hashes, counters, argument specialisations). Tile shapes stay, since they distinguish kernels of one
// library.
func Normalize(name string) string {
	d := parseDecl(name)
	s := shortName(d.name, 32, 0)
	if strings.Contains(s, "0x") {
		s = address.ReplaceAllString(s, "")
	}
	if strings.HasPrefix(s, "triton_") {
		return inductorTail.ReplaceAllString(s, "")
	}
	return specialised.ReplaceAllString(s, "")
}

// Generated reports whether a compiler such as Triton or Inductor generated the kernel with this name. Such a compiler
// chooses how many outputs each block computes.
func Generated(name string) bool {
	return strings.Contains(name, "triton") && tritonName.MatchString(name) || !strings.ContainsAny(name, "<(: ") && specialised.MatchString(name)
}

var (
	// Names of Inductor (triton_poi_fused_add_mul_3), and names in which authors of Triton kernels say so
	tritonName = regexp.MustCompile(`^triton_|(^|_)triton(_|$)`)
	// An address has at least six digits and does not follow a digit, since 320x128 is a tile.
	address = regexp.MustCompile(`(\b|_)_*0x[0-9a-fA-F]{6,}`)
	// triton_poi_fused_add_mul_3, with a hash if the list of operators was truncated: …_5f3c91d2_3
	inductorTail = regexp.MustCompile(`(_[0-9a-f]{8,})?(_\d+)?$`)
	// Triton 2 appended the specialisation of each argument: _fwd_kernel_0d1d2de
	specialised = regexp.MustCompile(`_\d+(c|de?)(\d+(c|de?)?)*$`)
)

// shortTypes maps types, written without namespace and const, to their short forms.
var shortTypes = map[string]string{
	"BFloat16": "bf16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "bfloat16_t": "bf16", "__hip_bfloat16": "bf16",
	"hip_bfloat16": "bf16", "Half": "f16", "__half": "f16", "half": "f16", "half_t": "f16", "Float8_e4m3fn": "e4m3",
	"__nv_fp8_e4m3": "e4m3", "float_e4m3_t": "e4m3", "Float8_e5m2": "e5m2", "__nv_fp8_e5m2": "e5m2", "float_e5m2_t": "e5m2",
	"__nv_fp4_e2m1": "e2m1", "float_e2m1_t": "e2m1", "unsigned int": "uint", "unsigned long": "ulong", "unsigned char": "uchar",
	"long long": "long", "unsigned long long": "ulong", "long int": "long",
}

// shortName condenses a qualified name. It keeps depth levels of template arguments, and about limit bytes of the
// outermost argument list (0: all of it).
func shortName(name string, depth, limit int) string {
	var b strings.Builder
	for _, part := range components(name) {
		id, args := splitArgs(part)
		if b.Len() == 0 && args == "" && (id == "at" || id == "native" || id == "c10") && part != name {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("::")
		}
		b.WriteString(id)
		if args != "" {
			b.WriteString(shortArgs(args, depth, limit-b.Len()))
		}
	}
	return b.String()
}

// shortArgs condenses an argument list "<a, b>". A limit ≤ 0 keeps all arguments.
func shortArgs(args string, depth, limit int) string {
	inner := strings.TrimPrefix(args, "<")
	if end := closing(args, 0); end == len(args)-1 {
		inner = args[1:end]
	}
	var b strings.Builder
	b.WriteByte('<')
	for i, a := range splitTop(inner, ',') {
		if i > 0 {
			b.WriteString(", ")
		}
		s := shortArg(a, depth)
		if limit > 0 && b.Len()+len(s)+len(", …>") > limit {
			b.WriteString("…")
			break
		}
		b.WriteString(s)
	}
	b.WriteByte('>')
	return b.String()
}

var (
	castNumber = regexp.MustCompile(`^\(([\w: ]+)\)(-?\w+)$`)
	numberTail = regexp.MustCompile(`^(-?\d+)[uUlL]+$`)
)

// shortArg condenses one template argument: a number, a type, or the name of a function or lambda.
func shortArg(a string, depth int) string {
	a = strings.TrimSpace(a)
	if m := castNumber.FindStringSubmatch(a); m != nil { // (bool)1, (deep_gemm::GemmType)2
		switch {
		case m[1] == "bool" && m[2] == "0":
			return "false"
		case m[1] == "bool" && m[2] == "1":
			return "true"
		}
		return m[2]
	}
	if m := numberTail.FindStringSubmatch(a); m != nil { // 128u, 3ul
		return m[1]
	}
	if f, ok := strings.CutPrefix(a, "&"); ok { // &(float ns::silu<float>(float const&)), &ns::f
		f = strings.TrimSpace(f)
		if strings.HasPrefix(f, "(") && closing(f, 0) == len(f)-1 {
			f = f[1 : len(f)-1]
		}
		return shortType(parseDecl(f).name, depth)
	}

	suffix := ""
	for strings.HasSuffix(a, "*") || strings.HasSuffix(a, "&") || strings.HasSuffix(a, " const") {
		switch {
		case strings.HasSuffix(a, "*"):
			suffix = "*" + suffix
			a = a[:len(a)-1]
		case strings.HasSuffix(a, "&"):
			a = a[:len(a)-1]
		default:
			a = strings.TrimSuffix(a, " const")
		}
		a = strings.TrimSpace(a)
	}
	return shortType(strings.TrimPrefix(a, "const "), depth) + suffix
}

// shortType condenses the name of a type, function or lambda, such as ns::silu_kernel(T&)::{lambda()#1}::operator()()
// const::{lambda(c10::BFloat16)#1}, to its last name.
func shortType(t string, depth int) string {
	var own, lambda string
	for _, part := range components(t) {
		if part, ok := strings.CutPrefix(part, "{lambda("); ok {
			lambda, _, _ = strings.Cut(part, ")#")
			continue
		}
		if strings.HasPrefix(part, "operator()") {
			continue
		}
		own, lambda = part, ""
	}
	if i := indexTop(own, '('); i > 0 {
		own = own[:i]
	}
	id, args := splitArgs(own)
	if s, ok := shortTypes[id]; ok && args == "" {
		return s
	}
	if args == "" {
		if lambda != "" && lambda != "int" { // int is the type of the index, which every PyTorch loop has
			types := splitTop(lambda, ',')
			for i := range types {
				types[i] = shortArg(types[i], 0)
			}
			return id + "[" + strings.Join(types, ", ") + "]"
		}
		return id
	}
	if id == "gpu_kernel_impl" || id == "gpu_kernel_impl_nocast" { // PyTorch's functions that launch a functor
		if inner := splitTop(args[1:max(len(args)-1, 1)], ','); len(inner) == 1 {
			return shortArg(inner[0], depth)
		}
	}
	if depth <= 0 {
		return id + "<…>"
	}
	return id + shortArgs(args, depth-1, 0)
}

// components splits a qualified name at each :: outside brackets.
func components(s string) []string {
	var parts []string
	for {
		i := indexTop(s, ':')
		if i < 0 || i+1 >= len(s) {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeft(s[i:], ":")
	}
}

// splitArgs splits "name<args>" into name and args. args includes the brackets.
func splitArgs(s string) (name, args string) {
	if i := strings.IndexByte(s, '<'); i > 0 && !strings.HasPrefix(s, "operator") {
		return s[:i], s[i:]
	}
	return s, ""
}

// splitTop splits s at each separator outside brackets.
func splitTop(s string, sep byte) []string {
	var parts []string
	for {
		i := indexTop(s, sep)
		if i < 0 {
			return append(parts, s)
		}
		parts = append(parts, s[:i])
		s = s[i+1:]
	}
}

// indexTop returns the index of the first c outside brackets, or −1. c may be an opening bracket, which itself counts
// as outside.
func indexTop(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return i
		}
		if strings.IndexByte("(<{[", s[i]) >= 0 {
			end := closing(s, i)
			if end < 0 {
				return -1
			}
			i = end
		}
	}
	return -1
}
