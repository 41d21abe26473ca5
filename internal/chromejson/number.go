package chromejson

import "strconv"

// ParseInt reads decimal text that fits an int64. Numbers with a fraction or
// an exponent are no integers.
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

// maxMicros keeps ns = µs·1000 within an int64.
const maxMicros = (1<<63 - 1) / 1000

// ParseMicros reads a decimal number of microseconds as nanoseconds, exactly:
// no float on the way. Digits after the third decimal are rounded half up.
// Exponents are accepted, since other writers use them.
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
			return 0, false
		}
		us = us*10 + uint64(c)
	}
	if i == start || us > maxMicros-1 {
		return 0, false
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
		if b[i] != 'e' && b[i] != 'E' {
			return 0, false
		}
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || f > maxMicros || f < -maxMicros {
			return 0, false
		}
		if f < 0 {
			return -int64(-f*1000 + 0.5), true
		}
		return int64(f*1000 + 0.5), true
	}
	ns = int64(us*1000 + frac)
	if neg {
		ns = -ns
	}
	return ns, true
}

// AppendMicros writes nanoseconds as microseconds with three decimals, as
// libkineto does.
func AppendMicros(dst []byte, ns int64) []byte {
	if ns < 0 {
		dst = append(dst, '-')
		ns = -ns
	}
	dst = strconv.AppendInt(dst, ns/1000, 10)
	r := ns % 1000
	return append(dst, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}
