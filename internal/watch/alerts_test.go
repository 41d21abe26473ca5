package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// fakeAlertmanager records the requests that an Alertmanager gets, one line per alert.
type fakeAlertmanager struct {
	began  time.Time
	answer func(at float64) (status int, takes time.Duration, err error) // nil: 200 at once. at is in s
	got    []string
	last   []alert // of the last request
}

func (f *fakeAlertmanager) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.began.IsZero() {
		f.began = time.Now()
	}
	at, status := time.Since(f.began).Seconds(), http.StatusOK
	if f.answer != nil {
		var takes time.Duration
		var err error
		if status, takes, err = f.answer(at); err != nil {
			return nil, err
		}
		select {
		case <-time.After(takes):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != "POST" || r.URL.Path != "/am/api/v2/alerts" || r.Header.Get("Content-Type") != "application/json" {
		return nil, fmt.Errorf("%s %s", r.Method, r.URL)
	}
	var list []alert
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	for _, a := range list {
		line := fmt.Sprintf("%.0f %d %s since %.0f", at, status, a.Labels["alertname"], a.StartsAt.Sub(f.began).Seconds())
		if a.Annotations["verdict"] != "" {
			line += " with verdict"
		}
		if !a.EndsAt.IsZero() {
			line += fmt.Sprintf(" until %.0f", a.EndsAt.Sub(f.began).Seconds())
		}
		f.got = append(f.got, line)
	}
	f.last = list
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Location": {"http://other/"}}, Body: io.NopCloser(strings.NewReader("a reason\n")), Request: r}, nil
}

// alerting runs a sequence of steps against a fake Alertmanager and returns the console output.
func alerting(f *fakeAlertmanager, steps func(x *alerter)) string {
	var said bytes.Buffer
	f.began = time.Now()
	x := startAlerts(&Alerts{URLs: []string{"http://me:hunter2@am:9093/am/"}, Page: "http://127.0.0.1:1/#tab=live", transport: f}, "/runs/1", &progress.Console{W: &said})
	steps(x)
	x.end()
	return said.String()
}

// raise raises the alarm of a rule, and lower ends it.
func raise(x *alerter, rule string) {
	now := time.Now()
	onset := now.Add(-5 * time.Second)
	x.event(&Event{Kind: KindAlarm, At: now, Server: "a", Rank: "DP01", Rule: rule, Onset: &onset, Value: 1.7}, []string{clock(now) + "  a: DP01: " + rule})
}

func lower(x *alerter, rule string) {
	now := time.Now()
	x.event(&Event{Kind: KindOver, At: now, Server: "a", Rule: rule, Value: 1.1, Onset: &now}, nil)
}

// TestAlerts checks what Alertmanagers get, and what is printed, for given sequences of events.
func TestAlerts(t *testing.T) {
	until := func(end float64, status int, takes time.Duration, err error) func(float64) (int, time.Duration, error) {
		return func(at float64) (int, time.Duration, error) {
			if at < end {
				return status, takes, err
			}
			return 200, 0, nil
		}
	}
	one := func(x *alerter) {
		raise(x, "uneven pace")
		time.Sleep(150 * time.Second)
		lower(x, "uneven pace")
		time.Sleep(150 * time.Second)
	}
	for _, c := range []struct {
		name   string
		answer func(at float64) (int, time.Duration, error)
		steps  func(x *alerter)
		want   string
		says   []string
	}{
		{"no alarm", nil, func(*alerter) { time.Sleep(5 * time.Minute) }, "", nil},
		{"an end without an alarm", nil, func(x *alerter) { lower(x, "uneven pace"); time.Sleep(time.Minute) }, "", nil},
		{"an alarm is sent again, and ends once", nil, one, `
0 200 StepscopeUnevenPace since -5
60 200 StepscopeUnevenPace since -5
120 200 StepscopeUnevenPace since -5
150 200 StepscopeUnevenPace since -5 until 150`, nil},
		{"a verdict", nil, func(x *alerter) {
			raise(x, "uneven pace")
			time.Sleep(10 * time.Second)
			x.event(&Event{Kind: KindVerdict, Server: "b", Verdict: &Verdict{Rules: []string{"uneven pace"}, Says: "of another server"}}, nil)
			x.event(&Event{Kind: KindVerdict, Server: "a", Dir: "/runs/1/traces/capture-1", Verdict: &Verdict{Rules: []string{"slow tokens", "uneven pace"}, Says: "same work, slower", Next: []string{"do this", "do that"}}}, nil)
			time.Sleep(10 * time.Second)
		}, `
0 200 StepscopeUnevenPace since -5
10 200 StepscopeUnevenPace since -5 with verdict
20 200 StepscopeUnevenPace since -5 with verdict until 20`, nil},
		{"the end of the watch ends all alerts", nil, func(x *alerter) {
			raise(x, "uneven pace")
			synctest.Wait()
			raise(x, "slow tokens")
			time.Sleep(time.Second)
		}, `
0 200 StepscopeUnevenPace since -5
0 200 StepscopeSlowTokens since -5
0 200 StepscopeUnevenPace since -5
1 200 StepscopeSlowTokens since -5 until 1
1 200 StepscopeUnevenPace since -5 until 1`, nil},
		{"it is down at the alarm and at its end", until(200, 0, 0, errors.New("connection refused")), one, `
240 200 StepscopeUnevenPace since -5 until 150`, []string{"http://am:9093: connection refused; the alerts will be sent again every minute", "http://am:9093: takes the alerts again"}},
		{"it refuses alerts for a while", until(100, 400, 0, nil), one, `
0 400 StepscopeUnevenPace since -5
60 400 StepscopeUnevenPace since -5
120 200 StepscopeUnevenPace since -5
150 200 StepscopeUnevenPace since -5 until 150`, []string{"http://am:9093: 400 a reason; ", "takes the alerts again"}},
		{"it redirects", until(1000, 307, 0, nil), func(x *alerter) { raise(x, "uneven pace"); time.Sleep(time.Second) }, `
0 307 StepscopeUnevenPace since -5
1 307 StepscopeUnevenPace since -5 until 1`, []string{"http://am:9093: 307 a reason; "}},
		{"it is slow", until(100, 200, 8*time.Second, nil), one, `
0 200 StepscopeUnevenPace since -5
60 200 StepscopeUnevenPace since -5
120 200 StepscopeUnevenPace since -5
150 200 StepscopeUnevenPace since -5 until 150`, nil},
		{"it never answers", until(1000, 200, time.Hour, nil), one, "", []string{"http://am:9093: no answer in time; "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeAlertmanager{answer: c.answer}
				said := alerting(f, c.steps)
				if got, want := strings.Join(f.got, "\n"), strings.TrimSpace(c.want); got != want {
					t.Errorf("\n%s\nwant\n%s", got, want)
				}
				if n := strings.Count(said, "\n"); n != len(c.says) || slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(said, s) }) || strings.Contains(said, "hunter2") {
					t.Errorf("%q, want %q", said, c.says)
				}
			})
		})
	}
}

