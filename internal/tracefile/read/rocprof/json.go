package rocprof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// ReadJSON returns the ranks in a JSON file of rocprofv3. Records are decoded one at a time, so memory depends on the
// number of records, not on the size of the text. A value larger than chromejson.MaxElement is an error.
func ReadJSON(ctx context.Context, r io.Reader) ([]*trace.Trace, error) {
	text := &bounded{Reader: r}
	d := &decoder{ctx: ctx, text: text, json: json.NewDecoder(text)}
	var all []*trace.Trace
	err := d.object(func(string) error {
		return d.array(func() error {
			f := &file{process: newProcess(), names: map[uint64]string{}, messages: map[uint64]string{}}
			if err := d.object(func(key string) error { return f.member(d, key) }); err != nil {
				return err
			}
			all = append(all, f.resolve()...)
			return nil
		})
	})
	if err == nil && len(all) == 0 {
		err = errNothing
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("cut off at byte %d of its text: record again", d.json.InputOffset())
	}
	return all, err
}

var errNothing = errors.New("it holds neither kernels nor calls: record with rocprofv3 --kernel-trace --hip-trace --rccl-trace --marker-trace")

// file is a process with unresolved names.
type file struct {
	*process
	kinds    []kindNames
	names    map[uint64]string // of kernels
	messages map[uint64]string // of markers, by correlation id
	kernels  []kernelRef
	copies   []copyRef
	records  []record
}

type kindNames struct {
	Kind       string   `json:"kind"`
	Operations []string `json:"operations"`
}

// handle is the id of an agent, queue or stream. rocprofv3 writes ids and times as unsigned numbers. int64 holds their
// bits, so that ids stay different and times that are too large are impossible.
type handle struct {
	Handle uint64 `json:"handle"`
}

func (h handle) id() int64 { return int64(h.Handle) }

type size struct {
	X int32 `json:"x"`
	Y int32 `json:"y"`
	Z int32 `json:"z"`
}

// record has the members that all records share.
type record struct {
	Kind      int    `json:"kind"`
	Operation int    `json:"operation"`
	Thread    uint64 `json:"thread_id"`
	Corr      struct {
		Internal uint64 `json:"internal"`
	} `json:"correlation_id"`
	Start uint64 `json:"start_timestamp"`
	End   uint64 `json:"end_timestamp"`
}

type kernelRecord struct {
	record
	Info struct {
		Agent  handle `json:"agent_id"`
		Queue  handle `json:"queue_id"`
		Kernel uint64 `json:"kernel_id"`
		Group  size   `json:"workgroup_size"`
		Grid   size   `json:"grid_size"`
	} `json:"dispatch_info"`
	Stream handle `json:"stream_id"`
}

type copyRecord struct {
	record
	To     handle `json:"dst_agent_id"`
	From   handle `json:"src_agent_id"`
	Stream handle `json:"stream_id"`
	Bytes  uint64 `json:"bytes"`
}

// kernelRef and copyRef are operations with unresolved names.
type kernelRef struct {
	op
	kernel uint64
}

type copyRef struct {
	op
	kind, operation int
	from            int64
}

// member reads a member of a process.
func (f *file) member(d *decoder, key string) error {
	switch key {
	case "metadata":
		var m struct {
			PID  int64 `json:"pid"`
			Node struct {
				Host string `json:"hostname"`
			} `json:"node"`
		}
		err := d.decode(&m)
		f.pid, f.host = m.PID, m.Node.Host
		return err
	case "agents":
		return d.array(func() error {
			a := &agent{}
			err := d.decode(a)
			f.agents[a.ID.id()] = a
			return err
		})
	case "strings":
		return f.strings(d)
	case "kernel_symbols":
		return d.array(func() error {
			var s struct {
				ID        uint64 `json:"kernel_id"`
				Name      string `json:"kernel_name"`
				Formatted string `json:"formatted_kernel_name"`
			}
			err := d.decode(&s)
			f.names[s.ID] = kernelName(s.Formatted, s.Name)
			return err
		})
	case "buffer_records":
		return d.object(func(key string) error { return f.buffer(d, key) })
	}
	return d.skip()
}

// kernelName returns the readable name, or else the symbol.
func kernelName(formatted, symbol string) string {
	if formatted != "" {
		return formatted
	}
	return strings.TrimSuffix(symbol, ".kd")
}

func (f *file) strings(d *decoder) error {
	return d.object(func(key string) error {
		switch key {
		case "buffer_records":
			return d.decode(&f.kinds)
		case "marker_api":
			return d.array(func() error {
				var m struct {
					Key   uint64 `json:"key"`
					Value string `json:"value"`
				}
				err := d.decode(&m)
				f.messages[m.Key] = m.Value
				return err
			})
		}
		return d.skip()
	})
}

