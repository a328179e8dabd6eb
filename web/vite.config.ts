import { defineConfig } from "vite";

// The page is served by an instance, at any address and below any prefix: every name in it is relative.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/pellucid/instance/site",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
