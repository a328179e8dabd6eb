// Labels: how each is drawn. Here: automatic colours as the renderer makes them, names, visibility, changes of one label.
// Not here: the list (panels/labels/).

import type { LabelColor, Labels } from "../protocol";

export type Color = readonly [number, number, number];

const GOLDEN = 0x9e3779b97f4a7c15n;
const BESIDE = 0xc13fa9a902a6328fn;
const ABOVE = 0x91e10da5c79e7b1dn;
const FIRST_HUE = 0.7;

/** The colour of a label that has none of its own. */
export function automaticColor(label: number): Color {
  const value = 0.8 + 0.2 * spread(label, BESIDE);
  const least = value * (0.5 - 0.5 * spread(label, ABOVE));
  const hue = spread(label, GOLDEN);
  const channel = (offset: number): number => {
    const sector = ((hue + FIRST_HUE) * 6 + offset) % 6;
    return least + (value - least) * Math.min(1, Math.max(0, Math.abs(sector - 3) - 1));
  };
  return [channel(0), channel(4), channel(2)];
}

const spread = (label: number, factor: bigint): number => Number(BigInt.asUintN(64, BigInt(Math.trunc(label)) * factor) >> 40n) / 2 ** 24;

export function labelOf(labels: Labels, label: number): LabelColor {
  return labels.colors.find((one) => one.label === label) ?? { label, color: null, opacity: null, name: "", is_visible: true };
}

export const colorOf = (labels: Labels, label: number): Color => labelOf(labels, label).color ?? automaticColor(label);

/** What users call a label. */
export const labelName = (labels: Labels, label: number): string => labelOf(labels, label).name || `Label ${label}`;

export function isDrawn(labels: Labels, label: number): boolean {
  if (labels.isolated.length > 0) return labels.isolated.includes(label);
  return labelOf(labels, label).is_visible;
}

/** The labels with one of them changed; one that has nothing of its own is not listed. */
export function withLabel(labels: Labels, label: number, change: Partial<LabelColor>): Labels {
  const next = { ...labelOf(labels, label), ...change };
  const isPlain = next.color === null && next.opacity === null && next.name === "" && next.is_visible;
  const isKnown = labels.colors.some((one) => one.label === label);
  const others = labels.colors.flatMap((one) => (one.label === label ? (isPlain ? [] : [next]) : [one]));
  return { ...labels, colors: isKnown || isPlain ? others : [...others, next] };
}

/** Only this label; or all again, where it is the only one already. */
export function isolating(labels: Labels, label: number): Labels {
  const isAlone = labels.isolated.length === 1 && labels.isolated[0] === label;
  return { ...labels, isolated: isAlone ? [] : [label] };
}

/** Hide or show a label, whichever it is not now. */
export function toggled(labels: Labels, label: number): Labels {
  if (labels.isolated.length === 0) return withLabel(labels, label, { is_visible: !labelOf(labels, label).is_visible });
  const others = labels.isolated.filter((one) => one !== label);
  return { ...labels, isolated: others.length < labels.isolated.length ? others : [...others, label] };
}

export const allShown = (labels: Labels): Labels => {
  const shown = labels.colors.map((one) => ({ ...one, is_visible: true }));
  return { ...labels, isolated: [], colors: shown.filter((one) => one.color !== null || one.opacity !== null || one.name !== "") };
};

export const areAllShown = (labels: Labels): boolean => labels.isolated.length === 0 && labels.colors.every((one) => one.is_visible);
