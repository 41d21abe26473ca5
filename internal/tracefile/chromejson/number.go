package chromejson

import (
	"bytes"
	"strconv"
)

// ParseInt parses decimal text that fits an int64. It rejects fractions and exponents.
func ParseInt(b []byte) (int64, bool) {
	neg := false
	if len(b) > 0 && b[0] == '-' {
		neg, b = true, b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if neg {
		if n > 1<<63 {
			return 0, false
		}
		return -int64(n), true
	}
	return int64(n), n < 1<<63
}

// maxMicros is the largest number of whole microseconds that fits an int64 in nanoseconds.
const maxMicros = (1<<63 - 1) / 1000

// ParseMicros parses a decimal number of microseconds as nanoseconds. It is exact and uses no floats. Halves of a
// nanosecond are rounded away from zero. Exponents are accepted, because writers other than Kineto use them.
func ParseMicros(b []byte) (ns int64, ok bool) {
	i, neg := 0, false
	if i < len(b) && b[i] == '-' {
		neg, i = true, 1
	}
	var us uint64
	start := i
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		if us > maxMicros/10 {
			return shifted(b)
		}
		us = us*10 + uint64(c)
	}
	if i == start {
		return 0, false
	}
	if us > maxMicros {
		return shifted(b)
	}
	frac, digits := uint64(0), 0
	if i < len(b) && b[i] == '.' {
		i++
		for ; i < len(b); i++ {
			c := b[i] - '0'
			if c > 9 {
				break
			}
			switch {
			case digits < 3:
				frac = frac*10 + uint64(c)
			case digits == 3 && c >= 5:
				frac++
			}
			digits++
		}
		if digits == 0 {
			return 0, false
		}
	}
	for ; digits < 3; digits++ {
		frac *= 10
	}
	if i < len(b) {
		return shifted(b)
	}
	if us = us*1000 + frac; us > 1<<63-1 {
		return 0, false
	}
	if neg {
		return -int64(us), true
	}
	return int64(us), true
}

// shifted is ParseMicros for numbers with an exponent. It shifts the decimal point, so these numbers are exact too.
func shifted(b []byte) (ns int64, ok bool) {
	e := bytes.IndexAny(b, "eE")
	if e < 0 {
		return 0, false
	}
	sign := 0
	if b[0] == '-' {
		sign = 1
	}
	whole, frac, dot := bytes.Cut(b[sign:e], []byte{'.'})
	digits := append(append(make([]byte, 0, e), whole...), frac...)
	if len(whole) == 0 || dot && len(frac) == 0 || len(bytes.Trim(digits, "0123456789")) > 0 {
		return 0, false
	}
	power := b[e+1:]
	if len(power) > 0 && (power[0] == '+' || power[0] == '-') {
		power = power[1:]
	}
	if len(power) == 0 || len(bytes.Trim(power, "0123456789")) > 0 {
		return 0, false
	}
	exp, _ := strconv.ParseInt(string(b[e+1:]), 10, 32) // saturates if too large
	point := int64(len(whole)) + exp                    // digits are a fraction of 10^point
	significant := bytes.TrimLeft(digits, "0")
	point -= int64(len(digits) - len(significant))
	switch {
	case len(significant) == 0, point < -3: // less than half a nanosecond
		return 0, true
	case point > 16:
		return 0, false
	}
	plain := append(make([]byte, 0, 64+len(significant)), b[:sign]...)
	plain = append(plain, '0')
	for i := int64(0); i < point; i++ {
		if len(significant) == 0 {
			plain = append(plain, '0')
			continue
		}
		plain, significant = append(plain, significant[0]), significant[1:]
	}
	plain = append(plain, '.')
	for ; point < 0; point++ {
		plain = append(plain, '0')
	}
	plain = append(append(plain, significant...), '0')
	return ParseMicros(plain)
}

// AppendMicros appends nanoseconds as microseconds with three decimals, as libkineto does.
func AppendMicros(dst []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		n = -n
	}
	dst = strconv.AppendUint(dst, n/1000, 10)
	r := n % 1000
	return append(dst, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
