package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

func defaultProfileDir(env func(string) string) string {
	if d := env("SGLANG_TORCH_PROFILER_DIR"); d != "" {
		return d
	}
	return "/tmp"
}

// outputDir returns the absolute directory for a profile. On loopback a client
// names any directory, as SGLang's do. Beyond loopback it must lie under the
// configured root, also after symbolic links are followed; a relative directory
// is then one below the root.
func (s *Server) outputDir(dir string) (string, error) {
	if strings.ContainsRune(dir, 0) {
		return "", badRequest("output_dir: a zero byte cannot be part of a path")
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		home := s.o.Getenv("HOME")
		if home == "" {
			return "", badRequest("output_dir: ~ is not known here, HOME is not set")
		}
		dir = home + rest
	}
	if !s.front.Public.Load() {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("output_dir %s: %w", dir, err)
		}
		return abs, nil
	}
	root := s.o.ProfileRoot
	if root == "" {
		root = defaultProfileDir(s.o.Getenv)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("profile root %s: %w", root, err)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	realRoot, err := resolve(root)
	if err != nil {
		return "", err
	}
	realDir, err := resolve(filepath.Clean(dir))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(realRoot, realDir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", &apiError{status: http.StatusForbidden,
			message: fmt.Sprintf("output_dir: %s is not under the profile root of this server, which listens beyond loopback", dir)}
	}
	return realDir, nil
}

// resolve follows the symbolic links in the part of path that exists.
func resolve(path string) (string, error) {
	missing := ""
	for p := path; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		if !os.IsNotExist(err) || p == filepath.Dir(p) {
			return "", &apiError{status: http.StatusBadRequest, message: fmt.Sprintf("output_dir: %v", err)}
		}
		// A link that points nowhere would come into being with its target.
		if _, err := os.Lstat(p); err == nil {
			return "", &apiError{status: http.StatusForbidden, message: fmt.Sprintf("output_dir: %s is a broken link", p)}
		}
		missing = filepath.Join(filepath.Base(p), missing)
	}
}
