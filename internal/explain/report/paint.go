package report

// paint colours text with ANSI codes if the paint value is true.
type paint bool

func (p paint) code(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string  { return p.code("1", s) }
func (p paint) faint(s string) string { return p.code("2", s) }

func (p paint) severity(severity, s string) string {
	switch severity {
	case "high", "loss":
		return p.code("1;31", s)
	case "medium", "warning":
		return p.code("1;33", s)
	case "low":
		return p.code("1;36", s)
	}
	return p.code("32", s)
}

// segment colours one part of a bar.
func (p paint) segment(name, s string) string {
	switch name {
	case "compute", "GEMM", "share":
		return p.code("34", s)
	case "transfer", "communication":
		return p.code("33", s)
	case "wait", "peers":
		return p.code("31", s)
	case "copy":
		return p.code("35", s)
	case "host":
		return p.code("36", s)
	case "idle", unrecorded, "unknown", "profiler", "between":
		return p.faint(s)
	}
	return s
}
