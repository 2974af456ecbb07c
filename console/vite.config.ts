import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { FORMS } from '../src/domain/fields/form.ts';

/** The address of a running Laurel for `npx vite console`. */
const ADMIN = 'http://127.0.0.1:8081';

/** Provides `virtual:forms`: data alone, so that no schema library comes with it. */
const forms: Plugin = {
  name: 'forms',
  resolveId: (id) => (id === 'virtual:forms' ? '\0virtual:forms' : null),
  load: (id) => (id === '\0virtual:forms' ? `export const FORMS = ${JSON.stringify(FORMS)};` : null),
};

export default defineConfig({
  base: '/console/',
  plugins: [react(), tailwindcss(), forms],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // Inlined assets would need a wider content security policy.
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What every screen needs: one file compresses better than twenty small ones.
            {
              name: 'base',
              test: /node_modules\/@tanstack\/(?:react-query|query-core)|console\/src\/(?:api\/(?:answer|attention|bodies|client|clock|feed|live|queries|session)|ui\/(?:badge|button|format|parts))\.tsx?$/,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { '/v1': ADMIN, '/application': ADMIN, '/readyz': ADMIN, '/metrics': ADMIN } },
});
