import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// `npx vite` shows changes at once, beside a server that runs (`node server.mjs`).
export default defineConfig({ plugins: [react()], server: { proxy: { '/api': 'http://127.0.0.1:3000' } } });
