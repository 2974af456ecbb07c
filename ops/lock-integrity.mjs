// Adds the integrity of packages to package-lock.json where it is missing: `node ops/lock-integrity.mjs [FILE]`. It asks the
// registry that npm is set to, changes nothing else, and writes no address of a registry. Exits with 1 if that registry does not
// have all of them. Run it against a registry that you trust, and review the difference: what it writes is what is installed.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const file = process.argv[2] ?? 'package-lock.json';
const lock = JSON.parse(readFileSync(file, 'utf8'));
const missing = [];
let added = 0;
for (const [path, locked] of Object.entries(lock.packages)) {
  if (path === '' || locked.link || locked.integrity) continue;
  const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const wanted = `${name}@${locked.version}`;
  const { stdout } = spawnSync('npm', ['view', wanted, 'dist.integrity'], { encoding: 'utf8' });
  const integrity = stdout.trim();
  if (/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity)) {
    lock.packages[path] = withIntegrity(locked, integrity);
    added += 1;
  } else missing.push(wanted);
}
if (added > 0) writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} added, ${missing.length} not in this registry\n`);
for (const wanted of missing) process.stdout.write(`  ${wanted}\n`);
process.exitCode = missing.length > 0 ? 1 : 0;

/** The integrity stands where npm writes it: behind the name and the version. */
function withIntegrity({ name, version, resolved, ...rest }, integrity) {
  return { ...(name && { name }), version, ...(resolved && { resolved }), integrity, ...rest };
}
