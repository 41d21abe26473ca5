package slurmtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"text/template"
)

// makeDir creates the cluster's directory. The path of the directory is short, because the path of a socket in the
// directory is limited to 107 bytes.
func (c *Cluster) makeDir() (err error) {
	if c.dir, err = os.MkdirTemp("", "slurmtest"); err == nil && len(c.dir) > 80 {
		os.RemoveAll(c.dir)
		c.dir, err = os.MkdirTemp("/tmp", "slurmtest")
	}
	if err != nil {
		return err
	}
	err = os.Chmod(c.dir, 0o755)
	for _, name := range []string{"container", "dev", "etc", "key", "log", "run", "spool", "state"} {
		err = errors.Join(err, os.Mkdir(c.file(name), 0o755))
	}
	return err
}

// configure writes the configuration files of the cluster's programs.
func (c *Cluster) configure(o Options) error {
	var conf strings.Builder
	err := template.Must(template.ParseFS(files, "testdata/slurm.conf")).Execute(&conf, map[string]any{
		"Tag": c.tag, "Net": c.net, "Dir": c.dir, "GPUs": o.GPUs, "Nodes": c.nodes,
		"Plugin": o.Containers, "LostAfter": max(1, int(o.LostAfter.Seconds())),
	})
	if err != nil {
		return err
	}
	text := map[string]string{
		"etc/slurm.conf":  conf.String(),
		"etc/gres.conf":   fmt.Sprintf("Name=gpu File=%s/dev/gpu[0-%d]\n", c.dir, o.GPUs-1),
		"etc/cgroup.conf": "CgroupPlugin=" + c.cgroupPlugin() + "\n",
		"etc/hosts":       c.hosts(),
		"etc/resolv.conf": "",
	}
	for _, script := range []string{"keeper.sh", "cluster.sh", "node.sh", "sweep.sh"} {
		body, err := files.ReadFile("testdata/" + script)
		if err != nil {
			return err
		}
		text[script] = string(body)
	}
	for i, n := range c.nodes {
		if text["etc/tmpfs."+n.Name], err = c.tmpfs(o.Tmpfs, o.TmpfsSize[i+1]); err != nil {
			return err
		}
		err = errors.Join(err, os.Mkdir(c.file("spool/"+n.Name), 0o755))
	}
	for i := range o.GPUs { // the file of a GPU must be a device, so use the device of /dev/null
		err = errors.Join(err, syscall.Mknod(c.file(fmt.Sprintf("dev/gpu%d", i)), syscall.S_IFCHR|0o666, 1<<8|3))
	}
	if o.Containers {
		err = errors.Join(err, c.buildPlugin())
		text["etc/plugstack.conf"] = fmt.Sprintf("required %s %s\n", c.file("pyxis.so"), c.file("container"))
	}
	for name, body := range text {
		err = errors.Join(err, os.WriteFile(c.file(name), []byte(body), 0o755))
	}
	return errors.Join(err, os.WriteFile(c.file("key/munge.key"), []byte(rand.Text()+rand.Text()), 0o600))
}

// tmpfs lists a node's mounts in the format of testdata/node.sh.
func (c *Cluster) tmpfs(dirs []string, size string) (lines string, err error) {
	if size != "" {
		size = ",size=" + size
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
			return "", fmt.Errorf("no directory to mount a tmpfs over: %s", dir)
		}
		if rel, err := filepath.Rel(dir, c.dir); err != nil || !strings.HasPrefix(rel, "..") {
			return "", fmt.Errorf("a tmpfs over %s would hide the cluster's own files in %s", dir, c.dir)
		}
		lines += "mode=1777" + size + " " + dir + "\n"
	}
	return lines, nil
}

// cgroupPlugin returns the name of the plugin that needs no cgroups. slurmd always loads a cgroup plugin, although this
// cluster does not use one. With the default plugin, slurmd exits if there are no cgroups.
func (c *Cluster) cgroupPlugin() string {
	said, _ := c.Command("slurmd", "-V").Output()
	if m := regexp.MustCompile(`(\d+)\.\d+`).FindSubmatch(said); m != nil {
		if year, _ := strconv.Atoi(string(m[1])); year >= 23 {
			return "disabled"
		}
	}
	return "cgroup/v1"
}

// buildPlugin compiles the substitute for pyxis.
func (c *Cluster) buildPlugin() error {
	body, err := files.ReadFile("testdata/pyxis.c")
	if err != nil {
		return err
	}
	cmd := c.Command("gcc", "-Wall", "-Wextra", "-Wno-unused-parameter", "-shared", "-fPIC", "-o", c.file("pyxis.so"), "-x", "c", "-")
	cmd.Stdin = strings.NewReader(string(body))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile the stand-in for pyxis: %w: %s", err, out)
	}
	return nil
}
