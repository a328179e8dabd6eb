// What a job may use. Here: GPUs and memory, and on Slurm what the site lets users choose. Not here: reading them (resources.ts).

import type { ReactNode } from "react";
import { useAgent } from "./context";
import { TextInput } from "./FormDialog";

/** gpus, memory: what is used where a field is left empty. */
export function ResourceFields({ gpus, memory }: { gpus: string; memory: string }): ReactNode {
  const { scheduler, may_override, partition, time_limit_minutes } = useAgent().about;
  const canChoose = (name: string): boolean => scheduler !== "local" && may_override.includes(name);
  return (
    <div className="agent-fields">
      <TextInput name="gpus" label="GPUs" example={gpus} />
      <TextInput name="memory" label="Memory" example={memory} />
      {canChoose("partition") ? <TextInput name="partition" label="Partition" example={partition || "default"} /> : null}
      {canChoose("time_limit_minutes") ? <TextInput name="time" label="Time limit (minutes)" example={String(time_limit_minutes)} /> : null}
    </div>
  );
}
