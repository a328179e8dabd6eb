import { expect, test } from "vitest";
import { folderOf, pathOf } from "./location";

test.each([
  ["/data/scan.h5:/entry/raw", "/data/scan.h5", "/data"],
  ["/data/scan.h5:/raw", "/data/scan.h5", "/data"],
  ["/data/scan.h5:/raw:t=3,c=1", "/data/scan.h5", "/data"],
  ["/data/ball.raw:shape=4,5,6,dtype=uint16", "/data/ball.raw", "/data"],
  ["/data/12:30=x/scan.npy", "/data/12:30=x/scan.npy", "/data/12:30=x"],
  ["/data/series.zarr", "/data/series.zarr", "/data"],
  ["s3://bucket/scan.zarr", "s3://bucket/scan.zarr", "s3://bucket"],
  ["memory:12ab", "memory:12ab", ""],
])("%s is a file in a folder", (location, path, folder) => {
  expect([pathOf(location), folderOf(location)]).toEqual([path, folder]);
});
