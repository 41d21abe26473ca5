package view

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/runs"
)

// Note is a saved place: an address of the page, with a text.
type Note struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Address string `json:"address"` // the part behind the #, without the capture
	Server  string `json:"server"`  // server of the capture, of several
	Made    int64  `json:"made_ms"` // ms since the epoch
}

// Notes are the notes on a capture.
type Notes struct {
	Notes []Note `json:"notes"`
	Run   string `json:"run"`  // id of the run that keeps them; "": the capture is not a run
	Path  string `json:"path"` // the file; "": none
	Why   string `json:"why"`  // reason why they cannot be changed; "": they can
}

// Limits on the notes of a run.
const (
	mostNotes    = 500
	mostNote     = 2000 // bytes
	mostAddress  = 8000
	mostNotesRaw = 8 << 20
)

// noting is held while the notes of a run are changed.
var noting sync.Mutex

// notes returns the notes on a capture.
func notes(c *Capture, r *http.Request) (any, error) {
	out := &Notes{Notes: []Note{}}
	if c.Run == nil {
		return out, nil
	}
	out.Run, out.Path, out.Why = c.Run.ID(), runs.NotesFile, unchangeable(r)
	var err error
	out.Notes, err = readNotes(c.Run)
	return out, err
}

// unchangeable returns the reason why a request may not change files; "": it may.
func unchangeable(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
			return ""
		}
	}
	return "notes can be changed only by a browser that reaches the viewer on loopback: forward the port with ssh -L"
}

func readNotes(run *runs.Run) ([]Note, error) {
	list := []Note{}
	text, err := atomicfile.ReadAtMost(run.Path(runs.NotesFile), mostNotesRaw)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("the notes of run %s cannot be read: %w", run.ID(), err)
	}
	list = slices.DeleteFunc(list, func(n Note) bool { return !strings.HasPrefix(n.Address, "#") })
	return append([]Note{}, list...), nil // not nil, even if the file has null
}

// changeNotes adds a note, or removes one. The body of the request is {"add": {"text": …, "address": …}} or
// {"remove": ID}.
func (s *Server) changeNotes(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Add    *Note
		Remove string
	}
	err := json.NewDecoder(io.LimitReader(r.Body, httpguard.MostControl)).Decode(&asked)
	if err != nil || asked.Add == nil && asked.Remove == "" || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		s.refuse(w, r, bad(`send JSON such as {"add": {"text": "late", "address": "#tab=timeline"}}`))
		return
	}
	c, err := s.captures.get(r.Context(), r.FormValue("c"))
	if err == nil {
		err = c.change(r, asked.Add, asked.Remove)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.json(s.of(notes))(w, r)
}

// change writes the notes of the capture's run.
func (c *Capture) change(r *http.Request, add *Note, remove string) error {
	if c.Run == nil {
		return errStatus{http.StatusConflict, errors.New("the capture is not a stored run: its notes stay in the browser")}
	}
	if why := unchangeable(r); why != "" {
		return errStatus{http.StatusForbidden, errors.New(why)}
	}
	noting.Lock()
	defer noting.Unlock()
	list, err := readNotes(c.Run)
	if err != nil {
		return err
	}
	if add != nil {
		text := strings.TrimSpace(add.Text)
		switch {
		case text == "" || len(text) > mostNote:
			return bad("a note has 1 to %d bytes", mostNote)
		case !strings.HasPrefix(add.Address, "#") || len(add.Address) > mostAddress:
			return bad("the address of a note begins with #, and has at most %d bytes", mostAddress)
		case len(list) >= mostNotes:
			return errStatus{http.StatusConflict, fmt.Errorf("run %s has %d notes, which is the most: remove some", c.Run.ID(), len(list))}
		}
		_, server, _ := SplitID(c.ID)
		list = append(list, Note{ID: rand.Text()[:12], Text: text, Address: add.Address, Server: server, Made: time.Now().UnixMilli()})
	}
	list = slices.DeleteFunc(list, func(n Note) bool { return remove != "" && n.ID == remove })
	return c.Run.WriteJSON(runs.File{Path: runs.NotesFile, Kind: runs.KindNotes}, list)
}
