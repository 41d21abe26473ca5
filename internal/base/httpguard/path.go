package httpguard

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Error is a refusal with its HTTP status.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// ProfileRoot returns SGLang's trace directory.
func ProfileRoot(env func(string) string) string {
	if d := env("SGLANG_TORCH_PROFILER_DIR"); d != "" {
		return d
	}
	return "/tmp"
}

// Path returns the absolute form of path, which a request gives in the named field. On loopback any path is allowed, as
// in SGLang. Beyond loopback a relative path is relative to root, and the path must lie under root even after symbolic
// links are followed. If the path is refused, the error is an *Error.
func (f *Front) Path(field, path, root string, env func(string) string) (string, error) {
	bad := func(status int, format string, args ...any) (string, error) {
		return "", &Error{status, field + ": " + fmt.Sprintf(format, args...)}
	}
	if strings.ContainsRune(path, 0) {
		return bad(http.StatusBadRequest, "a zero byte cannot be part of a path")
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home := env("HOME")
		if home == "" {
			return bad(http.StatusBadRequest, "~ cannot be resolved: HOME is not set")
		}
		path = home + rest
	}
	if !f.Public.Load() {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", field, path, err)
		}
		return abs, nil
	}
	if root == "" {
		root = ProfileRoot(env)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("profile root %s: %w", root, err)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	realRoot, err := resolve(field, root)
	if err != nil {
		return "", err
	}
	real, err := resolve(field, filepath.Clean(path))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(realRoot, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return bad(http.StatusForbidden, "%s is not under the profile root of this server, which listens beyond loopback", path)
	}
	return real, nil
}

// resolve follows the symbolic links in the existing part of path.
func resolve(field, path string) (string, error) {
	missing := ""
	for p := path; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		if !os.IsNotExist(err) || p == filepath.Dir(p) {
			return "", &Error{http.StatusBadRequest, fmt.Sprintf("%s: %v", field, err)}
		}
		// A write through a broken link would create the target of the link.
		if _, err := os.Lstat(p); err == nil {
			return "", &Error{http.StatusForbidden, fmt.Sprintf("%s: %s is a broken link", field, p)}
		}
		missing = filepath.Join(filepath.Base(p), missing)
	}
}
