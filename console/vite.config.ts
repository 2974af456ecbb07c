import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Where `npx vite console` finds a Laurel that runs. */
const ADMIN = 'http://127.0.0.1:8081';

export default defineConfig({
  base: '/console/',
  plugins: [react(), tailwindcss()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // What is inlined as data: would need a wider content security policy.
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: { proxy: { '/v1': ADMIN, '/application': ADMIN, '/readyz': ADMIN, '/metrics': ADMIN } },
});
