import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SCREENS } from './screens.ts';

const ROUTES = [
  ...readFileSync('console/src/router.tsx', 'utf8').matchAll(/\bat\('(\/[^']*)'|\bpath: '(\/[^']*)'/g),
].map(([, listed, created]) => (listed ?? created)!);

test('every route of the console has a screenshot', () => {
  expect(ROUTES.length).toBeGreaterThan(25);
  const paths = SCREENS.map(({ path }) => path.replace(/[?#].*/, ''));
  const shown = (route: string) => {
    const pattern = new RegExp(`^${route.replaceAll(/\$\w+/g, '[^/]+')}$`);
    // An address without parameters wins over one with: `/messages/log` is not a template.
    return paths.some((path) => pattern.test(path) && (path === route || !ROUTES.includes(path)));
  };
  expect(ROUTES.filter((route) => !shown(route))).toEqual([]);
});

test('screenshots have names of their own', () => {
  expect(new Set(SCREENS.map(({ name }) => name)).size).toBe(SCREENS.length);
});
