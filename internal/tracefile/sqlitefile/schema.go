package sqlitefile

import (
	"errors"
	"strings"
)

// columns returns the column names of a CREATE TABLE statement, and the index of the column that is the rowid (INTEGER
// PRIMARY KEY) or -1.
func columns(sql string) (names []string, rowid int, err error) {
	rowid = -1
	words := lex(sql)
	open := 0
	for open < len(words) && words[open].text != "(" {
		open++
	}
	if open == len(words) {
		return nil, -1, errors.New("its schema does not give its columns")
	}
	depth, begin := 0, open+1
	var key string
	define := func(def []word) {
		if len(def) == 0 {
			return
		}
		if !def[0].quoted {
			switch strings.ToUpper(def[0].text) {
			case "PRIMARY":
				if len(def) == 5 && def[2].text == "(" { // PRIMARY KEY ( column )
					key = def[3].text
				}
				return
			case "CONSTRAINT", "UNIQUE", "CHECK", "FOREIGN":
				return
			}
		}
		if len(def) > 1 && strings.EqualFold(def[1].text, "INTEGER") {
			for i := 2; i+1 < len(def); i++ {
				if strings.EqualFold(def[i].text, "PRIMARY") && strings.EqualFold(def[i+1].text, "KEY") &&
					!(i+2 < len(def) && strings.EqualFold(def[i+2].text, "DESC")) {
					rowid = len(names)
				}
			}
		}
		names = append(names, def[0].text)
	}
	end := open
	for i := open; i < len(words); i++ {
		if words[i].quoted {
			continue
		}
		switch words[i].text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				define(words[begin:i])
				end = i
			}
		case ",":
			if depth == 1 {
				define(words[begin:i])
				begin = i + 1
			}
		}
		if depth == 0 {
			break
		}
	}
	for i := end; i+1 < len(words); i++ {
		if strings.EqualFold(words[i].text, "WITHOUT") && strings.EqualFold(words[i+1].text, "ROWID") {
			return nil, -1, errors.New("WITHOUT ROWID tables are not supported")
		}
	}
	if key != "" && rowid < 0 && isOfType(words[open+1:end], key, "INTEGER") {
		for i, n := range names {
			if strings.EqualFold(n, key) {
				rowid = i
			}
		}
	}
	return names, rowid, nil
}

// isOfType reports whether a CREATE TABLE statement, split into words, declares the column with the given type.
func isOfType(words []word, column, is string) bool {
	for i := 0; i+1 < len(words); i++ {
		if strings.EqualFold(words[i].text, column) && strings.EqualFold(words[i+1].text, is) {
			return true
		}
	}
	return false
}

// word is a name, number, bracket or comma of SQL.
type word struct {
	text   string
	quoted bool
}

// lex splits SQL into words and drops comments.
func lex(sql string) []word {
	var words []word
	for i := 0; i < len(sql); {
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
		case strings.HasPrefix(sql[i:], "--"):
			n := strings.IndexByte(sql[i:], '\n')
			if n < 0 {
				return words
			}
			i += n
		case strings.HasPrefix(sql[i:], "/*"):
			n := strings.Index(sql[i+2:], "*/")
			if n < 0 {
				return words
			}
			i += n + 4
		case c == '"' || c == '`' || c == '\'' || c == '[':
			closer := c
			if c == '[' {
				closer = ']'
			}
			var b strings.Builder
			for i++; i < len(sql); i++ {
				if sql[i] == closer {
					if closer == ']' || i+1 >= len(sql) || sql[i+1] != closer {
						break
					}
					i++ // doubled quote
				}
				b.WriteByte(sql[i])
			}
			i++
			words = append(words, word{b.String(), true})
		case c == '(' || c == ')' || c == ',' || c == ';':
			words = append(words, word{text: sql[i : i+1]})
			i++
		default:
			n := strings.IndexAny(sql[i:], " \t\n\r\f(),;\"`'[")
			if n < 0 {
				n = len(sql) - i
			}
			words = append(words, word{text: sql[i : i+n]})
			i += n
		}
	}
	return words
}
