// Three slices through one voxel, or one of them large. Here: which slices there are, their names and buttons.
// Not here: their images (SliceImage.tsx), cutting them (the instance).

import { useState, type ReactNode } from "react";
import { IconButton } from "../components/Button";
import { NAMES, type Voxel } from "../geometry/slices";
import { useSession } from "../session/session";
import { canControl, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { SliceControls } from "./SliceControls";
import { SliceImage } from "./SliceImage";
import { shownSlice, type ShownSlice } from "./shownSlice";

export function Slices(): ReactNode {
  const crossHair = useSelect((state) => state.crossHair);
  const layer = crossHair?.layer ?? 0;
  const description = useSelect((state) => state.layers?.layers[layer] ?? null);
  const volume = useSelect((state) => sceneOf(state)?.volumes[layer] ?? null);
  const large = useSelect((state) => state.interface.largeSlice);
  if (!crossHair?.voxel || !description || !volume) return null;
  const { voxel } = crossHair;
  return (
    <aside className={large ? "slices is-large" : "slices"} aria-label="Slices">
      {NAMES.map((axis) => (large === null || large === axis ? <Slice key={axis} slice={shownSlice(axis, voxel, layer, volume, description)} /> : null))}
    </aside>
  );
}

function Slice({ slice }: { slice: ShownSlice }): ReactNode {
  const session = useSession();
  const { axis, index, last, layer } = slice;
  const mayControl = useSelect(canControl);
  const isLarge = useSelect((state) => state.interface.largeSlice === axis);
  const [under, setUnder] = useState<Voxel | null>(null);
  const [areControlsOpen, setControlsOpen] = useState(false);
  const isGreyOrColored = mayControl && slice.volume.labels === null;
  return (
    <div className={`slice is-${axis}`}>
      <SliceImage
        slice={slice}
        cut={(next) => {
          if (mayControl) session.cut(next, layer);
        }}
        hover={setUnder}
        setWindow={(next, isMoving) => {
          if (isGreyOrColored) session.setSlice(layer, axis, "window", next, isMoving);
        }}
      />
      <span className="slice-buttons grows">
        {isGreyOrColored ? <IconButton icon="contrast" label={`Grey window of the slice across ${axis}`} isOn={areControlsOpen} onClick={() => setControlsOpen(!areControlsOpen)} /> : null}
        <IconButton icon="expand" label={isLarge ? "Show all slices" : `Enlarge the slice across ${axis}`} isOn={isLarge} onClick={() => session.enlargeSlice(isLarge ? null : axis)} />
      </span>
      {areControlsOpen && isGreyOrColored ? <SliceControls slice={slice} close={() => setControlsOpen(false)} /> : null}
      <span className="slice-name number grows">
        <b>{axis}</b> {index} <span className="hint">/ {last}</span>
        {under ? <span className="hint"> (z, y, x) {under.join(", ")}</span> : null}
      </span>
    </div>
  );
}
