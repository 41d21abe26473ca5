package route

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// A decode worker returns no log probabilities of the prompt, because the prefill worker has computed the prompt. Like
// SGLang's balancer, the router copies these log probabilities from the prefill worker's reply into the decode worker's
// reply, in which the corresponding lists are empty.

// logprobKeys are the members of meta_info that contain log probabilities of the prompt.
var logprobKeys = []string{"input_token_logprobs", "input_top_logprobs", "input_token_ids_logprobs"}

// wantsLogprobs reports whether a body of /generate asks for log probabilities, for its prompt or for any prompt of a
// batch.
func wantsLogprobs(body []byte) (wants bool) {
	scanObject(body, func(key, value []byte) {
		if string(key) == "return_logprob" {
			wants = bytes.Contains(value, []byte("true"))
		}
	})
	return wants
}

// ofPrompt holds the members logprobKeys of a reply for each prompt of a batch, by the prompt's index.
type ofPrompt map[int]map[string]json.RawMessage

// generated is a reply of /generate, or one event of a streamed reply, with all members.
type generated map[string]json.RawMessage

func (g generated) index(n int) int {
	if at, ok := g["index"]; ok {
		json.Unmarshal(at, &n)
	}
	return n
}

// replies parses an object or a list of objects. list is nil if the text is neither an object nor a list.
func replies(text []byte) (list []generated, single bool) {
	var one generated
	if json.Unmarshal(text, &one) == nil && one != nil {
		return []generated{one}, true
	}
	if json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	return list, false
}

// promptLogprobs reads the prompt's log probabilities from a prefill worker's reply.
func promptLogprobs(body []byte) ofPrompt {
	out := ofPrompt{}
	add := func(text []byte) {
		list, _ := replies(text)
		for i, g := range list {
			var meta map[string]json.RawMessage
			if json.Unmarshal(g["meta_info"], &meta) == nil && out[g.index(i)] == nil {
				out[g.index(i)] = meta
			}
		}
	}
	if !bytes.HasPrefix(body, []byte("data:")) {
		add(body)
		return out
	}
	for line := range bytes.Lines(body) {
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			add(text)
		}
	}
	return out
}

// into returns a decode worker's reply with the log probabilities added. If the reply already has log probabilities,
// into returns the text unchanged.
func (o ofPrompt) into(text []byte) []byte {
	list, single := replies(text)
	changed := false
	for i, g := range list {
		var meta map[string]json.RawMessage
		if json.Unmarshal(g["meta_info"], &meta) != nil {
			continue
		}
		mine := false
		for _, key := range logprobKeys {
			v, ok := meta[key]
			if have := o[g.index(i)][key]; len(have) > 0 && (ok || key == logprobKeys[0]) && none(v) && !none(have) {
				meta[key], mine = have, true
			}
		}
		if mine {
			g["meta_info"], _ = json.Marshal(meta) // cannot fail, because meta was parsed from JSON
			changed = true
		}
	}
	if !changed {
		return text
	}
	var out []byte
	if single {
		out, _ = json.Marshal(list[0])
	} else {
		out, _ = json.Marshal(list)
	}
	return out
}

// none reports whether v is an empty list, null or missing.
func none(v json.RawMessage) bool {
	s := strings.Join(strings.Fields(string(v[:min(len(v), 16)])), "")
	return s == "" || s == "null" || s == "[]"
}

// addLogprobs passes a decode worker's reply through a merger.
func addLogprobs(ctx context.Context, res *http.Response, prefill *prefillSide) {
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "" {
		return
	}
	res.Body = &merger{Reader: res.Body, Closer: res.Body, ctx: ctx, prefill: prefill, events: isEvents(res.Header)}
	res.ContentLength = -1
	res.Header.Del("Content-Length")
}

// merger adds the missing log probabilities to a reply: either to each event of a stream or to the complete reply.
type merger struct {
	io.Reader
	io.Closer
	ctx     context.Context // context of the request, for waits in Read
	prefill *prefillSide
	events  bool
	of      ofPrompt
	raw     []byte // bytes read but not yet processed
	out     []byte // ready to be returned
	err     error
	buf     [4096]byte
}

// Read returns as soon as any data is ready.
func (m *merger) Read(p []byte) (int, error) {
	for len(m.out) == 0 && m.err == nil {
		var n int
		n, m.err = m.Reader.Read(m.buf[:])
		m.raw = append(m.raw, m.buf[:n]...)
		m.take()
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	if len(m.out) == 0 && m.err != nil {
		return n, m.err
	}
	return n, nil
}

// take moves complete events from raw to out.
func (m *merger) take() {
	if !m.events {
		if m.err == io.EOF {
			m.raw = m.merged(m.raw)
		}
		if m.err != nil || len(m.raw) > maxReply { // larger than any real reply: pass the data on unchanged
			m.out, m.raw = m.raw, nil
		}
		return
	}
	for {
		line, rest, ok := bytes.Cut(m.raw, []byte("\n"))
		if !ok {
			break
		}
		if text, is := bytes.CutPrefix(line, []byte("data: ")); is && len(text) > 0 && text[0] == '{' {
			m.out = append(append(m.out, "data: "...), m.merged(text)...)
		} else {
			m.out = append(m.out, line...)
		}
		m.out, m.raw = append(m.out, '\n'), rest
	}
	if m.err != nil || len(m.raw) > maxReply {
		m.out, m.raw = append(m.out, m.raw...), nil
	}
}

// logprobGrace is the maximum time for which a decode worker's reply waits for the prefill worker's reply. The prefill
// worker's reply usually ends first.
const logprobGrace = 5 * time.Second

func (m *merger) merged(text []byte) []byte {
	if m.of == nil {
		m.of = ofPrompt{}
		if m.prefill.over(m.ctx, logprobGrace) && m.prefill.failure == nil {
			m.of = promptLogprobs(m.prefill.body)
		}
	}
	if len(m.of) == 0 {
		return text
	}
	return m.of.into(text)
}
