package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Chance is what became of findings that a rank is late when they were held against
// chance, and what the capture could have shown.
type Chance struct {
	Tested   int `json:"tested"`    // findings with a p-value, those held back among them
	HeldBack int `json:"held_back"` // that chance explains: they are no findings
	Untested int `json:"untested"`  // of too few steps, or ranks, to tell
	// Seen are the smallest latenesses that would have been found, one for each kind of
	// steps of ranks that share collectives.
	Seen []Seen `json:"detectable"`

	Tests fact.Fact `json:"text"`            // what became of them; "": none were tested
	Says  fact.Fact `json:"detectable_text"` // what would have been found; "": not known
}

// Seen is the smallest lateness that would have been found, had a rank been late by it in
// each step of a kind.
type Seen struct {
	Ranks []int   `json:"ranks"` // that share collectives
	Kind  string  `json:"kind"`
	Steps int     `json:"steps"` // of the kind that all ranks have
	NS    int64   `json:"ns"`    // of the rank of which it takes most
	Share float64 `json:"share"` // of a median step
	// Least is how many steps a lateness must last to be told from chance; 0: these steps
	// are too few.
	Least int `json:"least_steps"`
}
