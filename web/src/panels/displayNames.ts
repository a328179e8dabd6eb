// Modes and shadings as the page shows them: the API's names, and what they mean.

import type { Mode, ShadingName } from "../protocol";

export const MODES: Record<Mode, { label: string; title: string }> = {
  composite: { label: "Composite", title: "Colour and opacity accumulated along every ray" },
  max: { label: "Max", title: "Maximum along every ray" },
  mean: { label: "Mean", title: "Mean along every ray" },
  min: { label: "Min", title: "Minimum along every ray" },
  isosurface: { label: "Isosurface", title: "Surfaces at chosen values" },
};

export const SHADINGS: Record<ShadingName, { label: string; title: string }> = {
  none: { label: "None", title: "Colours without lighting" },
  gradient: { label: "Gradient", title: "Local lighting by the gradient of the values" },
  shadow: { label: "Shadow", title: "Shadows cast through the volume (single scattering)" },
  occlusion: { label: "Occlusion", title: "Ambient occlusion" },
  full: { label: "Full", title: "Gradient, shadows and ambient occlusion together" },
  cinematic: { label: "Cinematic", title: "Path tracing: soft shadows and multiple scattering" },
  user: { label: "User", title: "A custom shading that you write" },
};
