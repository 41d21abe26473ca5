package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// longKey is a number of bytes that no key exceeds.
const longKey = 64 << 10

// readKeys reads key files. A flag with the tag "into" names a file, and readKeys assigns the content of the file to
// the flag that the tag names. Key files exist because everyone on the machine can see a key on a command line. A file
// overrides the environment.
func readKeys(flags []*kong.Flag) error {
	byName := map[string]*kong.Flag{}
	for _, f := range flags {
		byName[f.Name] = f
	}
	for _, f := range flags {
		into, path := f.Tag.Get("into"), ""
		if into != "" {
			path = f.Target.String()
		}
		if path == "" {
			continue
		}
		key, err := readKey(path)
		if err != nil {
			return usagef("--%s: %v", f.Name, err)
		}
		byName[into].Target.SetString(key)
	}
	return nil
}

// readKey reads the key from a file, which must consist of one line.
func readKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longKey+1))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || len(text) > longKey || strings.ContainsAny(key, "\r\n\x00") {
		return "", fmt.Errorf("%s: want one line, the key", path)
	}
	return key, nil
}
