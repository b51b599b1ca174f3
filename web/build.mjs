// Bundles the page's script and style into dist/report.js and dist/report.css, which the report embeds.
import { build } from 'esbuild';

await build({
  entryPoints: { report: 'src/main.ts' },
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['chrome100', 'firefox100', 'safari15'],
  charset: 'utf8',
  legalComments: 'inline',
  logLevel: 'info',
});
