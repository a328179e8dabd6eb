// Names of volumes, as the instance has them: path, path:/dataset, path:t=3. Here: taking one apart.

const OPTIONS = ["t", "c", "level", "shape", "dtype", "order", "offset", "spacing", "unit", "format"];

/** The path of the file, without a dataset and options. */
export function pathOf(location: string): string {
  const colon = location.lastIndexOf(":");
  const name = location.slice(colon + 1).split("=", 1)[0] ?? "";
  const file = colon > 0 && OPTIONS.includes(name) && location.includes("=", colon) ? location.slice(0, colon) : location;
  const dataset = file.lastIndexOf(":/");
  return dataset > 0 && file[dataset + 2] !== "/" ? file.slice(0, dataset) : file;
}

/** The folder that the file is in; empty where it is in none. */
export function folderOf(location: string): string {
  const path = pathOf(location);
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}
