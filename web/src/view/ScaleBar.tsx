// A length that is round, as long as it is at the centre of rotation.

import type { ReactNode } from "react";
import { scaleAt } from "../geometry/camera";
import { roundLength, withUnit } from "../geometry/measures";
import { useSelect } from "../state/store";
import { percent } from "./projection";

const MAX_LENGTH = 0.22;

export function ScaleBar(): ReactNode {
  const header = useSelect((state) => state.shown?.header ?? null);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  const isShown = useSelect((state) => state.interface.isScaleShown);
  const isInImage = useSelect((state) => state.server?.scene.annotations.is_scale_bar ?? false);
  if (!header || !isShown || isInImage) return null;
  const height = scaleAt(header.camera, header.camera.target);
  const length = roundLength(height * MAX_LENGTH);
  return (
    <div className="scale-bar" aria-hidden="true">
      <div style={{ width: `calc(${(length / height).toFixed(5)} * var(--frame-height, 100cqh))` }} data-height={percent(length / height)} />
      <span className="number grows">{withUnit(length, unit)}</span>
    </div>
  );
}
