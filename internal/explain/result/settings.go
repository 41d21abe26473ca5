package result

// partOf has the part of a setting of whatif that removes the lateness of a rank, by cause.
var partOf = map[string]string{CauseWork: "work", CauseDevice: "device", CauseHost: "host", CauseCommunication: "collective"}

// Settings returns the settings of whatif that remove the cause of the finding, as the worth of the finding does. There
// are none if the cause cannot be expressed by settings.
func (f *Finding) Settings() (set []string) {
	switch KindOf(f.Kind).Removal {
	case RemoveHost:
		return []string{"host=0"}
	case RemoveTransfers:
		return []string{"collective=0"}
	case RemoveLateness:
		part, known := partOf[f.Cause]
		if !known || f.Starved || f.Reason == Experts {
			return nil
		}
		for _, rank := range f.Names {
			set = append(set, rank+"."+part+"=peers")
		}
	}
	return set
}