// TestAlert checks the labels and annotations of an alert: labels contain no values.
func TestAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeAlertmanager{}
		alerting(f, func(x *alerter) {
			raise(x, "uneven pace")
			x.event(&Event{Kind: KindVerdict, Server: "a", Dir: "/runs/1/traces/capture-1", Verdict: &Verdict{Rules: []string{"uneven pace"}, Says: "same work, slower", Next: []string{"do this", "do that"}}}, nil)
		})
		want := alert{
			Labels:       map[string]string{"alertname": "StepscopeUnevenPace", "server": "a", "rank": "DP01", "rule": "uneven pace", "severity": "warning"},
			Annotations:  map[string]string{"summary": "a: DP01: uneven pace", "verdict": "same work, slower", "next": "do this\ndo that", "run": "/runs/1/traces/capture-1"},
			GeneratorURL: "http://127.0.0.1:1/#tab=live",
		}
		if len(f.last) != 1 || !maps.Equal(f.last[0].Labels, want.Labels) || !maps.Equal(f.last[0].Annotations, want.Annotations) || f.last[0].GeneratorURL != want.GeneratorURL {
			t.Errorf("%+v\nwant\n%+v", f.last, want)
		}
	})
	for rule, want := range map[string]string{"uneven pace": "StepscopeUnevenPace", "itl.p99.9 above": "StepscopeItlP999Above", "langsam, ümlaut": "StepscopeLangsamÜmlaut", "--": "Stepscope"} {
		if got := alertName(rule); got != want {
			t.Errorf("%s: %s", rule, got)
		}
	}
}

