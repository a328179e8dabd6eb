import { defineConfig } from "vite";

// Two pages: the viewer's, and with `--mode agent` the agent's. Each is served at any address and below any prefix: every name is relative.
export default defineConfig(({ mode }) => ({
  base: "./",
  build: {
    outDir: mode === "agent" ? "../src/pellucid/agent/site" : "../src/pellucid/instance/site",
    rolldownOptions: { input: mode === "agent" ? "agent.html" : "index.html" },
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
}));
