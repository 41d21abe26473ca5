package metric

import (
	"math"
	"strconv"
	"strings"
)

// The formats for people have three significant digits and a unit. Digits before the decimal point are never dropped,
// and thousands are separated by commas. NaN and infinities read "n/a".

// Duration formats nanoseconds: "417 ns", "417 µs", "1.96 ms", "12.3 s", "1,234 s".
func Duration[T Number](ns T) string {
	return scaled(float64(ns), []unit{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}})
}

// Bytes formats a number of bytes in powers of 1000: "512 B", "4.10 kB", "16.8 MB".
func Bytes[T Number](n T) string {
	return scaled(float64(n), []unit{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}})
}

// Rate formats bytes per second in powers of 1000: "348 GB/s".
func Rate[T Number](bytesPerSecond T) string {
	return scaled(float64(bytesPerSecond), []unit{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}})
}

// Percent formats a fraction: 0.123 is "12.3 %".
func Percent(fraction float64) string {
	v := fraction * 100
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	return digits3(v) + " %"
}

// Tenths formats a fraction of a whole, always with one decimal: "12.3 %", "<0.1 %", "0".
func Tenths(fraction float64) string {
	switch {
	case math.IsNaN(fraction) || math.IsInf(fraction, 0):
		return "n/a"
	case fraction == 0:
		return "0"
	case fraction > 0 && fraction < 0.0005:
		return "<0.1 %"
	}
	return strconv.FormatFloat(fraction*100, 'f', 1, 64) + " %"
}

// PercentChange is like Percent but also writes the sign of a positive change: "+3.21 %", "-12.3 %".
func PercentChange(fraction float64) string {
	s := Percent(fraction)
	if fraction > 0 && !math.IsInf(fraction, 0) {
		return "+" + s
	}
	return s
}

// Three formats a positive number with three significant digits.
func Three(v float64) string {
	switch {
	case v >= 99.95:
		return Count(int64(v + 0.5))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Count formats an integer with separated thousands: "1,037,098".
func Count[T ~int | ~int32 | ~int64](n T) string {
	return group(strconv.FormatInt(int64(n), 10))
}

type unit struct {
	size float64
	name string
}

// scaled formats v in the largest unit in which the printed number is at least 1. Units are in descending order.
func scaled(v float64, units []unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "n/a"
	}
	last := units[len(units)-1]
	if v == 0 {
		return "0 " + last.name
	}
	for _, u := range units {
		// 0.9995 prints as 1.00: 999,600 ns are "1.00 ms", not "1,000 µs".
		if math.Abs(v)/u.size >= 0.9995 {
			return digits3(v/u.size, v == math.Trunc(v) && u.size == 1) + " " + u.name
		}
	}
	return digits3(v/last.size) + " " + last.name
}

// digits3 formats v with three significant digits. whole marks v as a count, which gets no decimals.
func digits3(v float64, whole ...bool) string {
	if v == 0 || (len(whole) > 0 && whole[0]) {
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	// Rounding may change the number of digits before the point: 9.996 prints as 10.0.
	exp := int(math.Floor(math.Log10(math.Abs(v))))
	if r := math.Pow(10, float64(exp+1)); math.Abs(v) >= r*(1-0.0005) {
		exp++
	}
	return group(strconv.FormatFloat(v, 'f', max(2-exp, 0), 64))
}

// group separates the thousands of a formatted number by commas.
func group(s string) string {
	start := 0
	if s != "" && s[0] == '-' {
		start = 1
	}
	end := start
	for end < len(s) && s[end] != '.' {
		end++
	}
	if end-start <= 3 {
		return s
	}
	out := make([]byte, 0, len(s)+(end-start)/3)
	out = append(out, s[:start]...)
	for i := start; i < end; i++ {
		if i > start && (end-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, s[i])
	}
	return string(append(out, s[end:]...))
}

// PythonFloat formats f in the same way as Python's repr, so that Python reads the text as the same float.
func PythonFloat(f float64) string {
	a := math.Abs(f)
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+"))
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
