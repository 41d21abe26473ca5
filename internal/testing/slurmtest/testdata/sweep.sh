#!/bin/sh
# As TaskEpilog: kills what is left of this task; as Epilog: of this job.
# proctrack/linuxproc loses processes that detach, and a step whose output such a
# process holds hangs. proctrack/cgroup, which clusters use, kills them.
[ -n "$SLURM_JOB_ID" ] || exit 0
case $SLURM_SCRIPT_CONTEXT in
epilog_slurmd) task= ;;
epilog_task)
	[ -n "$SLURM_STEP_ID" ] || exit 0 # the batch script itself
	task=1
	;;
*) exit 0 ;;
esac
for e in $(grep -lzxF "SLURM_JOB_ID=$SLURM_JOB_ID" /proc/[0-9]*/environ 2>/dev/null); do
	if grep -qzxE 'SLURM_SCRIPT_CONTEXT=epilog_(slurmd|task)' "$e" 2>/dev/null; then continue; fi
	if [ -n "$task" ]; then
		grep -qzxF "SLURM_STEP_ID=$SLURM_STEP_ID" "$e" 2>/dev/null || continue
		grep -qzxF "SLURM_PROCID=$SLURM_PROCID" "$e" 2>/dev/null || continue
	fi
	p=${e#/proc/}
	kill -KILL "${p%/environ}" 2>/dev/null
done
exit 0
