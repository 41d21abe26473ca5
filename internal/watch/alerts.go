package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// Alerts configures the Alertmanagers that get the alarms of a watch as alerts.
type Alerts struct {
	URLs []string // base URLs, checked by CheckAlertmanager
	Page string   // page that shows the watch, the source of the alerts; "": none

	transport http.RoundTripper // nil: the default
}

const (
	alertEvery = time.Minute      // interval at which active alerts are sent again
	alertTime  = 10 * time.Second // timeout of a request
	alertLast  = 5 * time.Second  // timeout of the last request, at the end of the watch
)

// CheckAlertmanager returns an error if text is not the URL of an Alertmanager. The error does not show the text, which
// may contain a password.
func CheckAlertmanager(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("give the URL of an Alertmanager without a query, such as http://127.0.0.1:9093")
	}
	return nil
}

// alert is an alert of Alertmanager's API, version 2:
// https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt,omitzero"` // zero: the condition holds
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// alerter converts events to alerts. Only the coordinator calls it.
type alerter struct {
	page, run string
	active    map[[2]string]alert // by server and rule
	to        []*alertmanager
	stop      context.CancelFunc
	all       sync.WaitGroup
}

func startAlerts(a *Alerts, run string, say *progress.Console) *alerter {
	ctx, cancel := context.WithCancel(context.Background())
	x := &alerter{page: a.Page, run: run, active: map[[2]string]alert{}, stop: cancel}
	client := &http.Client{Transport: a.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a password goes only to its URL
	for _, text := range a.URLs {
		u, err := url.Parse(text)
		if err != nil {
			continue // CheckAlertmanager has refused it
		}
		u = u.JoinPath("api/v2/alerts")
		m := &alertmanager{client: client, url: u.String(), name: u.Scheme + "://" + u.Host, say: say, alerts: map[string]alert{}, wake: make(chan struct{}, 1)}
		x.to = append(x.to, m)
		x.all.Go(func() { m.follow(ctx) })
	}
	return x
}

// event converts an event to an alert, or updates an alert. The parameter lines holds the console text of the event.
func (x *alerter) event(e *Event, lines []string) {
	key := [2]string{e.Server, e.Rule}
	switch e.Kind {
	case KindAlarm:
		x.over(key, e.At)
		x.set(key, x.alertOf(e, lines))
	case KindOver:
		x.over(key, e.At)
	case KindVerdict:
		for _, rule := range e.Verdict.Rules {
			key[1] = rule
			if a, ok := x.active[key]; ok {
				a.Annotations = maps.Clone(a.Annotations)
				a.Annotations["verdict"], a.Annotations["run"] = e.Verdict.Says, e.Dir
				if len(e.Verdict.Next) > 0 {
					a.Annotations["next"] = strings.Join(e.Verdict.Next, "\n")
				}
				x.set(key, a)
			}
		}
	}
}

// alertOf returns the alert of an alarm. Its labels contain no values, because Alertmanager takes other labels for
// another alert.
func (x *alerter) alertOf(e *Event, lines []string) alert {
	a := alert{
		Labels:      map[string]string{"alertname": alertName(e.Rule), "server": e.Server, "rule": e.Rule, "severity": "warning"},
		Annotations: map[string]string{"summary": strings.TrimPrefix(strings.Join(lines, "\n"), clock(e.At)+"  ")},
		StartsAt:    *e.Onset, GeneratorURL: x.page,
	}
	if e.Rank != "" {
		a.Labels["rank"] = e.Rank
	}
	if e.ruleKind == detect.Silent {
		a.Labels["severity"] = "critical"
	}
	if x.run != "" {
		a.Annotations["run"] = x.run
	}
	return a
}

// alertName returns the name of a rule's alerts, such as StepscopeUnevenPace.
func alertName(rule string) string {
	name := "Stepscope"
	for word := range strings.FieldsFuncSeq(rule, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		first := []rune(word)[:1]
		name += strings.ToUpper(string(first)) + word[len(string(first)):]
	}
	return name
}

// set stores an active alert and sends it.
func (x *alerter) set(key [2]string, a alert) {
	x.active[key] = a
	for _, m := range x.to {
		m.set(a)
	}
}

// over ends an alert, if it is active.
func (x *alerter) over(key [2]string, at time.Time) {
	if a, ok := x.active[key]; ok {
		a.EndsAt = at
		if at.Before(a.StartsAt) { // a clock was set back
			a.EndsAt = a.StartsAt
		}
		x.set(key, a)
		delete(x.active, key)
	}
}

// end ends all alerts. It waits at most alertLast for the Alertmanagers.
func (x *alerter) end() {
	x.stop()
	x.all.Wait()
	for key := range x.active {
		x.over(key, time.Now())
	}
	ctx, cancel := context.WithTimeout(context.Background(), alertLast)
	defer cancel()
	for _, m := range x.to {
		x.all.Go(func() { m.send(ctx) })
	}
	x.all.Wait()
}

// alertmanager sends alerts to one Alertmanager. Its queue holds one alert for each set of labels, so that the queue
// stays small while the Alertmanager does not answer.
type alertmanager struct {
	client *http.Client
	url    string
	name   string // the URL without user, password and path
	say    *progress.Console
	wake   chan struct{} // signals a change of alerts
	failed bool          // the last request failed

	mu     sync.Mutex
	alerts map[string]alert // by labels: active alerts, and ended alerts that are not yet sent
}

// set queues an alert; it never blocks.
func (m *alertmanager) set(a alert) {
	m.mu.Lock()
	m.alerts[fmt.Sprint(a.Labels)] = a
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// follow sends the alerts after each change and every alertEvery until ctx ends.
func (m *alertmanager) follow(ctx context.Context) {
	again := time.NewTicker(alertEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		case <-again.C:
		}
		m.send(ctx)
	}
}

// send sends all queued alerts. It reports the first of several failures, and the first success after a failure.
func (m *alertmanager) send(ctx context.Context) {
	m.mu.Lock()
	sent := maps.Clone(m.alerts)
	m.mu.Unlock()
	if len(sent) == 0 {
		return
	}
	err := m.post(ctx, sent)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the watch ends; its end sends the alerts again
		return
	case err != nil && !m.failed:
		m.say.Warn("--alertmanager %s: %v; the alerts will be sent again every minute", m.name, err)
	case err == nil && m.failed:
		m.say.Warn("--alertmanager %s: takes the alerts again", m.name)
	}
	if m.failed = err != nil; m.failed {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for labels, a := range sent {
		if !a.EndsAt.IsZero() && m.alerts[labels].EndsAt.Equal(a.EndsAt) {
			delete(m.alerts, labels)
		}
	}
}

// post sends alerts in one request. An error does not contain the URL.
func (m *alertmanager) post(ctx context.Context, alerts map[string]alert) error {
	ctx, cancel := context.WithTimeout(ctx, alertTime)
	defer cancel()
	var list []alert
	for _, labels := range slices.Sorted(maps.Keys(alerts)) {
		list = append(list, alerts[labels])
	}
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.client.Do(req)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	why, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	if resp.StatusCode/100 != 2 {
		return errors.New(strings.Join(strings.Fields(cmp.Or(resp.Status, fmt.Sprint(resp.StatusCode))+" "+string(why)), " "))
	}
	return nil
}
