import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../src/package-root.ts';

/** `[file, imported file]` of every relative import, type imports included; paths from the package's folder. */
const imports = ['src', 'workers'].flatMap((top) =>
  readdirSync(join(PACKAGE_ROOT, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const file = join(top, name);
      const text = readFileSync(join(PACKAGE_ROOT, file), 'utf8');
      const paths = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => path!);
      return paths.map((path) => [file, normalize(join(dirname(file), path))] as const);
    }),
);

const isIn = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`);

/** Which rooms each room imports. A room and those inside it count as one; files loose in `src` belong to no room. */
function roomsImported(pairs: readonly (readonly [string, string])[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [from, to] of pairs.map((pair) => pair.map(dirname) as [string, string])) {
    if (isIn(from, to) || isIn(to, from)) continue;
    found.set(from, (found.get(from) ?? new Set()).add(to));
  }
  return found;
}

/** A way from a room back to itself; null: there is none. */
function circle(rooms: Map<string, Set<string>>): string[] | null {
  const done = new Set<string>();
  const search = (room: string, way: string[]): string[] | null => {
    if (way.includes(room)) return [...way.slice(way.indexOf(room)), room];
    if (done.has(room)) return null;
    for (const next of rooms.get(room) ?? []) {
      const found = search(next, [...way, room]);
      if (found !== null) return found;
    }
    done.add(room);
    return null;
  };
  for (const room of rooms.keys()) {
    const found = search(room, []);
    if (found !== null) return found;
  }
  return null;
}

test('no rooms import each other, directly or through others', () => {
  expect(imports.length).toBeGreaterThan(1_000);
  expect(circle(roomsImported(imports))).toBeNull();
});

test('a circle of rooms is found, also one through a third', () => {
  const of = (...pairs: [string, string][]): string[] | null => circle(roomsImported(pairs));
  expect(of(['a/x/1.ts', 'a/y/1.ts'], ['a/y/2.ts', 'a/x/2.ts'])).toEqual(['a/x', 'a/y', 'a/x']);
  expect(of(['a/x/1.ts', 'b/1.ts'], ['b/2.ts', 'c/1.ts'], ['c/2.ts', 'a/x/2.ts'])).toHaveLength(4);
  expect(of(['a/1.ts', 'a/x/1.ts'], ['a/x/2.ts', 'a/2.ts'], ['a/x/1.ts', 'a/y/1.ts'])).toBeNull();
});

test('what lies loose in src is the entry, and what imports no room but the domain', () => {
  const loose = imports.filter(([from]) => dirname(from) === 'src' && from !== 'src/main.ts');
  expect(loose.filter(([, to]) => dirname(to) !== 'src' && !isIn(to, 'src/domain'))).toEqual([]);
});
