import { expect, it } from "vitest";
import { commandLine, COMMANDS, folderOf, locationOf, outputFor } from "./commands";
import type { FileInfo } from "./protocol";

it("makes arguments of what was filled in, and leaves the rest at its default", () => {
  expect(commandLine("convert", { output: "/a/b.zarr", "--codec": "zstd", "--pyramid": "on", "--dtype": "" })).toEqual(["convert", "{file}", "/a/b.zarr", "--codec=zstd", "--pyramid"]);
  expect(commandLine("render", { output: "/a/b.png", more: "--title 'two words' -v" })).toEqual(["render", "{file}", "-o", "/a/b.png", "--title", "two words", "-v"]);
  expect(commandLine("share", { gpus: "1" })).toEqual(["share", "{file}"]);
});

it("offers a name for the output of one file, and a pattern for several", () => {
  expect(outputFor(COMMANDS.reconstruct, ["/scans/ball.nxs.h5"])).toBe("/scans/ball-volume.zarr");
  expect(outputFor(COMMANDS.slices, ["/a.npy", "/b.npy"])).toBe("{folder}/{stem}-slices.png");
  expect([folderOf("/a.npy"), folderOf("/b/c/d")]).toEqual(["/", "/b/c"]);
});

it("names the dataset where a file has several, the largest one", () => {
  const volume = { shape: [1], dtype: "uint8", spacing: [1], unit: "", format: "", codec: "", levels: [] };
  const info: FileInfo = { scan: null, volumes: [{ ...volume, name: "a.h5:/small", bytes: 1 }, { ...volume, name: "a.h5:/large", bytes: 9 }] };
  expect(locationOf("a.h5", info)).toBe("a.h5:/large");
  expect(locationOf("a.h5", { ...info, volumes: info.volumes.slice(0, 1) })).toBe("a.h5");
  expect(locationOf("a.h5", null)).toBe("a.h5");
});
