"""What each capture injects, and so what an analysis of it must find."""
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Inject:
    """One thing done to one rank. Steps count from 0 over all step annotations of the capture."""

    cause: str  # work, device, host or communication; none for what must not be reported
    how: str  # one of the names listed at the top of capture.py
    rank: int | None  # None: all ranks alike
    first: int
    last: int | None = None  # None: to the end
    amount: float = 0  # MLPs a layer, tokens, blocks, or milliseconds of the host

    def at(self, step):
        return self.first <= step and (self.last is None or step <= self.last)


@dataclass(frozen=True)
class Scenario:
    prefill: int = 1
    decode: int = 15
    graph: bool = False  # decode steps (and prefills with graph_prefill) are replayed CUDA graphs
    graph_prefill: bool = False
    ahead: bool = False  # the host launches step n+1 before it reads the tokens of step n
    overlap: bool = False  # Model.forward_overlapped
    routed: int = 0  # expert tokens of every rank
    stacks: bool = False
    inject: list = field(default_factory=list)
    note: str = ""

    def truth(self):
        t = {k: v for k, v in asdict(self).items() if k != "inject" and v not in (False, "", 0)}
        t["injected"] = [{k: v for k, v in asdict(i).items() if v is not None} for i in self.inject]
        t["expect"] = [{"rank": i.rank, "first_step": i.first, "last_step": i.last, "cause": i.cause}
                       for i in self.inject if i.cause != "none"]
        return t


SCENARIOS = {
    "g_balanced": Scenario(graph=True),
    "g_work_r0": Scenario(graph=True, inject=[Inject("work", "extra-mlp", 0, 5, amount=2)]),
    "g_expert": Scenario(graph=True, routed=256, inject=[Inject("work", "routed-tokens", 1, 4, amount=3072)]),
    "g_expert_mild": Scenario(graph=True, routed=256, inject=[Inject("work", "routed-tokens", 1, 4, amount=1024)]),
    "g_device_r1": Scenario(graph=True, inject=[Inject("device", "hog-gpu", 1, 6)]),
    "g_device_transient_r0": Scenario(graph=True, decode=17, inject=[Inject("device", "hog-gpu", 0, 8, 10)]),
    "g_device_prefill_r1": Scenario(graph=True, graph_prefill=True, prefill=12, decode=2,
                                    inject=[Inject("device", "hog-gpu", 1, 5)],
                                    note="steps longer than a time slice of the GPU: kernels are cut, not only late"),
    "g_host_r0": Scenario(graph=True, inject=[Inject("host", "sleep", 0, 6, amount=2)]),
    "g_host_transient_r1": Scenario(graph=True, decode=17, inject=[Inject("host", "spin", 1, 8, 10, amount=3)]),
    "g_host_between_r1": Scenario(graph=True, inject=[Inject("host", "sleep-between", 1, 6, amount=2)],
                                  note="the host sleeps between the step annotations, as a scheduler would"),
    "g_hidden_host_r1": Scenario(graph=True, ahead=True, inject=[Inject("none", "sleep", 1, 6, amount=0.3)],
                                 note="the sleep hides behind the step on the device: nobody is late"),
    "g_both_slower": Scenario(graph=True, inject=[Inject("none", "extra-mlp", None, 6, amount=2)],
                              note="every rank has the same extra work: slower steps, nobody late"),
    "g_mixed": Scenario(graph=True, prefill=2, decode=18, inject=[Inject("host", "sleep", 0, 4, amount=1),
                                                                 Inject("work", "extra-mlp", 1, 10, amount=4)]),
    "g_comm_hog": Scenario(graph=True, graph_prefill=True, prefill=12, decode=2,
                       inject=[Inject("communication", "hog-link", None, 5)],
                       note="another process copies between the GPUs: transfers take longer, kernels too; nobody late"),
    "e_balanced": Scenario(prefill=1, decode=3, stacks=True),
    # Eager decode steps are host-bound: of two hosts the slightly slower one makes the other wait nearly the whole step,
    # injection or not. Prefills are device-bound: what is injected there is nearly all there is.
    "e_balanced_prefill": Scenario(prefill=12, decode=0),
    "e_host_prefill_r1": Scenario(prefill=13, decode=0, inject=[Inject("host", "tokenize", 1, 7, amount=3)]),
    "e_work_prefill_r0": Scenario(prefill=12, decode=0, inject=[Inject("work", "extra-mlp", 0, 5, amount=1)]),
    "e_host_r1": Scenario(decode=13, inject=[Inject("host", "tokenize", 1, 7, amount=3)]),
    "e_work_r0": Scenario(decode=13, inject=[Inject("work", "extra-mlp", 0, 5, amount=2)]),
    "e_device_r1": Scenario(decode=13, inject=[Inject("device", "hog-gpu", 1, 6)]),
    "e_moe_dp": Scenario(prefill=4, decode=8, overlap=True,
                         note="collectives on their own streams beside compute: exposed and hidden communication"),
    "g_comm": Scenario(graph=True, graph_prefill=True, prefill=12, decode=2,
                       inject=[Inject("communication", "narrow-group", None, 6, amount=8)],
                       note="the same bytes over fewer channels on all ranks: slower transfers, nobody late"),
}