func (f *file) buffer(d *decoder, key string) error {
	switch key {
	case "kernel_dispatch":
		return d.array(func() error {
			var k kernelRecord
			err := d.decode(&k)
			in := &k.Info
			f.kernels = append(f.kernels, kernelRef{op{
				start: int64(k.Start), end: int64(k.End), agent: in.Agent.id(), queue: in.Queue.id(), stream: k.Stream.id(),
				thread: int64(k.Thread), corr: int64(k.Corr.Internal), cat: trace.Kernel,
				grid: blocks(in.Grid, in.Group), block: [3]int32{in.Group.X, in.Group.Y, in.Group.Z},
			}, in.Kernel})
			return err
		})
	case "memory_copy":
		return d.array(func() error {
			var c copyRecord
			err := d.decode(&c)
			f.copies = append(f.copies, copyRef{op{
				start: int64(c.Start), end: int64(c.End), agent: c.To.id(), stream: c.Stream.id(), thread: int64(c.Thread),
				corr: int64(c.Corr.Internal), cat: trace.Memcpy, bytes: max(int64(c.Bytes), 0),
			}, c.Kind, c.Operation, c.From.id()})
			return err
		})
	case "hip_api", "hsa_api", "marker_api", "rccl_api":
		return d.array(func() error {
			var r record
			err := d.decode(&r)
			f.records = append(f.records, r)
			return err
		})
	}
	return d.skip()
}

// blocks returns the number of workgroups; rocprofv3 gives the number of work items.
func blocks(items, group size) [3]int32 {
	return [3]int32{items.X / max(group.X, 1), items.Y / max(group.Y, 1), items.Z / max(group.Z, 1)}
}

// named returns the names of a kind and of one of its operations.
func (f *file) named(kind, operation int) (of, name string) {
	if kind < 0 || kind >= len(f.kinds) {
		return "", ""
	}
	k := &f.kinds[kind]
	if operation >= 0 && operation < len(k.Operations) {
		name = k.Operations[operation]
	}
	return k.Kind, name
}

// resolve names the records and returns the ranks of the process. The tables of names may follow the records.
func (f *file) resolve() []*trace.Trace {
	for i := range f.kernels {
		k := &f.kernels[i]
		k.name = f.names[k.kernel]
		k.cat = trace.BlitCategory(k.name)
		f.addOp(k.op)
	}
	for i := range f.copies {
		c := &f.copies[i]
		_, name := f.named(c.kind, c.operation)
		c.op.name = copyName(name)
		c.agent = f.gpuOf(c.agent, c.from)
		f.addOp(c.op)
	}
	for _, r := range f.records {
		kind, name := f.named(r.Kind, r.Operation)
		f.api(kind, f.messages[r.Corr.Internal], call{
			start: int64(r.Start), end: int64(r.End), thread: int64(r.Thread), corr: int64(r.Corr.Internal), name: name,
		})
	}
	return f.ranks()
}

// gpuOf returns the GPU of a copy: its destination or, if that is a CPU, its source.
func (p *process) gpuOf(to, from int64) int64 {
	if a := p.agents[to]; a != nil && a.Type == gpuType {
		return to
	}
	return from
}

// bounded is text of which the decoder, which holds whole values, may read at most MaxElement bytes from the offset on.
type bounded struct {
	io.Reader
	offset, read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	left := b.offset + chromejson.MaxElement - b.read
	if left <= 0 {
		return 0, fmt.Errorf("the value at byte %d of its text is larger than %d MiB: record again", b.offset, chromejson.MaxElement>>20)
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), left)])
	b.read += int64(n)
	return n, err
}

// decoder reads JSON piece by piece.
type decoder struct {
	json *json.Decoder
	text *bounded
	ctx  context.Context
	n    int
}

func (d *decoder) token() (json.Token, error) {
	d.text.offset = d.json.InputOffset()
	return d.json.Token()
}

func (d *decoder) decode(v any) error {
	d.text.offset = d.json.InputOffset()
	return d.json.Decode(v)
}

func (d *decoder) delim(want json.Delim) error {
	t, err := d.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%v at byte %d of the text, where %v is expected", t, d.json.InputOffset(), want)
	}
	return nil
}

// object calls member for each member of an object; member reads its value.
func (d *decoder) object(member func(key string) error) error {
	if err := d.delim('{'); err != nil {
		return err
	}
	for d.json.More() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if err := member(key); err != nil {
			return err
		}
	}
	return d.delim('}')
}

// array calls element for each element of an array; element reads it.
func (d *decoder) array(element func() error) error {
	if err := d.delim('['); err != nil {
		return err
	}
	for d.json.More() {
		if d.n++; d.n&0xfff == 0 {
			if err := d.ctx.Err(); err != nil {
				return err
			}
		}
		if err := element(); err != nil {
			return err
		}
	}
	return d.delim(']')
}

// maxDepth limits the nesting depth of a value, as encoding/json does for values that it holds.
const maxDepth = 10_000

// skip reads over a value without holding it.
func (d *decoder) skip() error {
	for depth := 0; ; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return fmt.Errorf("the value at byte %d of its text is nested too deep: record again", d.text.offset)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
