// Slices beside the scene, or one of them large. Here: which slices there are, their names and buttons.
// Not here: their images (SliceImage.tsx), the layouts (styles), drawing them (the instance).

import { useEffect, useState, type CSSProperties, type ReactNode } from "react";
import { IconButton } from "../components/Button";
import { short } from "../geometry/measures";
import { NAMES } from "../geometry/slicePlace";
import { canControl, comparedAs, isComparing, sceneOf, shownAxes } from "../state/selectors";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { SliceControls } from "./SliceControls";
import { SliceImage } from "./SliceImage";
import { shownSlice, type ShownSlice } from "./shownSlice";

export function Slices(): ReactNode {
  const crossHair = useSelect((state) => state.crossHair);
  const layer = crossHair?.layer ?? 0;
  const layers = useSelect((state) => state.layers?.layers ?? null);
  const scene = useSelect(sceneOf);
  const large = useSelect((state) => state.interface.largeSlice);
  const split = useSelect((state) => state.interface.split);
  const isAlone = useSelect((state) => !isComparing(state));
  const session = useSession();
  useEffect(() => {
    if (isAlone) session.sliceImages.forgetCompared();
  }, [session, isAlone]);
  if (!crossHair?.voxel || !scene || !layers) return null;
  const { voxel } = crossHair;
  const axes = shownAxes(scene);
  const shown = axes.flatMap((axis) => {
    const source = axis === "oblique" ? scene.slices[0]?.source : scene.volumes[layer]?.source;
    const description = layers[scene.volumes.findIndex((one) => one.source === source)];
    const slice = description ? shownSlice(axis, voxel, layer, scene, description) : null;
    return slice && (large === null || !axes.includes(large) || large === axis) ? [slice] : [];
  });
  return (
    <aside className={`slices has-${shown.length}${shown.length === 1 ? " is-large" : ""}`} aria-label="Slices" style={{ "--split": `${split}%` } as CSSProperties}>
      {shown.map((slice) => (
        <Slice key={slice.axis} slice={slice} />
      ))}
    </aside>
  );
}

const TITLES = { z: "across z", y: "across y", x: "across x", oblique: "at an angle" } as const;

function Slice({ slice }: { slice: ShownSlice }): ReactNode {
  const session = useSession();
  const { axis, index, last, options } = slice;
  const mayControl = useSelect(canControl);
  const isLarge = useSelect((state) => state.interface.largeSlice === axis);
  const hit = useSelect((state) => (state.hitSlice === axis ? state.hit : null));
  const [areControlsOpen, setControlsOpen] = useState(false);
  const compared = useSelect(comparedAs);
  return (
    <div className={`slice is-${axis}${compared === "beside" ? " is-beside" : ""}`}>
      <SliceImage slice={slice} covering={compared === "beside" ? null : compared} />
      {compared === "beside" ? <SliceImage slice={slice} view="other" /> : null}
      <span className="slice-buttons grows">
        {mayControl ? <IconButton icon="contrast" label={`Display of the slice ${TITLES[axis]}`} isOn={areControlsOpen} onClick={() => setControlsOpen(!areControlsOpen)} /> : null}
        <IconButton icon="expand" label={isLarge ? "Show all slices" : `Enlarge the slice ${TITLES[axis]}`} isOn={isLarge} onClick={() => session.enlargeSlice(isLarge ? null : axis)} />
        {mayControl && axis === "oblique" ? <IconButton icon="close" label="Close the oblique slice" onClick={() => session.set(["slices", 0], null)} /> : null}
      </span>
      {areControlsOpen && mayControl ? <SliceControls slice={slice} close={() => setControlsOpen(false)} /> : null}
      <span className="slice-name number grows">
        {axis === "oblique" ? (
          <b>oblique</b>
        ) : (
          <>
            <b>{axis}</b> {index} <span className="hint">/ {last}</span>
          </>
        )}
        {options.thickness > 1 ? (
          <span className="hint">
            {" "}
            {options.projection} of {options.thickness}
          </span>
        ) : null}
        {hit ? (
          <span className="hint">
            {" "}
            {hit.value === null ? "" : <b className="slice-value">{short(hit.value)}</b>} ({NAMES.toReversed().join(", ")}) {[...hit.voxel].toReversed().join(", ")}
          </span>
        ) : null}
      </span>
    </div>
  );
}
