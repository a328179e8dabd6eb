// Starting a viewer. Here: its form, and the estimate of what it needs. Not here: viewers that run (JobCard.tsx).

import { useEffect, useState, type ReactNode } from "react";
import { binaryBytes } from "../geometry/measures";
import { DTYPES, folderOf, largestVolume, locationOf } from "./commands";
import { errorText, useAgent } from "./context";
import { FormDialog, TextInput } from "./FormDialog";
import { gpuText } from "./jobs";
import type { Estimate, FileInfo } from "./protocol";
import { ResourceFields } from "./ResourceFields";
import { parseResources, parseShape } from "./resources";

interface ViewerDialogProps {
  path?: string;
  info?: FileInfo | null;
  /** Its page opens the reconstruction of this scan. */
  isScan?: boolean;
  onClose: () => void;
}

export function ViewerDialog({ path = "", info = null, isScan = false, onClose }: ViewerDialogProps): ReactNode {
  const { api, refreshJobs } = useAgent();
  const largest = largestVolume(info);
  const [shape, setShape] = useState(largest?.shape.join(", ") ?? "");
  const [dtype, setDtype] = useState(largest?.dtype ?? "float32");
  const { estimate, note } = useEstimate(shape, dtype);
  const dtypes = DTYPES.includes(dtype) ? DTYPES : [...DTYPES, dtype];
  const start = async ({ source, ...values }: Record<string, string>): Promise<void> => {
    await api.startViewer({
      ...(isScan ? { scan: path } : source ? { source, roots: [folderOf(source.replace(/:.*$/, ""))] } : {}),
      ...(shape ? { shape: parseShape(shape), dtype } : {}),
      ...parseResources(values),
    });
    await refreshJobs();
  };
  return (
    <FormDialog title={isScan ? `Reconstruct ${path.slice(path.lastIndexOf("/") + 1)}` : "New viewer"} submitLabel="Start" onSubmit={start} onClose={onClose}>
      {isScan ? null : <TextInput name="source" label="File" example="optional" initial={locationOf(path, info)} />}
      <div className="agent-fields">
        <label className="agent-field">
          <span>Size (z, y, x)</span>
          <input className="field" placeholder="2048, 2048, 2048" autoComplete="off" value={shape} onChange={(event) => setShape(event.currentTarget.value)} />
        </label>
        <label className="agent-field">
          <span>Data type</span>
          <select className="field" value={dtype} onChange={(event) => setDtype(event.currentTarget.value)}>
            {dtypes.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
      <p className="hint">{note}</p>
      <ResourceFields gpus={estimate ? String(estimate.gpus) : "automatic"} memory={estimate ? binaryBytes(estimate.memory_bytes) : "automatic"} />
    </FormDialog>
  );
}

function useEstimate(shape: string, dtype: string): { estimate: Estimate | null; note: string } {
  const { api } = useAgent();
  const [known, setKnown] = useState<{ estimate: Estimate | null; note: string }>({ estimate: null, note: "GPUs and memory are estimated from the size." });
  const lengths = parseShape(shape).join(" ");
  useEffect(() => {
    const numbers = parseShape(lengths);
    if (numbers.length !== 3 || !numbers.every((one) => Number.isInteger(one) && one > 0)) return undefined;
    let isWanted = true;
    api.estimate(numbers, dtype).then(
      (estimate) => (isWanted ? setKnown({ estimate, note: `Estimated: ${gpuText(estimate.gpus)} and ${binaryBytes(estimate.memory_bytes)} of memory.` }) : undefined),
      (error: unknown) => (isWanted ? setKnown({ estimate: null, note: errorText(error) }) : undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [api, lengths, dtype]);
  return known;
}
