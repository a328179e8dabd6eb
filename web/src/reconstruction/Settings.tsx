// The choices of a reconstruction. Here: their controls. Not here: the axis (AxisSection.tsx), what they do (the instance), images of it (PreviewImages.tsx).

import type { ReactNode } from "react";
import { short } from "../geometry/measures";
import { Segmented, Select, Switch } from "../components/Choice";
import { Section } from "../components/Section";
import type { Paganin, Recipe, ScanDescription, Wish } from "../protocol";
import { AxisSection } from "./AxisSection";
import { Numbers } from "./fields";
import type { Change } from "./PreviewImages";
import type { Preview } from "./previewQueue";

interface SettingsProps {
  path: string;
  /** The slice that is shown. */
  slice: Preview | undefined;
  scan: ScanDescription;
  draft: Wish;
  onChange: Change;
}

const RINGS: Record<string, string> = {
  none: "Leave them",
  auto: "Automatic",
  "vo-sorting": "Sorting (Vo 3)",
  "vo-large": "Wide stripes (Vo 5)",
  "vo-dead": "Dead columns (Vo 6)",
  "vo-all": "All of Vo's",
  "fourier-wavelet": "Wavelets (Münch)",
  titarenko: "Regularised (Titarenko)",
};
const METHODS: Record<string, string> = { direct: "Direct", gridding: "Fast", sirt: "SIRT", cgls: "CGLS" };

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const options = (values: readonly string[], words: Record<string, string> = {}): { value: string; label: string }[] => values.map((value) => ({ value, label: words[value] ?? titled(value) }));

export function Settings({ path, slice, scan, draft, onChange }: SettingsProps): ReactNode {
  const { recipe } = draft;
  const set = (change: Partial<Recipe>): void => onChange({ recipe: { ...recipe, ...change } });
  const isIterative = recipe.method === "sirt" || recipe.method === "cgls";
  return (
    <>
      <AxisSection path={path} scan={scan} draft={draft} onChange={onChange} />
      <Section title="Rings and stray photons">
        <Select label="Rings" value={recipe.rings.method} options={options(scan.choices.rings, RINGS)} onChange={(method) => set({ rings: { ...recipe.rings, method } })} />
        <Numbers label="Zingers" hint="threshold, 0: none" value={recipe.zingers} step={0.05} onChange={(zingers) => set({ zingers })} />
        <Numbers label="Air at the ends" hint="columns, 0: none" value={recipe.air} step={1} onChange={(air) => set({ air: Math.min(Math.round(air), Math.floor(scan.columns / 2)) })} />
      </Section>
      <Section title="Slices">
        <Segmented label="Method" value={recipe.method} options={options(scan.choices.methods, METHODS)} onChange={(method) => set({ method })} />
        {isIterative ? null : (
          <>
            <Select label="Filter" value={recipe.filter} options={options(scan.choices.filters)} onChange={(filter) => set({ filter })} />
            <Select label="Beyond the detector" value={recipe.padding} options={options(scan.choices.paddings, { auto: "As it needs", none: "Nothing", edge: "Fading out" })} onChange={(padding) => set({ padding })} />
          </>
        )}
        {isIterative ? (
          <>
            <Numbers label="Iterations" hint="0: as usual" value={recipe.iterations} step={1} least={0} onChange={(iterations) => set({ iterations: Math.round(iterations) })} />
            {recipe.method === "sirt" ? <Switch label="Nothing below 0" isOn={recipe.is_nonnegative} onChange={(is_nonnegative) => set({ is_nonnegative })} /> : null}
            <p className="hint">{coarsely(slice)}</p>
          </>
        ) : null}
        <Numbers
          label="Binning"
          hint="pixels along a voxel"
          value={recipe.binning}
          step={1}
          least={1}
          most={Math.min(scan.rows, scan.columns)}
          onChange={(binning) => set({ binning: Math.round(binning) })}
        />
        <Switch label="Corners that not all views see" isOn={!recipe.is_circle} onChange={(isOn) => set({ is_circle: !isOn })} />
      </Section>
      <PhaseSection scan={scan} recipe={recipe} radius={slice?.header.radius_px ?? null} onChange={set} />
    </>
  );
}

/** Iterations that would take long are shown coarsely: how much so. */
function coarsely(slice: Preview | undefined): string {
  if (!slice?.isExact) return "…";
  const { voxels, views, iterations } = slice.header;
  const less = [
    voxels > 1 ? `${voxels} × ${voxels} voxels are one` : "",
    views > 1 ? `of ${views} views one is used` : "",
    iterations < slice.recipe.iterations ? `${iterations} iterations are made` : "",
  ].filter(Boolean);
  return less.length > 0 ? `This takes long: in the slice here ${less.join(", ")}. The volume is made of everything.` : "The slice is made with all iterations, as the volume will be.";
}

interface PhaseProps {
  scan: ScanDescription;
  recipe: Recipe;
  /** Over which it smooths, in pixels. */
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
        label="Retrieve it (Paganin)"
        isOn={phase !== null}
        isDisabled={pixel_size_um === null}
        onChange={(isOn) => onChange({ phase: isOn && pixel_size_um !== null ? { ...USUAL_PHASE, pixel_size_um } : null })}
      />
      {pixel_size_um === null ? <p className="hint">It needs the size of a pixel: say it under The scan.</p> : null}
      {phase ? (
        <>
          <Numbers label="Energy" hint="keV" value={phase.energy_kev} step={1} onChange={(energy_kev) => set({ energy_kev })} />
          <Numbers label="Distance" hint="mm" value={phase.distance_mm} step={10} onChange={(distance_mm) => set({ distance_mm })} />
          <Numbers label="δ/β" hint="" value={phase.delta_over_beta} step={10} onChange={(delta_over_beta) => set({ delta_over_beta })} />
          {radius === null ? null : <p className="hint">It smooths over {short(radius)} pixels.</p>}
        </>
      ) : null}
    </Section>
  );
}
