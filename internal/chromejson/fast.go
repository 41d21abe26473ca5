package chromejson

// fast reads the event at the start of b if it has the layout libkineto
// writes. 0: it has not; the general way must look at it.
func (g *grammar) fast(b []byte, e *Event) int { return 0 }
