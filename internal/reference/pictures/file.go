package pictures

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// Limits of SGLang's file names.
const (
	promptPart = 100
	longest    = 150
)

var odd, runs = regexp.MustCompile(`[^A-Za-z0-9._-]`), regexp.MustCompile(`_+`)

// fileName returns SGLang's file name for an image: the beginning of the prompt, the time, and eight digits of a hash
// of the parameters.
func fileName(job *Job, p *planned, i int) string {
	name := job.Name
	if name == "" {
		q := &p.job.Request
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %d×%d %d %g %s", p.Prompt, job.Negative, q.Seed, q.Width, q.Height, q.Steps, q.Guidance, q.Schedule))
		prompt := []rune(p.Prompt)
		name = fmt.Sprintf("%s_%s_%s", string(prompt[:min(len(prompt), promptPart)]), time.Now().Format("20060102-150405"), hex.EncodeToString(sum[:4]))
		name = plain(name)
	} else {
		name = numbered(name, i)
	}
	if filepath.Ext(name) != ".png" {
		name += ".png"
	}
	return name
}

// plain removes the characters of a name that some file systems reject.
func plain(name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r > 127 {
			return -1
		}
		return r
	}, norm.NFKD.String(name))
	name = strings.Trim(runs.ReplaceAllString(odd.ReplaceAllString(ascii, "_"), "_"), "._")
	if name = name[:min(len(name), longest)]; name == "" {
		return "output"
	}
	return name
}

// numbered returns the name of the i-th of several files. The first file has the unchanged name.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
}
