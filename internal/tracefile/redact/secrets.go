package redact

import (
	"bytes"
	"regexp"
	"strings"
)

// Secrets that may occur inside a name that stays: C++ compilers put paths into the names of lambdas, and users can put
// anything anywhere.
var (
	urls   = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>]+`)
	mails  = regexp.MustCompile(`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b`)
	ips    = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	tokens = regexp.MustCompile(`(^|[^A-Za-z0-9])(hf_[A-Za-z0-9]{6,}|sk-[A-Za-z0-9_-]{6,}|gh[pousr]_[A-Za-z0-9]{6,}|github_pat_\w{6,}|glpat-[\w-]{6,}|nvapi-[\w-]{6,}|xox[abprs]-[\w-]{6,}` +
		`|AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{20,}|eyJ[\w-]{8,}\.[\w.-]+|[0-9a-f]{40,}|[0-9A-F]{40,})`)
	// pairs matches the name of a secret together with its value. Token counts are not secrets.
	pairs = regexp.MustCompile(`(?i)\b([\w-]*(?:secret|token|api_?key|_key|passwo?r?d|credential|auth)[\w-]*\s*(?:=\s*|:\s+))("[^"]*"|'[^']*'|[^\s,;<>)\]}"']+)`)
	count = regexp.MustCompile(`^[\d.,/-]+$`)
	// paths matches only paths of at least two parts, because a single "/" may be a division.
	paths = regexp.MustCompile(`(^|[\s"'(\[{=,:;<>@|])((?:~|[A-Za-z]:)?(?:[/\\][\w.+@%-]+){2,}[/\\]?|~[/\\][\w.+@%-]+)`)
	house = regexp.MustCompile(`(?:^|[^\w])[/\\](?:home|Users)[/\\]+([\w.-]+)`)
)

// homes returns the user names in paths of home directories in a text.
func homes(raw []byte) (names [][]byte) {
	if !bytes.Contains(raw, []byte("home")) && !bytes.Contains(raw, []byte("Users")) {
		return nil // the usual case
	}
	for _, m := range house.FindAllSubmatch(raw, -1) {
		names = append(names, m[1])
	}
	return names
}

// clean replaces secrets inside a name: addresses, credentials, paths, and known hosts and users.
func (r *Redactor) clean(s string) string {
	if s == "" {
		return s
	}
	if strings.ContainsAny(s, ":=@.") || strings.ContainsAny(s, "_-") && len(s) >= 9 || len(s) >= 20 {
		s = urls.ReplaceAllStringFunc(s, func(m string) string { return r.instead(address, m) })
		s = mails.ReplaceAllStringFunc(s, func(m string) string { return r.instead(address, m) })
		s = ips.ReplaceAllStringFunc(s, func(m string) string { return r.instead(address, m) })
		s = pairs.ReplaceAllStringFunc(s, func(m string) string {
			at := pairs.FindStringSubmatch(m)
			if count.MatchString(at[2]) {
				return m
			}
			return at[1] + r.instead(secret, at[2])
		})
		s = tokens.ReplaceAllStringFunc(s, func(m string) string {
			at := tokens.FindStringSubmatch(m)
			return at[1] + r.instead(secret, at[2])
		})
	}
	if strings.ContainsAny(s, `/\`) {
		s = paths.ReplaceAllStringFunc(s, func(m string) string {
			at := paths.FindStringSubmatch(m)
			return at[1] + r.file(at[2])
		})
	}
	return r.unword(s)
}

// generic lists names that identify nobody, and words that occur in kernel names.
var generic = wordsOf(`root user users home ubuntu admin python python3 nobody runner localhost local host node worker gpu cpu server default workspace app data
	model models test void const char float double int long at c10 std kernel gemm nccl cutlass cublas cudnn attn attention flash mha mla moe norm rms silu act
	mul add reduce scatter gather all fused elementwise native vectorized triton unrolled cub thrust copy fill cat sort topk softmax rotary rope embedding index
	marlin awq gptq fp8 fp4 int8 bf16 cuda hip rocm aten step decode prefill extend layer layers self linear mlp sgl`)

// hide adds a name to the names that clean replaces.
func (r *Redactor) hide(k kind, name string) {
	list := []string{name}
	if first, _, ok := strings.Cut(name, "."); ok && k == host {
		list = append(list, first)
	}
	for _, w := range list {
		if len(w) >= 3 && !generic[strings.ToLower(w)] && !public[strings.ToLower(w)] {
			r.words = append(r.words, word{w, k, name})
		}
	}
}

// unword replaces known hosts and users where they occur as words.
func (r *Redactor) unword(s string) string {
	for _, w := range r.words {
		for from := 0; ; {
			i := strings.Index(s[from:], w.text)
			if i < 0 {
				break
			}
			i += from
			end := i + len(w.text)
			if i > 0 && letter(s[i-1]) || end < len(s) && letter(s[end]) {
				from = i + 1
				continue
			}
			to := r.instead(w.kind, w.of)
			s = s[:i] + to + s[end:]
			from = i + len(to)
		}
	}
	return s
}

// letter reports whether c is part of a word. "_" and "-" are not.
func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 }
