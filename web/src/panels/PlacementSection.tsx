// What a file says wrongly, or not at all: spacing, unit, directions of its axes.

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { NumberField } from "../components/NumberField";
import { Section } from "../components/Section";
import { flipped, shownSpacing, withSpacing } from "../geometry/placement";
import type { Change, Transform } from "../protocol";
import { useSession } from "../session/session";
import { json } from "../state/scene";
import { sceneOf, type ChosenVolume } from "../state/selectors";

const AXES = ["x", "y", "z"] as const;
const MAX_UNIT = 20;
const UNITS = ["nm", "um", "mm", "cm", "m"];

export function PlacementSection({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { description, layer, index } = chosen;
  if (!description) return null;
  const spacing = shownSpacing(description, layer.transform);
  /** What lies on the same voxels, such as labels, stays on them. */
  const place = (transform: Transform): void => {
    const state = session.store.get();
    const changes: Change[] = [];
    sceneOf(state)?.volumes.forEach((one, number) => {
      const other = state.layers?.layers[number];
      const isSame = other?.shape.join() === description.shape.join() && JSON.stringify(one.transform) === JSON.stringify(layer.transform);
      if (number === index || isSame) changes.push({ path: ["volumes", number, "transform"], value: json(transform) });
    });
    session.change(changes);
  };
  return (
    <Section title="Spacing and axes" isOpenAtFirst={false}>
      {AXES.map((name, axis) => (
        <div key={name} className="row">
          <span className={`axis-name is-${name}`}>{name}</span>
          <NumberField label={`Spacing along ${name}`} value={spacing[axis] ?? 1} low={1e-12} step={0.1} onChange={(next) => place(withSpacing(description, layer.transform, axis, next))} />
          <Button title={`Reverse ${name}: its voxels are stored in the other direction`} onClick={() => place(flipped(description, layer.transform, axis))}>
            Flip
          </Button>
        </div>
      ))}
      <UnitField key={description.unit} unit={description.unit} onChange={(unit) => session.change([{ path: ["volumes", index, "unit"], value: unit }, { path: ["annotations", "unit"], value: unit }])} />
    </Section>
  );
}

function UnitField({ unit, onChange }: { unit: string; onChange: (unit: string) => void }): ReactNode {
  const [typed, setTyped] = useState(unit);
  const commit = (): void => {
    if (typed.trim() !== unit) onChange(typed.trim());
  };
  return (
    <label className="row">
      <span className="label">Unit</span>
      <input
        className="field is-number"
        type="text"
        list="units"
        title="Unit of the spacing, such as mm or µm"
        maxLength={MAX_UNIT}
        placeholder="none"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Enter") event.currentTarget.blur();
        }}
      />
      <datalist id="units">
        {UNITS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </datalist>
    </label>
  );
}
