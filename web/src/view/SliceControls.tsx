// How one slice is shown: its grey window and colours. Here: the pane with the controls. Not here: the image (SliceImage.tsx).

import type { ReactNode } from "react";
import { Button, IconButton } from "../components/Button";
import { Segmented } from "../components/Choice";
import { Slider } from "../components/Slider";
import { sliceWindow } from "../connection/requests";
import { opened, withEnd, type GreyWindow } from "../geometry/greyWindow";
import { within } from "../geometry/measures";
import { useSession } from "../session/session";
import type { ShownSlice } from "./shownSlice";

const PERCENTILES: readonly { label: string; title: string; percents: readonly [number, number] }[] = [
  { label: "1–99 %", title: "Leave one per cent of this slice black, and one white", percents: [1, 99] },
  { label: "Min–max", title: "From the lowest to the highest value of this slice", percents: [0, 100] },
];

export function SliceControls({ slice, close }: { slice: ShownSlice; close: () => void }): ReactNode {
  const session = useSession();
  const { axis, options, window, range, index, layer } = slice;
  const span = range[1] - range[0];
  const set = (next: GreyWindow | null, isMoving = false): void => session.setSlice(layer, axis, "window", next, isMoving);
  const measure = async (percents: readonly [number, number]): Promise<void> => {
    const found = await session.attempt(sliceWindow({ axis, index, layer, percents }));
    if (found) set(opened(found.low, found.high));
  };
  const low = Math.min(range[0], window[0]);
  const high = Math.max(range[1], window[1]);
  const text = (value: number): string => within(value, range);
  return (
    <div className="slice-controls pane" role="dialog" aria-label={`How slices across ${axis} are shown`}>
      <header>
        <h2>Slices across {axis}</h2>
        <IconButton icon="close" label="Close" onClick={close} />
      </header>
      <Segmented
        label="Colours"
        value={options.colors}
        options={[
          { value: "grey", label: "Grey", title: "Grey, with a window of its own" },
          { value: "transfer", label: "Colours", title: "The colours of the 3D image" },
        ]}
        onChange={(colors) => session.setSlice(layer, axis, "colors", colors)}
      />
      {options.colors === "grey" ? (
        <>
          <div className="pair is-three">
            <Button isOn={options.window === null} title="The values that matter in the whole volume" onClick={() => set(null)}>
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
    </div>
  );
}
