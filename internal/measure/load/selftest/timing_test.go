package selftest

import "testing"

// TestMeasureTimes checks a server that sends every 20 ms, a kernel that stamps 2 µs later, and a client that reads 10
// µs later, but 110 µs for every other event.
func TestMeasureTimes(t *testing.T) {
	const ms, us = int64(1e6), int64(1e3)
	var times []eventTimes
	for stream := range int64(2) {
		for i := range int64(100) {
			sent := (i+1)*20*ms + stream*10*ms
			times = append(times, eventTimes{Stream: stream, Sent: sent, Kernel: sent + 2*us, User: sent + 10*us + i%2*100*us})
		}
	}
	got := measureTimes(times, nil)
	// The first stream ends at 2000 ms, the second begins at 30: from 130 to 2000.
	if want := (Timing{
		Events: 188, Rate: got.Rate, UserITL50: 100e3, UserITL99: 100e3, KernelLag50: 2e3, KernelLag99: 2e3, UserLag50: got.UserLag50, UserLag99: 110e3,
	}); got != want || got.Rate < 99 || got.Rate > 102 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	// A pause affects the pairs that overlap it or the 15 ms after it.
	from := 1000*ms + 5*ms
	got = measureTimes(times, []pause{{from, from + 3*ms}})
	if left := int(got.LeftOut*188 + 0.5); left != 4 || got.Events != 184 {
		t.Errorf("%d pairs left out and %d compared, want 4 and 184", left, got.Events)
	}
	if got := measureTimes(nil, nil); got != (Timing{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
