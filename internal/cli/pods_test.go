//go:build unix

package cli

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stepscope/stepscope/docs/guides"
	"github.com/stepscope/stepscope/internal/testing/fakekube"
)

// podServer starts a node of a server as a pod. Its profiles are in a directory that, if this host allows it, no other
// process sees.
func podServer(t *testing.T, c *fakekube.Cluster, p *fakekube.Pod, args ...string) *node {
	t.Helper()
	dir := t.TempDir()
	more, isolated := fakekube.Isolated(dir)
	profiles := fakekube.Mount
	if !isolated {
		more, profiles = nil, dir
	}
	n := startNode(t, append([]string{"env", "SGLANG_TORCH_PROFILER_DIR=" + profiles}, more...),
		append([]string{"serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "8192"}, args...)...)
	p.Dir, p.Log = dir, n.log.String
	if isolated {
		p.PID = n.cmd.Process.Pid
	}
	c.Add(p)
	return n
}

// serves waits until the server of a pod listens.
func (n *node) serves(t *testing.T, p *fakekube.Pod) {
	t.Helper()
	p.Addr = strings.TrimPrefix(n.listens(t), "http://")
}

// webPods starts n servers as pods web-0, web-1, … with the label app=sglang.
func webPods(t *testing.T, c *fakekube.Cluster, namespace string, n int, args ...string) (pods []*fakekube.Pod) {
	t.Helper()
	for i := range n {
		p := &fakekube.Pod{Name: "web-" + strconv.Itoa(i), Namespace: namespace, Labels: map[string]string{"app": "sglang"}, Ports: map[string]int{"http": 30000}}
		podServer(t, c, p, args...).serves(t, p)
		pods = append(pods, p)
	}
	return pods
}

// inCluster runs a command line of which the cluster of a fake API server is the current context.
func inCluster(t *testing.T, c *fakekube.Cluster, args ...string) (cmd *exec.Cmd, out, errs *syncBuffer) {
	t.Helper()
	out, errs = &syncBuffer{}, &syncBuffer{}
	cmd = exec.CommandContext(t.Context(), "stepscope", args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(t, t.TempDir()), "STEPSCOPE_URL=http://127.0.0.1:1") // --pods goes before a setting
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, errs
}

// TestPodsRights checks that the manifest of the guide grants the rights that a profile of pods needs, and no others.
func TestPodsRights(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	webPods(t, c, "serving", 1)
	profilePods(t, c, 1, "--pods", "serving/app=sglang", "-o", filepath.Join(t.TempDir(), "local"))
	needs := c.Rights()
	var guide string
	for _, g := range guides.All() {
		if g.Name == "kubernetes" {
			guide = g.Text
		}
	}
	rule := regexp.MustCompile(`resources: \[(.*)\]\n +verbs: \[(.*)\]`)
	grants := map[string]bool{}
	for _, m := range rule.FindAllStringSubmatch(guide, -1) {
		for resource := range strings.SplitSeq(m[1], ", ") {
			for verb := range strings.SplitSeq(m[2], ", ") {
				if verb != "create" { // newer API servers may also ask for it
					grants[verb+" "+resource] = true
				}
			}
		}
	}
	if !maps.Equal(grants, needs) {
		t.Errorf("the guide grants %v, the profile needs %v", slices.Sorted(maps.Keys(grants)), slices.Sorted(maps.Keys(needs)))
	}
}

// podsDoc is the part of the JSON of profile that the tests read.
type podsDoc struct {
	Servers []podsServer
}

type podsServer struct {
	Name, URL, Merged, Problem string
	Traces                     []string
}

// profilePods profiles n servers in pods, and returns their part of the JSON, and stderr.
func profilePods(t *testing.T, c *fakekube.Cluster, n int, args ...string) (servers []podsServer, errs *syncBuffer) {
	t.Helper()
	cmd, out, errs := inCluster(t, c, append([]string{"profile", "--probe", "--num-steps", "4", "--json"}, args...)...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var doc podsDoc
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil || len(doc.Servers) != n {
		t.Fatalf("%v, want %d servers\n%s%s", err, n, out, errs)
	}
	return doc.Servers, errs
}

// TestProfilePods profiles servers in pods. All files come by commands in the pods.
func TestProfilePods(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	webPods(t, c, "serving", 3, "--tp", "2")
	c.Add(&fakekube.Pod{Name: "web-3", Namespace: "serving", Labels: map[string]string{"app": "sglang"}, Phase: "Pending"})
	local := filepath.Join(t.TempDir(), "local")
	servers, errs := profilePods(t, c, 3, "--pods", "serving/app=sglang", "-o", local)
	for _, want := range []string{"left out: pod serving/web-3 is Pending", "http://web-0.serving:30000: pod serving/web-0, container server, port 30000"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs)
		}
	}
	ran := c.Commands()
	for _, s := range servers {
		if len(s.Traces) != 2 || filepath.Dir(s.Traces[0]) != filepath.Join(local, s.Name) || s.Merged == "" {
			t.Errorf("%+v", s)
		}
		for _, file := range s.Traces {
			if !slices.ContainsFunc(ran, func(line string) bool {
				return strings.HasPrefix(line, s.Name+": cat /") && strings.HasSuffix(line, "/"+filepath.Base(file))
			}) {
				t.Errorf("%s was not fetched by a command:\n%s", file, strings.Join(ran, "\n"))
			}
		}
	}
}

// TestProfileLWS profiles a server whose nodes are the pods of a LeaderWorkerSet group: requests go to the leader, and
// traces are looked for in all pods. Node 0 of stepscope's server writes those of all nodes; TestGroups of package kube
// reads files of a worker.
func TestProfileLWS(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	addr := freeAddr(t)
	var lead *node
	var pods []*fakekube.Pod
	for i := range 2 {
		p := &fakekube.Pod{Name: "big-0" + strings.Repeat("-1", i), Ports: map[string]int{"http": 30000}, Labels: map[string]string{
			"leaderworkerset.sigs.k8s.io/name": "big", "leaderworkerset.sigs.k8s.io/group-index": "0", "leaderworkerset.sigs.k8s.io/worker-index": strconv.Itoa(i),
		}}
		n := podServer(t, c, p, "--tp", "2", "--nnodes", "2", "--node-rank", strconv.Itoa(i), "--dist-init-addr", addr)
		if pods = append(pods, p); i == 0 {
			lead = n
		}
	}
	lead.serves(t, pods[0])
	if servers, errs := profilePods(t, c, 1, "--lws", "big", "-o", filepath.Join(t.TempDir(), "local")); len(servers[0].Traces) != 2 {
		t.Fatalf("%+v\n%s", servers, errs)
	}
	listed := map[string]bool{}
	for _, line := range c.Commands() {
		if pod, command, _ := strings.Cut(line, ": "); strings.HasPrefix(command, "ls ") {
			listed[pod] = true
		}
	}
	if names := slices.Sorted(maps.Keys(listed)); !slices.Equal(names, []string{"big-0", "big-0-1"}) {
		t.Errorf("files are listed in %v", names)
	}
}

// TestProfilePodsRouter profiles the server behind a router in a pod. The router names it by the address of its pod.
func TestProfilePodsRouter(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	p := &fakekube.Pod{Name: "web-0", IP: "10.1.2.3", Labels: map[string]string{"app": "sglang"}, Ports: map[string]int{"http": 30000}}
	podServer(t, c, p).serves(t, p)
	mux := http.NewServeMux()
	mux.HandleFunc("/list_workers", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"urls": ["http://10.1.2.3:30000"]}`) })
	mux.Handle("/generate", httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.Addr}))
	router := httptest.NewServer(mux)
	defer router.Close()
	c.Add(&fakekube.Pod{Name: "router", Labels: map[string]string{"app": "router"}, Ports: map[string]int{"http": 8080}, Addr: router.Listener.Addr().String()})
	if servers, errs := profilePods(t, c, 1, "--pods", "app=router", "-o", filepath.Join(t.TempDir(), "local")); servers[0].URL != "http://10.1.2.3:30000" || len(servers[0].Traces) != 1 {
		t.Errorf("%+v\n%s", servers, errs)
	}
	if ran := c.Commands(); !slices.ContainsFunc(ran, func(line string) bool { return strings.HasPrefix(line, "web-0: cat /") }) {
		t.Errorf("no file was fetched from the pod of the server: %q", ran)
	}
}

// TestProfilePodLost deletes, replaces or restarts a pod while it is recorded: the profile names it, keeps what the other
// pod recorded, and ends with status 3.
func TestProfilePodLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []struct {
		name, want string
		do         func(*fakekube.Cluster, *fakekube.Pod)
	}{
		{"deleted", "pod default/web-1 was deleted", func(c *fakekube.Cluster, p *fakekube.Pod) { c.Delete(p) }},
		{"replaced", "pod default/web-1 was deleted, and another pod has its name", func(c *fakekube.Cluster, p *fakekube.Pod) {
			c.Delete(p)
			again := *p
			c.Add(&again)
		}},
		{"restarted", "pod default/web-1 restarted its container server (OOMKilled, exit code 137)", func(c *fakekube.Cluster, p *fakekube.Pod) {
			c.Restart(p)
		}},
	} {
		t.Run(lost.name, func(t *testing.T) {
			t.Parallel()
			c := fakekube.New(t)
			pods := webPods(t, c, "", 2)
			cmd, out, errs := inCluster(t, c, "profile", "--pods", "app=sglang", "-o", filepath.Join(t.TempDir(), "local"), "--wait", "0", "--num-steps", "20", "--json")
			awaits(t, errs, "trace to be flushed")
			lost.do(c, pods[1])
			for range 10 { // work for the pod that is left
				http.Post("http://"+pods[0].Addr+"/generate", "application/json", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":16,"ignore_eos":true}}`))
			}
			cmd.Wait()
			var doc podsDoc
			if err := json.Unmarshal([]byte(out.String()), &doc); err != nil || len(doc.Servers) != 2 || cmd.ProcessState.ExitCode() != exitIncomplete {
				t.Fatalf("status %d, %v\n%s%s", cmd.ProcessState.ExitCode(), err, out, errs)
			}
			if s := doc.Servers; len(s[0].Traces) != 1 || s[0].Problem != "" || !strings.Contains(s[1].Problem, lost.want) {
				t.Errorf("want %q:\n%+v\n%s", lost.want, s, errs)
			}
		})
	}
}

