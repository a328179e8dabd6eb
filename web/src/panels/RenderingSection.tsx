// How a volume is drawn: mode, shading, surfaces, light. Not here: colours (transfer/), the text of a shading (ShadingEditor).

import type { ReactNode } from "react";
import { Button } from "../components/Button";
import { Segmented, Select, Switch } from "../components/Choice";
import { Section } from "../components/Section";
import { Slider } from "../components/Slider";
import type { ShadingName } from "../protocol";
import { useSession } from "../session/session";
import { isOwner, sceneOf, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { CinematicControls } from "./CinematicControls";
import { LightControls } from "./LightControls";
import { Surfaces } from "./Surfaces";
import { MODES, SHADINGS } from "./displayNames";

const LIT: readonly ShadingName[] = ["gradient", "shadow", "occlusion", "full", "cinematic", "user"];

export function RenderingSection({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { layer, index, description } = chosen;
  const path = ["volumes", index] as const;
  const setMode = (mode: keyof typeof MODES): void => {
    if (mode !== "isosurface" || layer.isosurfaces.length > 0) return session.set([...path, "mode"], mode);
    // A surface needs a value: start in the middle of the value range.
    const [low, high] = layer.transfer.value_range;
    const surface = { value: (low + high) / 2, color: [0.9, 0.85, 0.75], opacity: 1 };
    session.change([
      { path: [...path, "isosurfaces"], value: [surface] },
      { path: [...path, "mode"], value: mode },
    ]);
  };
  return (
    <Section title="Rendering">
      <Segmented label="Mode" value={layer.mode} options={Object.entries(MODES).map(([value, words]) => ({ value: value as keyof typeof MODES, ...words }))} onChange={setMode} />
      {layer.mode === "isosurface" && description ? <Surfaces chosen={chosen} /> : null}
      {layer.mode === "composite" ? <ShadingChoice chosen={chosen} /> : null}
      {layer.mode === "composite" && layer.shading === "cinematic" ? <CinematicControls /> : null}
      {layer.mode === "isosurface" || (layer.mode === "composite" && LIT.includes(layer.shading)) ? <LightControls /> : null}
      <Quality chosen={chosen} />
    </Section>
  );
}

function ShadingChoice({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { layer, index } = chosen;
  const offered = useSelect((state) => state.welcome?.choices.shadings ?? null);
  const shadings = useSelect((state) => state.shadings);
  const mayWrite = useSelect(isOwner);
  const ready = shadings.filter((one) => !one.is_waiting);
  const options = (offered ?? []).filter((name) => name !== "user" || mayWrite || ready.length > 0);
  const choose = (shading: ShadingName): void => {
    const first = ready[0];
    if (shading !== "user" || layer.user_shading !== "") return session.set(["volumes", index, "shading"], shading);
    if (!first) return session.page({ drawer: "shading" });
    session.change([
      { path: ["volumes", index, "user_shading"], value: first.hash },
      { path: ["volumes", index, "parameters"], value: [] },
      { path: ["volumes", index, "shading"], value: "user" },
    ]);
  };
  return (
    <>
      <Select label="Shading" value={layer.shading} options={options.map((value) => ({ value, label: SHADINGS[value].label }))} onChange={choose} />
      {layer.shading === "user" ? <Parameters chosen={chosen} /> : null}
      {mayWrite ? (
        <Button icon="code" look="plain" title="Compile a shading of your own" onClick={() => session.page({ drawer: "shading" })}>
          Custom shading…
        </Button>
      ) : null}
    </>
  );
}

/** Sliders for the parameters of a custom shading. */
export function Parameters({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { layer, index } = chosen;
  const shading = useSelect((state) => state.shadings.find((one) => one.hash === layer.user_shading) ?? null);
  if (!shading) return null;
  const values = new Map(layer.parameters.map(([name, value]) => [name, value]));
  const set = (name: string, value: number, isMoving: boolean): void => {
    const next = shading.parameters.map((one) => [one.name, one.name === name ? value : (values.get(one.name) ?? one.default)]);
    session.set(["volumes", index, "parameters"], next, isMoving);
  };
  return shading.parameters.map((one) => (
    <Slider
      key={one.name}
      label={one.name}
      value={values.get(one.name) ?? one.default}
      low={one.low}
      high={one.high}
      onChange={(value, isMoving) => set(one.name, value, isMoving)}
    />
  ));
}

/** Opacity by gradient: boundaries stay visible, the inside fades. */
function Boundaries({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const { layer, index } = chosen;
  const path = ["volumes", index, "transfer", "edges"] as const;
  const { edges, value_range: window } = layer.transfer;
  const spread = window[1] - window[0];
  const first = { factors: [[0, 0], [1, 1]], gradient_range: [0, spread / 8] };
  return (
    <>
      <Switch label="Emphasise boundaries" isOn={edges !== null} onChange={(isOn) => session.set(path, isOn ? first : null)} />
      {edges ? (
        <Slider
          label="Full opacity above gradient (per voxel)"
          value={edges.gradient_range[1]}
          low={spread / 200}
          high={spread}
          isLogarithmic
          onChange={(value, isMoving) => session.set([...path, "gradient_range"], [0, value], isMoving)}
        />
      ) : null}
    </>
  );
}

function Quality({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const step = useSelect((state) => sceneOf(state)?.step ?? 0.5);
  const { layer, index } = chosen;
  return (
    <>
      {layer.mode === "composite" ? <Boundaries chosen={chosen} /> : null}
      {layer.mode === "composite" ? (
        <Switch
          label="Pre-integration"
          isOn={layer.transfer.is_preintegrated}
          onChange={(isOn) => session.set(["volumes", index, "transfer", "is_preintegrated"], isOn)}
        />
      ) : null}
      <Slider label="Step (voxels)" value={step} low={0.1} high={4} isLogarithmic onChange={(value, isMoving) => session.set(["step"], value, isMoving)} />
    </>
  );
}
