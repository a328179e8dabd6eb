// Other layers: points, meshes.

import type { ReactNode } from "react";
import { Switch } from "../components/Choice";
import { Section } from "../components/Section";
import { Slider } from "../components/Slider";
import type { MeshLayer, PointsLayer } from "../protocol";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";
import { fromHex, hex } from "../transfer/points";
import { visibleOpacities, visibleRange } from "../transfer/visibleRange";
import { TransferSection } from "./transfer/TransferSection";

export function PointsSections({ layer, index }: { layer: PointsLayer; index: number }): ReactNode {
  const session = useSession();
  const description = useSelect((state) => state.layers?.points[index] ?? null);
  const [low, high] = layer.transfer.value_range;
  const [from, to] = visibleRange(layer.transfer);
  const show = (lowest: number, highest: number, isMoving: boolean): void =>
    session.set(["points", index, "transfer", "opacities"], visibleOpacities(layer.transfer, lowest, highest), isMoving);
  return (
    <>
      <Section title="Points">
        <Slider
          label="Radius per unit of value"
          value={layer.radius_scale}
          low={layer.radius_scale > 0 ? 10 ** (Math.floor(Math.log10(layer.radius_scale)) - 1) : 0.001}
          high={10 ** (Math.floor(Math.log10(layer.radius_scale || 1)) + 2)}
          isLogarithmic
          onChange={(value, isMoving) => session.set(["points", index, "radius_scale"], value, isMoving)}
        />
        <Switch label="Lighting" isOn={layer.is_lit} onChange={(isOn) => session.set(["points", index, "is_lit"], isOn)} />
        <Slider label="Minimum value shown" value={from} low={low} high={high} onChange={(value, isMoving) => show(Math.min(value, to), to, isMoving)} />
        <Slider label="Maximum value shown" value={to} low={low} high={high} onChange={(value, isMoving) => show(from, Math.max(value, from), isMoving)} />
      </Section>
      <TransferSection path={["points", index]} name={description?.name ?? "points"} transfer={layer.transfer} histogram={description?.histogram ?? null} />
    </>
  );
}

export function MeshSection({ layer, index }: { layer: MeshLayer; index: number }): ReactNode {
  const session = useSession();
  return (
    <Section title="Mesh">
      <label className="row">
        <span className="label">Colour</span>
        <input type="color" className="swatch" title="Colour of the mesh" value={hex([...layer.color])} onChange={(event) => session.set(["meshes", index, "color"], fromHex(event.currentTarget.value))} />
      </label>
      <Slider label="Opacity" value={layer.opacity} low={0} high={1} onChange={(value, isMoving) => session.set(["meshes", index, "opacity"], value, isMoving)} />
      <Switch label="Lighting" isOn={layer.is_lit} onChange={(isOn) => session.set(["meshes", index, "is_lit"], isOn)} />
    </Section>
  );
}
