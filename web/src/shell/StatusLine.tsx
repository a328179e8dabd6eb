// The line at the bottom: what is under the cursor, how the image is.

import type { ReactNode } from "react";
import { labelOf } from "../geometry/labels";
import { hintFor, isMeasureKind } from "../geometry/measuring";
import { short, withUnit } from "../geometry/measures";
import { imageState, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";

export function StatusLine(): ReactNode {
  return (
    <footer className="status number grows">
      <TrainingState />
      <Under />
      <ImageState />
    </footer>
  );
}

function Under(): ReactNode {
  const hit = useSelect((state) => state.hit);
  const unit = useSelect((state) => state.layers?.layers[state.hit?.layer ?? 0]?.unit ?? "");
  const tool = useSelect((state) => state.interface.tool);
  const points = useSelect((state) => state.measurePoints.length);
  const labels = useSelect((state) => sceneOf(state)?.volumes[state.hit?.label_layer ?? -1]?.labels ?? null);
  const name = labels && hit?.label ? labelOf(labels, hit.label).name : "";
  if (!hit) return <span className="hint">{isMeasureKind(tool) ? hintFor(tool, points) : ""}</span>;
  const [z, y, x] = hit.voxel;
  return (
    <span className="under">
      {hit.value === null ? null : <b>{short(hit.value)}</b>}
      {hit.label === null ? null : <b>{name === "" ? `label ${hit.label}` : `${name} (label ${hit.label})`}</b>}
      <span className="hint">
        voxel (x, y, z) {x}, {y}, {z}
      </span>
      <span className="hint is-wide-only">position (x, y, z) {hit.position.map((one) => short(one)).join(", ")} {withUnit(0, unit).slice(2)}</span>
    </span>
  );
}

/** How far the neural field is whose training is shown. */
function TrainingState(): ReactNode {
  const training = useSelect((state) => state.training);
  if (!training) return null;
  return (
    <span className="under">
      <b>{(training.psnr ?? 0).toFixed(2)} dB</b>
      <span className="hint">
        {training.name}, step {(training.step ?? 0).toLocaleString("en")}
      </span>
    </span>
  );
}

function ImageState(): ReactNode {
  const image = useSelect(imageState);
  const full = useSelect((state) => state.shown?.header.full_resolution ?? 1);
  const device = useSelect((state) => state.welcome?.device ?? "");
  const isNeural = useSelect((state) => (state.layers?.layers[0]?.compression ?? "") !== "");
  const isAlongRays = useSelect((state) => state.shown?.header.is_along_rays ?? false);
  if (image === "") return null;
  return (
    <span className="hint">
      {/* Rounded down: what is almost whole must not be called whole. */}
      {full < 1 ? `${Math.floor(full * 100)} % of the data at full resolution · ` : ""}
      {isNeural ? (isAlongRays ? "evaluated along rays · " : "decoded to bricks · ") : ""}
      {image} · {device}
    </span>
  );
}
