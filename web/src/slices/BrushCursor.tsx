// The edge of the brush around the pointer, over a slice.

import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import { colorOf } from "../geometry/labels";
import { pixelsPerUnit, type Size } from "../geometry/sliceView";
import { useSelect } from "../state/store";
import { css } from "../transfer/points";
import { brushRadius, paintedLayer } from "./painting";
import type { ShownSlice } from "./shownSlice";

interface BrushCursorProps {
  slice: ShownSlice;
  panel: RefObject<HTMLDivElement | null>;
  size: Size;
  extent: Size;
}

export function BrushCursor({ slice, panel, size, extent }: BrushCursorProps): ReactNode {
  const circle = useRef<SVGCircleElement>(null);
  const tool = useSelect((state) => state.interface.tool);
  const brush = useSelect((state) => state.interface.brush);
  const zoom = useSelect((state) => state.interface.sliceZoom[slice.axis]);
  const painted = useSelect(paintedLayer);
  const place = useSelect((state) => state.sliceHeaders[slice.axis]?.place ?? null);
  const isOn = (tool === "paint" || tool === "erase") && painted !== null;
  useEffect(() => {
    const element = panel.current;
    if (!element || !isOn) return undefined;
    const follow = (event: globalThis.PointerEvent): void => {
      const box = element.getBoundingClientRect();
      circle.current?.setAttribute("cx", String(event.clientX - box.left));
      circle.current?.setAttribute("cy", String(event.clientY - box.top));
      circle.current?.setAttribute("visibility", event.type === "pointerleave" ? "hidden" : "visible");
    };
    element.addEventListener("pointermove", follow);
    element.addEventListener("pointerleave", follow);
    return () => {
      element.removeEventListener("pointermove", follow);
      element.removeEventListener("pointerleave", follow);
    };
  }, [panel, isOn]);
  if (!isOn || !place) return null;
  const world = slice.axis === "oblique" ? Math.hypot(...place.right) : 1;
  const radius = (brushRadius(painted, brush.radius) * pixelsPerUnit(zoom, size, extent)) / world;
  const color = tool === "erase" ? "#fff" : css([...(painted.layer.labels ? colorOf(painted.layer.labels, brush.label) : [1, 1, 1])]);
  return (
    <svg className="overlay brush-cursor" aria-hidden="true">
      <circle ref={circle} r={Math.max(radius, 1.5)} stroke={color} visibility="hidden" />
    </svg>
  );
}
