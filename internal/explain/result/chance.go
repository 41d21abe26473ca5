package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Chance holds the results of the significance tests of late ranks, and the smallest lateness that the capture could
// have shown.
type Chance struct {
	Tested   int `json:"tested"`    // number of findings with a p-value, including HeldBack
	HeldBack int `json:"held_back"` // number of findings that are not reported because chance explains them
	Untested int `json:"untested"`  // number of findings with too few steps or ranks for a test
	// Seen holds the smallest detectable lateness for each set of ranks that share collectives and each kind of step.
	Seen []Seen `json:"detectable"`

	Tests fact.Fact `json:"text"`            // result of the tests; "": no tests were made
	Says  fact.Fact `json:"detectable_text"` // the smallest detectable lateness; "": unknown
}

// Seen is the smallest detectable lateness: a rank that had been late by this time in every step of a kind would have
// been found.
type Seen struct {
	Ranks []int   `json:"ranks"` // ranks that share collectives
	Kind  string  `json:"kind"`
	Steps int     `json:"steps"` // number of steps of the kind that all ranks have
	NS    int64   `json:"ns"`    // smallest detectable lateness of the rank for which it is largest
	Share float64 `json:"share"` // NS as a share of a median step
	// Least is the minimum number of late steps to exclude chance; 0: the capture has too few steps.
	Least int `json:"least_steps"`
}
