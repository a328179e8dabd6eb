// The names of labels with their colours, over the image.

import type { ReactNode } from "react";
import { colorOf, isDrawn } from "../geometry/labels";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { hex } from "../transfer/points";

const MAX_LINES = 12;

export function Legend(): ReactNode {
  const scene = useSelect(sceneOf);
  const isShown = useSelect((state) => state.interface.isLegendShown);
  if (!scene || !isShown || scene.annotations.is_legend) return null;
  const lines = scene.volumes.flatMap(({ labels, is_visible }, layer) =>
    labels && is_visible ? labels.colors.filter((one) => one.name !== "" && isDrawn(labels, one.label)).map((one) => ({ key: `${layer} ${one.label}`, name: one.name, color: colorOf(labels, one.label) })) : [],
  );
  if (lines.length === 0) return null;
  return (
    <ul className="legend grows" aria-label="Legend">
      {lines.slice(0, MAX_LINES).map(({ key, name, color }) => (
        <li key={key}>
          <span style={{ background: hex([...color]) }} />
          {name}
        </li>
      ))}
      {lines.length > MAX_LINES ? <li className="hint">and {lines.length - MAX_LINES} more</li> : null}
    </ul>
  );
}
