package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// TokenLogprob is one token with its log probability. In JSON it is the triple [logprob, token id, text]. The first
// prompt token has no logprob (null), and text is null unless the request asks for it.
type TokenLogprob struct {
	Logprob float64 // NaN: none
	ID      int32
	Text    *string
}

// UnmarshalJSON decodes the triple.
func (t *TokenLogprob) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil || len(parts) < 2 {
		return Refuse("", "want [logprob, token id, text], got %s", show(data))
	}
	t.Logprob, t.Text = math.NaN(), nil
	if string(parts[0]) != "null" {
		if err := json.Unmarshal(parts[0], &t.Logprob); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(parts[1], &t.ID); err != nil {
		return err
	}
	if len(parts) > 2 {
		return json.Unmarshal(parts[2], &t.Text)
	}
	return nil
}

// MarshalJSON writes the triple.
func (t TokenLogprob) MarshalJSON() ([]byte, error) { return t.append(nil), nil }

func (t TokenLogprob) append(dst []byte) []byte {
	dst = append(dst, '[')
	dst = AppendFloat(dst, t.Logprob)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(t.ID), 10)
	dst = append(dst, ',')
	if t.Text == nil {
		dst = append(dst, "null"...)
	} else {
		dst = AppendString(dst, *t.Text)
	}
	return append(dst, ']')
}

// AppendFloat appends x as JSON, or null if x is NaN or infinite.
func AppendFloat(dst []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a quoted JSON string.
func AppendString(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped appends s as the content of a JSON string, without quotes. If a text is cut between runes, the escaped
// pieces together equal the escaped text. So a stream needs to escape each piece only once.
func AppendEscaped(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(dst, s[start:]...)
}

// AppendTokens appends ids to dst, which holds the elements of a JSON array without the enclosing brackets. It writes a
// comma before each id, except before the first id if dst is empty.
func AppendTokens(dst []byte, ids ...int32) []byte {
	for _, id := range ids {
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return dst
}

// AppendGenerated appends one reply of /generate. text is already escaped ([AppendEscaped]) and ids are already joined
// ([AppendTokens]), so that a stream of cumulative events copies them instead of encoding them again for each event. If
// index is negative, the reply has no index.
func AppendGenerated(dst, text, ids []byte, meta *MetaInfo, index int) []byte {
	dst = append(append(append(dst, `{"text":"`...), text...), `","output_ids":[`...)
	dst = append(append(dst, ids...), `],"meta_info":`...)
	dst = meta.Append(dst)
	if index >= 0 {
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendInt(dst, int64(index), 10)
	}
	return append(dst, '}')
}

// MarshalJSON implements json.Marshaler by calling Append.
func (m *MetaInfo) MarshalJSON() ([]byte, error) { return m.Append(nil), nil }

// Append appends m as a JSON object.
func (m *MetaInfo) Append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), m.ID)
	dst = append(dst, `,"finish_reason":`...)
	if m.FinishReason == nil {
		dst = append(dst, "null"...)
	} else {
		dst = m.FinishReason.append(dst)
	}
	integer := func(name string, n int) {
		dst = append(append(append(dst, ',', '"'), name...), '"', ':')
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	integer("prompt_tokens", m.PromptTokens)
	dst = AppendString(append(dst, `,"weight_version":`...), m.WeightVersion)
	// Write the count under two names, because older and newer servers use different names.
	integer("total_retractions", m.Retractions)
	integer("num_retractions", m.Retractions)
	if m.HasLogprobs {
		dst = appendLogprobs(append(dst, `,"input_token_logprobs":`...), m.InputLogprobs)
		dst = appendLogprobs(append(dst, `,"output_token_logprobs":`...), m.OutputLogprobs)
		integer("output_token_logprobs_length", len(m.OutputLogprobs))
	}
	if m.HasTop {
		dst = appendTop(append(dst, `,"input_top_logprobs":`...), m.InputTop)
		dst = appendTop(append(dst, `,"output_top_logprobs":`...), m.OutputTop)
	}
	integer("completion_tokens", m.CompletionTokens)
	integer("cached_tokens", m.CachedTokens)
	if d := m.CachedDetails; d != nil {
		dst = append(dst, `,"cached_tokens_details":{"device":`...)
		dst = strconv.AppendInt(dst, int64(d.Device), 10)
		integer("host", d.Host)
		if d.Storage != nil {
			integer("storage", *d.Storage)
			dst = AppendString(append(dst, `,"storage_backend":`...), d.StorageBackend)
		}
		dst = append(dst, '}')
	}
	if m.DPRank != nil {
		integer("dp_rank", *m.DPRank)
	}
	if m.E2ELatency != nil {
		dst = AppendFloat(append(dst, `,"e2e_latency":`...), *m.E2ELatency)
	}
	if m.SpecVerify > 0 {
		integer("spec_verify_ct", m.SpecVerify)
		dst = AppendFloat(append(dst, `,"spec_accept_length":`...), m.SpecAcceptLength)
	}
	return append(dst, '}')
}

func (f *FinishReason) append(dst []byte) []byte {
	dst = AppendString(append(dst, `{"type":`...), f.Type)
	if f.Matched != nil {
		dst = append(append(dst, `,"matched":`...), f.Matched...)
	}
	if f.Type == "length" {
		dst = strconv.AppendInt(append(dst, `,"length":`...), int64(f.Length), 10)
	}
	if f.Message != "" {
		dst = AppendString(append(dst, `,"message":`...), f.Message)
	}
	if f.Status != 0 {
		dst = strconv.AppendInt(append(dst, `,"status_code":`...), int64(f.Status), 10)
	}
	if f.ErrType != "" {
		dst = AppendString(append(dst, `,"err_type":`...), f.ErrType)
	}
	return append(dst, '}')
}

func appendLogprobs(dst []byte, list []TokenLogprob) []byte {
	dst = append(dst, '[')
	for i, t := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.append(dst)
	}
	return append(dst, ']')
}

// appendTop appends a list with one list per position. For a position without top tokens it appends null.
func appendTop(dst []byte, lists [][]TokenLogprob) []byte {
	dst = append(dst, '[')
	for i, list := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		if list == nil {
			dst = append(dst, "null"...)
			continue
		}
		dst = appendLogprobs(dst, list)
	}
	return append(dst, ']')
}
