// Package live draws what goes on below the text of a terminal, four times a second, and
// takes it away again: a frame of a few lines that only its writer knows the meaning of.
//
// The terminal stays as it is: no key is read, no mode is set and the cursor is shown, so
// that there is nothing to restore however the program ends. Interrupts and stops are the
// kernel's, as without a view.
package live

import (
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Frame gives the lines to draw now, for a terminal of so many columns and rows. It is
// called by one goroutine at a time.
type Frame func(columns, rows int) []string

// every is the time between two frames.
const every = 250 * time.Millisecond

// View is a frame on a terminal.
type View struct {
	out   *os.File
	frame Frame

	mu    sync.Mutex
	shown *shown // nil: it has ended
	quit  chan struct{}
	ended sync.WaitGroup
}

// Start draws on out until Stop is called.
func Start(out *os.File, frame Frame) *View {
	v := &View{out: out, frame: frame, quit: make(chan struct{})}
	v.shown = v.show()
	heard := make(chan struct{})
	v.ended.Go(func() { v.attend(heard) })
	<-heard
	return v
}

// Stop takes the frame away. It may be called more than once.
func (v *View) Stop() {
	v.mu.Lock()
	if v.shown == nil {
		v.mu.Unlock()
		return
	}
	v.shown.end()
	v.shown = nil
	close(v.quit)
	v.mu.Unlock()
	v.ended.Wait()
}

// Line prints a line above the frame, and returns when it is there.
func (v *View) Line(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shown == nil || !v.shown.above(text) {
		v.out.WriteString(text + "\n")
	}
}

// shown is the frame between two stops of the process.
type shown struct {
	p            *tea.Program
	drawn, ended chan struct{}
}

func (v *View) show() *shown {
	s := &shown{drawn: make(chan struct{}), ended: make(chan struct{})}
	s.p = tea.NewProgram(&model{frame: v.frame, away: func() bool { return behind(v.out) }},
		tea.WithOutput(lines{v.out, sync.OnceFunc(func() { close(s.drawn) })}), tea.WithColorProfile(colorprofile.ANSI), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithFPS(int(2*time.Second/every)))
	go func() {
		defer close(s.ended)
		s.p.Run() // a terminal that cannot be drawn on has no view
	}()
	return s
}

// end takes the frame away.
func (s *shown) end() {
	s.begun()
	s.p.Send(endMsg{})
	<-s.ended
}

// leave leaves it where it is: what is on the screen since then is not known.
func (s *shown) leave() {
	s.begun()
	s.p.Kill()
	<-s.ended
}

// above prints above the frame; false: there is none any more.
func (s *shown) above(text string) bool {
	s.begun() // else it believes that the whole screen is its frame
	done := make(syncMsg)
	s.p.Send(tea.Println(text)())
	s.p.Send(done)
	select {
	case <-done:
		return true
	case <-s.ended:
		return false
	}
}

type (
	drawMsg struct{}
	endMsg  struct{}
	syncMsg chan struct{} // is closed when all that was sent before has been done
)

// model is what Bubble Tea asks for the frame.
type model struct {
	frame         Frame
	away          func() bool
	columns, rows int
	text          string
}

func (m *model) Init() tea.Cmd { return func() tea.Msg { return drawMsg{} } }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.rows = msg.Width, msg.Height
		m.draw()
	case drawMsg:
		// It is drawn when the size is known, and whole, as after a change of the size: what
		// is typed meanwhile is on the screen as well. Bubble Tea's ClearScreen goes ill
		// together with its Println.
		return m, tea.Batch(tea.RequestWindowSize, tea.Tick(every, func(time.Time) tea.Msg { return drawMsg{} }))
	case endMsg:
		m.text = ""
		return m, tea.Quit
	case syncMsg:
		close(msg)
	}
	return m, nil
}

func (m *model) draw() {
	m.text = ""
	if m.away() {
		return
	}
	lines := m.frame(m.columns-1, m.rows) // the last column would leave the cursor between two lines
	if most := max(m.rows-1, 1); len(lines) > most {
		lines = lines[:most]
	}
	m.text = strings.Join(lines, "\n")
}

// View ends with an empty line, on which the cursor stands.
func (m *model) View() tea.View {
	view := tea.View{DisableBracketedPasteMode: true, Cursor: &tea.Cursor{Shape: -1}} // the shape that it has
	if m.text != "" {
		view.Content = m.text + "\n"
		view.Cursor.Y = strings.Count(view.Content, "\n")
	}
	return view
}

// lines is a terminal each write to which begins at the start of its line, wherever what
// was typed has put the cursor.
type lines struct {
	*os.File
	first func() // is called by the first write
}

func (l lines) Write(p []byte) (int, error) {
	defer l.first()
	n, err := l.File.Write(append([]byte{'\r'}, p...))
	return max(n-1, 0), err
}

// begun returns when the frame has been drawn for the first time, or never will be.
func (s *shown) begun() {
	select {
	case <-s.drawn:
	case <-s.ended:
	}
}
