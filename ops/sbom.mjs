// The software bill of materials of what runs in production, as CycloneDX on standard output: npm run sbom > sbom.json
// It is made from the lock file alone. npm's own `--omit dev` leaves out every package that a development tool uses as
// well (npm 11: 30 of ours, the logger among them), so everything is asked for and the lock file says what is production's.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const production = new Set(
  Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { name, version }]) => {
      const packageName = name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return `pkg:npm/${packageName.replace('@', '%40')}@${version}`;
    }),
);

const text = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const all = JSON.parse(text);
const components = all.components.filter(({ purl }) => production.has(purl));
const missing = [...production].filter((purl) => !components.some((component) => component.purl === purl));
if (missing.length > 0) throw new Error(`npm does not list ${missing.join(', ')}`);

const refs = new Set([all.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
const dependencies = all.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((on) => refs.has(on)) }));
process.stdout.write(`${JSON.stringify({ ...all, components, dependencies }, null, 2)}\n`);
