// The settings of a reconstruction. Here: their controls. Not here: the axis (AxisSection.tsx), what they do (the instance), images of it (PreviewImages.tsx).

import type { ReactNode } from "react";
import { short } from "../geometry/measures";
import { Segmented, Select, Switch } from "../components/Choice";
import { Section } from "../components/Section";
import type { Paganin, Recipe, ScanDescription, ReconstructionDraft } from "../protocol";
import { AxisSection } from "./AxisSection";
import { Numbers } from "./fields";
import type { Change } from "./PreviewImages";
import type { Preview } from "./previewQueue";

interface SettingsProps {
  path: string;
  /** The slice that is shown. */
  slice: Preview | undefined;
  scan: ScanDescription;
  draft: ReconstructionDraft;
  onChange: Change;
}

const RINGS: Record<string, string> = {
  none: "None",
  auto: "Automatic",
  "vo-sorting": "Sorting (Vo 3)",
  "vo-large": "Wide stripes (Vo 5)",
  "vo-dead": "Dead columns (Vo 6)",
  "vo-all": "All (Vo)",
  "fourier-wavelet": "Wavelets (Münch)",
  titarenko: "Regularised (Titarenko)",
};
const METHODS: Record<string, string> = { direct: "Direct", gridding: "Gridding", sirt: "SIRT", cgls: "CGLS" };

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const options = (values: readonly string[], words: Record<string, string> = {}): { value: string; label: string }[] => values.map((value) => ({ value, label: words[value] ?? titled(value) }));

export function Settings({ path, slice, scan, draft, onChange }: SettingsProps): ReactNode {
  const { recipe } = draft;
  const set = (change: Partial<Recipe>): void => onChange({ recipe: { ...recipe, ...change } });
  const isIterative = recipe.method === "sirt" || recipe.method === "cgls";
  return (
    <>
      <AxisSection path={path} scan={scan} draft={draft} onChange={onChange} />
      <Section title="Rings and zingers">
        <Select label="Ring removal" value={recipe.rings.method} options={options(scan.choices.rings, RINGS)} onChange={(method) => set({ rings: { ...recipe.rings, method } })} />
        <Numbers label="Zingers" hint="threshold, 0 = off" value={recipe.zingers} step={0.05} onChange={(zingers) => set({ zingers })} />
        <Numbers label="Air columns" hint="at each end, 0 = off" value={recipe.air} step={1} onChange={(air) => set({ air: Math.min(Math.round(air), Math.floor(scan.columns / 2)) })} />
      </Section>
      <Section title="Slices">
        <Segmented label="Method" value={recipe.method} options={options(scan.choices.methods, METHODS)} onChange={(method) => set({ method })} />
        {isIterative ? null : (
          <>
            <Select label="Filter" value={recipe.filter} options={options(scan.choices.filters)} onChange={(filter) => set({ filter })} />
            <Select label="Padding" value={recipe.padding} options={options(scan.choices.paddings, { auto: "Automatic", none: "None", edge: "Extend edges" })} onChange={(padding) => set({ padding })} />
          </>
        )}
        {isIterative ? (
          <>
            <Numbers label="Iterations" hint="0 = default" value={recipe.iterations} step={1} least={0} onChange={(iterations) => set({ iterations: Math.round(iterations) })} />
            {recipe.method === "sirt" ? <Switch label="Non-negative" isOn={recipe.is_nonnegative} onChange={(is_nonnegative) => set({ is_nonnegative })} /> : null}
            <p className="hint">{coarsely(slice)}</p>
          </>
        ) : null}
        <Numbers
          label="Binning"
          hint="pixels per voxel"
          value={recipe.binning}
          step={1}
          least={1}
          most={Math.min(scan.rows, scan.columns)}
          onChange={(binning) => set({ binning: Math.round(binning) })}
        />
        <Switch label="Keep corners outside the scan circle" isOn={!recipe.is_circle} onChange={(isOn) => set({ is_circle: !isOn })} />
      </Section>
      <PhaseSection scan={scan} recipe={recipe} radius={slice?.header.radius_px ?? null} onChange={set} />
    </>
  );
}

/** How much the preview of slow iterative methods is reduced. */
function coarsely(slice: Preview | undefined): string {
  if (!slice?.isExact) return "…";
  const { voxels, views, iterations } = slice.header;
  const less = [
    voxels > 1 ? `${voxels} × ${voxels} pixels binned` : "",
    views > 1 ? `1 in ${views} views` : "",
    iterations < slice.recipe.iterations ? `${iterations} iterations` : "",
  ].filter(Boolean);
  return less.length > 0 ? `Preview reduced to stay fast: ${less.join(", ")}. The volume uses all data.` : "The preview uses all data and iterations, like the volume.";
}

interface PhaseProps {
  scan: ScanDescription;
  recipe: Recipe;
  /** The smoothing radius in pixels. */
  radius: number | null;
  onChange: (change: Partial<Recipe>) => void;
}

const USUAL_PHASE = { energy_kev: 20, distance_mm: 100, delta_over_beta: 200 };

function PhaseSection({ scan, recipe, radius, onChange }: PhaseProps): ReactNode {
  const { phase } = recipe;
  const pixel_size_um = scan.pixel_size_um;
  const set = (change: Partial<Paganin>): void => (phase ? onChange({ phase: { ...phase, ...change } }) : undefined);
  return (
    <Section title="Phase" isOpenAtFirst={false}>
      <Switch
        label="Phase retrieval (Paganin)"
        isOn={phase !== null}
        isDisabled={pixel_size_um === null}
        onChange={(isOn) => onChange({ phase: isOn && pixel_size_um !== null ? { ...USUAL_PHASE, pixel_size_um } : null })}
      />
      {pixel_size_um === null ? <p className="hint">Phase retrieval needs the pixel size; set it under Scan.</p> : null}
      {phase ? (
        <>
          <Numbers label="Energy" hint="keV" value={phase.energy_kev} step={1} onChange={(energy_kev) => set({ energy_kev })} />
          <Numbers label="Distance" hint="mm" value={phase.distance_mm} step={10} onChange={(distance_mm) => set({ distance_mm })} />
          <Numbers label="δ/β" hint="" value={phase.delta_over_beta} step={10} onChange={(delta_over_beta) => set({ delta_over_beta })} />
          {radius === null ? null : <p className="hint">Smoothing radius: {short(radius)} pixels.</p>}
        </>
      ) : null}
    </Section>
  );
}
