// Names of the instance's choices as people read them.

import type { Mode, ShadingName } from "../protocol";

export const MODES: Record<Mode, { label: string; title: string }> = {
  composite: { label: "Volume", title: "Light gathered through the volume" },
  max: { label: "Max", title: "The largest value along every ray" },
  mean: { label: "Mean", title: "The mean value along every ray" },
  min: { label: "Min", title: "The smallest value along every ray" },
  isosurface: { label: "Surface", title: "The surface at a value" },
};

export const SHADINGS: Record<ShadingName, { label: string; title: string }> = {
  none: { label: "Unlit", title: "The colours alone" },
  gradient: { label: "Local light", title: "Lit by the slope of the values" },
  shadow: { label: "Shadows", title: "Single scattering: what comes through from the light" },
  occlusion: { label: "Ambient occlusion", title: "How much of the sky each place sees" },
  user: { label: "Your own", title: "A shading that you write" },
};
