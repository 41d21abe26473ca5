package memsnap

import (
	"encoding/binary"
	"fmt"
	"math"
)

// unpickle reads what memory_viz can, and no more: dicts are maps, lists and tuples are slices. It panics on anything
// that is not a pickle.
func unpickle(b []byte) any {
	var stack []any
	var marks []int
	memo := map[uint32]any{}
	take := func(n int) []byte {
		x := b[:n]
		b = b[n:]
		return x
	}
	u32 := func() uint32 { return binary.LittleEndian.Uint32(take(4)) }
	push := func(x any) { stack = append(stack, x) }
	sinceMark := func() []any {
		at := marks[len(marks)-1]
		marks = marks[:len(marks)-1]
		items := append([]any{}, stack[at:]...)
		stack = stack[:at]
		return items
	}
	top := func() *any { return &stack[len(stack)-1] }
	for {
		switch op := take(1)[0]; op {
		case 0x80:
			if v := take(1)[0]; v != 2 {
				panic(fmt.Sprint("protocol ", v))
			}
		case '}':
			push(map[string]any{})
		case ']':
			push([]any{})
		case '(':
			marks = append(marks, len(stack))
		case 'u':
			items := sinceMark()
			for i := 0; i < len(items); i += 2 {
				(*top()).(map[string]any)[items[i].(string)] = items[i+1]
			}
		case 'e':
			items := sinceMark()
			if len(items) > listBatch {
				panic("too many items at once")
			}
			*top() = append((*top()).([]any), items...)
		case 0x86:
			n := len(stack)
			pair := append([]any{}, stack[n-2:]...)
			stack = append(stack[:n-2], pair)
		case 'X':
			push(string(take(int(u32()))))
		case 'q':
			memo[uint32(take(1)[0])] = *top()
		case 'r':
			memo[u32()] = *top()
		case 'h':
			push(memo[uint32(take(1)[0])])
		case 'j':
			push(memo[u32()])
		case 'K':
			push(int(take(1)[0]))
		case 'J':
			push(int(int32(u32())))
		case 0x8a:
			raw := take(int(take(1)[0]))
			n := int64(int8(raw[len(raw)-1]))
			for i := len(raw) - 2; i >= 0; i-- {
				n = n<<8 | int64(raw[i])
			}
			push(int(n))
		case 'G':
			push(math.Float64frombits(binary.BigEndian.Uint64(take(8))))
		case 0x88:
			push(true)
		case 0x89:
			push(false)
		case '.':
			if len(stack) != 1 || len(marks) != 0 || len(b) != 0 {
				panic("items left on the stack")
			}
			return stack[0]
		default:
			panic(fmt.Sprintf("opcode %#x", op))
		}
	}
}
