package watch

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

var update = flag.Bool("update", false, "write docs/grafana anew")

// family is a metric that the watch exports.
type family struct {
	name, help, kind string
	labels           []string
}

// exported returns /metrics of a watch that has a sample of each metric, and the metrics.
func exported() (text string, all []family) {
	c := counts{version: "v1.2.3"}
	c.event(&Event{Kind: KindBegin, Server: "a"})
	c.event(&Event{Kind: KindAlarm, Server: "a", Rule: detect.UnevenPace})
	c.event(&Event{Kind: KindVerdict, Server: "a", At: time.Unix(1790857026, 0), Verdict: &Verdict{Kind: Slower}})
	c.seen(&follower{name: "a", live: &signals.Live{Ranks: make([]signals.Flow, 2)}})
	page := httptest.NewRecorder()
	c.text().Reply(page)
	text = page.Body.String()
	for _, m := range regexp.MustCompile(`# HELP (\w+) (.*)\n# TYPE \w+ (\w+)\n\w+\{(.*)\} `).FindAllStringSubmatch(text, -1) {
		f := family{name: m[1], help: m[2], kind: m[3]}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[4], -1) {
			f.labels = append(f.labels, l[1])
		}
		all = append(all, f)
	}
	return text, all
}

// TestMetricsDocs checks that docs/formats/watch.md describes each metric, and that promtool accepts them.
func TestMetricsDocs(t *testing.T) {
	text, all := exported()
	docs, err := os.ReadFile("../../docs/formats/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text, "# HELP"); n != len(all) || n < 10 {
		t.Errorf("%d of %d metrics have a sample", len(all), n)
	}
	for _, f := range all {
		if want := "| `" + f.name + "` | " + f.kind + " | "; !strings.Contains(string(docs), want) {
			t.Errorf("docs/formats/watch.md lacks %s", want)
		}
	}
	cmd := exec.Command(promtool(t), "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func promtool(t *testing.T) string {
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	return path
}

// same checks that a file of docs/grafana has the text that is made of the metrics and the rules. With -update it
// writes the file.
func same(t *testing.T, name string, want []byte) (path string) {
	path = filepath.Join("../../docs/grafana", name)
	if *update {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): go test ./internal/watch -run 'Dashboard|AlertRules' -update", path, err)
	}
	return path
}

// object is a JSON object.
type object = map[string]any

// panel returns the dashboard's panel of a metric: the value, or the age of a time. A panel of a
// counter shows the total, because the counter begins with its first event, which increase() would not see.
func (f *family) panel() object {
	title := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(f.name, "stepscope_watch_"), "stepscope_"), "_", " ")
	expr, kind, unit, options := f.name, "timeseries", "short", object{}
	if slices.Contains(f.labels, "server") {
		expr += `{server=~"$server"}`
	}
	for i := range told {
		if f.name == "stepscope_watch_rank_"+told[i].name && (&Figure{Unit: told[i].unit}).time() {
			unit = "s"
		}
	}
	switch {
	case f.kind == "counter":
		expr = "sum by (" + strings.Join(f.labels, ", ") + ") (" + expr + ")"
		title = strings.TrimSuffix(title, " total")
	case strings.HasSuffix(f.name, "_timestamp_seconds"):
		expr, kind, unit = "time() - "+expr, "stat", "s"
		title = "time since the " + strings.TrimSuffix(title, " timestamp seconds")
	case strings.HasSuffix(f.name, "_info"):
		kind, options = "stat", object{"textMode": "name"}
	case f.name == "stepscope_watch_alarm" || f.name == "stepscope_watch_up":
		kind = "state-timeline"
	}
	return object{
		"title": strings.ToUpper(title[:1]) + title[1:], "description": f.help, "type": kind, "options": options,
		"datasource":  object{"type": "prometheus", "uid": "$datasource"},
		"fieldConfig": object{"defaults": object{"unit": unit}, "overrides": []any{}},
		"targets":     []object{{"refId": "A", "expr": expr, "legendFormat": "{{" + strings.Join(f.labels, "}} {{") + "}}"}},
	}
}

// TestDashboard checks that docs/grafana/dashboard.json shows each metric, and that promtool accepts each expression.
func TestDashboard(t *testing.T) {
	_, all := exported()
	var panels []object
	rules := "groups:\n- name: panels\n  rules:\n"
	for i := range all {
		p := all[i].panel()
		p["id"], p["gridPos"] = i+1, object{"x": i % 2 * 12, "y": i / 2 * 8, "w": 12, "h": 8}
		panels = append(panels, p)
		expr := p["targets"].([]object)[0]["expr"].(string)
		rules += fmt.Sprintf("  - record: panel_%d\n    expr: '%s'\n", i, strings.ReplaceAll(expr, "$server", ".*"))
	}
	source := object{"type": "prometheus", "uid": "$datasource"}
	text, err := json.MarshalIndent(object{
		"title": "stepscope watch", "uid": "stepscope-watch", "tags": []string{"stepscope"}, "schemaVersion": 38, "refresh": "30s",
		"time": object{"from": "now-3h", "to": "now"}, "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
			{
				"name": "server", "type": "query", "label": "Server", "datasource": source, "query": `label_values({__name__=~"stepscope_watch_(up|alarm)"}, server)`,
				"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}, "refresh": 2,
			},
		}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "dashboard.json", append(text, '\n'))
	path := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(path, []byte(rules), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool(t), "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s\n%s", err, out, rules)
	}
}

