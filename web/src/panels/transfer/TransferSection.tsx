// The transfer function: colour and opacity of every value. Here: the parts of the editor, files of ParaView.

import { useState, type PointerEvent, type ReactNode } from "react";
import { within } from "../../geometry/measures";
import { IconButton } from "../../components/Button";
import { choose, saveText } from "../../components/files";
import { NumberField } from "../../components/NumberField";
import { Section } from "../../components/Section";
import { Slider } from "../../components/Slider";
import { Ticks } from "../../components/Ticks";
import type { HistogramData, TransferFunction } from "../../protocol";
import { useSession, type Session } from "../../session/session";
import type { Path } from "../../state/scene";
import { fromParaView, NoColorMap, toParaView } from "../../transfer/paraview";
import { levelAt, mixColors, type ColorPoint } from "../../transfer/points";
import { ColorBar, MAX_STOPS } from "./ColorBar";
import { Curve } from "./Curve";
import { countAt, nearDomain, wholeDomain, type Domain } from "./histogram";
import { Presets } from "./Presets";

interface TransferSectionProps {
  /** Where the layer is in the scene. */
  path: Path;
  name: string;
  transfer: TransferFunction;
  histogram: HistogramData | null;
}

export function TransferSection({ path, name, transfer, histogram }: TransferSectionProps): ReactNode {
  const session = useSession();
  const [isLogarithmic, setLogarithmic] = useState(true);
  const [isNear, setNear] = useState(false);
  const [place, setPlace] = useState<number | null>(null);
  const [arePresetsOpen, setPresetsOpen] = useState(false);
  const whole = wholeDomain(histogram, transfer.value_range);
  const domain = isNear ? nearDomain(transfer.value_range) : whole;
  const set = (part: keyof TransferFunction, value: unknown, isMoving = false): void => session.set([...path, "transfer", part], value, isMoving);
  const setAll = (next: TransferFunction): void => session.set([...path, "transfer"], next);
  const [low, high] = transfer.value_range;
  return (
    <Section
      title="Colour and opacity"
      aside={
        <>
          <IconButton icon="upload" label="Load a ParaView colour map" onClick={() => void readFile(session, transfer, setAll)} />
          <IconButton icon="download" label="Save as a ParaView colour map" onClick={() => saveText(toParaView(transfer, name), `${name}.json`)} />
        </>
      }
    >
      <div className="transfer">
        <div className="curve-box" onPointerMove={(event) => setPlace(placeOf(event))} onPointerLeave={() => setPlace(null)}>
          <Curve
            transfer={transfer}
            histogram={histogram}
            domain={domain}
            isLogarithmic={isLogarithmic}
            onChange={(opacities, isMoving) => set("opacities", opacities, isMoving)}
          />
          {histogram ? <ValueUnderCursor histogram={histogram} domain={domain} place={place} /> : <p className="curve-note">Computing the histogram…</p>}
        </div>
        <Ticks range={domain} most={5} />
        <ColorBar
          transfer={transfer}
          domain={domain}
          onRange={(range, isMoving) => set("value_range", range, isMoving)}
          onColors={(colors, isMoving) => set("colors", colors, isMoving)}
        />
        <div className="row is-window">
          <NumberField label="Minimum of the value range" value={low} high={high} step={(whole[1] - whole[0]) / 256} text={(value) => within(value, whole)} onChange={(value) => (value < high ? set("value_range", [value, high]) : undefined)} />
          <button type="button" className="chip" title="Use the full range of the data" onClick={() => set("value_range", histogram ? [histogram.low, histogram.high] : [low, high])}>
            full range
          </button>
          <NumberField label="Maximum of the value range" value={high} low={low} step={(whole[1] - whole[0]) / 256} text={(value) => within(value, whole)} onChange={(value) => (value > low ? set("value_range", [low, value]) : undefined)} />
        </div>
      </div>
      <div className="row chips">
        <button type="button" className="chip" title="Colours and presets to choose from" aria-expanded={arePresetsOpen} onClick={() => setPresetsOpen(!arePresetsOpen)}>
          presets
        </button>
        <button
          type="button"
          className="chip"
          disabled={transfer.colors.length <= MAX_STOPS}
          title="Reduce to a few colours that can be edited"
          onClick={() => set("colors", fewer(transfer))}
        >
          stops
        </button>
        <button type="button" className="chip" title="Reverse the colours" onClick={() => set("colors", reversed(transfer))}>
          reverse
        </button>
        <button type="button" className="chip" aria-pressed={isLogarithmic} title="Logarithmic counts" onClick={() => setLogarithmic(!isLogarithmic)}>
          log
        </button>
        <button type="button" className="chip" aria-pressed={isNear} title="Zoom the histogram to the value range" onClick={() => setNear(!isNear)}>
          zoom
        </button>
      </div>
      {arePresetsOpen ? <Presets transfer={transfer} onChange={setAll} /> : null}
      <Slider label="Gamma" value={transfer.gamma} low={0.2} high={5} isLogarithmic onChange={(gamma, isMoving) => set("gamma", gamma, isMoving)} />
    </Section>
  );
}

const placeOf = (event: PointerEvent<HTMLElement>): number => {
  const box = event.currentTarget.getBoundingClientRect();
  return (event.clientX - box.left) / box.width;
};

/** place: from the left end of the domain (0) to its right end (1). */
function ValueUnderCursor({ histogram, domain, place }: { histogram: HistogramData; domain: Domain; place: number | null }): ReactNode {
  if (place === null || place < 0 || place > 1) return null;
  const value = domain[0] + (domain[1] - domain[0]) * place;
  const count = countAt(histogram, value);
  return (
    <>
      <span className="curve-cursor" style={{ left: `${place * 100}%` }} />
      <span className="curve-value hint number">
        <b>{within(value, domain)}</b> {count === null ? "" : `${count.toLocaleString("en")} voxels`}
      </span>
    </>
  );
}

async function readFile(session: Session, present: TransferFunction, onRead: (transfer: TransferFunction) => void): Promise<void> {
  const file = await choose(".json,application/json");
  if (!file) return;
  try {
    onRead(fromParaView(await file.text(), present));
  } catch (error) {
    if (!(error instanceof NoColorMap)) throw error;
    session.notify("error", error.message);
  }
}

const STOPS = 7;

function fewer(transfer: TransferFunction): ColorPoint[] {
  const colors = transfer.colors.map(([at, color]): ColorPoint => [at, [...color]]);
  return Array.from({ length: STOPS }, (_, index): ColorPoint => [index / (STOPS - 1), levelAt(colors, index / (STOPS - 1), mixColors)]);
}

const reversed = (transfer: TransferFunction): ColorPoint[] => transfer.colors.map(([at, color]): ColorPoint => [1 - at, [...color]]).toReversed();
