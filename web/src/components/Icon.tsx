// Small drawings on a 16 × 16 grid. Here: their paths by name.

const PATHS = {
  open: "M2 12.5v-9h4l1.5 2H14v7z",
  panel: "M2.5 3h11v10h-11zM10 3v10",
  slices: "M2.5 2.5h11v11h-11zM8 2.5v11M2.5 8h11",
  clip: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6",
  ruler: "M10.8 1.8 14.2 5.2 5.2 14.2 1.8 10.8zM8.6 4l1.5 1.5M6.4 6.2l1.5 1.5M4.2 8.4l1.5 1.5",
  compare: "M8 2v12M2.5 3.5H6v9H2.5zM10 3.5h3.5v9H10z",
  camera: "M2 5h2.8l1.2-2h4l1.2 2H14v8H2zM8 11.2a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8z",
  share: "M8 9.5v-7M5.2 5 8 2.2 10.8 5M3 8.5v5h10v-5",
  gauge: "M2.5 12.5a6 6 0 1 1 11 0M8 9.5l2.6-3.6",
  undo: "M5.5 3 2.5 6l3 3M2.5 6h7a4 4 0 0 1 0 8H6",
  redo: "M10.5 3l3 3-3 3M13.5 6h-7a4 4 0 0 0 0 8H10",
  help: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM6.2 6.2A1.9 1.9 0 0 1 8 4.8c1 0 1.9.7 1.9 1.7C9.9 7.9 8 7.9 8 9.2M8 11.3v.1",
  home: "M2.5 7.5 8 2.5l5.5 5M4 6.5V13h8V6.5",
  wand: "M3 13 9.5 6.5M11 2.5v2M11 7.5v2M8 5h1.5M12.5 5H14M13 3l-.8.8M12.2 6.2l.8.8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  chevron: "M6 4l4 4-4 4",
  up: "M8 13V3M4 7l4-4 4 4",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  hidden: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM2.5 13.5l11-11",
  focus: "M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5 5 13h6l.5-8.5M7 7v3.5M9 7v3.5",
  volume: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6",
  points: "M4 11.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 7a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 11 7zM10 13.8a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6z",
  mesh: "M8 2 14 13H2zM8 2v11M5 7.5 14 13M11 7.5 2 13",
  folder: "M2 12.5v-9h4l1.5 2H14v7z",
  file: "M4 1.8h5.2L12.5 5v9.2H4zM9 1.8V5h3.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  download: "M8 2.5v7.3M5 7l3 3 3-3M3 12.8h10",
  upload: "M8 10V2.7M5 5.5l3-3 3 3M3 12.8h10",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5M9 3 7 13",
  play: "M5 3l8 5-8 5z",
  pause: "M5 3v10M11 3v10",
  people: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM2 13c0-2.3 1.7-3.8 4-3.8S10 10.7 10 13M10.7 7.4a2 2 0 0 0 0-3.9M11.6 9.4c1.5.4 2.4 1.7 2.4 3.6",
  expand: "M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  check: "M3 8.5 6.5 12 13 4.5",
  link: "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.8-.8",
  contrast: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12M10 2.4v11.2M12 3.5v9",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): React.ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
