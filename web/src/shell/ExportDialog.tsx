// Exporting the clipped region of a volume.

import { useState, type ReactNode } from "react";
import { startExport } from "../connection/requests";
import { bytes } from "../geometry/measures";
import { wholeOf } from "../geometry/extent";
import { Button } from "../components/Button";
import { Segmented } from "../components/Choice";
import { DialogWindow } from "../components/Dialog";
import type { ExportFormat } from "../protocol";
import { useSession } from "../session/session";
import { chosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";

const NAMES: Record<ExportFormat, string> = { tiff: "TIFF", nrrd: "NRRD", zarr: "Zarr" };

export function ExportDialog(): ReactNode {
  const session = useSession();
  const chosen = useSelect(chosenVolume);
  const formats = useSelect((state) => state.welcome?.choices.export_formats ?? null);
  const [format, setFormat] = useState<ExportFormat>("tiff");
  const close = (): void => session.openDialog("none");
  if (!chosen?.description || !formats) return null;
  const box = chosen.layer.clip ?? wholeOf(chosen.description);
  const [z, y, x] = box.stop.map((stop, axis) => stop - (box.start[axis] ?? 0)) as [number, number, number];
  const start = async (): Promise<void> => {
    if (await session.attempt(startExport({ format, layer: chosen.index }))) close();
  };
  return (
    <DialogWindow title="Export" onClose={close}>
      <p className="hint">
        {chosen.layer.clip ? "The clipped region" : "The whole volume"} of {chosen.description.name}: {x} × {y} × {z} voxels (x, y, z),{" "}
        {bytes(x * y * z * voxelBytes(chosen.description.dtype))}.
      </p>
      <Segmented label="Format" value={format} options={formats.map((value) => ({ value, label: NAMES[value] }))} onChange={setFormat} />
      <footer className="dialog-foot">
        <span />
        <Button look="main" icon="download" onClick={() => void start()}>
          Export
        </Button>
      </footer>
    </DialogWindow>
  );
}

const voxelBytes = (dtype: string): number => Math.max(1, Number(/\d+/.exec(dtype)?.[0] ?? 8) / 8);