// TestProfilePodsInterrupted ends a profile of pods while it records. No profiler goes on recording.
func TestProfilePodsInterrupted(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	pods := webPods(t, c, "", 2)
	for _, sig := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		cmd, _, errs := inCluster(t, c, "profile", "--pods", "app=sglang", "-o", filepath.Join(t.TempDir(), "local"), "--wait", "0", "--num-steps", "100000")
		awaits(t, errs, "trace to be flushed")
		cmd.Process.Signal(sig)
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
			t.Errorf("%v: status %d\n%s", sig, status, errs)
		}
		for _, p := range pods {
			if status, text := call(t, http.MethodPost, "http://"+p.Addr+"/stop_profile", ""); status != http.StatusConflict {
				t.Errorf("after %v, %s was recording: %d %s", sig, p.Name, status, text)
			}
		}
	}
}

// TestPodsVerbs runs the other verbs that take --pods: they reach the server, and those that record fetch its traces.
func TestPodsVerbs(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	p := webPods(t, c, "", 1, "--tp", "2", "--enable-metrics")[0]
	dir := t.TempDir()
	for _, r := range []struct {
		args    string
		out     string // regular expression
		fetches bool
	}{
		{"send --max-new-tokens 4 --ignore-eos", `\| +4 `, false},
		{"send --max-new-tokens 16 --ignore-eos --profile", `2 traces in `, true},
		{"bench serving --dataset-name random-ids --num-prompts 4 --random-input-len 8 --random-output-len 8 --run-dir " + dir, `Successful requests: +4 `, false},
		{"bench serving --dataset-name random-ids --num-prompts 24 --random-input-len 8 --random-output-len 100 --max-concurrency 2 --profile --profile-num-steps 5 --run-dir " + dir, `Successful requests: +24 `, true},
		{"watch --for 2s --run-dir " + dir, "", false},
		{"profile stop", `http://web-0.default:30000: was not recording`, false},
		{"profile start --num-steps 0 -o " + dir + "/window", dir + "/window", false},
		{"profile stop " + dir + "/window --no-analyze --no-store", "", true},
	} {
		before, forwards := len(c.Commands()), c.Forwards()
		verb := strings.Fields(r.args)
		cmd, out, errs := inCluster(t, c, append(verb, "--pods", "app=sglang")...)
		if err := cmd.Wait(); err != nil || !regexp.MustCompile(r.out).MatchString(out.String()) {
			t.Errorf("%s: %v, want %s\n%s%s", r.args, err, r.out, out, errs)
		}
		if strings.HasPrefix(r.args, "profile start") {
			if want := "stepscope profile stop " + dir + "/window --pods app=sglang\n"; !strings.Contains(errs.String(), want) {
				t.Errorf("stderr lacks %q:\n%s", want, errs)
			}
			http.Post("http://"+p.Addr+"/generate", "application/json", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":16,"ignore_eos":true}}`))
		}
		fetched := slices.ContainsFunc(c.Commands()[before:], func(line string) bool { return strings.HasPrefix(line, "web-0: cat ") })
		if fetched != r.fetches || c.Forwards() == forwards {
			t.Errorf("%s: fetched %v, %d connections", r.args, fetched, c.Forwards()-forwards)
		}
	}
}

// TestPodsRefused checks the errors of flags and of clusters: one line that names the remedy.
func TestPodsRefused(t *testing.T) {
	t.Parallel()
	c := fakekube.New(t)
	c.Add(&fakekube.Pod{Name: "web", Labels: map[string]string{"app": "web"}, Ports: map[string]int{"grpc": 9000, "metrics": 9090}})
	for _, name := range []string{"two-0", "two-1"} {
		c.Add(&fakekube.Pod{Name: name, Labels: map[string]string{"app": "two"}, Ports: map[string]int{"http": 30000}})
	}
	c.Add(&fakekube.Pod{Name: "off", Labels: map[string]string{"app": "off"}, NotReady: true})
	for _, r := range []struct {
		args   string
		denied string
		status int
		want   string
	}{
		{"--pods app=web --url http://x:1", "", exitUsage, "leave one of them out"},
		{"--pods app=web --fetch cat", "", exitUsage, "--pods and --fetch: files of pods come through the API server, leave one of them out"},
		{"--lws big --decode-url http://x:1", "", exitUsage, "--lws and --decode-url: pods are reached through the API server, leave one of them out"},
		{"--pods :30000", "", exitUsage, "give one such as app=sglang"},
		{"--pods app=web:70000", "", exitUsage, "give a port from 1 to 65535"},
		{"--lws a=b", "", exitUsage, "give the name of a LeaderWorkerSet"},
		{"--container c", "", exitUsage, "--container needs --pods or --lws"},
		{"--pods app=none", "", exitFailed, "no pod in namespace default has the labels app=none"},
		{"--pods app=off", "", exitFailed, "no pod of default/app=off is Running and Ready: default/off is not Ready"},
		{"--pods app=web", "", exitFailed, "none of its ports (grpc=9000, metrics=9090) is called http or is 30000 or 8000: add the server's port to the selector, as :PORT"},
		{"--pods app=web --container x", "", exitFailed, `pod default/web has no container "x": server`},
		{"--pods app=web --context x", "", exitFailed, `no context "x" in `},
		{"--pods app=web:1", "pods", exitFailed, "stepscope guide kubernetes lists the rights"},
		{"--pods app=web:1", "pods/portforward", exitFailed, "stepscope guide kubernetes lists the rights"},
		{"!view --pods app=web --url http://x:1", "", exitUsage, "leave one of them out"},
		{"!send --pods app=web --base-url http://x:1", "", exitUsage, "leave one of them out"},
		{"!bench serving --pods app=web --port 1", "", exitUsage, "leave one of them out"},
		{"!send --pods app=two", "", exitFailed, "there are 2 servers in the selected pods, and this verb calls one"},
	} {
		c.Deny(r.denied)
		line, other := strings.CutPrefix(r.args, "!")
		if !other {
			line = "profile --num-steps 1 " + line
		}
		cmd, out, errs := inCluster(t, c, strings.Fields(line)...)
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != r.status || !strings.Contains(errs.String(), r.want) {
			t.Errorf("%s: status %d, want %d with %q\n%s%s", r.args, status, r.status, r.want, out, errs)
		}
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(errs.String()), "\n"), func(l string) bool { return !strings.HasPrefix(l, "stepscope: ") })
		if len(lines) != 1 {
			t.Errorf("%s: %d lines of errors:\n%s", r.args, len(lines), errs)
		}
	}
}
