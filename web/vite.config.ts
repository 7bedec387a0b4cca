import { defineConfig } from "vite";

// Nothing is inlined: the policy of the server allows scripts and styles from files of its own only.
export default defineConfig({
  build: {
    outDir: "../src/stromboli/console/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: true,
  },
  // `npm run dev` with a console that runs elsewhere: CONSOLE=https://127.0.0.1:8443 npm run dev
  server: { proxy: { "/api": { target: process.env["CONSOLE"] ?? "https://127.0.0.1:8443", secure: false } } },
});
