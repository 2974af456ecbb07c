import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../src/package-root.ts';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

/** The functions with the most self time, from the one profile in a folder. */
export function topFunctions(folder: string, count: number): string {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) return 'There is no profile: the process did not end by itself.';
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const micros = new Map<string, number>();
  let busy = 0;
  for (const [at, sample] of samples.entries()) {
    const name = names.get(sample)!;
    if (name.startsWith('(idle)') || name.startsWith('(program)')) continue;
    const delta = timeDeltas[at] ?? 0;
    busy += delta;
    micros.set(name, (micros.get(name) ?? 0) + delta);
  }
  const top = [...micros].toSorted(([, a], [, b]) => b - a).slice(0, count);
  return top.map(([name, time]) => `${((time / busy) * 100).toFixed(1).padStart(5)} %  ${name}`).join('\n');
}

function nameOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const path = url.startsWith('file:') ? relative(PACKAGE_ROOT, fileURLToPath(url)) : url;
  return `${functionName || '(anonymous)'} ${path === '' ? '' : `${path}:${lineNumber + 1}`}`.trim();
}
