package trace

// StepForms counts the forms in the table of names.
var StepForms = len(stepNames)

// StepForm tries all forms on a name, without the gate, and returns the number, glob and purpose of the first that
// fits; -1: none.
func StepForm(name string) (form int, glob, use string) {
	for i, n := range stepNames {
		if n.re.MatchString(name) {
			return i, n.glob, [...]string{"", "around steps", "ends the call before it", "; if no other name cuts, the outermost", "; if no other name cuts", ""}[n.role]
		}
	}
	return -1, "", ""
}

// StepGate returns the number of the form that the gate selects for a name; -1: none.
func StepGate(name string) int {
	n, _ := find(name, around)
	for i := range stepNames {
		if n == &stepNames[i] {
			return i
		}
	}
	return -1
}
