// The surfaces of a volume: values, colours, opacities.

import type { ReactNode } from "react";
import { within } from "../geometry/measures";
import { Button, IconButton } from "../components/Button";
import { Slider } from "../components/Slider";
import { useSession } from "../session/session";
import type { ChosenVolume } from "../state/selectors";
import { fromHex, hex } from "../transfer/points";

const MAX_SURFACES = 8;

export function Surfaces({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { layer, index, description } = chosen;
  const range: readonly [number, number] = description?.histogram ? [description.histogram.low, description.histogram.high] : layer.transfer.value_range;
  const path = ["volumes", index, "isosurfaces"] as const;
  const add = (): void => {
    const last = layer.isosurfaces.at(-1);
    const value = last ? (last.value + range[1]) / 2 : (range[0] + range[1]) / 2;
    session.set(path, [...layer.isosurfaces, { value, color: [0.55, 0.75, 0.95], opacity: 0.5 }]);
  };
  return (
    <div className="stack">
      {layer.isosurfaces.map((surface, number) => (
        // Surfaces have no names: the index identifies them.
        <div key={number} className="card">
          <Slider
            label={layer.isosurfaces.length > 1 ? `Isovalue ${number + 1}` : "Isovalue"}
            value={surface.value}
            low={range[0]}
            high={range[1]}
            text={(value) => within(value, range)}
            onChange={(value, isMoving) => session.set([...path, number, "value"], value, isMoving)}
          />
          <div className="row">
            <input
              type="color"
              className="swatch"
              aria-label="Surface colour"
              title="Colour of this surface"
              value={hex([...surface.color])}
              onChange={(event) => session.set([...path, number, "color"], fromHex(event.currentTarget.value))}
            />
            <div className="label">
              <Slider label="Opacity" value={surface.opacity} low={0} high={1} onChange={(value, isMoving) => session.set([...path, number, "opacity"], value, isMoving)} />
            </div>
            {layer.isosurfaces.length > 1 ? (
              <IconButton icon="trash" label="Remove this surface" onClick={() => session.set(path, layer.isosurfaces.toSpliced(number, 1))} />
            ) : null}
          </div>
        </div>
      ))}
      {layer.isosurfaces.length < MAX_SURFACES ? (
        <Button icon="plus" look="plain" onClick={add}>
          Add a surface
        </Button>
      ) : null}
    </div>
  );
}
