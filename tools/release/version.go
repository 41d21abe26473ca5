package main

import (
	"fmt"
	"regexp"
	"strconv"
)

var (
	goVersion = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(.+))?$`)
	goPre     = regexp.MustCompile(`^(alpha|beta|rc)(?:\.?(\d+))?$`)
	goPseudo  = regexp.MustCompile(`^(?:(?:(.+)\.)?0\.)?(\d{14})-[0-9a-f]{12}$`)
)

// pythonVersion returns the version by PEP 440 of a version of a Go module, with the same order: v1.2.3-rc.1 is 1.2.3rc1.
// A pseudo-version becomes a development release with the time of the commit. Versions of changed trees have no
// counterpart, because PyPI refuses local versions. The forms are those of
// https://go.dev/ref/mod#pseudo-versions and https://peps.python.org/pep-0440/.
func pythonVersion(v string) (string, error) {
	m := goVersion.FindStringSubmatch(v)
	if m == nil {
		return "", fmt.Errorf("the version %q is neither vX.Y.Z nor vX.Y.Z-PRE: build a clean checkout of a commit", v)
	}
	release, rest := m[1], m[2]
	if rest == "" {
		return release, nil
	}
	if p := goPseudo.FindStringSubmatch(rest); p != nil {
		if p[1] == "" {
			return release + ".dev" + p[2], nil
		}
		// Commits after rc.1 come before rc.2.
		pre, err := pythonPre(p[1], 1)
		return release + pre + ".dev" + p[2], err
	}
	pre, err := pythonPre(rest, 0)
	return release + pre, err
}

// pythonPre returns the suffix by PEP 440 of the prerelease that is later than pre by the given number.
func pythonPre(pre string, later int) (string, error) {
	m := goPre.FindStringSubmatch(pre)
	if m == nil {
		return "", fmt.Errorf("the prerelease %q has no counterpart in PEP 440: name it alpha.N, beta.N or rc.N", pre)
	}
	n := 0
	if m[2] != "" {
		var err error
		if n, err = strconv.Atoi(m[2]); err != nil {
			return "", err
		}
	}
	short := map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[1]]
	return short + strconv.Itoa(n+later), nil
}
