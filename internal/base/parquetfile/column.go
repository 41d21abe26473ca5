package parquetfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// column holds one column of the row group that is being filled.
type column struct {
	Column
	values int      // number of values that are not NULL
	levels []uint32 // optional columns: for each row 1, or 0 for NULL

	numbers []int64 // values of a column with Delta

	// For a column without Delta: places has the dictionary index of each value, and dictionary is the encoded
	// dictionary.
	places     []uint32
	dictionary []byte
	entries    int
	textPlace  map[string]uint32
	intPlace   map[int64]uint32

	// The last value is cached, because consecutive values are mostly equal. The last element of places is its index.
	text   string
	number int64

	leastText, mostText     string
	leastNumber, mostNumber int64
}

func newColumn(c Column) *column {
	col := &column{Column: c}
	if c.Delta && c.Type != Int64 {
		panic("deltas are only for Int64 columns")
	}
	col.reset()
	return col
}

func (c *column) reset() {
	c.values, c.entries = 0, 0
	c.levels, c.numbers, c.places, c.dictionary = c.levels[:0], c.numbers[:0], c.places[:0], c.dictionary[:0]
	if c.Type == Text {
		c.textPlace = map[string]uint32{} // a new map, because the old one would retain the texts
		c.text, c.leastText, c.mostText = "", "", ""
	} else {
		c.intPlace = map[int64]uint32{}
	}
}

func (c *column) add(value any) {
	known := false
	switch v := value.(type) {
	case *string:
		if known = v != nil && !(c.Optional && *v == ""); known {
			c.addText(*v)
		}
	case *int32:
		if known = v != nil; known {
			c.addNumber(int64(*v))
		}
	case *int64:
		if known = v != nil; known {
			c.addNumber(*v)
		}
	default:
		panic(fmt.Sprintf("column %s: a %T", c.Name, value))
	}
	switch {
	case known && c.Optional:
		c.levels = append(c.levels, 1)
	case c.Optional:
		c.levels = append(c.levels, 0)
	case !known:
		panic(fmt.Sprintf("column %s: NULL", c.Name))
	}
}

func (c *column) addText(v string) {
	if c.values++; c.values == 1 {
		c.leastText, c.mostText = v, v
	} else if v == c.text {
		c.places = append(c.places, c.places[len(c.places)-1])
		return
	}
	c.text = v
	place, ok := c.textPlace[v]
	if !ok {
		place = uint32(c.entries)
		c.textPlace[v] = place
		c.entries++
		c.dictionary = append(binary.LittleEndian.AppendUint32(c.dictionary, uint32(len(v))), v...)
		c.leastText, c.mostText = min(c.leastText, v), max(c.mostText, v)
	}
	c.places = append(c.places, place)
}

func (c *column) addNumber(v int64) {
	if c.values++; c.values == 1 {
		c.leastNumber, c.mostNumber = v, v
	} else {
		c.leastNumber, c.mostNumber = min(c.leastNumber, v), max(c.mostNumber, v)
	}
	if c.Delta {
		c.numbers = append(c.numbers, v)
		return
	}
	if c.values > 1 && v == c.number {
		c.places = append(c.places, c.places[len(c.places)-1])
		return
	}
	c.number = v
	place, ok := c.intPlace[v]
	if !ok {
		place = uint32(c.entries)
		c.intPlace[v] = place
		c.entries++
		c.dictionary = c.appendNumber(c.dictionary, v)
	}
	c.places = append(c.places, place)
}

func (c *column) appendNumber(b []byte, v int64) []byte {
	if c.Type == Int32 {
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

// width returns the number of bits of a dictionary index.
func (c *column) width() int { return bits.Len32(uint32(c.entries - 1)) }

// longestLimit is the maximum length of a text in the statistics, in bytes.
const longestLimit = 64

// limits returns the smallest and the largest value. Readers use them to skip row groups.
func (c *column) limits() (least, most []byte) {
	switch {
	case c.values == 0:
		return nil, nil
	case c.Type != Text:
		return c.appendNumber(nil, c.leastNumber), c.appendNumber(nil, c.mostNumber)
	case max(len(c.leastText), len(c.mostText)) > longestLimit:
		return nil, nil
	}
	return []byte(c.leastText), []byte(c.mostText)
}
