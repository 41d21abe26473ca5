package trace

// GPUState is the state of one GPU at one moment. A value below 0 is unknown.
type GPUState struct {
	At      int64    `json:"at"`  // ns since the epoch
	GPU     int      `json:"gpu"` // index, as in nvidia-smi
	Host    string   `json:"host,omitempty"`
	Unsure  bool     `json:"unsure,omitempty"` // whether the servers may run on another host
	UUID    string   `json:"uuid,omitempty"`
	PCI     string   `json:"pci,omitempty"` // PCI bus id
	SM      float64  `json:"sm_mhz"`
	Memory  float64  `json:"memory_mhz"`
	Power   float64  `json:"power_w"`
	Limit   float64  `json:"power_limit_w"`
	Celsius float64  `json:"celsius"`
	Busy    float64  `json:"busy"`    // share of the time with work, 0 to 1
	Reasons []string `json:"reasons"` // why the clocks are lower than the maximum, apart from idleness; null: unknown
}

// GPUs are the samples of GPUs around a window.
type GPUs struct {
	Format int        `json:"format"` // 1
	States []GPUState `json:"states"`
}

// GPUsFile is the name of a file with GPUs, stored beside the traces of a window.
const GPUsFile = "gpus.json"