// TestAlertsOfWatch checks that a watch sends its alarms, with the verdict of a capture, and that an Alertmanager that
// does not answer costs no sample.
func TestAlertsOfWatch(t *testing.T) {
	var events []string
	for _, takes := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{name: "a"}
			s.running, s.tokens = busy(1, 100, 200)
			f := &fakeAlertmanager{began: time.Now(), answer: func(float64) (int, time.Duration, error) { return 200, takes, nil }}
			said, _ := watching(t, &Watch{Capture: Capture{Most: 5, Cooldown: 10 * time.Minute}, Alerts: Alerts{URLs: []string{"http://am/am"}, transport: f}}, 5*time.Minute, s)
			events = append(events, said)
			if want := `104 200 StepscopeUnevenLoad since 100
108 200 StepscopeUnevenLoad since 100 with verdict
120 200 StepscopeUnevenLoad since 100 with verdict
180 200 StepscopeUnevenLoad since 100 with verdict
204 200 StepscopeUnevenLoad since 100 with verdict until 204`; takes == 0 && strings.Join(f.got, "\n") != want {
				t.Errorf("\n%s\nwant\n%s", strings.Join(f.got, "\n"), want)
			}
		})
	}
	if events[0] != events[1] || !strings.Contains(events[0], "204 over") {
		t.Errorf("%s\nand with an Alertmanager that does not answer\n%s", events[0], events[1])
	}
}

func TestCheckAlertmanager(t *testing.T) {
	for url, good := range map[string]bool{
		"http://127.0.0.1:9093": true, "https://me:hunter2@am/prefix/": true,
		"am:9093": false, "": false, "http://": false, "ftp://am": false, "http://am/?token=hunter2": false, "http://am/#hunter2": false, "http://me:hunter2@am:x": false,
	} {
		if err := CheckAlertmanager(url); (err == nil) != good || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestRealAlertmanager checks with Debian's Alertmanager that alerts are accepted, that a verdict does not create
// another alert, and that its receivers are notified of the alarm and of its end.
func TestRealAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("prometheus-alertmanager is not installed")
	}
	type note struct {
		Version, Status string
		Alerts          []alert
	}
	notes := make(chan note, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n note
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		notes <- n
	}))
	defer receiver.Close()
	url := startAlertmanager(t, program, receiver.URL)

	var said bytes.Buffer
	x := startAlerts(&Alerts{URLs: []string{url}, Page: "http://127.0.0.1:8080/#tab=live"}, "/runs/1", &progress.Console{W: &said})
	raise(x, "uneven pace")
	raise(x, "silent rank")
	await := func(status string) note {
		t.Helper()
		select {
		case n := <-notes:
			if n.Version != "4" || n.Status != status || len(n.Alerts) != 1 {
				t.Errorf("%+v, want %s", n, status)
			}
			return n
		case <-time.After(30 * time.Second):
			t.Fatalf("no notification of an alert that is %s", status)
		}
		panic("unreachable")
	}
	names := []string{await("firing").Alerts[0].Labels["alertname"], await("firing").Alerts[0].Labels["alertname"]}
	if slices.Sort(names); !slices.Equal(names, []string{"StepscopeSilentRank", "StepscopeUnevenPace"}) {
		t.Errorf("%q", names)
	}
	x.event(&Event{Kind: KindVerdict, Server: "a", Dir: "/runs/1/traces/capture-1", Verdict: &Verdict{Rules: []string{"uneven pace"}, Says: "same work, slower"}}, nil)
	lower(x, "uneven pace")
	if n := await("resolved"); n.Alerts[0].Annotations["verdict"] != "same work, slower" || n.Alerts[0].Labels["rule"] != "uneven pace" || n.Alerts[0].GeneratorURL != x.page {
		t.Errorf("%+v", n)
	}
	x.end()
	if n := await("resolved"); n.Alerts[0].Labels["rule"] != "silent rank" {
		t.Errorf("%+v", n)
	}
	if said.Len() > 0 {
		t.Errorf("%s", &said)
	}
}

// startAlertmanager starts an Alertmanager that notifies a webhook, and returns its URL.
func startAlertmanager(t *testing.T, program, webhook string) string {
	config := filepath.Join(t.TempDir(), "alertmanager.yml")
	text := fmt.Sprintf(`{route: {receiver: hook, group_by: ["..."], group_wait: 10ms, group_interval: 10ms}, receivers: [{name: hook, webhook_configs: [{url: %q}]}]}`, webhook)
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file", config, "--storage.path", t.TempDir(), "--web.listen-address", "127.0.0.1:0", "--cluster.listen-address", "")
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	listens := regexp.MustCompile(`Listening on.*address=(127\.0\.0\.1:\d+)`)
	var seen []byte
	for buf := make([]byte, 4096); ; {
		n, err := log.Read(buf)
		if seen = append(seen, buf[:n]...); err != nil {
			t.Fatalf("%v: %s", err, seen)
		}
		if m := listens.FindSubmatch(seen); m != nil {
			go io.Copy(io.Discard, log)
			return "http://" + string(m[1])
		}
	}
}
