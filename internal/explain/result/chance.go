package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Chance holds the results of the significance tests of late ranks, and the smallest lateness that the capture could
// have shown.
type Chance struct {
	Tested   int `json:"tested"`    // findings with a p-value, including those held back
	HeldBack int `json:"held_back"` // explained by chance, so not reported
	Untested int `json:"untested"`  // too few steps or ranks to test
	// Seen holds the smallest detectable latenesses, one for each kind of steps of ranks that share collectives.
	Seen []Seen `json:"detectable"`

	Tests fact.Fact `json:"text"`            // result of the tests; "": none were made
	Says  fact.Fact `json:"detectable_text"` // the detectable lateness; "": unknown
}

// Seen is the smallest lateness that would have been found if one rank had been late by it in every step of a kind.
type Seen struct {
	Ranks []int   `json:"ranks"` // ranks that share collectives
	Kind  string  `json:"kind"`
	Steps int     `json:"steps"` // steps of the kind that all ranks have
	NS    int64   `json:"ns"`    // for the rank with the largest threshold
	Share float64 `json:"share"` // of a median step
	// Least is the number of late steps needed to exclude chance; 0: the capture has too few.
	Least int `json:"least_steps"`
}
