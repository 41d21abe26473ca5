package spec

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const clusterText = `default_account: acct
default_partition: gpu
default_time_limit: "02:00:00"
gpus_per_node: 8
network_interface: eth0
output_dir: /shared/out
model_paths: {dsfp8: /models/deepseek-r1-fp8, "llama": /models/llama}
containers:
  "0.5.5": /images/sglang-0.5.5.sqsh
  latest: /images/latest.sqsh
default_mounts: {/etc/certs: /certs}
default_sbatch_directives: {mail-type: END}
use_segment_sbatch_directive: false
reporting: {status: {endpoint: "http://x"}}
`

func cluster(t testing.TB) *Cluster {
	t.Helper()
	c, notes, err := ParseCluster("/etc/srtslurm.yaml", []byte(clusterText))
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	return c
}

// TestResolve checks that the cluster provides missing values of a job, and that aliases become paths.
func TestResolve(t *testing.T) {
	j, _, err := Parse("job.yaml", []byte(changed(t, "  gpus_per_node: 4\n", "", "benchmark:", "slurm: {account: mine}\nbenchmark:")))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(t)
	for range 2 { // the second time nothing is left to do
		if err := c.Resolve(j); err != nil {
			t.Fatal(err)
		}
	}
	if want := (Slurm{"mine", "gpu", "02:00:00"}); j.Slurm != want {
		t.Errorf("%+v, want %+v", j.Slurm, want)
	}
	if want := (Model{"/models/deepseek-r1-fp8", "/images/sglang-0.5.5.sqsh", "fp8"}); j.Model != want {
		t.Errorf("%+v, want %+v", j.Model, want)
	}
	if j.Resources.GPUsPerNode != 8 || c.UseSegment || !c.UseGPUsPerNode || c.UseExclusive {
		t.Errorf("%+v, %+v", j.Resources, c)
	}
	if want := []Setting{{"/etc/certs", "/certs"}}; !slices.Equal(c.DefaultMounts, want) {
		t.Errorf("%v, want %v", c.DefaultMounts, want)
	}
}

// TestUnknownAlias checks that the error for an unknown alias names the file that should define it.
func TestUnknownAlias(t *testing.T) {
	text := changed(t, `"dsfp8"`, "dsfp4")
	for _, c := range []struct {
		cluster *Cluster
		want    []string
	}{
		{cluster(t), []string{`4:9: model.path: /etc/srtslurm.yaml has no alias "dsfp4" in model_paths; did you mean dsfp8?; the aliases are dsfp8 and llama`}},
		{nil, []string{
			`4:9: model.path: no srtslurm.yaml found that defines the alias "dsfp4"; set SRTSLURM_CONFIG, or give a path`,
			`5:14: model.container: no srtslurm.yaml found that defines the alias "0.5.5"; set SRTSLURM_CONFIG, or give a path`,
		}},
	} {
		j, _, err := Parse("job.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(problems(t, c.cluster.Resolve(j))); !slices.Equal(got, c.want) {
			t.Errorf("\n got %q\nwant %q", got, c.want)
		}
	}
}

// TestResolveFits checks that workers are fitted to the GPUs per node of the cluster if the job has none.
func TestResolveFits(t *testing.T) {
	text := changed(t, "  gpus_per_node: 4\n", "", "      model-path: \"/model/\"\n", "      tp-size: 8\n")
	j, _, err := Parse("job.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(problems(t, j.Fit())); len(got) != 1 {
		t.Errorf("with 4 GPUs: %q", got)
	}
	if err := cluster(t).Resolve(j); err != nil {
		t.Errorf("with 8 GPUs: %v", err)
	}
}

func TestClusterProblems(t *testing.T) {
	for text, want := range map[string]string{
		"defualt_account: x\n":                  `1:1: unknown key "defualt_account"; did you mean default_account?`,
		"default_time_limit: soon\n":            `1:21: default_time_limit: "soon" is not a time limit: want HH:MM:SS, D-HH:MM:SS or minutes`,
		"model_paths: [a]\n":                    "1:14: model_paths: want names and values, got a list",
		"gpus_per_node: many\n":                 `1:16: gpus_per_node: want a whole number, got "many"`,
		"containers:\n  a:\n    b: c\n":         "3:5: containers.a: want a string, got a map",
		"use_gpus_per_node_directive: maybe\n":  `1:30: use_gpus_per_node_directive: want true or false, got "maybe"`,
		"default_account: a\nmodel_paths: {a\n": "",
	} {
		_, _, err := ParseCluster("c.yaml", []byte(text))
		if got := texts(problems(t, err)); len(got) != 1 || want != "" && got[0] != want {
			t.Errorf("%q: %q, want %s", text, got, want)
		}
	}
}

// TestEmptyCluster checks that all keys of a cluster file are optional.
func TestEmptyCluster(t *testing.T) {
	if c, _, err := ParseCluster("c.yaml", []byte("# nothing yet\n")); err != nil || !c.UseGPUsPerNode {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestFindCluster checks that the file is searched in srtctl's places.
func TestFindCluster(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv(clusterVariable, "")
	t.Chdir(deep)
	expect := func(given, want string) {
		t.Helper()
		if got, err := FindCluster(given); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, clusterFile)) // three levels above: too far
	expect("", "")
	write(filepath.Join(dir, "a", clusterFile))
	expect("", filepath.Join("..", "..", clusterFile))
	write(filepath.Join(deep, "other.yaml"))
	t.Setenv(clusterVariable, "other.yaml")
	expect("", "other.yaml")
	expect(filepath.Join("..", "..", clusterFile), filepath.Join("..", "..", clusterFile))
	if _, err := FindCluster("nowhere.yaml"); err == nil {
		t.Error("a missing file was found")
	}
}
