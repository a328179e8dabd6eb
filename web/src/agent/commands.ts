// Tasks on files as command lines. Here: what each command's form asks for, and the arguments made of it. Not here: the form (TaskDialog.tsx).

import type { FileInfo, VolumeInfo } from "./protocol";

export const DTYPES = ["uint8", "uint16", "int16", "float32"];
const CODECS = ["", "zstd", "lz4", "gzip", "blosc", "none"];

/** choices: "" is the default. example: of a text. Neither: a switch. */
interface CommandOption {
  flag: string;
  label: string;
  choices?: readonly string[];
  example?: string;
}

interface Command {
  title: string;
  /** {folder} and {stem} stand for those of each file; "" where nothing is written. */
  output: string;
  isOutputPositional?: boolean;
  options: readonly CommandOption[];
}

export type CommandName = "convert" | "reconstruct" | "denoise" | "render" | "slices" | "mesh" | "share";

const PYRAMID: CommandOption = { flag: "--pyramid", label: "Multi-resolution pyramid" };

export const COMMANDS: Record<CommandName, Command> = {
  convert: {
    title: "Convert",
    output: "{folder}/{stem}.zarr",
    isOutputPositional: true,
    options: [{ flag: "--dtype", label: "Data type", choices: ["", ...DTYPES] }, { flag: "--codec", label: "Compression", choices: CODECS }, { flag: "--box", label: "Box (z, y, x)", example: "z0:z1,y0:y1,x0:x1" }, PYRAMID],
  },
  reconstruct: {
    title: "Reconstruct",
    output: "{folder}/{stem}-volume.zarr",
    options: [
      { flag: "--center", label: "Rotation axis (column)", example: "automatic" },
      { flag: "--method", label: "Method", choices: ["", "direct", "gridding", "sirt", "cgls"] },
      { flag: "--ring", label: "Ring removal", choices: ["", "auto", "vo-all", "vo-sorting", "fourier-wavelet", "titarenko"] },
      PYRAMID,
    ],
  },
  denoise: {
    title: "Denoise",
    output: "{folder}/{stem}-clean.zarr",
    options: [
      { flag: "--center", label: "Rotation axis (column)", example: "automatic" },
      { flag: "--preset", label: "Preset", choices: ["", "fast", "spring8"] },
      { flag: "--steps", label: "Training steps", example: "those of the preset" },
      { flag: "--dtype", label: "Data type", choices: ["", "uint16", "float32"] },
    ],
  },
  render: {
    title: "Image",
    output: "{folder}/{stem}.png",
    options: [
      { flag: "--size", label: "Size (width x height)", example: "1024x1024" },
      { flag: "--preset", label: "Preset", example: "automatic" },
      { flag: "--shading", label: "Shading", choices: ["", "none", "gradient", "shadow", "occlusion", "full"] },
    ],
  },
  slices: { title: "Slices", output: "{folder}/{stem}-slices.png", options: [] },
  mesh: { title: "Mesh", output: "{folder}/{stem}.ply", options: [{ flag: "--isovalue", label: "Isovalue", example: "for example 1200" }] },
  share: { title: "Share", output: "", options: [{ flag: "--days", label: "Expires after (days)", example: "7" }, { flag: "--to", label: "Destination (if the site sets none)", example: "s3://BUCKET/FOLDER" }] },
};

export const folderOf = (path: string): string => path.replace(/\/[^/]*$/, "") || "/";

/** The output as the form shows it: of one file as it will be named, of several with the placeholders. */
export function outputFor({ output }: Command, files: readonly string[]): string {
  const [file = ""] = files;
  if (files.length > 1) return output;
  const stem = file.slice(file.lastIndexOf("/") + 1).split(".")[0] ?? "";
  return output.replace("{folder}", folderOf(file)).replace("{stem}", stem);
}

/** Split as a shell does: by spaces, except inside quotes. */
const splitWords = (text: string): string[] => [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((found) => found[1] ?? found[2] ?? found[3] ?? "");

/** values: by the name of the field; "" and absent ones stay at their defaults. */
export function commandLine(name: CommandName, values: Readonly<Record<string, string>>): string[] {
  const { isOutputPositional = false, options } = COMMANDS[name];
  const flags = options.flatMap(({ flag, choices, example }) => {
    const value = values[flag] ?? "";
    if (value === "") return [];
    return choices || example ? [`${flag}=${value}`] : [flag];
  });
  const output = values["output"] ?? "";
  const target = output === "" ? [] : isOutputPositional ? [output] : ["-o", output];
  return [name, "{file}", ...target, ...flags, ...splitWords(values["more"] ?? "")];
}

/** Of several volumes in a file, the largest one is used. */
export function largestVolume(info: FileInfo | null): VolumeInfo | null {
  return info?.volumes.reduce<VolumeInfo | null>((largest, one) => (largest === null || one.bytes > largest.bytes ? one : largest), null) ?? null;
}

/** The location of a file's volume: with its dataset where there are several. */
export const locationOf = (path: string, info: FileInfo | null): string => ((info?.volumes.length ?? 0) > 1 ? (largestVolume(info)?.name ?? path) : path);
