// Presets: colour maps, opacity curves, and those saved in this browser.

import { useState, type ReactNode } from "react";
import { Button, IconButton } from "../../components/Button";
import type { TransferFunction } from "../../protocol";
import { useSelect } from "../../state/store";
import { areAlike, evenly, gradient, type Color } from "../../transfer/points";
import { forgetTransfer, keepTransfer, keptTransfers, SHAPES } from "../../transfer/presets";

interface PresetsProps {
  transfer: TransferFunction;
  onChange: (transfer: TransferFunction) => void;
}

export function Presets({ transfer, onChange }: PresetsProps): ReactNode {
  const maps = useSelect((state) => state.welcome?.choices.color_maps ?? null);
  return (
    <div className="presets">
      <div className="swatches" role="group" aria-label="Colour maps">
        {Object.entries(maps ?? {}).map(([name, colors]) => {
          const points = evenly(colors.map((color): Color => [...color]));
          return (
            <button
              key={name}
              type="button"
              className="map"
              title={`Use the colours ${name}`}
              aria-pressed={areAlike(points, transfer.colors)}
              onClick={() => onChange({ ...transfer, colors: points })}
            >
              <span className="map-ramp" style={{ background: gradient(points) }} />
              <span>{name}</span>
            </button>
          );
        })}
      </div>
      <h3 className="label">Opacity</h3>
      <div className="shapes" role="group" aria-label="Opacity presets">
        {SHAPES.map((shape) => (
          <button key={shape.name} type="button" className="shape" title={shape.name} onClick={() => onChange({ ...transfer, opacities: shape.opacities })}>
            <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
              <path d={`M0 1L${shape.opacities.map(([x, y]) => `${x} ${1 - y}`).join("L")}L1 1Z`} />
            </svg>
            <span>{shape.name}</span>
          </button>
        ))}
      </div>
      <Kept transfer={transfer} onChange={onChange} />
    </div>
  );
}

function Kept({ transfer, onChange }: PresetsProps): ReactNode {
  const [kept, setKept] = useState(() => keptTransfers(localStorage));
  const [name, setName] = useState("");
  return (
    <div className="stack">
      <h3 className="label">Saved in this browser</h3>
      {kept.map((one) => (
        <div key={one.name} className="row">
          <button type="button" className="map is-row" onClick={() => onChange(one.transfer)}>
            <span className="map-ramp" style={{ background: gradient(one.transfer.colors.map(([at, color]) => [at, [...color]])) }} />
            <span>{one.name}</span>
          </button>
          <IconButton icon="trash" label={`Delete ${one.name}`} onClick={() => setKept(forgetTransfer(localStorage, one.name))} />
        </div>
      ))}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === "") return;
          setKept(keepTransfer(localStorage, { name: name.trim(), transfer }));
          setName("");
        }}
      >
        <input
          className="field"
          placeholder="Name"
          aria-label="Name of this transfer function"
          title="Name under which this transfer function is saved"
          value={name}
          onKeyDown={(event) => event.stopPropagation()}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button onClick={() => undefined} isDisabled={name.trim() === ""} isSubmit>
          Save
        </Button>
      </form>
    </div>
  );
}
