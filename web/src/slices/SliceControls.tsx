// How one slice is shown: its grey window and colours. Here: the pane with the controls. Not here: the image (SliceImage.tsx).

import { useEffect, useEffectEvent, useRef, type ReactNode, type RefObject } from "react";
import { Button, IconButton } from "../components/Button";
import { Segmented, Switch } from "../components/Choice";
import { Slider } from "../components/Slider";
import { sliceWindow } from "../connection/requests";
import { opened, withEnd, type GreyWindow } from "../geometry/greyWindow";
import { within } from "../geometry/measures";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import type { ShownSlice } from "./shownSlice";
import { setWindow } from "./slicePointers";

const PERCENTILES: readonly { label: string; title: string; percents: readonly [number, number] }[] = [
  { label: "1–99 %", title: "Leave one per cent of this slice black, and one white", percents: [1, 99] },
  { label: "Min–max", title: "From the lowest to the highest value of this slice", percents: [0, 100] },
];

/** The oblique slice as a plane in the 3D image, which hides what is behind it. */
function DrawnInScene(): ReactNode {
  const session = useSession();
  const isOn = useSelect((state) => sceneOf(state)?.slices[0]?.is_visible ?? false);
  return <Switch label="Show in the scene" isOn={isOn} onChange={(next) => session.set(["slices", 0, "is_visible"], next)} />;
}

export function SliceControls({ slice, close }: { slice: ShownSlice; close: () => void }): ReactNode {
  const session = useSession();
  const element = useRef<HTMLDivElement>(null);
  useClosing(element, close);
  const { axis, options, window, range, index, layer, volume } = slice;
  const span = range[1] - range[0];
  const set = (next: GreyWindow | null, isMoving = false): void => setWindow(session, slice, next, isMoving);
  const measure = async (percents: readonly [number, number]): Promise<void> => {
    const found = await session.attempt(sliceWindow(axis === "oblique" ? { axis, percents } : { axis, index, layer, percents }));
    if (found) set(opened(found.low, found.high));
  };
  const low = Math.min(range[0], window[0]);
  const high = Math.max(range[1], window[1]);
  const text = (value: number): string => within(value, range);
  return (
    <div ref={element} className="slice-controls pane" role="dialog" aria-label={axis === "oblique" ? "Display of the oblique slice" : `Display of slices across ${axis}`}>
      <header>
        <h2>{axis === "oblique" ? "Oblique slice" : `Slices across ${axis}`}</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </header>
      <Segmented
        label="Colours"
        value={options.colors}
        options={[
          { value: "grey", label: "Grey", title: "Grey, with a window of its own" },
          { value: "transfer", label: "Colours", title: "The colours of the 3D image" },
        ]}
        onChange={(colors) => session.setSlice(slice, "colors", colors)}
      />
      {options.colors === "grey" && volume.labels === null ? (
        <>
          <div className="pair is-three">
            <Button isOn={options.window === null} title="The relevant values of the whole volume" onClick={() => set(null)}>
              Auto
            </Button>
            {PERCENTILES.map(({ label, title, percents }) => (
              <Button key={label} title={title} onClick={() => void measure(percents)}>
                {label}
              </Button>
            ))}
          </div>
          <Slider label="Black" value={window[0]} low={low} high={high} text={text} isOpenEnded onChange={(value, isMoving) => set(withEnd(window, "low", value, span), isMoving)} />
          <Slider label="White" value={window[1]} low={low} high={high} text={text} isOpenEnded onChange={(value, isMoving) => set(withEnd(window, "high", value, span), isMoving)} />
          <p className="hint">Or hold Ctrl and drag on the slice.</p>
        </>
      ) : null}
      {axis === "oblique" ? <DrawnInScene /> : null}
      <Slider label="Thickness (slices)" value={options.thickness} low={1} high={64} step={1} text={(value) => String(Math.round(value))} onChange={(value, isMoving) => session.setSlice(slice, "thickness", Math.round(value), isMoving)} />
      {options.thickness > 1 ? (
        <Segmented
          label="Projection"
          value={options.projection}
          options={[
            { value: "mean", label: "Mean", title: "The mean value of these slices" },
            { value: "max", label: "Max", title: "The largest value of these slices" },
            { value: "min", label: "Min", title: "The smallest value of these slices" },
          ]}
          onChange={(projection) => session.setSlice(slice, "projection", projection)}
        />
      ) : null}
    </div>
  );
}

/** Esc closes the pane, and so does a press outside it and its slice. */
function useClosing(element: RefObject<HTMLElement | null>, close: () => void): void {
  const onClose = useEffectEvent(close);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      onClose();
    };
    const point = (event: PointerEvent): void => {
      if (event.target instanceof Node && !element.current?.parentElement?.contains(event.target)) onClose();
    };
    addEventListener("keydown", press, { capture: true });
    addEventListener("pointerdown", point, { capture: true });
    return () => {
      removeEventListener("keydown", press, { capture: true });
      removeEventListener("pointerdown", point, { capture: true });
    };
  }, [element]);
}
