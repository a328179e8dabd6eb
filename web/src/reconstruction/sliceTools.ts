// How the slice is looked at. Here: its grey window, its zoom, and what the mouse does on it, as one value. Not here: their controls (SliceBar.tsx).

import { useState } from "react";
import type { GreyWindow } from "../geometry/greyWindow";
import { WHOLE, type Zoom } from "./sliceZoom";

/** What dragging on the slice does. */
export type DragMode = "axis" | "pan" | "crop";

export interface SliceTools {
  readonly drag: DragMode;
  /** null: chosen for every image. */
  readonly window: GreyWindow | null;
  readonly zoom: Zoom;
  readonly set: (change: Partial<Pick<SliceTools, "drag" | "window" | "zoom">>) => void;
}

export function useSliceTools(): SliceTools {
  const [tools, setTools] = useState<Omit<SliceTools, "set">>({ drag: "axis", window: null, zoom: WHOLE });
  return { ...tools, set: (change) => setTools((before) => ({ ...before, ...change })) };
}