// alertRule is an alert of docs/grafana/rules.yml, with series that raise the alert, and series that do not.
type alertRule struct {
	name, expr, hold, severity, summary string
	labels                              string    // of the series that raises the alert
	ill, well                           [2]string // a series and its values, one per minute
}

// alertRules returns an alert for each default rule, for the other rules, for servers that do not answer and for failed
// captures.
func alertRules() (all []alertRule) {
	var defaults []string
	on := func(rule string) [2]string {
		return [2]string{`stepscope_watch_alarm{server="a",rule="` + rule + `"}`, "0 0 1 1 1"}
	}
	for _, r := range detect.Defaults() {
		severity := "warning"
		if r.Kind == detect.Silent {
			severity = "critical"
		}
		defaults = append(defaults, r.Name)
		all = append(all, alertRule{
			alertName(r.Name), fmt.Sprintf("stepscope_watch_alarm{rule=%q} == 1", r.Name), "0s", severity, "{{ $labels.server }}: " + r.Name,
			"rule: " + r.Name, on(r.Name), [2]string{on(r.Name)[0], "0 1 0 0 0"},
		})
	}
	const failed = `stepscope_watch_captures_total{result="failed"}`
	return append(all,
		alertRule{
			"StepscopeAlarm", fmt.Sprintf("stepscope_watch_alarm{rule!~%q} == 1", strings.Join(defaults, "|")), "0s", "warning", "{{ $labels.server }}: {{ $labels.rule }}",
			"rule: users wait", on("users wait"), on(detect.UnevenPace),
		},
		alertRule{
			"StepscopeServerDown", "stepscope_watch_up == 0", "1m", "critical", "{{ $labels.server }} does not answer",
			"", [2]string{`stepscope_watch_up{server="a"}`, "1 1 0 0 0"}, [2]string{`stepscope_watch_up{server="a"}`, "1 1 1 1 0"},
		},
		// increase() would not see the first failure.
		alertRule{
			"StepscopeCaptureFailed", failed + " - (" + failed + " offset 15m or " + failed + " * 0) > 0", "0s", "warning", "a capture of {{ $labels.server }} failed",
			"result: failed", [2]string{`stepscope_watch_captures_total{server="a",result="failed"}`, "_ _ 1 1 1"}, [2]string{`stepscope_watch_captures_total{server="a",result="slower"}`, "0 0 1 1 1"},
		},
	)
}

// TestAlertRules checks docs/grafana/rules.yml: promtool accepts the file, each alert is raised by its series, and is
// not raised by the healthy series.
func TestAlertRules(t *testing.T) {
	text := "# Alerts for Prometheus from the metrics of stepscope watch --listen.\ngroups:\n- name: stepscope\n  rules:\n"
	tests := "rule_files: [RULES]\nevaluation_interval: 1m\ntests:\n"
	_, metrics := exported()
	for _, r := range alertRules() {
		for _, name := range regexp.MustCompile(`stepscope_\w+`).FindAllString(r.expr, -1) {
			if !slices.ContainsFunc(metrics, func(f family) bool { return f.name == name }) {
				t.Errorf("%s: watch does not export %s", r.name, name)
			}
		}
		text += fmt.Sprintf("  - alert: %s\n    expr: '%s'\n    for: %s\n    labels:\n      severity: %s\n    annotations:\n      summary: '%s'\n", r.name, r.expr, r.hold, r.severity, r.summary)
		summary := strings.NewReplacer("{{ $labels.server }}", "a", "{{ $labels.rule }}", strings.TrimPrefix(r.labels, "rule: ")).Replace(r.summary)
		raised := fmt.Sprintf("[{exp_labels: {server: a, severity: %s%s}, exp_annotations: {summary: %q}}]", r.severity, strings.TrimSuffix(", "+r.labels, ", "), summary)
		for _, c := range []struct {
			series [2]string
			want   string
		}{{r.ill, raised}, {r.well, "[]"}} {
			tests += fmt.Sprintf("- interval: 1m\n  input_series: [{series: '%s', values: '%s'}]\n  alert_rule_test: [{eval_time: 4m, alertname: %s, exp_alerts: %s}]\n", c.series[0], c.series[1], r.name, c.want)
		}
	}
	path, err := filepath.Abs(same(t, "rules.yml", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	program, file := promtool(t), filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(file, []byte(strings.Replace(tests, "RULES", path, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", path}, {"test", "rules", file}} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}
