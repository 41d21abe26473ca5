package nsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// rawSuffix is the suffix of recordings that nsys has not yet converted to a report.
const rawSuffix = ".qdstrm"

// recording returns the first path in made that is a recording with rawSuffix, or "".
func recording(made []string) string {
	i := slices.IndexFunc(made, func(p string) bool { return strings.HasSuffix(p, rawSuffix) })
	if i < 0 {
		return ""
	}
	return made[i]
}

// reimport converts a recording to a report. nsys normally converts the recording with its QdstrmImporter.
// QdstrmImporter fails occasionally (2023.4.4: "Importation failed", in AnalysisStatus::SetNextState) and succeeds at
// the second attempt. reimport deletes the recording when the report exists.
func (t *Tool) reimport(ctx context.Context, raw string) (report string, err error) {
	if _, err := os.Stat(raw); err != nil {
		return "", err
	}
	program, err := filepath.EvalSymlinks(t.Path)
	if err != nil {
		return "", err
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(program)), "host-*", "QdstrmImporter"))
	if len(found) == 0 {
		return "", errors.New("this nsys has no QdstrmImporter to make one: install the full package nsight-systems")
	}
	report = strings.TrimSuffix(raw, rawSuffix) + ".import" + Suffix
	ctx, cancel := context.WithTimeout(ctx, exportPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, found[0], "--input-file", raw, "--output-file", report, "--force-overwrite")
	apart(cmd)
	said, err := cmd.CombinedOutput()
	if st, statErr := os.Stat(report); err != nil || statErr != nil || st.Size() == 0 {
		os.Remove(report)
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return "", fmt.Errorf("QdstrmImporter cannot import it: %s", strings.TrimSpace(lines[len(lines)-1]))
	}
	os.Remove(raw)
	return report, nil
}
