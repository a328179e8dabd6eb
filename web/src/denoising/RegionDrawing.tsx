// Regions over a slice. Here: drawing one, and those that were drawn. Not here: what they are for (DenoisePanel.tsx), the slice (reconstruction/PreviewImages.tsx).

import { useRef, useState, type CSSProperties, type PointerEvent, type ReactNode } from "react";
import type { DenoisingRegion, RegionName } from "../protocol";
import { rectangleOf, type Rectangle } from "./draft";

interface RegionDrawingProps {
  regions: readonly DenoisingRegion[];
  edge: number;
  /** null: nothing is drawn now. */
  drawing: RegionName | null;
  onDrawn: (name: RegionName, drawn: Rectangle) => void;
}

export function RegionDrawing({ regions, edge, drawing, onDrawn }: RegionDrawingProps): ReactNode {
  const [drawn, setDrawn] = useState<Rectangle | null>(null);
  const from = useRef<[number, number] | null>(null);
  const move = (event: PointerEvent<HTMLDivElement>): void => {
    if (!from.current) return;
    const [right, bottom] = at(event);
    setDrawn({ left: from.current[0], top: from.current[1], right, bottom });
  };
  const end = (): void => {
    if (drawn && drawing) onDrawn(drawing, drawn);
    from.current = null;
    setDrawn(null);
  };
  return (
    <div
      className={drawing ? "region-drawing is-on" : "region-drawing"}
      onPointerDown={(event) => {
        if (!drawing || event.button !== 0) return;
        event.stopPropagation(); // The slice below would move its axis.
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = at(event);
      }}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={() => {
        from.current = null;
        setDrawn(null);
      }}
    >
      {regions.map((region) => (
        <Box key={region.name} name={region.name} rectangle={rectangleOf(region, edge)} />
      ))}
      {drawn && drawing ? <Box name={drawing} rectangle={drawn} /> : null}
    </div>
  );
}

/** Shares of the slice. */
function at(event: PointerEvent<HTMLDivElement>): [number, number] {
  const box = event.currentTarget.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

const share = (value: number): string => `${100 * value}%`;

function Box({ name, rectangle: { left, right, top, bottom } }: { name: RegionName; rectangle: Rectangle }): ReactNode {
  const style: CSSProperties = { left: share(Math.min(left, right)), top: share(Math.min(top, bottom)), width: share(Math.abs(right - left)), height: share(Math.abs(bottom - top)) };
  return (
    <div className={`drawn-region is-${name}`} style={style}>
      <span>{name}</span>
    </div>
  );
}
