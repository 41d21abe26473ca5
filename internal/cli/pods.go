package cli

import (
	"context"
	"fmt"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/kube"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
)

// podFlags select servers in pods of a Kubernetes cluster.
type podFlags struct {
	Pods      []string `name:"pods" sep:"none" placeholder:"SELECTOR" without:"url|prefill-url|decode-url: pods are reached through the API server; fetch|profile-fetch: files of pods come through the API server" help:"Kubernetes pods, as [NS/]LABELS[:PORT]; repeat it for several. See stepscope guide kubernetes."`
	LWS       []string `name:"lws" sep:"none" placeholder:"NAME" without:"url|prefill-url|decode-url: pods are reached through the API server; fetch|profile-fetch: files of pods come through the API server" help:"A LeaderWorkerSet of Kubernetes, as [NS/]NAME[:PORT]; the pods of a group are one server."`
	Context   string   `name:"context" placeholder:"NAME" needs:"pods|lws" help:"Context of the kubeconfig; default: the current one, or this pod's service account."`
	Container string   `name:"container" placeholder:"NAME" needs:"pods|lws" help:"Container of the server in its pod."`
}

func (f *podFlags) given() bool { return len(f.Pods)+len(f.LWS) > 0 }

// AfterApply checks the selectors.
func (f *podFlags) AfterApply() error {
	_, err := f.selectors()
	return err
}

func (f *podFlags) selectors() (all []kube.Selector, err error) {
	for _, of := range []struct {
		flag  string
		given []string
		parse func(string) (kube.Selector, error)
	}{{"--pods", f.Pods, kube.ParseSelector}, {"--lws", f.LWS, kube.ParseLWS}} {
		for _, text := range of.given {
			s, err := of.parse(text)
			if err != nil {
				return nil, usagef("%s: %v", of.flag, err)
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// reach selects the pods and says which they are.
func (f *podFlags) reach(ctx context.Context, e *env) (*kube.Pods, error) {
	selectors, err := f.selectors()
	if err != nil {
		return nil, err
	}
	config, err := kube.Load(f.Context)
	if err != nil {
		return nil, err
	}
	c, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	pods, left, err := c.Select(ctx, selectors, f.Container)
	if err != nil {
		return nil, err
	}
	for _, s := range pods.Servers {
		e.Line(s.URL + ": pod " + s.String())
	}
	for _, why := range left {
		e.Line("left out: pod " + why)
	}
	return pods, nil
}

// one selects the pods of a verb that calls one server. It returns nil if no pods are given.
func (f *podFlags) one(ctx context.Context, e *env) (*kube.Pods, error) {
	if !f.given() {
		return nil, nil
	}
	pods, err := f.reach(ctx, e)
	if err == nil && len(pods.Servers) > 1 {
		err = fmt.Errorf("there are %d servers in the selected pods, and this verb calls one: select fewer, or a router", len(pods.Servers))
	}
	return pods, err
}

// podTargets returns the servers in the pods, with the keys of a target.
func podTargets(pods *kube.Pods, keys torch.Target) (out []torch.Target) {
	seen := map[string]int{}
	for _, s := range pods.Servers {
		seen[s.Name]++
	}
	for _, s := range pods.Servers {
		t := keys
		if t.URL, t.Name, t.Role = s.URL, s.Name, s.Role; seen[s.Name] > 1 {
			t.Name = "" // in several namespaces: it derives from the URL
		}
		out = append(out, t)
	}
	return out
}

// reachPods makes a session reach servers in pods.
func reachPods(pods *kube.Pods, o *torch.Options) {
	o.Client, o.Fetch, o.Begin = client.Over(pods.Dial), collect.In(pods.Exec), pods.Begin
}

// inPods replaces the servers of a profile by those in the pods that the flags select.
func (c *profileCmd) inPods(ctx context.Context, e *env, p *system.Profile) error {
	if !c.given() {
		return nil
	}
	pods, err := c.reach(ctx, e)
	if err != nil {
		return err
	}
	p.Targets = podTargets(pods, p.Targets[0])
	reachPods(pods, &p.Options)
	for _, flag := range []struct {
		name   string
		values []string
	}{{"--pods", c.Pods}, {"--lws", c.LWS}, {"--context", []string{c.Context}}, {"--container", []string{c.Container}}} {
		for _, v := range flag.values {
			if v != "" {
				p.Reach += " " + runs.CommandLine([]string{flag.name, v})
			}
		}
	}
	return nil
}
