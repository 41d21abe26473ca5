package wire

// ProfileFiles is the reply of GET /profile_files: the profile windows of a server, newest first. Only stepscope has
// this route.
type ProfileFiles struct {
	Windows []ProfileWindow `json:"windows"`
	Dir     string          `json:"dir,omitempty"` // default directory on the server, for windows that specify none
}

// ProfileWindow is one window with the files written so far.
type ProfileWindow struct {
	ID    string        `json:"id"`
	Dir   string        `json:"dir"`  // directory on the server
	Open  bool          `json:"open"` // the window's last step has not run yet
	Files []ProfileFile `json:"files"`
}

// ProfileFile is a completely written file. GET /profile_files/{id}/{name} returns its bytes.
type ProfileFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
}
