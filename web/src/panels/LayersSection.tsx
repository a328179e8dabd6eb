// What is in the scene. Here: the list, choosing, hiding, removing. Not here: how one is drawn (the sections below it).

import type { ReactNode } from "react";
import { short, unitText } from "../geometry/measures";
import { IconButton } from "../components/Button";
import { Select } from "../components/Choice";
import { Icon, type IconName } from "../components/Icon";
import { Section } from "../components/Section";
import { shownSpacing } from "../geometry/placement";
import type { LayerDescription, Transform } from "../protocol";
import { useSession } from "../session/session";
import { canControl, chosenVolume, isOwner, sceneOf } from "../state/selectors";
import type { LayerKind } from "../state/state";
import { useSelect } from "../state/store";

const ICONS: Record<LayerKind, IconName> = { volumes: "volume", points: "points", meshes: "mesh" };

interface Line {
  kind: LayerKind;
  index: number;
  name: string;
  facts: string;
  isVisible: boolean;
}

export function LayersSection(): ReactNode {
  const session = useSession();
  const layers = useSelect((state) => state.layers);
  const chosen = useSelect((state) => state.interface.chosen);
  const maySee = useSelect(isOwner);
  const mayControl = useSelect(canControl);
  const scene = useSelect(sceneOf);
  if (!layers || !scene) return null;
  const isVisible = (kind: LayerKind, index: number): boolean => scene[kind][index]?.is_visible ?? true;
  const lines: Line[] = [
    ...layers.layers.map((one, index): Line => ({ kind: "volumes", index, name: one.name, facts: volumeFacts(one), isVisible: isVisible("volumes", index) })),
    ...layers.points.map((one, index): Line => ({ kind: "points", index, name: one.name, facts: `${one.count.toLocaleString("en")} points`, isVisible: isVisible("points", index) })),
    ...layers.meshes.map((one, index): Line => ({ kind: "meshes", index, name: one.name, facts: `${one.triangles.toLocaleString("en")} triangles`, isVisible: isVisible("meshes", index) })),
  ];
  return (
    <Section title="Layers" aside={maySee ? <IconButton icon="plus" label="Add a file" onClick={() => session.page({ drawer: "files" })} /> : null}>
      <ul className="layers">
        {lines.map((line) => {
          const isChosen = line.kind === chosen.kind && line.index === chosen.index;
          return (
            <li key={`${line.kind}-${line.index}`} className={`layer${isChosen ? " is-chosen" : ""}${line.isVisible ? "" : " is-hidden"}`}>
              <button type="button" aria-pressed={isChosen} title={`Show the settings of ${line.name}`} onClick={() => session.page({ chosen: { kind: line.kind, index: line.index } })}>
                <Icon name={ICONS[line.kind]} />
                <span className="layer-name" title={line.name}>
                  {line.name}
                </span>
                <span className="hint number">{line.facts}</span>
              </button>
              <IconButton
                icon={line.isVisible ? "eye" : "hidden"}
                label={line.isVisible ? `Hide ${line.name}` : `Show ${line.name}`}
                isDisabled={!mayControl}
                onClick={() => session.set([line.kind, line.index, "is_visible"], !line.isVisible)}
              />
              {lines.length > 1 ? (
                <IconButton icon="close" label={`Remove ${line.name}`} onClick={() => session.set([line.kind, line.index], null)} />
              ) : null}
            </li>
          );
        })}
      </ul>
      <ChannelChoice />
    </Section>
  );
}

/** Which channel of the chosen volume is shown, where it has several. */
function ChannelChoice(): ReactNode {
  const session = useSession();
  const chosen = useSelect(chosenVolume);
  const count = chosen?.description?.channels ?? 1;
  if (!chosen?.description || count < 2) return null;
  const { index, layer, description } = chosen;
  return (
    <Select
      label="Channel"
      value={String(description.channel)}
      options={Array.from({ length: count }, (_, channel) => ({ value: String(channel), label: String(channel) }))}
      onChange={(channel) => session.set(["volumes", index, "source"], withChannel(layer.source, Number(channel)))}
    />
  );
}

/** A source that names a channel: `scan.h5:/entry/data:c=1`. */
export const withChannel = (source: string, channel: number): string => `${source.replace(/:c=\d+/, "")}:c=${channel}`;

export function volumeFacts(layer: LayerDescription): string {
  const [z, y, x] = layer.shape;
  return `${x} × ${y} × ${z} (x, y, z) · ${layer.dtype}`;
}

/** The directions of the axes, without the origin. */
export const orientationFacts = (layer: LayerDescription): string => (layer.orientation.split(/[(;]/)[0] ?? "").trim();

export function spacingFacts(layer: LayerDescription, transform: Transform | null): string {
  const spacing = transform ? shownSpacing(layer, transform) : [...layer.spacing].toReversed();
  const text = spacing.every((one) => one === spacing[0]) ? short(spacing[0] ?? 1) : `${spacing.map((one) => short(one)).join(" × ")} (x, y, z)`;
  return `spacing ${text} ${unitText(layer.unit)}`.trim();
}
