package nsysdb

import (
	"maps"
	"math"
	"slices"
)

// tally counts the values of one name. Values below fine are counted in pages that are allocated on demand, and larger
// values in a map. So the median is exact, and memory depends on the number of distinct values, not on the number of
// all values.
type tally struct {
	count, total int64
	min, max     int64
	pages        []*[pageSize]uint32
	large        map[int64]int64
}

const (
	pageBits = 8
	pageSize = 1 << pageBits
	fine     = 1 << 22 // 4.2 ms, in ns
)

func (t *tally) add(v int64) { t.addTimes(v, 1) }

func (t *tally) addTimes(v, times int64) {
	t.count += times
	t.total += v * times
	t.min, t.max = min(t.min, v), max(t.max, v)
	if v < 0 || v >= fine {
		if t.large == nil {
			t.large = map[int64]int64{}
		}
		t.large[v] += times
		return
	}
	at := int(v >> pageBits)
	if at >= len(t.pages) {
		t.pages = append(t.pages, make([]*[pageSize]uint32, at+1-len(t.pages))...)
	}
	page := t.pages[at]
	if page == nil {
		page = new([pageSize]uint32)
		t.pages[at] = page
	}
	page[v&(pageSize-1)] += uint32(times)
}

// join adds the counts of from.
func (t *tally) join(from *tally) { from.each(t.addTimes) }

// each calls visit with the values in ascending order.
func (t *tally) each(visit func(v, times int64)) {
	large := slices.Sorted(maps.Keys(t.large))
	for len(large) > 0 && large[0] < 0 {
		visit(large[0], t.large[large[0]])
		large = large[1:]
	}
	for i, page := range t.pages {
		if page == nil {
			continue
		}
		for j, n := range page {
			if n > 0 {
				visit(int64(i)<<pageBits|int64(j), int64(n))
			}
		}
	}
	for _, v := range large {
		visit(v, t.large[v])
	}
}

// row computes the statistics of the tally's values.
func (t *tally) row(key tallyKey) SummaryRow {
	mean := float64(t.total) / float64(t.count)
	low, high := (t.count-1)/2, t.count/2 // indices of the middle two
	var seen, a, b int64
	var squares float64
	t.each(func(v, times int64) {
		if seen <= low && low < seen+times {
			a = v
		}
		if seen <= high && high < seen+times {
			b = v
		}
		seen += times
		squares += float64(times) * (float64(v) - mean) * (float64(v) - mean)
	})
	row := SummaryRow{
		Name: key.name, Style: key.style, Count: t.count, Total: t.total, Min: t.min, Max: t.max,
		Mean: mean, Median: (float64(a) + float64(b)) / 2,
	}
	if t.count > 1 {
		row.StdDev = math.Sqrt(squares / float64(t.count-1))
	}
	return row
}
