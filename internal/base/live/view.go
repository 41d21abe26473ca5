// Package live draws a frame of a few lines below the text of a terminal, four times a second, and removes the frame at
// the end. The caller supplies the contents of the frame.
//
// The terminal's settings stay unchanged: the package reads no keys, sets no modes and leaves the cursor visible, so
// nothing has to be restored, regardless of how the program ends. Interrupts and stops work as usual.
package live

import (
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// Frame returns the lines to draw now on a terminal of the given size. Calls are never concurrent.
type Frame func(columns, rows int) []string

// every is the time between two frames.
const every = 250 * time.Millisecond

// View is a live frame on a terminal.
type View struct {
	out   *os.File
	frame Frame

	mu    sync.Mutex
	shown *shown // nil: the view has ended
	quit  chan struct{}
	ended sync.WaitGroup
}

// Start draws the frame on out until Stop is called.
func Start(out *os.File, frame Frame) *View {
	v := &View{out: out, frame: frame, quit: make(chan struct{})}
	v.shown = v.show()
	heard := make(chan struct{})
	v.ended.Go(func() { v.attend(heard) })
	<-heard
	return v
}

// Stop removes the frame. It may be called more than once.
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

// Line prints a line above the frame and waits until the line is shown.
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
		s.p.Run() // on an error, the terminal cannot show a frame
	}()
	return s
}

// end removes the frame.
func (s *shown) end() {
	s.begun()
	s.p.Send(endMsg{})
	<-s.ended
}

// leave ends the frame without erasing it, because the contents of the screen are unknown at that time.
func (s *shown) leave() {
	s.begun()
	s.p.Kill()
	<-s.ended
}

// above prints text above the frame. It returns false if the frame has ended.
func (s *shown) above(text string) bool {
	s.begun() // otherwise Bubble Tea takes the whole screen for its frame
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
	syncMsg chan struct{} // closed when all earlier messages have been processed
)

// model is the Bubble Tea model of the frame.
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
		// A request for the size redraws the whole frame, as after a resize. That is needed because typed text also
		// appears on the screen. Bubble Tea's ClearScreen does not work together with Bubble Tea's Println.
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
	lines := m.frame(m.columns-1, m.rows) // text in the last column would leave the cursor between two lines
	if most := max(m.rows-1, 1); len(lines) > most {
		lines = lines[:most]
	}
	m.text = strings.Join(lines, "\n")
}

// View returns the frame followed by an empty line for the cursor.
func (m *model) View() tea.View {
	view := tea.View{DisableBracketedPasteMode: true, Cursor: &tea.Cursor{Shape: -1}} // keep the cursor's shape
	if m.text != "" {
		view.Content = m.text + "\n"
		view.Cursor.Y = strings.Count(view.Content, "\n")
	}
	return view
}

// lines is a terminal on which every write starts at the beginning of the line, even if typed text has moved the
// cursor.
type lines struct {
	*os.File
	first func() // called by the first write
}

func (l lines) Write(p []byte) (int, error) {
	defer l.first()
	n, err := l.File.Write(append([]byte{'\r'}, p...))
	return max(n-1, 0), err
}

// begun waits until the frame has been drawn once or has ended.
func (s *shown) begun() {
	select {
	case <-s.drawn:
	case <-s.ended:
	}
}
